/** The logs of builds as their readers get them: polled, and followed without gap or repeat. What writes them: builds.vm.test.ts. */
import { EventSource } from 'eventsource'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { nowMs, shiftClock } from '#src/platform/clock.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { appendBuildLog, createNumbering, rotateLogPartitions, type LogLine } from '#src/resources/infra/builds/logs.ts'
import type { BuildClaim } from '#src/resources/infra/builds/runs.ts'
import { finishBuild } from '#src/resources/infra/builds/states.ts'
import type { Berth } from '../../support/berth.ts'
import {
  claimOf,
  clearBuilds,
  readEvents,
  startWithoutBuilder,
  submit,
  submitRunning,
  uuidOf,
  type Entry,
  type Job,
} from '../../support/builds.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  ;({ berth, token } = await startWithoutBuilder('1000'))
})
afterEach(async () => {
  shiftClock(0)
  await clearBuilds(berth)
})
afterAll(() => berth.stop())

/** A running build and its one writer. */
async function writing(): Promise<{
  job: Job
  claim: BuildClaim
  write: (...outputs: string[]) => Promise<LogLine[]>
  end: () => Promise<unknown>
}> {
  const job = await submitRunning(berth, token)
  const number = createNumbering()
  const claim = await claimOf(berth.services.db, uuidOf(job))
  return {
    claim,
    job,
    async write(...outputs) {
      const lines = outputs.map((output) => ({ ...number(), output }))
      expect(await appendBuildLog(berth.services.db, claim, lines)).toBe(true)
      return lines
    },
    end: () => finishBuild(berth.services, uuidOf(job), { status: 'succeeded', exitCode: 0 }),
  }
}

const logs = async (job: Job, query = ''): Promise<Entry[]> =>
  (await berth.call<{ logs: Entry[] }>('GET', `/api/v1/build/jobs/${job.id}/logs${query}`, { token })).body.logs
