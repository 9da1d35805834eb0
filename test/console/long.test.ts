/** A log and a transcript that are long and grow: followed at their end, searched, and addressed at each place. */
import type { Locator } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { appendBuildLog, createNumbering } from '#src/resources/infra/builds/logs.ts'
import { claimOf, submitRunning, uuidOf } from '../support/builds.ts'
import { makeSilentNode } from '../support/makers.ts'
import { append, makeSessionRow } from '../support/sessions.ts'
import { until } from '../support/until.ts'
import { expectUsable, openConsole, signIn, violationsOf, type OpenConsole } from './console.ts'

const lineCount = 3_000
const eventCount = 900

let console: OpenConsole
let token: string
beforeAll(async () => {
  console = await openConsole()
  token = await console.berth.token()
  await makeSilentNode(console.berth.services.db)
  await signIn(console.page, 'alice')
  await console.page.getByRole('heading', { name: 'Home' }).waitFor()
}, 60_000)
afterAll(async () => {
  expect(console.complaints).toEqual([])
  await console.stop()
})
afterEach(({ task }) => console.showFailure(task.result?.state))

const isInView = (one: Locator): Promise<boolean> =>
  one.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect()
    return bottom > 0 && top < innerHeight
  })
const comesIntoView = (one: Locator, what: string): Promise<unknown> =>
  until(what, async () => (await one.count()) > 0 && isInView(one))
const leavesView = (one: Locator, what: string): Promise<unknown> =>
  until(what, async () => (await one.count()) === 0 || !(await isInView(one)))

test('a log is followed until one looks elsewhere, is searched, and has an address for each line', async () => {
  const { page, origin, berth } = console
  const build = await submitRunning(berth, token)
  const claim = await claimOf(berth.services.db, uuidOf(build))
  const next = createNumbering()
  const print = async (...outputs: string[]): Promise<void> => {
    const lines = outputs.map((output) => ({ ...next(), output }))
    expect(await appendBuildLog(berth.services.db, claim, lines)).toBe(true)
  }
  await print(...Array.from({ length: lineCount }, (_, at) => `line ${at + 1}${at === 1_233 ? ' has a Needle' : ''}\n`))

  await page.goto(`${origin}/o/acme/builds/${build.id}`)
  const line = (number: number): Locator => page.locator(`#L${number}`)
  await comesIntoView(line(lineCount), 'the end of the log')
  await page.getByText(`${lineCount} lines, live`).waitFor()
  await print('\u001b[31mone more\u001b[0m\n')
  await comesIntoView(line(lineCount + 1), 'a line that is new')
  expect(await line(lineCount + 1).textContent()).toBe(`${lineCount + 1}one more`)
  expect(await page.locator('.logline').count()).toBeLessThan(200)

  await page.getByLabel('Find in the log').fill('needle')
  await page.keyboard.press('Enter')
  await page.getByText('Line 1234', { exact: true }).waitFor()
  await comesIntoView(page.locator('#L1234.found'), 'the line that was found')
  await print('another\n')
  await page.getByRole('button', { name: '1 new line', exact: true }).click()
  await comesIntoView(line(lineCount + 2), 'the end again')
  await page.getByLabel('Find in the log').fill('no such words')
  await page.keyboard.press('Enter')
  await page.getByText('No line has it.').waitFor()

  await page.goto('about:blank')
  await page.goto(`${origin}/o/acme/builds/${build.id}#L7`)
  await comesIntoView(line(7), 'the line that the address names')
  await leavesView(line(lineCount + 2), 'the end')
})

test('lines of a log are wrapped and have their times, and what one reads stays in its place', async () => {
  const { page, origin, berth } = console
  const build = await submitRunning(berth, token)
  const claim = await claimOf(berth.services.db, uuidOf(build))
  const next = createNumbering()
  const print = (...outputs: string[]): Promise<boolean> =>
    appendBuildLog(
      berth.services.db,
      claim,
      outputs.map((output) => ({ ...next(), output })),
    )
  const wide = '漢'.repeat(300) // twice as wide as letters are, so that its rows cannot be guessed
  await print(...Array.from({ length: 600 }, (_, at) => `${at + 1} ${at % 3 === 0 ? wide : 'word '.repeat(60)}end\n`))
  const line = (number: number): Locator => page.locator(`#L${number}`)
  const topOf = (number: number): Promise<number> =>
    line(number).evaluate((element) => Math.round(element.getBoundingClientRect().top))
  const box = page.getByRole('log')
  const overflow = (): Promise<number> => box.evaluate((element) => element.scrollWidth - element.clientWidth)

  await page.goto(`${origin}/o/acme/builds/${build.id}#L300`)
  await comesIntoView(line(300), 'the line that the address names')
  expect(await overflow()).toBeGreaterThan(0)
  await page.getByLabel('Wrap lines').press('Space')
  await until('nothing stands beside the log', async () => (await overflow()) === 0)
  await until('the same line is at the top', async () => {
    const [top, of] = await Promise.all([topOf(300), box.evaluate((element) => element.getBoundingClientRect().top)])
    return Math.abs(top - of) < 18
  })
  const heights = await page
    .locator('.logline')
    .evaluateAll((all) => all.map((one) => [one.getBoundingClientRect().top, one.getBoundingClientRect().bottom]))
  for (const [at, [top]] of heights.entries()) if (at > 0) expect(top).toBe(heights[at - 1]?.[1])
  await box.focus()
  await page.keyboard.press('Home')
  await comesIntoView(line(1), 'the first line')
  await page.getByLabel('Find in the log').fill('450 ')
  await page.keyboard.press('Enter')
  await comesIntoView(page.locator('#L450.found'), 'a line that was found')
  await print('at last\n')
  await page.getByRole('button', { name: '1 new line', exact: true }).click()
  await comesIntoView(line(601), 'the end')
  await print(`${wide}\n`)
  await comesIntoView(line(602), 'a wrapped line that is new')

  await page.getByLabel('Times').check()
  const shown = page.locator('#L602 time')
  const at = new Date((await shown.getAttribute('datetime')) ?? '')
  expect(Math.abs(Date.now() - at.getTime())).toBeLessThan(3_600_000)
  expect(await shown.innerText()).toMatch(/^\d\d:\d\d:\d\d$/)
  await expectUsable(console, 'a log that is wrapped, with times')
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.reload()
  expect([await page.getByLabel('Times').isChecked(), await page.getByLabel('Wrap lines').isChecked()]).toEqual([
    true,
    true,
  ])
  await page.getByLabel('Wrap lines').uncheck()
  await page.getByLabel('Times').uncheck()
  await until('lines are as long as they are', async () => (await overflow()) > 0)
})

