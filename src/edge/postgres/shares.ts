/** How the room for clients is shared: no organization takes all of an edge process, and no client keeps an owner out. */
import type { ClientKind } from './directory.ts'
import { PostgresRefusal } from './refusals.ts'

/** Of so many clients and backends one is kept for the owner, whom nobody else may keep out. */
const ownersShare = 8

/** How many of these are there for clients of a kind. */
export function roomOf(kind: ClientKind, most: number): number {
  return kind === 'owner' ? most : most - Math.ceil(most / ownersShare)
}

/** The clients that the databases of one organization have together. */
export type OrganizationClients = {
  /** Counts one more. @throws PostgresRefusal when there are too many */
  join(): void
  leave(): void
}

/** Begins without any. @param most how many an organization may have */
export function createOrganizationClients(most: number): (organizationId: string) => OrganizationClients {
  const counts = new Map<string, number>()
  return (organizationId) => ({
    join() {
      const count = counts.get(organizationId) ?? 0
      if (count >= most)
        throw new PostgresRefusal(
          'too_many_connections',
          'too many clients are connected to the databases of this organization: close some of them',
        )
      counts.set(organizationId, count + 1)
    },
    leave() {
      const count = (counts.get(organizationId) ?? 0) - 1
      if (count > 0) counts.set(organizationId, count)
      else counts.delete(organizationId)
    },
  })
}
