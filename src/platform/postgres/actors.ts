/**
 * Who acts in the transactions of a call: each says it in the same message as its `begin`, in the setting `berth.actor`, from
 * which the database writes the events of audit (migration 0068). Whatever a call does while it lasts has its actor, however
 * deep it is; what goes on after its answer has none.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'

/**
 * Who acts, by stored ids, and what they asked for. `authorizationId`: what lets in the program that acts for the person.
 * `operation`: as the graph names it. `requestId`: a uuid.
 */
export type Actor = {
  kind: 'person' | 'api_key' | 'vm_token' | 'operator'
  userId: string | null
  keyId: string | null
  vmId: string | null
  authorizationId: string | null
  operation: string
  address: string | null
  requestId: string
}

/** `begin`: the text that begins a transaction of this actor; null once their call is over. */
type Acting = { begin: string | null }

const acting = new AsyncLocalStorage<Acting>()

/** Does the work as this actor. @throws what the work throws. */
export async function actingAs<Result>(actor: Actor, work: () => Promise<Result> | Result): Promise<Result> {
  const call: Acting = { begin: `begin; set local berth.actor = ${pg.escapeLiteral(JSON.stringify(actor))}` }
  try {
    return await acting.run(call, work)
  } finally {
    call.begin = null
  }
}

/** Does the work as nobody, whoever acts here: it is not theirs. */
export function asNobody(work: () => void): void {
  acting.exit(work)
}

/** Whether somebody acts here. */
export function isActing(): boolean {
  return typeof acting.getStore()?.begin === 'string'
}

/** What begins a transaction here. */
export function beginText(): string {
  return acting.getStore()?.begin ?? 'begin'
}
