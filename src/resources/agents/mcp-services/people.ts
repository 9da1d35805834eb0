/** People, as far as connectors go: whose connections, choices and sign-ins they are. */
import type { Scope } from '#src/platform/access.ts'
import { newUuid } from '#src/platform/ids.ts'
import { findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** A person in an organization; stored uuids. */
export type ConnectorOwner = { organizationId: string; userId: string }

/** A person's row. */
export type McpPerson = Pick<Row<'mcp_people'>, 'id' | 'eventPosition'>

/** The person who calls: keys have no connections. */
export function connectorOwner({ organizationId, userId }: Scope): ConnectorOwner {
  if (userId === null) throw new Error('only people have connections')
  return { organizationId, userId }
}

/** The person's row, locked until the transaction ends; made when there is none yet. */
export function lockPerson(tx: Tx, { organizationId, userId }: ConnectorOwner): Promise<McpPerson> {
  return getOne<McpPerson>(
    tx,
    sql`
    insert into mcp_people (id, organization_id, owner_user_id) values (${newUuid()}, ${organizationId}, ${userId})
    on conflict (organization_id, owner_user_id) do update set organization_id = excluded.organization_id returning *`,
  )
}

/** The person's row; undefined for somebody who never used a connector. */
export function findPerson(db: Db, { organizationId, userId }: ConnectorOwner): Promise<McpPerson | undefined> {
  return findOne<McpPerson>(
    db,
    sql`select * from mcp_people where organization_id = ${organizationId} and owner_user_id = ${userId}`,
  )
}