const stream = (job: Job, query = '', headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${berth.url}/api/v1/build/jobs/${job.id}/logs/stream${query}`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal,
  })
const outputs = (entries: readonly Entry[]): string[] => entries.map(({ output, done }) => (done ? 'DONE' : output))
const idOf = ({ ms, seq }: LogLine): string => `${ms}-${seq}`

describe('the numbering', () => {
  test('only grows, also when the clock goes back', () => {
    const number = createNumbering()
    const first = number()
    shiftClock(-60_000)
    const second = number()
    expect(second).toEqual({ ms: first.ms, seq: first.seq + 1 })
    shiftClock(60_000)
    expect(number().ms).toBeGreaterThan(first.ms)
  })
})

describe('polling', () => {
  test('answers the last lines, oldest first, and the entry that says done', async () => {
    const { job, write, end } = await writing()
    expect(await logs(job)).toEqual([])
    const lines = await write('one\n', 'two\n', '\u001b[31mthree\u001b[0m\n')
    expect(await logs(job)).toEqual(lines.map((line) => ({ id: idOf(line), output: line.output, done: false })))
    expect(outputs(await logs(job, '?limit=2'))).toEqual(['two\n', '\u001b[31mthree\u001b[0m\n'])
    await end()
    expect(outputs(await logs(job, '?limit=2'))).toEqual(['\u001b[31mthree\u001b[0m\n', 'DONE'])
    const ids = (await logs(job)).map(({ id }) => id.split('-').map(Number) as [number, number])
    expect([...ids].sort(([a, b], [c, d]) => a - c || b - d)).toEqual(ids)
  })

  test(`answers ${limits.buildLogLinesDefault} without a limit, ${limits.buildLogLinesMax} at most`, async () => {
    const { job, write } = await writing()
    await write(...Array.from({ length: 600 }, (_, i) => `${i}\n`))
    expect(await logs(job)).toHaveLength(limits.buildLogLinesDefault)
    expect((await logs(job)).at(-1)?.output).toBe('599\n')
    expect(await logs(job, '?limit=5000')).toHaveLength(600)
    for (const wrong of ['0', '5001', 'x'])
      expect((await berth.call('GET', `/api/v1/build/jobs/${job.id}/logs?limit=${wrong}`, { token })).status).toBe(400)
  })

  test('keeps the last 200 lines permanently after the log itself is deleted', async () => {
    const { job, write, end } = await writing()
    await write(...Array.from({ length: 250 }, (_, i) => `line ${i}\n`))
    await end()
    const { body: shown } = await berth.ask(`{ build(id: "${job.id}") { lastLines } }`, { token })
    expect(shown.data).toEqual({
      build: { lastLines: Array.from({ length: limits.buildTailLines }, (_, i) => `line ${i + 50}`) },
    })
    shiftClock(limits.buildLogHours * 3_600_000 + 60_000)
    const late = { token: await berth.token() }
    const { body } = await berth.call<{ logs: Entry[] }>('GET', `/api/v1/build/jobs/${job.id}/logs?limit=5000`, late)
    expect(body.logs).toHaveLength(limits.buildTailLines + 1)
    expect([body.logs[0]?.output, body.logs.at(-2)?.output, body.logs.at(-1)?.done]).toEqual([
      'line 50\n',
      'line 249\n',
      true,
    ])
    const followed = await readEvents(
      await fetch(`${berth.url}/api/v1/build/jobs/${job.id}/logs/stream?from=0`, {
        headers: { authorization: `Bearer ${late.token}` },
      }),
    )
    expect(followed).toEqual(body.logs)
  })
})

describe('the writer', () => {
  test('duplicates nothing when it sends a batch again', async () => {
    const { job, claim, write } = await writing()
    const lines = await write('a\n', 'b\n')
    expect(await appendBuildLog(berth.services.db, claim, lines)).toBe(true)
    expect(outputs(await logs(job))).toEqual(['a\n', 'b\n'])
  })

  test('writes nothing once the build is over, nor before it runs', async () => {
    const { job, claim, write, end } = await writing()
    await write('a\n')
    await end()
    expect(await appendBuildLog(berth.services.db, claim, [{ ms: nowMs(), seq: 0, output: 'late' }])).toBe(false)
    expect(outputs(await logs(job))).toEqual(['a\n', 'DONE'])
    const queued = await submit(berth, token)
    expect(
      await appendBuildLog(berth.services.db, { buildId: uuidOf(queued), workerNumber: 0 }, [
        { ms: nowMs(), seq: 0, output: 'early' },
      ]),
    ).toBe(false)
  })

  test('may write NUL and half a surrogate pair', async () => {
    const { job, write } = await writing()
    await write('a\0b\ud800c')
    expect(outputs(await logs(job))).toEqual(['a\uFFFDb\uFFFDc'])
  })

  test('continues over midnight, and expired days are dropped', async () => {
    const { job, write } = await writing()
    await write('today\n')
    shiftClock(86_400_000)
    await write('tomorrow\n')
    expect(
      outputs(
        (
          await berth.call<{ logs: Entry[] }>('GET', `/api/v1/build/jobs/${job.id}/logs`, {
            token: await berth.token(),
          })
        ).body.logs,
      ),
    ).toEqual(['today\n', 'tomorrow\n'])
    const days = async (): Promise<string[]> =>
      (
        await sql<{
          name: string
        }>`select inhrelid::regclass::text as name from pg_inherits where inhparent = 'build_log_lines'::regclass order by 1`.execute(
          berth.services.db,
        )
      ).rows.map(({ name }) => name)
    const before = await days()
    shiftClock(3 * 86_400_000)
    await rotateLogPartitions(berth.services.db)
    const after = await days()
    expect(after).not.toContain(before[0])
    expect(after).toContain(before[1])
    await rotateLogPartitions(berth.services.db)
    expect(await days()).toEqual(after)
  })
})

describe('following', () => {
  test('has the headers of an event stream, sends unnamed events, and closes after done', async () => {
    const { job, write, end } = await writing()
    const [line] = await write('one\n')
    const answer = await stream(job, '?from=0')
    expect(
      Object.fromEntries(
        ['content-type', 'cache-control', 'x-accel-buffering'].map((name) => [name, answer.headers.get(name)]),
      ),
    ).toEqual({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    await end()
    const text = await answer.text()
    const id = idOf(line!)
    expect(text).toMatch(
      new RegExp(
        `^retry: 2000\\n\\nid: ${id}\\ndata: {"id":"${id}","output":"one\\\\n","done":false}\\n\\nid: (\\d+-\\d+)\\ndata: {"id":"\\1","output":"","done":true}\\n\\n$`,
      ),
    )
  })

  test('from 0 sends all, from an entry what follows it, and without from what is written from now on', async () => {
    const { job, write, end } = await writing()
    const lines = await write('1', '2', '3')
    const [all, rest, fresh] = await Promise.all(
      ['?from=0', `?from=${idOf(lines[1]!)}`, ''].map((query) => stream(job, query)),
    )
    await write('4')
    await end()
    expect(outputs(await readEvents(all!))).toEqual(['1', '2', '3', '4', 'DONE'])
    expect(outputs(await readEvents(rest!))).toEqual(['3', '4', 'DONE'])
    expect(outputs(await readEvents(fresh!))).toEqual(['4', 'DONE'])
  })

  test('Last-Event-ID takes precedence over from, and after the end the answer is 204', async () => {
    const { job, write, end } = await writing()
    const [, second] = await write('1', '2', '3')
    await end()
    expect(outputs(await readEvents(await stream(job, '?from=0', { 'last-event-id': idOf(second!) })))).toEqual([
      '3',
      'DONE',
    ])
    expect(outputs(await readEvents(await stream(job)))).toEqual(['DONE'])
    const done = (await logs(job)).at(-1)!.id
    for (const answer of [
      await stream(job, `?from=${done}`),
      await stream(job, '?from=0', { 'last-event-id': done }),
      await stream(job, '?from=99999999999999-0'),
    ])
      expect([answer.status, await answer.text()]).toEqual([204, ''])
    for (const wrong of ['x', '-1', '1-x', '1-2-3', '%00'])
      expect((await stream(job, `?from=${wrong}`)).status, wrong).toBe(400)
  })

  test('takes the token in the query, the header first, and no other path does', async () => {
    const { job, end } = await writing()
    await end()
    const bare = (query: string, headers: Record<string, string> = {}) =>
      fetch(`${berth.url}/api/v1/build/jobs/${job.id}/logs/stream?from=0&${query}`, { headers })
    expect((await bare(`token=${token}`)).status).toBe(200)
    expect((await bare(`token=${token}`, { authorization: 'Bearer garbage' })).status).toBe(401)
    expect((await bare('token=garbage')).status).toBe(401)
    expect((await bare('token=')).status).toBe(401)
    for (const path of ['', '/logs'])
      expect((await fetch(`${berth.url}/api/v1/build/jobs/${job.id}${path}?token=${token}`)).status).toBe(401)
  })

  test('a browser’s EventSource reads all of it over a cut connection, and stops at the end', async () => {
    const { job, write, end } = await writing()
    await write('1', '2')
    const heard: string[] = []
    let statuses: number[] = []
    const source = new EventSource(`${berth.url}/api/v1/build/jobs/${job.id}/logs/stream?from=0&token=${token}`, {
      fetch: async (url, init) => {
        const answer = await fetch(url, init)
        statuses = [...statuses, answer.status]
        return answer
      },
    })
    source.onmessage = ({ data }) => heard.push(...outputs([JSON.parse(String(data)) as Entry]))
    await until('two lines are heard', () => heard.length === 2)
    berth.app.server.closeAllConnections()
    await write('3')
    await end()
    await until('the browser stops', () => source.readyState === source.CLOSED)
    expect(heard).toEqual(['1', '2', '3', 'DONE'])
    expect(statuses).toEqual([200, 200, 204])
  })

  test('by many readers, who join at any time while it is written fast, loses and duplicates nothing for any of them', async () => {
    const { job, write, end } = await writing()
    const count = 400
    const readers: Promise<Entry[]>[] = []
    for (let i = 0; i < count; i++) {
      if (i % 8 === 0) readers.push(stream(job, '?from=0').then((answer) => readEvents(answer)))
      await write(`${i}`)
    }
    await end()
    const expected = [...Array.from({ length: count }, (_, i) => `${i}`), 'DONE']
    for (const entries of await Promise.all(readers)) expect(outputs(entries)).toEqual(expected)
  })

  test('a reader that stops reading catches up later from the table, and the others do not wait for it', async () => {
    const { job, write, end } = await writing()
    const lazy = await stream(job, '?from=0')
    const eager = stream(job, '?from=0').then((answer) => readEvents(answer))
    const chunk = 'x'.repeat(16 * 1024)
    const count = 600 // some 10 MB: more than sockets and the queue hold
    for (let i = 0; i < count; i += 20) await write(...Array.from({ length: 20 }, (_, j) => `${i + j} ${chunk}`))
    await end()
    const wanted = [...Array.from({ length: count }, (_, i) => `${i}`), 'DONE']
    const numbers = (entries: readonly Entry[]): string[] =>
      outputs(entries).map((output) => output.split(' ')[0] ?? '')
    expect(numbers(await eager)).toEqual(wanted)
    expect(numbers(await readEvents(lazy))).toEqual(wanted)
  })

  test('continues after Postgres has cut every connection', async () => {
    const { job, write, end } = await writing()
    await write('1')
    const answer = await stream(job, '?from=0') // a request that is cut before it is answered gets 503 instead
    expect(answer.status).toBe(200)
    const reading = readEvents(answer)
    await berth.services.database.pool.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    await until('the database is back', () =>
      write('2').then(
        () => true,
        () => false,
      ),
    )
    await until('it ends', () =>
      end().then(
        () => true,
        () => false,
      ),
    )
    const read = outputs(await reading)
    expect(read).toEqual(['1', '2', 'DONE'])
  })

  test('ends when its reader disconnects, and leaves nothing behind', async () => {
    const { job, write } = await writing()
    await write('1')
    const leaving = new AbortController()
    const answer = await stream(job, '?from=0', {}, leaving.signal)
    expect(outputs(await readEvents(answer, 1))).toEqual(['1'])
    leaving.abort()
    await write('2')
    expect(outputs(await readEvents(await stream(job, '?from=0'), 2))).toEqual(['1', '2'])
  })

  test('over GraphQL gives the same entries, and LOG_OVER after the end', async () => {
    const { job, write, end } = await writing()
    await write('1', '2')
    await end()
    const follow = async (after: string): Promise<string> =>
      (
        await fetch(`${berth.url}/graphql`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'text/event-stream',
            authorization: `Bearer ${token}`,
          },
          body: JSON.stringify({
            query: `subscription { buildLog(buildId: "${job.id}", after: "${after}") { ... on BuildLogEntry { id output done } } }`,
          }),
        })
      ).text()
    expect([...(await follow('0')).matchAll(/"output":"(\d?)"/g)].map((match) => match[1])).toEqual(['1', '2', ''])
    expect(await follow((await logs(job)).at(-1)!.id)).toContain('LOG_OVER')
  })
})
