/**
 * Sessions of tool servers, kept for the sessions that use them: one for a session, a server and a credential, across steps and workers.
 * Its id is as good as a credential at some servers, so it is sealed.
 */
import { endMcpSession, type McpServerSession, type McpSessionKeeper } from '#src/drivers/mcp/connection.ts'
import { outboundFetch } from '#src/drivers/outbound-fetch.ts'
import { newUuid } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import {
  findCredentialRow,
  openSecrets,
  type McpOauthSecrets,
  type StaticBearerSecrets,
} from '../vaults/credentials/rows.ts'
import { findConnectionRow, openSecrets as openConnection } from '../mcp-services/rows.ts'
import type { RefreshServices } from '../mcp/refreshing.ts'
import { OwnFault, type Bearer } from '../mcp/servers.ts'

type Kept = Pick<Row<'mcp_sessions'>, 'id' | 'sessionId' | 'url' | 'credentialId' | 'sealedSession' | 'endingTries'>

/** Notices that there are sessions to be ended. */
export const leftSessionsTopic = 'mcp-sessions'
/** How many are ended at the same time. */
const endedAtOnce = 8
/** A server that does not answer is asked again, each time after twice as long: for about five minutes in all. */
const endingTriesMax = 6
const endingAgainSeconds = 10

/** What this process asks servers for now, so that calls of one step begin one session together. */
const underWay = new Map<string, Promise<McpServerSession | null>>()

/** Keeps the session of this server, as it is used with this token. */
export function sessionKeeper(
  services: RefreshServices,
  { sessionId, url: given }: { sessionId: string; url: string },
  bearer: Bearer | null,
): McpSessionKeeper {
  const url = addressOf(given)
  const credentialId = bearer?.of ?? null
  const key = `${sessionId} ${url} ${credentialId}`
  return {
    async find(begin, gone) {
      for (let running = underWay.get(key); running; running = underWay.get(key)) {
        const found = await running.catch(() => undefined) // then this one tries
        if (found === null) return begin() // a server without sessions
        if (found && found.id !== gone?.id) return found
      }
      const finding = findOrBegin(services, { sessionId, url, credentialId }, begin, gone)
      underWay.set(key, finding)
      try {
        return await finding
      } finally {
        underWay.delete(key)
      }
    },
  }
}

async function findOrBegin(
  services: RefreshServices,
  of: { sessionId: string; url: string; credentialId: string | null },
  begin: () => Promise<McpServerSession | null>,
  gone: McpServerSession | null,
): Promise<McpServerSession | null> {
  const { sessionId, url, credentialId } = of
  const kept = await ours(
    findOne<Kept>(
      services.db,
      sql`select * from mcp_sessions where session_id = ${sessionId} and url = ${url} and credential_id is not distinct from ${credentialId}::uuid`,
    ),
  )
  const known = kept && openKept(services, kept)
  if (known && known.id !== gone?.id) return known
  const begun = await begin()
  await ours(
    transaction(services.db, async (tx) => {
      if (kept) await change(tx, sql`delete from mcp_sessions where id = ${kept.id}`)
      await leave(tx, sql`session_id = ${sessionId} and url = ${url} and ${ofGoneCredential}`)
      if (begun) await keep(services, tx, of, begun)
    }),
  )
  return begun
}

/** Nobody goes on with one that was begun with a connection that is no longer there, or a credential that is in no vault of the session. */
const ofGoneCredential = sql`credential_id is not null
  and not exists (
    select from vault_credentials c join sessions s on c.vault_id = any(s.vault_ids)
    where c.id = mcp_sessions.credential_id and s.id = mcp_sessions.session_id and c.archived_at is null)
  and not exists (select from mcp_connections c where c.id = mcp_sessions.credential_id)`

/** What our own database does not do says nothing about the server. */
async function ours<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw new OwnFault(error)
  }
}

