/**
 * Finds out, for a whole process, in which organizations something was committed: one question every quarter of a second while
 * anybody follows one, however many they are.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { log } from '#src/platform/log.ts'
import { findAll, getOne, sql, type Db } from '#src/platform/postgres.ts'
import { organizationEventLimits } from './limits.ts'
import { horizon } from './positions.ts'

type Tail = { ringers: Map<string, Set<() => void>>; isRunning: boolean }

const tails = new WeakMap<Db, Tail>()

/** Calls `ring` from now on whenever the organization may have new events, until the signal fires. */
export function listenForEvents(db: Db, organizationId: string, ring: () => void, signal: AbortSignal): void {
  if (signal.aborted) return
  const tail: Tail = tails.get(db) ?? { ringers: new Map(), isRunning: false }
  tails.set(db, tail)
  const ringers = tail.ringers.get(organizationId) ?? new Set<() => void>()
  tail.ringers.set(organizationId, ringers.add(ring))
  signal.addEventListener(
    'abort',
    () => {
      ringers.delete(ring)
      if (ringers.size === 0) tail.ringers.delete(organizationId)
    },
    { once: true },
  )
  if (!tail.isRunning) void look(db, tail)
}

/** Looks until nobody listens. What cannot be read now is read at the next look. */
async function look(db: Db, tail: Tail): Promise<void> {
  tail.isRunning = true
  let from: number | null = null
  while (tail.ringers.size > 0) {
    try {
      const to = await readHorizon(db)
      for (const id of from === null ? tail.ringers.keys() : await changedBetween(db, from, to))
        for (const ring of tail.ringers.get(id) ?? []) ring()
      from = to
    } catch (error) {
      log.debug({ err: error }, 'the events of organizations cannot be read now; looking again')
    }
    await pause(organizationEventLimits.lookMs)
  }
  tail.isRunning = false // in the turn that found nobody
}

async function readHorizon(db: Db): Promise<number> {
  return (await getOne<{ horizon: number }>(db, sql`select ${horizon} as horizon`)).horizon
}

/** The organizations of the events that have come to be there since the last look. */
async function changedBetween(db: Db, from: number, to: number): Promise<string[]> {
  if (from === to) return []
  const rows = await findAll<{ organizationId: string }>(
    db,
    sql`select distinct organization_id from organization_events where transaction >= ${from} and transaction < ${to}`,
  )
  return rows.map(({ organizationId }) => organizationId)
}
