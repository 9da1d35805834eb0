/**
 * What changes of databases mean for their clients. Each notice leads to the row, and the row to what is done: clients are told
 * to leave, or backends are renewed. Then the change is acknowledged, for whoever waits for it.
 */
import { isDeepStrictEqual } from 'node:util'
import { setTimeout as pause } from 'node:timers/promises'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { acknowledgeChange } from '#src/resources/infra/databases/edges.ts'
import { findDatabaseRow, type Database } from '#src/resources/infra/databases/rows.ts'
import { restTopic } from '#src/resources/infra/databases/sleep.ts'
import { isInNetwork, networksOf } from './finder.ts'
import type { ClientKind, DatabaseChange, SomeClients } from '../postgres/directory.ts'
import { PostgresRefusal } from '../postgres/refusals.ts'

/** A database whose clients are told of changes. An epoch ends when the clients of that kind are told to leave. */
export type Followed = {
  /** As it was read last. */
  row: Database
  epochs: Record<ClientKind, number>
  /** When its use was last recorded. */
  usedAtMs: number
}

/** The changes of databases. */
export type Changes = {
  /** Begins to follow one that somebody logs in to. */
  follow(database: Database): Followed
  watch(changed: (change: DatabaseChange) => void): () => void
  close(): void
}

const followedMax = 10_000
const againMs = 500
/** After a gap in the notices all are looked at, so many at a time. */
const looksAtOnce = 10
const everyKind: readonly ClientKind[] = ['owner', 'role', 'authenticated', 'anonymous']
const clientKinds: readonly ClientKind[] = ['authenticated', 'anonymous']

/** A few at a time. */
async function lookAtEach(ids: readonly string[], look: (id: string) => Promise<void>): Promise<void> {
  const waiting = ids.values()
  await Promise.all(
    Array.from({ length: Math.min(looksAtOnce, ids.length) }, async () => {
      for (const id of waiting) await look(id)
    }),
  )
}

/** Listens for as long as the process lives. @param edgeId this process, which acknowledges */
export function followChanges(services: Pick<Services, 'db' | 'pubsub'>, edgeId: string): Changes {
  const { db, pubsub } = services
  const followed = createBoundedMap<string, Followed>({ entriesMax: followedMax })
  const watchers = new Set<(change: DatabaseChange) => void>()
  const looking = new Map<string, { again: boolean }>() // one at a time for each database: the last row read is the newest
  let closed = false

  function apply(row: Database): void {
    const known = followed.peek(row.id)
    if (!known) return
    for (const change of changesBetween(known.row, row)) {
      for (const kind of kindsEnded(change)) known.epochs[kind]++
      for (const changed of watchers) changed(change)
    }
    known.row = row
  }

  async function look(id: string): Promise<void> {
    const running = looking.get(id)
    if (running) {
      running.again = true
      return
    }
    const mine = { again: true }
    looking.set(id, mine)
    while (mine.again && !closed) {
      mine.again = false
      try {
        const row = await findDatabaseRow(db, id)
        if (row) {
          apply(row)
          await acknowledgeChange(db, edgeId, row)
        }
      } catch (error) {
        log.warn({ err: error, database: id }, 'a change of a database is not known yet: reading it again')
        mine.again = true
        await pause(againMs)
      }
    }
    looking.delete(id)
  }

  pubsub.listen(restTopic, (id) => {
    if (id !== null) for (const changed of watchers) changed({ databaseId: id, change: 'renewed' })
  })
  pubsub.listen('database', (id) => {
    const ids = id === null ? [...followed.values()].map(({ row }) => row.id) : [id]
    void lookAtEach(ids, look)
  })
  return {
    follow(database) {
      const known = followed.get(database.id)
      if (known) {
        if (known.row.eventPosition < database.eventPosition) apply(database)
        return known
      }
      const made = { row: database, epochs: { owner: 0, role: 0, authenticated: 0, anonymous: 0 }, usedAtMs: -Infinity }
      followed.set(database.id, made)
      void look(database.id) // it may have changed since it was read, and before it was followed
      return made
    },
    watch(changed) {
      watchers.add(changed)
      return () => watchers.delete(changed)
    },
    close() {
      closed = true
    },
  }
}

/** The kinds of clients that a change ends, whichever way they came. */
function kindsEnded(change: DatabaseChange): readonly ClientKind[] {
  return change.change === 'closed' && !change.network ? (change.kinds ?? everyKind) : []
}

function isGone({ status }: Database): boolean {
  return status === 'deleting' || status === 'deleted'
}

function changesBetween(before: Database, now: Database): DatabaseChange[] {
  const databaseId = now.id
  const closed = (sentence: string, clients: SomeClients = {}): DatabaseChange => ({
    databaseId,
    change: 'closed',
    refusal: new PostgresRefusal('admin_shutdown', sentence),
    ...clients,
  })
  if (isGone(now) && !isGone(before)) return [closed('the database is deleted')]
  if (now.status === 'restoring' && before.status !== 'restoring') return [closed('the database is being restored')]
  const changes: DatabaseChange[] = []
  if (before.tokenVerifier !== now.tokenVerifier)
    changes.push(closed('the password of the database was changed: connect with the new one', { kinds: ['owner'] }))
  if (before.clientModeEnabled && !now.clientModeEnabled)
    changes.push(closed('client access to the database was switched off', { kinds: clientKinds }))
  for (const network of networksOf(before)) {
    const isProject = network.startsWith('project:')
    if (!isInNetwork(now, network))
      changes.push(
        closed(`the database ${isProject ? 'has left the project' : 'is not linked to the function'} of this VM`, {
          network,
        }),
      )
    else if (!isProject && before.linkVerifier !== now.linkVerifier)
      changes.push(closed('the password of this function was changed: its next instance has the new one', { network }))
  }
  const renews = (['vmId', 'nativeCredentialGeneration', 'settings', 'sealedLogins'] as const).some(
    (name) => !isDeepStrictEqual(before[name], now[name]),
  )
  if (renews) changes.push({ databaseId, change: 'renewed' })
  return changes
}
