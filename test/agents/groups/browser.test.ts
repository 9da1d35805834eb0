/** A chat with a group in a real browser: the page of examples/group-chat, by the AI SDK's useChat with `resume`. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { change, sql } from '#src/platform/postgres.ts'
import { makeAgent } from '../../support/agents-service.ts'
import type { Berth } from '../../support/berth.ts'
import { launchChromium } from '../../support/browser/chromium.ts'
import { startCommand, type Command } from '../../support/command.ts'
import type { MockUpstream } from '../../support/mock-upstream.ts'
import { makeGroup, startToolsBerth, toolsOf, type TestGroup, type TestRun, type ToolsBerth } from './run-streams.ts'

let berth: Berth
let mock: MockUpstream
let stop: ToolsBerth['stop']
let token: string
let agent: string
let browser: Browser
let server: Command
let origin: string
let group: TestGroup
let page: Page
beforeAll(async () => {
  const { tools, ...started } = await startToolsBerth()
  ;({ berth, mock, token, stop } = started)
  agent = await makeAgent(berth, token, {
    model: 'test/signed',
    ...toolsOf(tools, 'always_ask'),
  })
  server = startCommand(['examples/group-chat/serve.mjs', 'any'], {
    SERVER_URL: berth.url,
    TOKEN: token,
    GROUP_CHAT_PORT: '0',
  })
  origin = new URL(await server.line(/^http:/)).origin
  browser = await launchChromium()
})
afterAll(async () => {
  await browser?.close()
  server?.child.kill()
  await stop?.()
})
beforeEach(async () => {
  mock.forget()
  group = await makeGroup(berth, token, { agent })
  page = await browser.newPage()
})

const open = (): Promise<unknown> => page.goto(`${origin}/?group=${group.id}`)
const textOf = async ({ runId }: TestRun): Promise<string> =>
  (await page.locator(`#${runId} > p:not(:has(small))`).allTextContents()).join('|')
const sees = (run: TestRun, text: string): Promise<void> => page.locator(`#${run.runId}`, { hasText: text }).waitFor()

test('a page that is reloaded in the middle of a reply has every word once', async () => {
  const [half, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  mock.script({
    parts: [
      { text: ['one ', 'two '] },
      { wait: half.promise },
      { text: ['three ', 'four '] },
      { wait: rest.promise },
      { text: 'five' },
    ],
  })
  await open()
  const run = await group.say('count')
  await page.reload()
  await sees(run, 'one two')
  half.resolve()
  await sees(run, 'three four')
  await page.reload()
  await sees(run, 'one two three four')
  rest.resolve()
  await sees(run, 'completed')
  expect(await textOf(run)).toBe('one two three four five')
  await page.reload()
  await sees(run, 'completed')
  expect(await textOf(run)).toBe('one two three four five')
})

test('a message that is sent in the page is answered there, and a call is allowed there', async () => {
  mock.script(
    { parts: [{ text: 'I add.' }, { tool: 'mcp__tools__add', arguments: '{"a":20,"b":22}' }] },
    { parts: [{ text: 'Done.' }] },
  )
  await open()
  const run = await group.say('add')
  await page.reload()
  await sees(run, 'requires_action')
  await page.reload() // what was asked is asked again
  await page.locator(`#${run.runId}`).getByRole('button', { name: 'Allow' }).click()
  await sees(run, 'completed')
  expect(await page.locator(`#${run.runId} code`).textContent()).toBe('mcp__tools__add {"a":20,"b":22} 42')
  expect(await textOf(run)).toBe('I add.|Done.')
  await page.locator('main > form textarea').fill('@silent, say something')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('article').nth(1).getByText('completed').waitFor()
  expect(await page.locator('article').nth(1).textContent()).toContain('say something')
})

test('a run that is stopped in the page ends there, and one that ended long ago is shown without its stream', async () => {
  mock.script({ parts: [{ text: 'on and on' }, { hang: true }] })
  const run = await group.say('go')
  await open()
  await sees(run, 'on and on')
  await page.locator(`#${run.runId}`).getByRole('button', { name: 'Stop' }).click()
  await sees(run, 'cancelled')
  expect((await group.get(run)).status).toBe('cancelled')

  mock.script({ parts: [{ text: 'long ago' }] })
  const old = await group.say('what?')
  const streamed = () => page.waitForResponse((one) => one.url().includes(`${old.runId}/stream`))
  const recent = streamed()
  await page.reload()
  expect((await recent).status()).toBe(200) // its end is shown before its stream is answered
  await sees(old, 'completed')
  await change(
    berth.services.db,
    sql`update task_streams set ended_at = now() - interval '2 minutes' where task_id = ${decodeId('groupRun', old.runId)}`,
  )
  const longAgo = streamed()
  await page.reload()
  expect((await longAgo).status()).toBe(204)
  await sees(old, 'completed')
  expect(await textOf(old)).toBe('long ago')
})

test('a page goes on with a reply whose connection broke off', async () => {
  const rest = Promise.withResolvers<void>()
  mock.script({ parts: [{ text: ['one ', 'two '] }, { wait: rest.promise }, { text: 'three' }] })
  const run = await group.say('count')
  await open()
  await sees(run, 'one two')
  berth.app.server.closeAllConnections()
  rest.resolve()
  await sees(run, 'completed')
  expect(await textOf(run)).toBe('one two three')
})
