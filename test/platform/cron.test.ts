/** The moments of cron expressions, in time zones whose clocks change. */
import { describe, expect, test } from 'vitest'
import { nextMoment, readCron } from '#src/platform/jobs/cron.ts'

/** The next moments after one, as texts. */
function moments(cron: string, timezone: string, after: string, count: number): string[] {
  const found: string[] = []
  let at: Date | null = new Date(after)
  while (found.length < count && (at = nextMoment({ cron, timezone }, at))) found.push(at.toISOString().slice(0, 16))
  return found
}

describe('a cron expression', () => {
  test('has its moments in its time zone', () => {
    expect(moments('30 3 * * *', 'Europe/Rome', '2027-01-10T00:00:00Z', 2)).toEqual([
      '2027-01-10T02:30',
      '2027-01-11T02:30',
    ])
    expect(moments('0 0 1 jan *', 'UTC', '2027-01-10T00:00:00Z', 1)).toEqual(['2028-01-01T00:00'])
    expect(moments('*/20 9-10 * * mon-fri', 'UTC', '2027-01-08T10:30:00Z', 3)).toEqual([
      '2027-01-08T10:40',
      '2027-01-11T09:00',
      '2027-01-11T09:20',
    ])
    expect(moments('0 0 13 * 5', 'UTC', '2027-01-10T00:00:00Z', 2)).toEqual(['2027-01-13T00:00', '2027-01-15T00:00']) // either day, as POSIX has it
    expect(moments('0 12 * * 7', 'UTC', '2027-01-10T12:00:00Z', 1)).toEqual(['2027-01-17T12:00'])
  })

  test('has a day that only leap years have, and 0 and 7 for Sunday', () => {
    expect(moments('0 0 29 2 *', 'UTC', '2027-01-10T00:00:00Z', 2)).toEqual(['2028-02-29T00:00', '2032-02-29T00:00'])
    for (const day of ['0', '7', 'sun'])
      expect(moments(`0 12 * * ${day}`, 'UTC', '2027-01-10T12:00:00Z', 1)).toEqual(['2027-01-17T12:00'])
  })

  test('answers the same again, also to whoever changed what they got', () => {
    const of = { cron: '0 12 * * *', timezone: 'UTC' }
    const after = new Date('2027-01-10T12:00:00Z')
    nextMoment(of, after)?.setUTCFullYear(1999)
    expect(nextMoment(of, after)).toEqual(new Date('2027-01-11T12:00:00Z'))
    expect(nextMoment({ ...of, timezone: 'Europe/Rome' }, after)).toEqual(new Date('2027-01-11T11:00:00Z'))
  })

  test('skips a local time that does not exist', () => {
    expect(moments('30 2 * * *', 'Europe/Rome', '2027-03-27T12:00:00Z', 2)).toEqual([
      '2027-03-29T00:30',
      '2027-03-30T00:30',
    ])
  })

  test('fires once at a local time that occurs twice, the first time', () => {
    expect(moments('30 2 * * *', 'Europe/Rome', '2027-10-30T12:00:00Z', 2)).toEqual([
      '2027-10-31T00:30',
      '2027-11-01T01:30',
    ])
    expect(moments('*/30 2 * * *', 'Europe/Rome', '2027-10-30T12:00:00Z', 3)).toEqual([
      '2027-10-31T00:00',
      '2027-10-31T00:30',
      '2027-11-01T01:00',
    ])
  })

  test('counts once where clocks change by half an hour, or by two', () => {
    expect(moments('45 1 * * *', 'Australia/Lord_Howe', '2027-04-03T00:00:00Z', 3)).toEqual([
      '2027-04-03T14:45',
      '2027-04-04T15:15',
      '2027-04-05T15:15',
    ])
    expect(moments('30 1-4 * * *', 'Antarctica/Troll', '2027-10-31T00:00:00Z', 3)).toEqual([
      '2027-10-31T00:30',
      '2027-10-31T03:30',
      '2027-10-31T04:30',
    ])
    expect(moments('15 2 3 10 *', 'Australia/Lord_Howe', '2027-01-01T00:00:00Z', 1)).toEqual(['2028-10-02T15:15'])
  })

  test('goes on in the hour that clocks repeat, where its hour is *', () => {
    expect(moments('*/20 * * * *', 'Europe/Rome', '2027-10-31T00:10:00Z', 8)).toEqual([
      '2027-10-31T00:20',
      '2027-10-31T00:40',
      '2027-10-31T01:00',
      '2027-10-31T01:20',
      '2027-10-31T01:40',
      '2027-10-31T02:00',
      '2027-10-31T02:20',
      '2027-10-31T02:40',
    ])
    expect(moments('5 */2 * * *', 'America/New_York', '2027-11-07T04:30:00Z', 3)).toEqual([
      '2027-11-07T07:05', // 2:05, which occurs once; the hour from 1 on occurs twice
      '2027-11-07T09:05',
      '2027-11-07T11:05',
    ])
    expect(moments('5 */2 * * *', 'Europe/Rome', '2027-10-30T23:00:00Z', 3)).toEqual([
      '2027-10-31T00:05',
      '2027-10-31T01:05',
      '2027-10-31T03:05',
    ])
    expect(moments('*/15 * * * *', 'Australia/Lord_Howe', '2027-04-03T14:40:00Z', 4)).toEqual([
      '2027-04-03T14:45',
      '2027-04-03T15:00', // 1:30 again: clocks go back by half an hour
      '2027-04-03T15:15',
      '2027-04-03T15:30',
    ])
  })

  test('keeps its pace through each change of clocks, in every zone, where its hour is *', () => {
    const minute = 60_000
    for (const timezone of [
      'Europe/Rome',
      'America/New_York',
      'Australia/Lord_Howe',
      'Antarctica/Troll',
      'Asia/Kolkata',
    ])
      for (const day of ['2027-03-14', '2027-03-28', '2027-04-04', '2027-10-03', '2027-10-31', '2027-11-07']) {
        for (let halfHour = -28; halfHour < 68; halfHour++) {
          const before = new Date(Date.parse(`${day}T00:00:00Z`) + halfHour * 30 * minute)
          const next = nextMoment({ cron: '*/30 * * * *', timezone }, before)
          expect(next?.getTime(), `${timezone} after ${before.toISOString()}`).toBe(before.getTime() + 30 * minute)
        }
      }
  })

  test('has a list of hours once, also where it names each, and in the hour that clocks repeat', () => {
    expect(moments('0 0-23 * * *', 'Europe/Rome', '2027-10-30T23:30:00Z', 2)).toEqual([
      '2027-10-31T00:00',
      '2027-10-31T02:00',
    ])
  })

  test('is counted in local time over a day that a zone left out', () => {
    expect(moments('0 12 * * *', 'Pacific/Apia', '2011-12-29T12:00:00Z', 2)).toEqual([
      '2011-12-29T22:00',
      '2011-12-30T22:00',
    ])
  })

  test('finds February 29 also over a year without one', () => {
    expect(moments('0 0 29 2 *', 'Europe/Rome', '2096-03-01T00:00:00Z', 1)).toEqual(['2104-02-28T23:00'])
  })

  test('agrees with POSIX on days and steps', () => {
    expect(moments('0 0 */2 * 1', 'UTC', '2027-01-01T00:00:00Z', 3)).toEqual([
      '2027-01-03T00:00',
      '2027-01-04T00:00',
      '2027-01-05T00:00',
    ])
    expect(moments('5/25 0 * * *', 'UTC', '2027-01-01T00:00:00Z', 3)).toEqual([
      '2027-01-01T00:05',
      '2027-01-01T00:30',
      '2027-01-01T00:55',
    ])
    expect(moments('0 0 * * 5-7', 'UTC', '2027-01-01T00:00:00Z', 3)).toEqual([
      '2027-01-02T00:00',
      '2027-01-03T00:00',
      '2027-01-08T00:00',
    ])
  })

  test.each([
    '',
    '* * * *',
    '* * * * * *',
    '@daily',
    '0 0 L * *',
    '0 0 ? * *',
    '0 0 * * 5#2',
    '0 0 1W * *',
    '60 * * * *',
    '* 25 * * *',
    '0 0 30 2 *',
    '0 0 31 2 *',
    '0 0 31 4,6,9,11 *',
    '0 0 * * 6-1',
    '0 0 * * 8',
    '@reboot',
    '0 0 LW * *',
    'H 0 * * *',
    '0 0 * * * 2027',
    '-5 * * * *',
    '1.5 * * * *',
    '٣ * * * *',
    '5/0 * * * *',
    '1-0 * * * *',
    'a b c d e',
    '*/0 * * * *',
    `${'1,'.repeat(200)}1 * * * *`,
  ])('%s is refused', (cron) => {
    expect(() => readCron(cron, 'UTC')).toThrow(expect.objectContaining({ code: 'invalid_cron' }))
  })

  test.each([
    ['60 * * * *', 'Its minute must be *, a number from 0 to 59, a range'],
    ['0 24 * * *', 'Its hour must be *, a number from 0 to 23, a range'],
    ['0 0 0 * *', 'Its day of the month must be *, a number from 1 to 31, a range'],
    ['0 0 1 13 *', 'Its month must be *, a number from 1 to 12, or jan to dec, a range'],
    ['0 0 1 mon *', 'Its month must be *, a number from 1 to 12, or jan to dec, a range'],
    ['0 0 * * fri-sun', 'Its day of the week must be *, a number from 0 to 7, or sun to sat, a range'],
    ['*/0 * * * *', 'Its minute must be'],
    ['1,,2 * * * *', 'Its minute must be'],
    ['0 0 31 feb *', 'Its months do not have that day.'],
    ['5,5 * * * *', 'Its minute names something twice.'],
    ['*/90 * * * *', 'The step of its minute is 59 at most: a larger one would start over before it is reached.'],
    ['*/60 * * * *', 'The step of its minute is 59 at most'],
    ['*/1000 * * * *', 'The step of its minute is 59 at most'],
    ['0 10-20/60 * * *', 'The step of its hour is 23 at most'],
    ['0 1,*/24 * * *', 'The step of its hour is 23 at most'],
    ['0 0 */32 * *', 'The step of its day of the month is 31 at most'],
    ['0 0 1 */13 *', 'The step of its month is 12 at most'],
    ['0 0 1 jan/24 *', 'The step of its month is 12 at most'],
    ['0 0 * * */8', 'The step of its day of the week is 7 at most'],
    ['0 0 * * 0,7', 'Its day of the week names something twice.'],
  ])('%s is refused in words of ours, which say the field', (cron, sentence) => {
    expect(() => readCron(cron, 'UTC')).toThrow(`cron is not an expression that can be used. ${sentence}`)
  })

  test.each(['*/59 */23 */31 */12 */7', '5/2 * * * *', '0 0 * * 7', '0 0 * * 0-7', '0 0 1-7,15 JAN-mar sun,Wed'])(
    '%s is taken',
    (cron) => {
      expect(readCron(cron, 'UTC').cron).toBe(cron)
    },
  )

  test.each(['', 'Mars/Olympus', '+01:00', 'UTC\u0000'])('in the time zone %j is refused', (timezone) => {
    expect(() => readCron('0 3 * * *', timezone)).toThrow(expect.objectContaining({ code: 'invalid_timezone' }))
  })
})
