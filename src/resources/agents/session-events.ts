/** Sending events to a session, and listing its log. */
import { allow, ownedByCaller } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { type Loaded, type Page, type PagesOf, type PageWindow } from '#src/platform/pages.ts'
import { readWithinBytes } from '#src/platform/pages/bytes.ts'
import { findAll, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import type { Call } from '#src/platform/services.ts'
import { findEnvironmentRow } from './environments/rows.ts'
import { checkNamedFiles, hasNamedFiles } from './files/contents.ts'
import { refuseWiderReach } from '#src/resources/infra/vms/reach.ts'
import { readEventBatch, type ClientEventInput } from './sessions/event-shapes.ts'
import { answerTypes, promptTypes } from './sessions/event-types.ts'
import { checkOutcomes, definedBy } from './sessions/outcomes/rows.ts'
import { pendingOf } from './sessions/pending-work.ts'
import { stepJob } from './sessions/jobs.ts'
import { appendEvents, appendToWorking, type NewEvent } from './sessions/log.ts'
import { pageLogs, type LogReading } from './sessions/log-pages.ts'
import { checkAtWork, eventColumns, isAtWork, sessionOver, type Session, type SessionEvent } from './sessions/rows.ts'
import { maskedEvents, sessionMasker } from './sessions/secrets.ts'
import { moveSession, waitOn } from './sessions/states.ts'
import { noteVmToken, readSessionToChange } from './sessions/plans.ts'

/**
 * Appends a batch of a client's events, all or none. An idle session starts running if there is something to do; an
 * interrupt that stops nothing is processed immediately.
 * @returns the stored events.
 * @throws BerthError not_found, session_archived, invalid_request, requires_action_pending. Each changes nothing.
 */
export async function sendEvents(
  call: Call,
  publicId: string,
  given: readonly ClientEventInput[],
): Promise<SessionEvent[]> {
  const scope = allow(call.caller, 'sessions:write')
  const batch = readEventBatch(given)
  if (!batch.every(endsWait)) await checkStorage(call, scope.organizationId, 'transcripts')
  const namesFiles = hasNamedFiles(batch)
  if (namesFiles) allow(call.caller, 'files:read')
  const id = decodeId('session', publicId)
  if (id && !scope.vmId && !namesFiles && batch.every(isMessage) && definedBy(batch).length === 0) {
    const stored = await appendToWorking(
      call.db,
      id,
      batch,
      sql`${ownedByCaller(scope)} and cardinality(vault_ids) = 0 and not keeps_secrets`,
    )
    if (stored.length > 0) return stored
  }
  return transaction(call.db, async (tx) => {
    const session = await readSessionToChange(tx, scope, publicId)
    if (session.status === 'terminated') throw sessionOver(session)
    if (!batch.every(({ type }) => type === 'user.interrupt')) await refuseWiderReach(tx, scope)
    await noteVmToken(tx, scope, session)
    await checkAnswers(tx, session, batch)
    checkOutcomes(session, definedBy(batch))
    if (namesFiles) await checkNamedFiles(tx, scope, batch)
    // A client's events are masked too, because a log may be shared later.
    const masked = await maskedEvents(await sessionMasker({ db: tx, sealer: call.sealer }, session), batch)
    return (await acceptEvents(call, tx, session, masked)).slice(0, batch.length)
  })
}

/** Interrupts a session whose row is locked, as its user would. */
export async function interruptSession(
  services: Pick<Call, 'config' | 'jobs'>,
  tx: Tx,
  session: Session,
): Promise<void> {
  await acceptEvents(services, tx, session, [{ type: 'user.interrupt' }])
}

/** Appends a client's events, checked and masked, to a session whose row is locked; it runs if there is something to do. */
export async function acceptEvents(
  { config, jobs }: Pick<Call, 'config' | 'jobs'>,
  tx: Tx,
  session: Session,
  batch: readonly NewEvent[],
): Promise<SessionEvent[]> {
  const { id, stopReason } = session
  const interrupts = batch.some(({ type }) => type === 'user.interrupt')
  if (isAtWork(session)) {
    const stored = await appendEvents(tx, id, batch)
    if (interrupts) await jobs.enqueue(tx, stepJob, { sessionId: id })
    return stored
  }
  const waitsFor = stopReason?.type === 'requires_action' ? stopReason.event_ids : []
  const rest = waitsFor.filter(
    (one) => !batch.some(({ data = {} }) => data['tool_use_id'] === one || data['custom_tool_use_id'] === one),
  )
  if (rest.length > 0 && !interrupts) {
    if (batch.some(isMessage))
      throw new BerthError(
        'requires_action_pending',
        `This session is waiting for answers to ${rest.length} tool uses; its stop_reason names them. Answer them, or interrupt it, before you send a message.`,
      )
    return rest.length < waitsFor.length
      ? waitOn(tx, id, { type: 'requires_action', event_ids: rest }, batch)
      : appendEvents(tx, id, batch)
  }
  const stopsSomething = waitsFor.length > 0
  const hasWork = batch.some((event) => isMessage(event) || isAnswer(event)) || (interrupts && stopsSomething)
  if (!hasWork)
    return appendEvents(
      tx,
      id,
      batch.map((event) => (event.type === 'user.interrupt' ? { ...event, queued: false } : event)),
    )
  const onlyEnds = batch.every(({ type }) => type === 'user.interrupt')
  if (!onlyEnds) await checkAtWork(config, tx, session.organizationId)
  const moved = await moveSession(tx, id, { to: 'running', before: batch })
  if (!moved) throw new Error('an idle session that is locked could not run')
  await jobs.enqueue(tx, stepJob, { sessionId: id })
  return moved.events
}

/** What stores little and lets go of what waits; it is taken although the organization has no room. */
function endsWait({ type }: NewEvent): boolean {
  return type === 'user.interrupt' || type === 'user.tool_confirmation'
}

/** `system.message` alone does not start a turn; it is read with the next message. */
function isMessage({ type }: NewEvent): boolean {
  return promptTypes.includes(type)
}

function isAnswer({ type }: NewEvent): boolean {
  return answerTypes.includes(type)
}

const answerRules: Readonly<
  Record<string, { needs: 'confirmation' | 'result'; uses: readonly string[]; sentence: string }>
> = {
  'user.tool_confirmation': {
    needs: 'confirmation',
    uses: ['agent.tool_use', 'agent.mcp_tool_use'],
    sentence: 'tool_use_id names no tool use that is waiting for a confirmation.',
  },
  'user.custom_tool_result': {
    needs: 'result',
    uses: ['agent.custom_tool_use'],
    sentence: 'custom_tool_use_id names no custom tool use that is waiting for a result.',
  },
  'user.tool_result': {
    needs: 'result',
    uses: ['agent.tool_use'],
    sentence:
      'tool_use_id names no tool use that the client runs: clients run built-in tools only in a self-hosted environment.',
  },
}

/**
 * Each answer must match a tool use that is waiting for it, and each tool use gets one answer.
 * @throws BerthError invalid_request.
 */
async function checkAnswers(tx: Tx, session: Session, batch: readonly NewEvent[]): Promise<void> {
  const answers = batch.map((event, index) => ({ ...event, index, to: answeredText(event) })).filter(isAnswer)
  if (answers.length === 0) return
  const ids = answers.flatMap(({ to }) => decodeId('sessionEvent', to) ?? [])
  const log = await findAll<SessionEvent>(
    tx,
    sql`
    select ${eventColumns} from session_events where session_id = ${session.id} and id = any(${ids}::uuid[])
    union all select ${eventColumns} from session_events where session_id = ${session.id} and answers = any(${ids}::uuid[])`,
  )
  const atClient =
    answers.some(({ type }) => type === 'user.tool_result') && session.environmentId
      ? (await findEnvironmentRow(tx, session.environmentId))?.config.type === 'self_hosted'
      : false
  const open = new Map(pendingOf(log, { toolsRunAtClient: atClient }).toolUses.map((use) => [use.event.id, use]))
  for (const { type, to, index } of answers) {
    const rule = answerRules[type]
    const id = decodeId('sessionEvent', to) ?? ''
    const use = open.get(id)
    if (!rule || !use || use.needs !== rule.needs || !rule.uses.includes(use.event.type))
      throw new BerthError('invalid_request', `events[${index}].${rule?.sentence ?? 'type is not valid.'}`)
    open.delete(id) // the same answer twice in one batch is refused too
  }
}

function answeredText({ data = {} }: NewEvent): string {
  const id = data['tool_use_id'] ?? data['custom_tool_use_id']
  return typeof id === 'string' ? id : ''
}

/** A page of a session's log. @throws BerthError not_found, invalid_request. */
export async function pageEvents(
  call: Call,
  publicId: string,
  window: PageWindow,
  reading: LogReading,
): Promise<Loaded<Page<SessionEvent>>> {
  allow(call.caller, 'sessions:read')
  const id = decodeId('session', publicId)
  if (!id) throw notFound('session')
  const { loaded, bytes } = await pageEventsOfEach(call, [id], window, reading)
  return { loaded: loaded(id), bytes }
}

/**
 * The same list of each session of these stored ids; together they hold no more bytes than one may.
 * @throws BerthError invalid_request, also where one event of each would be more.
 */
export async function pageEventsOfEach(
  call: Call,
  sessionIds: readonly string[],
  window: PageWindow,
  reading: LogReading,
): Promise<Loaded<PagesOf<SessionEvent>>> {
  const scope = allow(call.caller, 'sessions:read')
  const owned = sql`select id from sessions where id = any(${sessionIds}::uuid[]) and ${ownedByCaller(scope)}`
  return pageLogs(call.db, owned, sessionIds.length, window, reading)
}

/**
 * The events of these stored ids that are in sessions of the caller’s.
 * @throws BerthError invalid_request when several of them are larger together than a page may be.
 */
export async function findEvents(call: Call, ids: readonly string[]): Promise<SessionEvent[]> {
  const scope = allow(call.caller, 'sessions:read')
  const sized = sql<SessionEvent>`
    select ${eventColumns}, size_bytes from session_events
    where id = any(${ids}::uuid[]) and session_id in (select s.id from sessions s where ${ownedByCaller(scope)})`
  return (await readWithinBytes(call.db, sized, limits.eventPageBytes)).loaded
}
