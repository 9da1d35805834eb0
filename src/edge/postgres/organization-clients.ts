/** How many clients the databases of an organization have together: none of them takes all the room that there is. */
import { PostgresRefusal } from './refusals.ts'

/** Those of one organization. */
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
