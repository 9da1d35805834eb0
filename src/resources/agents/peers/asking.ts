/** `ask_peer`: an agent asks another session of its user's, and gets the answer as the result of its call. */
import type { Scope } from '#src/platform/access.ts'
import { isAtLeast, permissions } from '#src/platform/access/permissions.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { peerLimits } from '#src/platform/limits/peers.ts'
import { lockNumbers } from '#src/platform/locks/lock-numbers.ts'
import { findAll, findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { lockMember } from '#src/resources/identity/memberships.ts'
import { isVersionByVmToken } from '#src/resources/agents/agents/rows.ts'
import { keepFile } from '#src/resources/agents/files/receiving.ts'
import { beginSession } from '#src/resources/agents/sessions/beginning.ts'
import { beginCall } from '#src/resources/agents/sessions/calls.ts'
import type { Claim } from '#src/resources/agents/sessions/claims.ts'
import { resolveAgent } from '#src/resources/agents/sessions/plans.ts'
import { findSessionRow, lockSession, type Session } from '#src/resources/agents/sessions/rows.ts'
import { findBudgetLeft } from '#src/resources/agents/sessions/usage.ts'
import { findTaskAtWork, queueTask } from '#src/resources/agents/tasks/rows.ts'
import { failed, type ToolResult } from '#src/resources/agents/tools/results.ts'
import { listThoseToAsk } from './listing.ts'
import { resultOf } from './results.ts'
import { findExchangeRow, insertExchange, isOpen, type PeerError } from './rows.ts'
import { usedByVm } from './following.ts'
import { startOf } from '#src/platform/texts.ts'

/** A call of `ask_peer`: the use's id, whom it names, and the message of a user that the turn is about. */
export type PeerQuestion = { id: string; named: string; text: string; fileId: string | null; turnId: string }

/** A refusal that is the result of the call. */
class NotAsked extends Error {}

/**
 * What became of a call that was made before: its result once the exchange has ended, `waits` while it has not, and
 * undefined for one that led to no exchange yet.
 */
export async function findAnswer(services: Background, toolUseId: string): Promise<ToolResult | 'waits' | undefined> {
  const exchange = await findExchangeRow(services.db, toolUseId)
  if (!exchange) return undefined
  return isOpen(exchange) ? 'waits' : resultOf(exchange)
}

/**
 * Begins the exchange of a call. The claim's session waits for it from then on.
 * @returns a result at once when nobody was asked.
 * @throws ClaimLost
 */
export async function askPeer(
  services: Background,
  claim: Claim,
  question: PeerQuestion,
): Promise<ToolResult | 'waits'> {
  try {
    return await transaction(services.db, async (tx) => {
      const scope = await readOwner(tx, claim.sessionId)
      const responder = await findResponder(services, tx, scope, claim, question)
      const asker = await lockSession(tx, claim.sessionId)
      if (!asker) throw new NotAsked('this session was deleted.')
      return begin(tx, { claim, asker, question, responder })
    })
  } catch (error) {
    if (error instanceof NotAsked || error instanceof BerthError) return failed(`Nobody was asked: ${error.message}`)
    throw error
  }
}

/** The session to ask, locked together with the one that asks: in the order of their ids, as always when there are several. */
async function findResponder(
  services: Background,
  tx: Tx,
  scope: Scope,
  { sessionId }: Claim,
  { named }: PeerQuestion,
): Promise<Session> {
  const agentId = decodeId('agent', named)
  if (agentId !== undefined) return startResponder(services, tx, scope, sessionId, named)
  const id = decodeId('session', named)
  const locked = await findAll<Session>(
    tx,
    sql`select * from sessions where id = any(${[sessionId, ...(id === undefined ? [] : [id])]}::uuid[]) order by id for no key update`,
  )
  const asker = locked.find((one) => one.id === sessionId)
  const found = locked.find((one) => one.id === id)
  const isTheirs = found?.organizationId === asker?.organizationId && found?.ownerUserId === asker?.ownerUserId
  if (asker && found && isTheirs) return found
  throw new NotAsked(`the user has no session of this id. ${asker ? await listThoseToAsk(tx, asker) : ''}`.trimEnd())
}

/** A new session of the agent that is named, on behalf of the owner of the one that asks, and of the same money. */
async function startResponder(
  services: Background,
  tx: Tx,
  scope: Scope,
  sessionId: string,
  named: string,
): Promise<Session> {
  const agent = await resolveAgent(services, tx, scope, { agent: { id: named } })
  if (agent.agentId !== null && (await isVersionByVmToken(tx, agent.agentId, agent.version)))
    throw new NotAsked('that agent was written with the token inside a VM. Ask another one.')
  const asker = await lockSession(tx, sessionId)
  if (!asker) throw new NotAsked('this session was deleted.')
  if (asker.usedByVm) throw new NotAsked(usedByVm.message)
  const left = await findBudgetLeft(tx, asker)
  return beginSession(services, tx, scope, {
    agent,
    environmentId: null,
    vaultIds: [],
    title: startOf(`Asked by ${asker.agentDefinition.name}`, peerLimits.titleLength),
    metadata: {},
    budgetNanoUsd: left === null ? null : Math.max(0, left),
    spendsFrom: [...asker.spendsFrom, asker.id],
    source: 'peer',
    initialEvents: [],
  })
}

type Asking = { claim: Claim; asker: Session; question: PeerQuestion; responder: Session }

async function begin(tx: Tx, { claim, asker, question, responder }: Asking): Promise<ToolResult | 'waits'> {
  const { id, text, fileId } = question
  const { organizationId, ownerUserId } = asker
  await findOne(tx, sql`select pg_advisory_xact_lock(${lockNumbers.peerExchanges}, hashtext(${organizationId}))`) // counts and circles stay as they are
  const { turnId, depth } = await placeOf(tx, asker, question)
  await checkRoom(tx, asker, turnId, depth)
  await beginCall(tx, claim, id, null)
  const exchange = {
    id,
    organizationId,
    ownerUserId,
    requesterSessionId: asker.id,
    responderSessionId: responder.id,
    turnId,
    depth,
    requestText: text,
    fileId,
  }
  const error = await whyRejected(tx, asker, responder)
  if (error) {
    await insertExchange(tx, { ...exchange, error })
    return failed(`Nobody was asked: ${error.message}`)
  }
  if (fileId !== null && !(await keepFile(tx, fileId, peerLimits.attachmentDays * 86_400)))
    throw new NotAsked('the file was deleted meanwhile.')
  await insertExchange(tx, exchange)
  await queueTask(tx, { id, kind: 'peer_exchange', organizationId, ownerUserId, sessionId: responder.id })
  return 'waits'
}

/** The message of a user that an exchange goes back to, and how many exchanges it is inside of, itself included. */
async function placeOf(
  tx: Tx,
  asker: Session,
  { id, turnId }: PeerQuestion,
): Promise<{ turnId: string; depth: number }> {
  const task = await findTaskAtWork(tx, asker.id)
  const parent = task?.kind === 'peer_exchange' ? await findExchangeRow(tx, task.id) : undefined
  return { turnId: parent?.turnId ?? (turnId || id), depth: (parent?.depth ?? 0) + 1 }
}

/** Agents that ask one another without end come to one here. @throws NotAsked */
async function checkRoom(tx: Tx, asker: Session, turnId: string, depth: number): Promise<void> {
  if (depth > peerLimits.depthMax)
    throw new NotAsked(
      `you were asked inside of ${depth - 1} requests already, which is the limit. Answer with what you know.`,
    )
  const { ofTurn, ofSession, ofOrganization } = await getOne<Record<'ofTurn' | 'ofSession' | 'ofOrganization', number>>(
    tx,
    sql`
    select (select count(*) from peer_exchanges where turn_id = ${turnId}) as of_turn,
      count(*) filter (where requester_session_id = ${asker.id}) as of_session, count(*) as of_organization
    from peer_exchanges where organization_id = ${asker.organizationId} and finished_at is null`,
  )
  if (ofTurn >= peerLimits.perTurnMax)
    throw new NotAsked(
      `the message of the user that began this has led to ${ofTurn} requests between agents, which is the limit. Go on with what you know.`,
    )
  if (ofSession >= peerLimits.openOfSessionMax)
    throw new NotAsked(`you wait for ${ofSession} answers already, which is the limit. Ask again when one has come.`)
  if (ofOrganization >= peerLimits.openOfOrganizationMax)
    throw new NotAsked(
      `agents of the organization wait for ${ofOrganization} answers already, which is the limit. Ask again later.`,
    )
}

/** Why a session cannot be asked, or not by this one. */
async function whyRejected(tx: Tx, asker: Session, responder: Session): Promise<PeerError | null> {
  if (responder.id === asker.id)
    return { type: 'invalid_request_error', message: 'This is your own session. Ask another one.' }
  if (asker.usedByVm || responder.usedByVm) return usedByVm
  if (responder.status === 'terminated')
    return {
      type: 'session_archived',
      message: 'That session is archived or has ended, so it cannot be asked. Ask another one.',
    }
  if (await waitsFor(tx, responder.id, asker.id))
    return {
      type: 'circle_error',
      message:
        'That session waits for your answer, itself or through others, so neither would ever get one. Answer with what you know, or ask another one.',
    }
  return null
}

/** Whether a session waits for an answer of another one, or for that of one that does. */
async function waitsFor(tx: Tx, sessionId: string, otherId: string): Promise<boolean> {
  return (
    (await findOne(
      tx,
      sql`
      with recursive waited (id) as (
        select ${sessionId}::uuid
        union select e.responder_session_id from peer_exchanges e join waited w on e.requester_session_id = w.id where e.finished_at is null)
      select 1 from waited where id = ${otherId}`,
    )) !== undefined
  )
}

/**
 * The owner of the session, with what they may do at this moment. Their membership is locked, and so has to be read before
 * sessions are, as has an agent: whoever ends a membership or deletes an agent ends its sessions afterwards.
 * @throws NotAsked
 */
async function readOwner(tx: Tx, sessionId: string): Promise<Scope> {
  const asker = await findSessionRow(tx, sessionId)
  if (!asker) throw new NotAsked('this session was deleted.')
  const { organizationId, ownerUserId: userId } = asker
  const [leastRole] = permissions['peers:write']
  const { role, isDeactivated } = await lockMember(tx, { organizationId, userId })
  if (role === null || isDeactivated || !isAtLeast(role, leastRole))
    throw new NotAsked(`the user is no longer a ${leastRole} of the organization, which this requires.`)
  return { organizationId, userId, role, keyId: null, vmId: null }
}
