/** Runs of groups as their streams show them, for tests: made as rows and begun by the mechanism of tasks; readers of their streams. */
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { change, sql, transaction } from '#src/platform/postgres.ts'
import { decodeId } from '#src/platform/ids.ts'
import { stepJob } from '#src/resources/agents/sessions/jobs.ts'
import { lockSession } from '#src/resources/agents/sessions/rows.ts'
import { moveSession } from '#src/resources/agents/sessions/states.ts'
import type { Chunk } from '#src/resources/agents/tasks/chunks.ts'
import { moveTask } from '#src/resources/agents/tasks/moves.ts'
import { queueTask } from '#src/resources/agents/tasks/rows.ts'
import type { Berth } from './berth.ts'
import { idsOf } from './makers.ts'

/** A run by its stored id, and its public path below `/agents/v1`. */
export type TestRun = { id: string; session: string; path: string; groupId: string; runId: string }

/** Queues a run for a session, in a group of its own; the session is busy, so that no worker begins it. @param session its public id. */
export async function queueRun(
  { services: { db } }: Pick<Berth, 'services'>,
  token: string,
  session: string,
): Promise<TestRun> {
  const { organizationId, userId } = idsOf(token)
  const sessionId = decodeId('session', session) ?? ''
  const [group, message, id] = [newUuid(), newUuid(), newUuid()]
  await transaction(db, async (tx) => {
    await change(
      tx,
      sql`insert into groups (id, organization_id, owner_user_id, name) values (${group}, ${organizationId}, ${userId}, 'friends')`,
    )
    await change(
      tx,
      sql`insert into group_messages (id, group_id, sequence, author_type, author_id, author_handle, text, recipient_ids)
      values (${message}, ${group}, 1, 'user', ${userId}, 'user', 'hello', array[${sessionId}::uuid])`,
    )
    await change(
      tx,
      sql`insert into group_runs (id, group_id, organization_id, owner_user_id, session_id, message_id, origin_id, hops, revision)
      values (${id}, ${group}, ${organizationId}, ${userId}, ${sessionId}, ${message}, ${message}, 0, 1)`,
    )
    await change(
      tx,
      sql`update sessions set status = 'running', running_since = now(), updated_at = now() where id = ${sessionId}`,
    )
    await queueTask(tx, { id, kind: 'group_run', organizationId, ownerUserId: userId, sessionId })
  })
  const [groupId, runId] = [encodeId('group', group), encodeId('groupRun', id)]
  return { id, session: sessionId, groupId, runId, path: `/groups/${groupId}/runs/${runId}` }
}

/** Begins a run with what its member is told: its session is idle now. */
export async function beginRun(
  { services }: Pick<Berth, 'services'>,
  { id, session }: TestRun,
  text: string,
): Promise<void> {
  await transaction(services.db, async (tx) => {
    await change(tx, sql`update sessions set status = 'idle', running_since = null where id = ${session}`)
    const before = await lockSession(tx, session)
    await moveTask(
      tx,
      { id, sessionId: session },
      { to: 'running' },
      sql`updated_at = now(), started_at = now(), from_position = ${before?.eventPosition}`,
    )
    await moveSession(tx, session, {
      to: 'running',
      before: [{ type: 'user.message', data: { content: [{ type: 'text', text }] } }],
    })
    await services.jobs.enqueue(tx, stepJob, { sessionId: session })
  })
}

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
