/**
 * Asks a backend whether its session holds anything that belongs to its client, and clears it. The questions are asked
 * between two of the client's own, by the extended protocol, so that the client's unnamed prepared statement survives them.
 */
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import type { Backend } from '../backend.ts'
import { closeNamed, describeUnnamed, fromServer, queryMessage, runNamed, syncMessage } from '../protocol/messages.ts'

/** What is asked for goes by this name while it is asked. */
const probeName = 'berth: whether this connection may be shared'

/** Fails where a sequence was used: then lastval() and currval() answer. It cannot be asked without this, because lastval() itself fails otherwise. */
const noSequences = `do $berth$
begin
  begin
    perform pg_catalog.lastval();
  exception when object_not_in_prerequisite_state then
    return;
  end;
  raise exception 'a sequence was used';
end $berth$`

/** Whether the session has the role with which it began: that of clients who are not the owner is set for their users. */
const roleAsBegun = `pg_catalog.current_setting('role') =
  case when session_user like 'berth_authenticated%' then 'authenticated' when session_user like 'berth_anonymous%' then 'anon' else 'none' end`

const nothingElse = `select
  not exists (select from pg_catalog.pg_settings where source = 'session')
  and not exists (select from pg_catalog.pg_prepared_statements where name <> '${probeName}')
  and not exists (select from pg_catalog.pg_cursors where name <> '')
  and not exists (select from pg_catalog.pg_listening_channels())
  and not exists (select from pg_catalog.pg_locks where locktype = 'advisory' and pid = pg_catalog.pg_backend_pid())
  and not exists (
    select from pg_catalog.pg_depend
    where refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass and refobjid = pg_catalog.pg_my_temp_schema()
  )
  and ${roleAsBegun}`

const probe = Buffer.concat([
  ...[runNamed(probeName, noSequences), runNamed(probeName, nothingElse), syncMessage],
  // Where one of them failed, the rest was skipped, and its name is still there for the client to see.
  ...[closeNamed(probeName), syncMessage],
])
const probeCycles = 2
/** A server on a busy host may be slow to answer; who is idle must not be ended for that. */
const probeLimitMs = 60_000
const prepareLimitMs = limits.postgresWakeSeconds * 1000
const clear = Buffer.concat([
  queryMessage('discard all'),
  // Its temporary tables are gone; where it had some, a schema for them is left, which others could see.
  queryMessage(`select pg_catalog.pg_my_temp_schema() = 0 and ${roleAsBegun}`),
])
const clearLimitMs = 10_000
const planMax = 64 * 1024 // bytes that describe an unnamed statement

/** What was found. */
export type SessionState = {
  /** Whether the session holds nothing of its client's, beside the unnamed prepared statement. */
  free: boolean
  /** What the unnamed prepared statement takes and answers; empty when there is none, null when it is too long to remember. */
  described: Buffer | null
  /** Messages of the server that came meanwhile and are the client's. */
  asides: Buffer[]
}

/** Looks into the session; null when the backend does not say, and is cut. */
export async function findState(backend: Backend, hasUnnamed: boolean): Promise<SessionState | null> {
  const asked = hasUnnamed ? Buffer.concat([describeUnnamed, syncMessage, probe]) : probe
  try {
    const { messages, asides } = await backend.ask(asked, hasUnnamed ? 1 + probeCycles : probeCycles, probeLimitMs)
    const described = Buffer.concat(messages.filter(({ type }) => describing.has(type)).map(({ whole }) => whole))
    const answer = messages.findLast(({ type }) => type === fromServer.dataRow)
    return {
      free: answer !== undefined && answer.whole.at(-1) === yes && !failedIn(messages, hasUnnamed ? 1 : 0),
      described: described.length > planMax ? null : described,
      asides,
    }
  } catch (error) {
    log.debug({ err: error }, 'a backend did not say what it holds')
    return null
  }
}
const describing: ReadonlySet<number> = new Set([
  fromServer.parameterDescription,
  fromServer.rowDescription,
  fromServer.noData,
])
const yes = 't'.charCodeAt(0)

/** Whether a message of the cycle after so many others is an error. */
function failedIn(messages: readonly { type: number }[], cyclesBefore: number): boolean {
  let cycle = 0
  for (const { type } of messages) {
    if (type === fromServer.ready) cycle++
    else if (type === fromServer.error && cycle >= cyclesBefore) return true
  }
  return false
}

/** Clears the session. @returns whether nothing at all of its client is left. @throws Error when the backend is gone */
export async function clearState(backend: Backend): Promise<boolean> {
  const { messages } = await backend.ask(clear, 2, clearLimitMs)
  const answer = messages.findLast(({ type }) => type === fromServer.dataRow)
  return !messages.some(({ type }) => type === fromServer.error) && answer?.whole.at(-1) === yes
}

/** Prepares a client's unnamed statement again. @returns null when it is as it was, otherwise the server's error, or that of a plan that has changed */
export async function prepareAgain(
  backend: Backend,
  parse: Buffer,
  described: Buffer,
): Promise<Buffer | null | 'changed'> {
  const { messages } = await backend.ask(Buffer.concat([parse, describeUnnamed, syncMessage]), 1, prepareLimitMs)
  const failed = messages.find(({ type }) => type === fromServer.error)
  if (failed) return failed.whole
  const now = Buffer.concat(messages.filter(({ type }) => describing.has(type)).map(({ whole }) => whole))
  return now.equals(described) ? null : 'changed'
}
