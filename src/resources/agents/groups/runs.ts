/** The runs with which members of groups answer: reading and stopping them, and answering what they ask of their user. */
import type { RawBuilder } from 'kysely'
import { allowAnywhere, ownedByCaller, type Scope } from '#src/platform/access.ts'
import { timestamp } from '#src/platform/clock.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId, type IdKind } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import {
  idCursors,
  isGiven,
  pageSql,
  readSizedPagesOfEach,
  type Direction,
  type Loaded,
  type PagesOf,
  type PageReading,
  type PageWindow,
} from '#src/platform/pages.ts'
import { readWithinBytes, withinPageBytes } from '#src/platform/pages/bytes.ts'
import { findAll, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { acceptEvents } from '#src/resources/agents/session-events.ts'
import type { NewEvent } from '#src/resources/agents/sessions/log.ts'
import { eventColumns, lockSession, type Session, type SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import { maskedEvents, sessionMasker } from '#src/resources/agents/sessions/secrets.ts'
import { usageOf, type ShownUsage } from '#src/resources/agents/sessions/usage.ts'
import { stopTask } from '#src/resources/agents/tasks.ts'
import { nothingUsed, usageSince } from './conversation.ts'
import type { RunNamed } from './events.ts'
import { groupLimits } from './limits.ts'
import { checkChange, isRunOpen, reachOfChange, readGroupRun, runColumns, runTables, type GroupRun } from './rows.ts'
import { readText } from './texts.ts'

/** A run of the caller's group. @throws BerthError not_found. */
export async function getGroupRun(call: Call, { groupId, runId }: RunNamed): Promise<GroupRun> {
  return readGroupRun(call.db, allowAnywhere(call.caller, 'groups:read'), groupId, runId)
}

/**
 * The runs of these stored ids that are the caller's.
 * @throws BerthError invalid_request when several of them are larger together than a page may be.
 */
export async function findGroupRuns(call: Call, ids: readonly string[]): Promise<GroupRun[]> {
  const mine = ownedByCaller(allowAnywhere(call.caller, 'groups:read'))
  const found = sizedRuns(sql`r.id = any(${ids}::uuid[]) and ${mine}`)
  return (await readWithinBytes(call.db, found, limits.pageBytes)).loaded
}

/** What leads to a list of runs. */
export type RunParent = 'group' | 'message'

/**
 * The runs of each group, or of those who are to answer each message, of these stored ids, oldest first by default.
 * @param bytesMax what all pages may have together.
 * @throws BerthError invalid_request.
 */
export async function pageRunsOfEach(
  call: Call,
  parent: RunParent,
  parentIds: readonly string[],
  window: PageWindow,
  { direction = 'asc', bytesMax = limits.pageBytes }: { direction?: Direction | undefined; bytesMax?: number } = {},
): Promise<Loaded<PagesOf<GroupRun>>> {
  const pageBytesMax = Math.min(bytesMax, limits.pageBytes)
  const mine = ownedByCaller(allowAnywhere(call.caller, 'groups:read'))
  const column = parent === 'group' ? sql`group_id` : sql`message_id`
  const chosen = sql`${column} = parent.id and ${mine}`
  return readSizedPagesOfEach<GroupRun, string>(call.db, window, {
    cursors: idCursors('groupRun'),
    parents: sql`select id from unnest(${parentIds}::uuid[]) given(id)`,
    parentName: parent === 'group' ? 'group' : 'message',
    rows: (reading: PageReading) => {
      const { within, cut } = pageSql(sql`r.id`, reading, direction)
      const listed = sizedRuns(sql`${chosen} and ${within} ${cut}`)
      return withinPageBytes(listed, sql`id`, reading, direction, Math.floor(pageBytesMax / parentIds.length))
    },
    whole: sql`group_runs where ${chosen}`,
    most: limits.connectionFirstMax,
    bytesMax: pageBytesMax,
  })
}

/** Runs, each with the bytes of its reply and of what it waits for, which may be large. */
function sizedRuns(condition: RawBuilder<unknown>): RawBuilder<GroupRun> {
  return sql<GroupRun>`
    select run.*, coalesce(octet_length(reply_text), 0) + octet_length(pending::text) as size_bytes
    from (select ${runColumns} from ${runTables} where ${condition}) run`
}

/** Stops a run; one that has ended stays as it is. @throws BerthError not_found. */
export async function stopGroupRun(call: Call, named: RunNamed): Promise<GroupRun> {
  const scope = reachOfChange(call.caller)
  return transaction(call.db, async (tx) => {
    const run = await readGroupRun(tx, scope, named.groupId, named.runId)
    checkChange(call.caller, run)
    if (isRunOpen(run)) await stopTask(call, tx, run)
    return readGroupRun(tx, scope, named.groupId, named.runId)
  })
}

/** An approval that a run waits for. Ids are public. */
export type PendingApproval = {
  approval_id: string
  tool_call_id: string
  tool_name: string
  input: Readonly<Record<string, unknown>>
  created_at: string
}

/** A question that a run waits for an answer to. */
export type PendingQuestion = { tool_call_id: string; question: string; options: string[] | null; created_at: string }

/** The approvals that a run waits for, in their order. An approval has the id of its tool use, behind another prefix. */
export function approvalsOf({ pending }: Pick<GroupRun, 'pending'>): PendingApproval[] {
  return pending
    .filter(({ type }) => type !== questionType)
    .map(({ id, data, createdAt }) => ({
      approval_id: encodeId('approval', id),
      tool_call_id: encodeId('sessionEvent', id),
      tool_name: String(data['name']),
      input: Object(data['input']) as PendingApproval['input'], // a tool's input is an object
      created_at: timestamp(Date.parse(createdAt)),
    }))
}

const questionType = 'agent.custom_tool_use'

/** The questions that a run waits for answers to, in their order: those of ask_user, and calls of tools that are the client's. */
export function questionsOf({ pending }: Pick<GroupRun, 'pending'>): PendingQuestion[] {
  return pending
    .filter(({ type }) => type === questionType)
    .map(({ id, data, createdAt }) => {
      const { question, options } = Object(data['input']) as { question?: unknown; options?: unknown } // what a model wrote
      return {
        tool_call_id: encodeId('sessionEvent', id),
        question:
          typeof question === 'string' ? question : `${String(data['name'])} ${JSON.stringify(data['input'] ?? {})}`,
        options: Array.isArray(options) ? options.filter((one) => typeof one === 'string') : null,
        created_at: timestamp(Date.parse(createdAt)),
      }
    })
}

/** What the session used during a run, so far: nothing before it has begun. */
export function usageOfRun({ usage, usageFrom, counters }: GroupRun): ShownUsage {
  const used = usageFrom && counters ? usageSince(usageFrom, counters) : usage
  return usageOf({ ...(used ?? nothingUsed), runningSince: null })
}

/** The input of an approval: `approved` and `reason`, or `result` and `denyMessage`, as the events of sessions have them. */
export type ApprovalInput = RunNamed & {
  approvalId: string
  approved?: boolean | null
  reason?: string | null
  result?: 'allow' | 'deny' | null
  denyMessage?: string | null
}

/**
 * Approves or denies a tool use that a run waits with. The same answer again changes nothing.
 * @throws BerthError not_found, invalid_request; already_answered when it was answered otherwise, or waits no more.
 */
export async function answerGroupApproval(call: Call, input: ApprovalInput): Promise<GroupRun> {
  const scope = reachOfChange(call.caller)
  const { result, denyMessage } = readApproval(input)
  return answer(call, scope, input, {
    kind: 'approval',
    publicId: input.approvalId,
    isSuch: ({ type, data }) => type !== questionType && data['evaluated_permission'] === 'ask',
    answerType: 'user.tool_confirmation',
    eventOf: (toolUseId) => ({
      type: 'user.tool_confirmation',
      data: { tool_use_id: toolUseId, result, deny_message: denyMessage },
    }),
    valueOf: ({ data = {} }) => data['result'],
  })
}

/**
 * Answers a question that a run waits with. The same answer again changes nothing.
 * @throws BerthError as answerGroupApproval.
 */
export async function answerGroupQuestion(
  call: Call,
  input: RunNamed & { toolCallId: string; answer: string },
): Promise<GroupRun> {
  const scope = reachOfChange(call.caller)
  const text = readText('answer', input.answer, groupLimits.answerLength)
  return answer(call, scope, input, {
    kind: 'sessionEvent',
    publicId: input.toolCallId,
    isSuch: ({ type }) => type === questionType,
    answerType: 'user.custom_tool_result',
    eventOf: (toolUseId) => ({
      type: 'user.custom_tool_result',
      data: { custom_tool_use_id: toolUseId, content: [{ type: 'text', text }], is_error: false },
    }),
    valueOf: ({ data = {} }) => textIn(data['content']),
  })
}

/** The text of an answer, which may have been sent to the session itself. */
function textIn(content: unknown): string {
  const blocks = Array.isArray(content) ? (content as { text?: unknown }[]) : [] // event-shapes.ts or the above made them
  return blocks.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n')
}

function readApproval({ approved, reason, result, denyMessage }: ApprovalInput): {
  result: 'allow' | 'deny'
  denyMessage: string | null
} {
  const decision = approved ?? null
  const word = decision === null ? (result ?? null) : decision ? 'allow' : 'deny'
  if (word === null || (result && result !== word))
    throw new BerthError('invalid_request', 'Send approved, true or false; or result, allow or deny. Not both.', {
      field: 'approved',
    })
  if (isGiven(reason) && isGiven(denyMessage) && reason !== denyMessage)
    throw new BerthError(
      'invalid_request',
      'Send reason or deny_message, not both: they are two names for one thing.',
      {
        field: 'deny_message',
      },
    )
  const text = reason ?? denyMessage ?? null
  if (text !== null && (text.length > limits.denyMessageLength || text.includes('\0') || !text.isWellFormed()))
    throw new BerthError(
      'invalid_request',
      `reason must be text of at most ${limits.denyMessageLength} characters, without NUL.`,
      { field: 'reason' },
    )
  return { result: word, denyMessage: text }
}

/** How one kind of answer is found and made. */
type Answering = {
  kind: Extract<IdKind, 'approval' | 'sessionEvent'>
  publicId: string
  /** Whether a tool use is answered in this way. */
  isSuch: (use: SessionEvent) => boolean
  answerType: string
  eventOf: (toolUseId: string) => NewEvent
  /** What makes two answers the same. */
  valueOf: (event: Pick<NewEvent, 'data'>) => unknown
}

async function answer(call: Call, scope: Scope, named: RunNamed, answering: Answering): Promise<GroupRun> {
  const { answerType, eventOf, valueOf } = answering
  return transaction(call.db, async (tx) => {
    const { sessionId, organizationId } = await readGroupRun(tx, scope, named.groupId, named.runId)
    checkChange(call.caller, { organizationId })
    const session = await lockSession(tx, sessionId)
    const run = await readGroupRun(tx, scope, named.groupId, named.runId)
    const { use, answers } = await readToolUse(tx, session, run, answering)
    const event = eventOf(encodeId('sessionEvent', use.id))
    const [masked] = session
      ? await maskedEvents(await sessionMasker({ db: tx, sealer: call.sealer }, session), [event])
      : []
    if (!session || !masked) throw waitsNoMore()
    const before = answers.find(({ type }) => type === answerType)
    if (before && valueOf(before) === valueOf(masked)) return run
    if (before || answers.length > 0 || !isRunOpen(run)) throw waitsNoMore()
    await acceptEvents(call, tx, session, [masked])
    return readGroupRun(tx, scope, named.groupId, named.runId)
  })
}

function waitsNoMore(): BerthError {
  return new BerthError(
    'already_answered',
    'This was answered otherwise before, or the run does not wait for it any more. Read the run for what it waits for now.',
  )
}

/** The tool use that a run is asked about, and what answers it has. @throws BerthError not_found. */
async function readToolUse(
  tx: Tx,
  session: Session | undefined,
  run: GroupRun,
  { kind, publicId, isSuch }: Answering,
): Promise<{ use: SessionEvent; answers: SessionEvent[] }> {
  const noun = kind === 'approval' ? 'approval of this run' : 'question of this run'
  const id = decodeId(kind, publicId)
  if (!id || !session || run.fromPosition === null) throw notFound(noun)
  const events = await findAll<SessionEvent>(
    tx,
    sql`
    select ${eventColumns} from session_events where session_id = ${session.id} and id = ${id} and position > ${run.fromPosition}
      and (${run.throughPosition}::bigint is null or position <= ${run.throughPosition})
    union all select ${eventColumns} from session_events where session_id = ${session.id} and answers = ${id}`,
  )
  const use = events.find((event) => event.id === id)
  if (!use || !isSuch(use)) throw notFound(noun)
  return { use, answers: events.filter((event) => event !== use) }
}