/** Keeps a session; one that comes second, or for a session that ended meanwhile, is ended after its use. */
async function keep(
  { sealer }: RefreshServices,
  tx: Tx,
  { sessionId, url, credentialId }: { sessionId: string; url: string; credentialId: string | null },
  session: McpServerSession,
): Promise<void> {
  const id = newUuid()
  const sealed = sealer.seal(JSON.stringify(session), placeOf(id))
  const insert = (of: ReturnType<typeof sql>) => sql<Kept>`
    insert into mcp_sessions (id, session_id, url, credential_id, sealed_session)
    values (${id}, ${of}, ${url}, ${credentialId}, ${sealed}) on conflict do nothing returning *`
  const kept = await findOne<Kept>(
    tx,
    insert(sql`(select id from sessions where id = ${sessionId} and archived_at is null)`),
  )
  if (!kept) await findOne<Kept>(tx, insert(sql`null`))
  if (!kept?.sessionId) publish(tx, leftSessionsTopic, id)
}

/** Leaves the sessions of servers that a session no longer has; all of them without `urls`. They are ended soon. */
export async function leaveMcpSessions(tx: Tx, sessionId: string, urls: readonly string[] = []): Promise<void> {
  await leave(tx, sql`session_id = ${sessionId} and url <> all(${urls.map(addressOf)}::text[])`)
}

async function leave(tx: Tx, which: ReturnType<typeof sql>): Promise<void> {
  const left = await findAll<Pick<Kept, 'id'>>(
    tx,
    sql`update mcp_sessions set session_id = null where ${which} returning id`,
  )
  for (const { id } of left) publish(tx, leftSessionsTopic, id)
}

/** Whether a session has sessions of servers other than these. */
export async function hasOtherMcpSessions(db: Db, sessionId: string, urls: readonly string[]): Promise<boolean> {
  return (
    (await findOne(
      db,
      sql`select 1 from mcp_sessions where session_id = ${sessionId} and url <> all(${urls.map(addressOf)}::text[]) limit 1`,
    )) !== undefined
  )
}

/** Ends the sessions that nobody goes on with, each at its server; one that does not answer is asked again later. Several workers may do so. */
export async function endLeftMcpSessions(services: RefreshServices): Promise<void> {
  for (;;) {
    const left = await findAll<Kept>(
      services.db,
      sql`
      update mcp_sessions set ending_tries = ending_tries + 1, ending_at = now() + ${endingAgainSeconds} * 2 ^ ending_tries * interval '1 second'
      where id in (
        select id from mcp_sessions where session_id is null and ending_at <= now() order by ending_at limit ${endedAtOnce} for update skip locked)
      returning *`,
    )
    await Promise.all(
      left.map(async (kept) => {
        const isOver = (await endKept(services, kept)) || kept.endingTries >= endingTriesMax
        if (isOver) await change(services.db, sql`delete from mcp_sessions where id = ${kept.id}`)
      }),
    )
    if (left.length < endedAtOnce) return
  }
}

/** @returns whether the server has answered, whatever that was. */
async function endKept(services: RefreshServices, kept: Kept): Promise<boolean> {
  try {
    const token = await tokenOf(services, kept.credentialId)
    const fetch = outboundFetch(services.config)
    return await endMcpSession({ url: kept.url, token, fetch }, openKept(services, kept))
  } catch (error) {
    log.debug({ reason: error instanceof Error ? error.message : '' }, 'a tool server’s session could not be ended')
    return false
  }
}

/** The token of a credential or a connection; null when it is gone. */
async function tokenOf({ db, sealer }: RefreshServices, id: string | null): Promise<string | null> {
  if (id === null) return null
  const credential = await findCredentialRow(db, id)
  const secrets = credential && openSecrets<StaticBearerSecrets | McpOauthSecrets>(sealer, credential)
  if (secrets) return 'token' in secrets ? secrets.token : secrets.access_token
  const connection = await findConnectionRow(db, id)
  return connection ? openConnection(sealer, connection).access_token : null
}

function openKept({ sealer }: RefreshServices, { id, sealedSession }: Kept): McpServerSession {
  return JSON.parse(sealer.open(sealedSession, placeOf(id))) as McpServerSession // keep wrote it
}

/** An address in ASCII, as its limit counts it; empty for what is none. */
function addressOf(url: string): string {
  return URL.parse(url)?.href ?? ''
}

function placeOf(id: string): string {
  return `mcp_sessions.sealed_session:${id}`
}
