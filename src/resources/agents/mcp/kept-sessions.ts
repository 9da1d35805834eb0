/**
 * Sessions of tool servers, kept for the sessions that use them: one for a session and a server, across steps and workers.
 * Its id is as good as a credential at some servers, so it is sealed.
 */
import { endMcpSession, type McpServerSession, type McpSessionKeeper } from '#src/drivers/mcp/connection.ts'
import { outboundFetch } from '#src/drivers/outbound-fetch.ts'
import { newUuid } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import { findCredentialRow, openSecrets, type McpOauthSecrets, type StaticBearerSecrets } from '../credentials/rows.ts'
import { findConnectionRow, openSecrets as openConnection } from '../mcp-services/rows.ts'
import type { RefreshServices } from './refreshing.ts'
import { OwnFault, type Bearer } from './servers.ts'

type Kept = Pick<Row<'mcp_sessions'>, 'id' | 'sessionId' | 'url' | 'credentialId' | 'sealedSession'>

/** Notices that there are sessions to be ended. */
export const leftSessionsTopic = 'mcp-sessions'
/** How many are ended at the same time. */
const endedAtOnce = 8

/** What this process asks servers for now, so that calls of one step begin one session together. */
const underWay = new Map<string, Promise<McpServerSession | null>>()

/** Keeps the session of this server, as it is used with this token. */
export function sessionKeeper(
  services: RefreshServices,
  { sessionId, url: given }: { sessionId: string; url: string },
  bearer: Bearer | null,
): McpSessionKeeper {
  const url = addressOf(given)
  const key = `${sessionId} ${url}`
  return {
    async find(begin, gone) {
      for (let running = underWay.get(key); running; running = underWay.get(key)) {
        const found = await running.catch(() => undefined) // then this one tries
        if (found === null) return begin() // a server without sessions
        if (found && found.id !== gone?.id) return found
      }
      const finding = findOrBegin(services, { sessionId, url, credentialId: bearer?.of ?? null }, begin, gone)
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
    findOne<Kept>(services.db, sql`select * from mcp_sessions where session_id = ${sessionId} and url = ${url}`),
  )
  const known = kept && openKept(services, kept)
  if (known && known.id !== gone?.id && kept.credentialId === credentialId) return known
  const begun = await begin()
  await ours(
    transaction(services.db, async (tx) => {
      if (kept && known?.id === gone?.id) await change(tx, sql`delete from mcp_sessions where id = ${kept.id}`)
      else if (kept) await leave(tx, sql`id = ${kept.id}`) // it was begun with another credential
      if (begun) await keep(services, tx, of, begun)
    }),
  )
  return begun
}

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
  if (!kept?.sessionId) await publish(tx, leftSessionsTopic, id)
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
  for (const { id } of left) await publish(tx, leftSessionsTopic, id)
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

/** Ends the sessions that nobody goes on with, each at its server as far as that answers. Several workers may do so. */
export async function endLeftMcpSessions(services: RefreshServices): Promise<void> {
  for (;;) {
    const left = await findAll<Kept>(
      services.db,
      sql`
      delete from mcp_sessions where id in (
        select id from mcp_sessions where session_id is null order by id limit ${endedAtOnce} for update skip locked)
      returning *`,
    )
    await Promise.all(left.map((kept) => endKept(services, kept)))
    if (left.length < endedAtOnce) return
  }
}

async function endKept(services: RefreshServices, kept: Kept): Promise<void> {
  try {
    const token = await tokenOf(services, kept.credentialId)
    const fetch = outboundFetch(services.config)
    await endMcpSession({ url: kept.url, token, fetch }, openKept(services, kept))
  } catch (error) {
    log.debug({ reason: error instanceof Error ? error.message : '' }, 'a tool server’s session could not be ended')
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
