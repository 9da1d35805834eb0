/** Groups over their documented paths, and readers of the streams of their runs, for tests. */
import { expect } from 'vitest'
import type { Chunk } from '#src/resources/agents/tasks/chunks.ts'
import { callAgents, makeAgent } from '../../support/agents-service.ts'
import { startMockBerth, type MockBerth } from '../../llm/mock-berth.ts'
import { startMcpServer, type TestMcpServer } from '../../support/mcp-server.ts'
import type { Berth } from '../../support/berth.ts'

/** A run as REST shows it. */
export type WireRun = {
  run_id: string
  group_id: string
  session_id: string
  status: string
  reply: { message_id: string; text: string } | null
  pending_approvals: { approval_id: string; tool_call_id: string }[]
  pending_questions: { tool_call_id: string }[]
}

/** A run, and its path below `/agents/v1`. */
export type TestRun = { runId: string; groupId: string; session: string; path: string }

/** A group of two sessions of one person; the first answers what is said. */
export type TestGroup = {
  id: string
  members: string[]
  /** Says something to the first member. */
  say: (text: string) => Promise<TestRun>
  get: (run: TestRun) => Promise<WireRun>
  stop: (run: TestRun) => Promise<void>
  approve: (run: TestRun, approvalId: string, approved: boolean) => Promise<void>
  answer: (run: TestRun, toolCallId: string, answer: string) => Promise<void>
}

/** Makes one. @param session what its members are made of, besides an environment. */
export async function makeGroup(
  berth: Pick<Berth, 'call'>,
  token: string,
  { agent, ...session }: { agent: string } & Record<string, unknown>,
): Promise<TestGroup> {
  const call = async <Body>(method: string, path: string, status: number, body?: unknown): Promise<Body> => {
    const answer = await callAgents<Body>(berth, token, method, path, body)
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBe(status)
    return answer.body
  }
  const { id: environment } = await call<{ id: string }>('POST', '/environments', 201, { name: `of ${++made}` })
  const silent = await makeAgent(berth, token, { name: 'silent' })
  const members: string[] = []
  for (const one of [agent, silent])
    members.push(
      (await call<{ id: string }>('POST', '/sessions', 201, { agent: one, environment_id: environment, ...session }))
        .id,
    )
  const { body } = await berth.call<{ data: { viewer: { organization: { id: string } } } }>('POST', '/graphql', {
    token,
    body: { query: '{ viewer { organization { id } } }' },
  })
  const { id } = await call<{ id: string }>('POST', '/groups', 201, {
    org_id: body.data.viewer.organization.id,
    member_ids: members,
  })
  return {
    id,
    members,
    async say(text) {
      const sent = await call<{ runs: WireRun[] }>('POST', `/groups/${id}/messages`, 202, {
        text,
        recipient_ids: members.slice(0, 1),
      })
      const [run] = sent.runs
      if (!run) throw new Error('nobody is to answer')
      return { runId: run.run_id, groupId: id, session: run.session_id, path: `/groups/${id}/runs/${run.run_id}` }
    },
    get: ({ path }) => call('GET', path, 200),
    stop: ({ path }) => call('POST', `${path}/stop`, 204),
    approve: ({ path }, approvalId, approved) => call('POST', `${path}/approvals/${approvalId}`, 200, { approved }),
    answer: ({ path }, toolCallId, answer) => call('POST', `${path}/questions/${toolCallId}`, 200, { answer }),
  }
}

let made = 0

/** A frame of a stream. */
export type ChunkFrame = { number: number; chunk: Chunk }

/** An open stream, and what came by it. */
export type RunReader = {
  status: number
  headers: Headers
  body: string
  frames: ChunkFrame[]
  /** Whether it said that it is complete. */
  isDone: boolean
  /** Reads until a chunk matches, or the end. */
  until: (wanted: (frame: ChunkFrame) => boolean) => Promise<ChunkFrame>
  /** Reads to the end. */
  rest: () => Promise<ChunkFrame[]>
  close: () => Promise<void>
}

