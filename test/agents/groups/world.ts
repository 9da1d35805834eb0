/** Groups of sessions with the built-in model, in environments whose VMs are never used. */
import { expect } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { makeAgent } from '../../support/agents-service.ts'
import type { Answer, Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

export type Member = { session_id: string; agent_id: string; handle: string; display_name: string; status: string }
export type Group = {
  id: string
  name: string
  description: string | null
  member_ids: string[]
  members: Member[]
  revision: number
  next_sequence: number
}
export type Message = {
  id: string
  sequence: number
  author: { type: string; id: string; handle: string }
  text: string
  recipient_ids: string[]
  run_id: string | null
  undelivered_reason: string | null
}
export type Run = {
  run_id: string
  group_id: string
  session_id: string
  message_id: string
  status: string
  revision: number
  reply: { message_id: string; text: string; parts: unknown[] } | null
  pending_approvals: { approval_id: string; tool_call_id: string; tool_name: string; input: unknown }[]
  pending_questions: { tool_call_id: string; question: string; options: string[] | null }[]
  error: { type: string; message: string } | null
  usage: { output_tokens: number }
  started_at: string | null
  finished_at: string | null
}
export type Snapshot = { group: Group; revision: number; transcript: Message[]; runs: Run[]; has_more: boolean }
export type Sent = { message: Message; runs: Run[] }

/** What a test does with groups of one person. */
export type GroupWorld = {
  token: string
  organization: string
  environment: string
  call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<Body>>
  ok<Body>(method: string, path: string, status: number, body?: unknown): Promise<Body>
  /** A Computer session of an agent with this name; its id. */
  session(name: string, agent?: Record<string, unknown>, fields?: Record<string, unknown>): Promise<string>
  /** A group of sessions with agents of these names. */
  group(...names: string[]): Promise<Group>
  of(members: readonly string[], fields?: Record<string, unknown>): Promise<Group>
  say(group: string, text: string, recipients?: string[]): Promise<Sent>
  snapshot(group: string): Promise<Snapshot>
  run(run: Pick<Run, 'group_id' | 'run_id'>): Promise<Run>
  /** Waits until a run has this status, and reads it. */
  until(run: Pick<Run, 'group_id' | 'run_id'>, status: string): Promise<Run>
  /** Waits until no run of the group is open, and reads the group. */
  rested(group: string, limitMs?: number): Promise<Snapshot>
}

export async function groupWorld(berth: Berth, token: string): Promise<GroupWorld> {
  const organization = encodeId('organization', idsOf(token).organizationId)
  const call: GroupWorld['call'] = (method, path, body, headers = {}) =>
    berth.call(method, `/agents/v1/${path}`, { token, headers, ...(body === undefined ? {} : { body }) })
  const ok = async <Body>(method: string, path: string, status: number, body?: unknown): Promise<Body> => {
    const answer = await call<Body>(method, path, body)
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBe(status)
    return answer.body
  }
  const { id: environment } = await ok<{ id: string }>('POST', 'environments', 201, {
    name: 'desk',
    config: { type: 'vm' },
  })
  const session: GroupWorld['session'] = async (name, agent = {}, fields = {}) =>
    (
      await ok<{ id: string }>('POST', 'sessions', 201, {
        agent: await makeAgent(berth, token, { name, ...agent }),
        environment_id: environment,
        ...fields,
      })
    ).id
  const of: GroupWorld['of'] = (members, fields = {}) =>
    ok('POST', 'groups', 201, { org_id: organization, member_ids: members, ...fields })
  const snapshot = (group: string): Promise<Snapshot> => ok('GET', `groups/${group}`, 200)
  const run: GroupWorld['run'] = ({ group_id: group, run_id: id }) => ok('GET', `groups/${group}/runs/${id}`, 200)
  return {
    token,
    organization,
    environment,
    call,
    ok,
    session,
    of,
    snapshot,
    run,
    group: async (...names) => {
      const members: string[] = []
      for (const name of names) members.push(await session(name))
      return of(members)
    },
    say: (group, text, recipients) =>
      ok('POST', `groups/${group}/messages`, 202, { text, ...(recipients ? { recipient_ids: recipients } : {}) }),
    async until(named, status) {
      await until(`run ${named.run_id} is ${status}`, async () => (await run(named)).status === status)
      return run(named)
    },
    async rested(group, limitMs = 20_000) {
      await until(
        `the runs of ${group} have ended`,
        async () => (await snapshot(group)).runs.every(({ finished_at: at }) => at !== null),
        limitMs,
      )
      return snapshot(group)
    },
  }
}

/** The texts of a transcript, each behind its author. */
export function textsIn({ transcript }: Pick<Snapshot, 'transcript'>): string[] {
  return transcript.map(({ author, text }) => `${author.handle}: ${text}`)
}
