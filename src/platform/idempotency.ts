/**
 * Idempotency keys: a POST with the header `Idempotency-Key` runs once for a caller and key in 24 hours; the same
 * request again gets the stored response. Responses are sealed, because one may contain a secret that is shown only
 * once.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Grant } from './access.ts'
import { BerthError } from './errors.ts'
import { limits } from './limits.ts'
import { log } from './log.ts'
import { change, findOne, sql, type Db } from './postgres.ts'
import type { Row } from './postgres/rows.ts'
import type { Sealer } from './secrets.ts'

/** A stored response, and the permissions that its caller needed for it. */
export type KeptResponse = { status: number; body: string | Buffer | null; grants: readonly Grant[] }

/** The same, as it is read back. */
export type RepeatedResponse = KeptResponse & { body: string | null }

/** Runs each keyed request once. */
export type Idempotency = {
  /**
   * Claims the key for this request, or returns the stored response.
   * @throws BerthError idempotency_conflict when the key was used for another request, idempotency_in_progress while
   * that one runs.
   */
  begin(caller: string, key: string, requestSha256: Buffer): Promise<RepeatedResponse | undefined>
  /** Stores the response under the claimed key. */
  finish(caller: string, key: string, response: KeptResponse): Promise<void>
  /** Releases the claim: the request changed nothing and may be retried. */
  release(caller: string, key: string): Promise<void>
  close: () => void
}

// A claim is a lease: a living process renews it, and that of a dead one expires after this time.
const claimSeconds = 30
const renewMs = 10_000

/** Opens the process's store of idempotency keys. */
export function createIdempotency(db: Db, sealer: Sealer): Idempotency {
  const claims = new Map<string, { caller: string; key: string }>()
  const place = (caller: string, key: string): string => `idempotency_keys.response:${caller}:${key}`
  const renewal = setInterval(() => {
    for (const claim of claims.values()) {
      change(
        db,
        sql`
          update idempotency_keys
          set in_progress_until = now() + ${claimSeconds} * interval '1 second'
          where caller = ${claim.caller} and key = ${claim.key} and response_status is null`,
      ).catch((error: Error) => log.warn({ reason: error.message }, 'an idempotency claim could not be renewed'))
    }
  }, renewMs)
  renewal.unref()

  return {
    async begin(caller, key, requestSha256) {
      if (await claim(db, caller, key, requestSha256)) {
        claims.set(place(caller, key), { caller, key })
        return undefined
      }
      const kept = await readKept(db, caller, key, requestSha256)
      return {
        status: kept.responseStatus,
        body: kept.sealedResponse ? sealer.open(kept.sealedResponse, place(caller, key)) : null,
        grants: kept.grants,
      }
    },
    async finish(caller, key, { status, body, grants }) {
      claims.delete(place(caller, key))
      if (Buffer.isBuffer(body)) await nextTurn() // it is large and was just assembled, so give way to the event loop
      const sealed = body === null ? null : sealer.seal(body, place(caller, key))
      if (Buffer.isBuffer(body)) await nextTurn()
      await change(
        db,
        sql`
          update idempotency_keys
          set response_status = ${status}, sealed_response = ${sealed}, grants = ${JSON.stringify(grants)},
            in_progress_until = null
          where caller = ${caller} and key = ${key}`,
      )
    },
    async release(caller, key) {
      claims.delete(place(caller, key))
      await change(
        db,
        sql`delete from idempotency_keys where caller = ${caller} and key = ${key} and response_status is null`,
      )
    },
    close: () => clearInterval(renewal),
  }
}

/** Deletes responses that are too old. */
export async function forgetIdempotencyKeys(db: Db): Promise<void> {
  await change(
    db,
    sql`delete from idempotency_keys where created_at < now() - ${limits.idempotencyHours} * interval '1 hour'`,
  )
}

/** Claims the key if it is free, too old, or its process died. @returns whether this request has it. */
async function claim(db: Db, caller: string, key: string, requestSha256: Buffer): Promise<boolean> {
  const claimed = await findOne(
    db,
    sql`
    insert into idempotency_keys as kept (caller, key, request_sha256, in_progress_until)
    values (${caller}, ${key}, ${requestSha256}, now() + ${claimSeconds} * interval '1 second')
    on conflict (caller, key) do update set request_sha256 = excluded.request_sha256, response_status = null, sealed_response = null,
      in_progress_until = excluded.in_progress_until, created_at = now()
    where kept.created_at < now() - ${limits.idempotencyHours} * interval '1 hour'
      or (kept.response_status is null and kept.in_progress_until < now() and kept.request_sha256 = excluded.request_sha256)
    returning key`,
  )
  return claimed !== undefined
}

type Kept = { responseStatus: number; sealedResponse: Buffer | null; grants: Grant[] }

/**
 * The stored response of this request.
 * @throws BerthError idempotency_conflict if the key belongs to another request; idempotency_in_progress while there is
 * none yet.
 */
async function readKept(db: Db, caller: string, key: string, requestSha256: Buffer): Promise<Kept> {
  const kept = await findOne<Pick<Row<'idempotency_keys', { grants: Grant[] }>, 'requestSha256' | keyof Kept>>(
    db,
    sql`
    select request_sha256, response_status, sealed_response, grants from idempotency_keys where caller = ${caller} and key = ${key}`,
  )
  const running = new BerthError(
    'idempotency_in_progress',
    'The first request with this Idempotency-Key is still running. Try again in a few seconds.',
    { retryAfterSeconds: 2 },
  )
  if (!kept) throw running // its claim was released just now
  if (!kept.requestSha256.equals(requestSha256))
    throw new BerthError(
      'idempotency_conflict',
      'This Idempotency-Key was used for another request. Use a new key for a new request.',
    )
  const { responseStatus, sealedResponse, grants } = kept
  if (responseStatus === null) throw running
  return { responseStatus, sealedResponse, grants }
}