/** Opens the stream of a run. */
export async function readRun(
  { url }: Pick<Berth, 'url'>,
  token: string,
  { path }: Pick<TestRun, 'path'>,
  { after, cursor }: { after?: number | string; cursor?: number | string } = {},
): Promise<RunReader> {
  const over = new AbortController()
  const answer = await fetch(`${url}/agents/v1${path}/stream${after === undefined ? '' : `?after=${after}`}`, {
    headers: { authorization: `Bearer ${token}`, ...(cursor === undefined ? {} : { 'last-event-id': String(cursor) }) },
    signal: over.signal,
  })
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const pieces = isStream ? answer.body?.pipeThrough(new TextDecoderStream()).getReader() : undefined
  let rest = ''
  const reader: RunReader = {
    status: answer.status,
    headers: answer.headers,
    body: isStream ? '' : await answer.text(),
    frames: [],
    isDone: false,
    async until(wanted) {
      for (let looked = 0; ; ) {
        for (; looked < reader.frames.length; looked++)
          if (wanted(reader.frames[looked]!)) return reader.frames[looked]! // it is below the length
        if (!(await more())) throw new Error(`the stream ended: ${JSON.stringify(reader.frames)}`)
      }
    },
    async rest() {
      while (await more());
      return reader.frames
    },
    async close() {
      over.abort()
      await pieces?.cancel().catch(() => undefined)
    },
  }
  const more = async (): Promise<boolean> => {
    const { value, done } = (await pieces?.read()) ?? { done: true }
    rest += value ?? ''
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const frame = rest.slice(0, end)
      rest = rest.slice(end + 2)
      if (frame === 'data: [DONE]') reader.isDone = true
      const [, number, data] = /^id: (\d+)\ndata: (.*)$/.exec(frame) ?? []
      if (number !== undefined && data !== undefined)
        reader.frames.push({ number: Number(number), chunk: JSON.parse(data) as Chunk })
    }
    return !done
  }
  return reader
}

/** The texts of a stream, each by its id, in order. */
export function textsOf(frames: readonly ChunkFrame[]): string[] {
  const texts = new Map<unknown, string>()
  for (const { chunk } of frames)
    if (chunk.type === 'text-delta') texts.set(chunk['id'], (texts.get(chunk['id']) ?? '') + String(chunk['delta']))
  return [...texts.values()]
}

/** The types of the chunks, in order, with deltas of one text as one. */
export function kindsOf(frames: readonly ChunkFrame[]): string[] {
  return frames
    .map(({ chunk: { type } }) => type)
    .filter((type, at, all) => type !== 'text-delta' || all[at - 1] !== type)
}

/** Whether the frames have the numbers from this one on, each once. */
export function areWhole(frames: readonly ChunkFrame[], from = 1): boolean {
  return frames.every(({ number }, at) => number === from + at)
}

/** A Berth whose models are a mock's, and a tool server that agents may use. */
export type ToolsBerth = MockBerth & { tools: TestMcpServer; token: string }

/** Starts both. `stop` ends both. */
export async function startToolsBerth(): Promise<ToolsBerth> {
  const tools = await startMcpServer()
  const { stop, ...started } = await startMockBerth({ BERTH_PRIVATE_HOSTS: tools.hostPort })
  return {
    ...started,
    tools,
    token: await started.berth.token(),
    async stop() {
      await stop()
      await tools.close()
    },
  }
}

/** An agent's fields with the tools of this server. */
export function toolsOf(
  { url }: TestMcpServer,
  permission: 'always_ask' | 'always_allow',
): Record<'mcp_servers' | 'tools', object[]> {
  return {
    mcp_servers: [{ type: 'url', name: 'tools', url }],
    tools: [
      {
        type: 'mcp_toolset',
        mcp_server_name: 'tools',
        default_config: { enabled: true, permission_policy: { type: permission } },
      },
    ],
  }
}
