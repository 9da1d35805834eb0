/** The AI SDK's own transports and readers of versions 5, 6 and 7, unmodified, on the streams of runs. */
import * as ai7 from 'ai'
import * as ai5 from 'ai5'
import * as ai6 from 'ai6'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { change, sql } from '#src/platform/postgres.ts'
import { makeAgent } from '../../support/agents-service.ts'
import type { Berth } from '../../support/berth.ts'
import type { TestMcpServer } from '../../support/mcp-server.ts'
import type { MockUpstream } from '../../support/mock-upstream.ts'
import {
  makeGroup,
  readRun,
  startToolsBerth,
  toolsOf,
  type TestGroup,
  type TestRun,
  type ToolsBerth,
} from './run-streams.ts'

let berth: Berth
let mock: MockUpstream
let tools: TestMcpServer
let stop: ToolsBerth['stop']
let token: string
let agent: string
let group: TestGroup
beforeAll(async () => {
  ;({ berth, mock, tools, token, stop } = await startToolsBerth())
  agent = await makeAgent(berth, token, { model: 'test/signed', ...toolsOf(tools, 'always_allow') })
  asking = await makeAgent(berth, token, { model: 'test/signed', ...toolsOf(tools, 'always_ask') })
})
afterAll(async () => {
  await stop?.()
})
beforeEach(async () => {
  mock.forget()
  group = await makeGroup(berth, token, { agent })
})
let asking: string

/** What the three versions have in common, as far as it is used here. */
type Part = {
  type: string
  text?: string
  state?: string
  input?: unknown
  output?: unknown
  approval?: { id: string }
}
type Message = { id: string; metadata?: Record<string, unknown>; parts: Part[] }
type Sdk = {
  DefaultChatTransport: new (options: {
    headers: Record<string, string>
    prepareReconnectToStreamRequest: () => { api: string }
  }) => { reconnectToStream: (options: { chatId: string }) => Promise<ReadableStream<unknown> | null> }
  readUIMessageStream: (options: {
    stream: ReadableStream<unknown>
    onError?: (error: unknown) => void
  }) => AsyncIterable<Message>
}
const versions = [
  ['5', ai5 as unknown as Sdk],
  ['6', ai6 as unknown as Sdk],
  ['7', ai7 as unknown as Sdk],
] as const

const reconnect = (
  { DefaultChatTransport }: Sdk,
  { path }: TestRun,
  after = 0,
): Promise<ReadableStream<unknown> | null> =>
  new DefaultChatTransport({
    headers: { authorization: `Bearer ${token}` },
    prepareReconnectToStreamRequest: () => ({ api: `${berth.url}/agents/v1${path}/stream?after=${after}` }),
  }).reconnectToStream({ chatId: 'any' })

async function read(
  sdk: Sdk,
  stream: ReadableStream<unknown> | null,
): Promise<{ message: Message | undefined; errors: string[] }> {
  const errors: string[] = []
  let message: Message | undefined
  if (!stream) throw new Error('there is no stream')
  for await (const one of sdk.readUIMessageStream({ stream, onError: (error) => void errors.push(String(error)) }))
    message = one
  return { message, errors }
}

describe.each(versions)('version %s', (version, sdk) => {
  test('reads a reply with a call of a tool, whole, and null once it has ended for good', async () => {
    mock.script(
      { parts: [{ text: 'I add.' }, { tool: 'mcp__tools__add', arguments: '{"a":1,"b":2}' }] },
      { parts: [{ text: ['It is ', '3.'] }] },
    )
    const run = await group.say('add')
    const { message, errors } = await read(sdk, await reconnect(sdk, run))
    expect(errors).toEqual([])
    expect(message?.id).toBe(run.runId)
    expect(message?.metadata).toMatchObject({
      run_id: run.runId,
      status: 'completed',
      finishReason: 'stop',
      model: 'test/signed',
    })
    expect(message?.parts.map(({ type, text, state, output }) => text ?? output ?? state ?? type)).toEqual([
      'step-start',
      'I add.',
      '3',
      'step-start',
      'It is 3.',
    ])
    const frames = await (await readRun(berth, token, run)).rest()
    expect(await reconnect(sdk, run, frames.length)).toBeNull()
    await change(
      berth.services.db,
      sql`update task_streams set ended_at = now() - interval '2 minutes' where task_id = ${decodeId('groupRun', run.runId)}`,
    )
    expect(await reconnect(sdk, run)).toBeNull()
  })

  test('is told of a run that failed and of one that is stopped', async () => {
    mock.script({ status: 400, body: JSON.stringify({ error: { message: 'no', type: 'invalid_request_error' } }) })
    const failed = await read(sdk, await reconnect(sdk, await group.say('fail')))
    expect(failed.errors).toHaveLength(1)
    mock.script({ parts: [{ text: 'on and on' }, { hang: true }] })
    const run = await group.say('go')
    const reading = read(sdk, await reconnect(sdk, run))
    await (await readRun(berth, token, run)).until(({ chunk }) => chunk.type === 'text-delta')
    await group.stop(run)
    expect((await reading).message?.parts.at(-1)).toMatchObject({ type: 'text', text: 'on and on', state: 'done' })
  })

  test('reads requests for approval, and what became of them, from version 6 on', async () => {
    group = await makeGroup(berth, token, { agent: asking })
    mock.script(
      {
        parts: [
          { tool: 'mcp__tools__add', arguments: '{"a":1,"b":2}' },
          { tool: 'mcp__tools__add', arguments: '{"a":3,"b":4}' },
        ],
      },
      { parts: [{ text: 'Done.' }] },
    )
    const run = await group.say('add')
    const reading = read(sdk, await reconnect(sdk, run)).catch((error: unknown) => ({
      message: undefined,
      errors: [String(error)],
    }))
    const reader = await readRun(berth, token, run)
    const asked = async (): Promise<string> =>
      String(
        (await reader.until(({ chunk, number }) => chunk.type === 'tool-approval-request' && number > last)).chunk[
          'approvalId'
        ],
      )
    let last = 0
    const first = await asked()
    last = reader.frames.find(({ chunk }) => chunk['approvalId'] === first)?.number ?? 0
    const second = await asked()
    await reader.until(({ chunk }) => JSON.stringify(chunk).includes('requires_action'))
    await group.approve(run, first, true)
    await group.approve(run, second, false)
    await reader.rest()
    const { message, errors } = await reading
    if (version === '5') return expect(errors.join()).toMatch(/tool-approval-request|validation/i)
    expect(errors).toEqual([])
    expect(message?.parts.filter(({ type }) => type.startsWith('tool-'))).toMatchObject([
      { state: 'output-available', output: '3', approval: { id: first } },
      { state: 'output-denied', approval: { id: second } },
    ])
  })
})