test('a transcript begins at its end, follows it, and shows what was before, and each event by its address', async () => {
  const { page, origin, berth } = console
  const { db } = berth.services
  const stored = await makeSessionRow(db, token)
  const say = (...texts: string[]) =>
    append(db, stored, ...texts.map((text) => ({ type: 'user.message', data: { content: [{ type: 'text', text }] } })))
  const events = await say(...Array.from({ length: eventCount }, (_, at) => `message ${at + 1}.`))
  const address = `${origin}/o/acme/sessions/${encodeId('session', stored)}`
  const said = (number: number): Locator => page.getByText(`message ${number}.`, { exact: true })

  await page.goto(address)
  await comesIntoView(said(eventCount), 'the last message')
  expect(await page.locator('.transcript article').count()).toBeLessThanOrEqual(400)
  expect(await said(1).count()).toBe(0)
  await say(`message ${eventCount + 1}.`)
  await comesIntoView(said(eventCount + 1), 'a message that is new')

  const earlier = page.getByRole('button', { name: 'Show earlier events' })
  await until('all that was before is shown', async () => {
    if ((await earlier.count()) > 0) await earlier.click()
    return (await said(1).count()) > 0
  })
  await said(1).scrollIntoViewIfNeeded()
  await leavesView(said(eventCount + 1), 'the end')
  await say(`message ${eventCount + 2}.`)
  const fresh = page.getByRole('button', { name: '1 new event', exact: true })
  await fresh.waitFor()
  expect(await isInView(said(1)), 'what one reads does not move').toBe(true)
  await fresh.click()
  await comesIntoView(said(eventCount + 2), 'the end again')

  await page.goto('about:blank')
  await page.goto(`${address}#${encodeId('sessionEvent', events[4]?.id ?? '')}`)
  await comesIntoView(said(5), 'the event that the address names')
})

test('a text of a megabyte is shown as far as one reads, and whole when one asks', async () => {
  const { page, origin, berth } = console
  const stored = await makeSessionRow(berth.services.db, token)
  const text = `${'long '.repeat(200_000)}the end`
  await append(berth.services.db, stored, { type: 'user.message', data: { content: [{ type: 'text', text }] } })
  await page.goto(`${origin}/o/acme/sessions/${encodeId('session', stored)}`)
  const shown = page.locator('.transcript pre').first()
  await shown.waitFor()
  expect((await shown.textContent())?.length).toBe(20_000)
  await page.getByRole('button', { name: `Show all 1,000,007 characters` }).click()
  await until('it is shown whole', async () => ((await shown.textContent()) ?? '').endsWith('the end'))
})

test('a session is read at its shared address by who has not signed in, until it is shared no longer', async () => {
  const { page, browser, origin, berth } = console
  const { db } = berth.services
  const id = await makeSessionRow(db, token)
  const said = (type: string, text: string) => ({ type, data: { content: [{ type: 'text', text }] } })
  await append(db, id, said('user.message', '<b>What floats?</b>'), said('agent.message', 'A berth does not.'))
  await page.goto(`${origin}/o/acme/sessions/${encodeId('session', id)}`)
  await page.getByRole('button', { name: 'Share', exact: true }).click()
  await page.getByRole('button', { name: 'Share it', exact: true }).click()
  await page.getByRole('button', { name: 'Share no longer' }).waitFor()
  await page.getByRole('link', { name: 'Usage', exact: true }).last().click()
  const address = (await page.getByTitle('Copy the address').textContent())?.trim() ?? ''
  const context = await browser.newContext()
  const stranger = await context.newPage()
  await stranger.goto(address)
  await stranger.getByText('<b>What floats?</b>', { exact: true }).waitFor()
  await stranger.getByText('A berth does not.', { exact: true }).waitFor()
  expect(await violationsOf(stranger)).toEqual([])
  expect(await stranger.getByRole('button').count()).toBe(0)
  await page.getByRole('button', { name: 'Share no longer' }).click()
  await page.getByRole('button', { name: 'Share', exact: true }).waitFor()
  await stranger.reload()
  await stranger.getByRole('heading', { name: 'This session is not shared' }).waitFor()
  await context.close()
}, 60_000)
