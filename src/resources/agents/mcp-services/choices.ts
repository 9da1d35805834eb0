/** What people choose of services: the tools that they do not want. */
import { BerthError } from '#src/platform/errors.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { change, findAll, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { addConnectionEvent } from './events.ts'
import { lockPerson, type ConnectorOwner } from './people.ts'

/** A person's choice for a service, and how many tools it had when they or their agents last asked. */
export type McpChoice = Pick<
  Row<'mcp_choices', { disabledTools: string[] }>,
  'serviceId' | 'disabledTools' | 'toolsCount'
>

/** The person's choices, by service. */
export async function findChoices(
  db: Db,
  { organizationId, userId }: ConnectorOwner,
): Promise<ReadonlyMap<string, McpChoice>> {
  const found = await findAll<McpChoice>(
    db,
    sql`
    select c.service_id, c.disabled_tools, c.tools_count from mcp_choices c join mcp_people p on p.id = c.person_id
    where p.organization_id = ${organizationId} and p.owner_user_id = ${userId}`,
  )
  return new Map(found.map((choice) => [choice.serviceId, choice]))
}

/** Replaces the set of tools that a person does not want of a service. */
export async function putDisabledTools(
  tx: Tx,
  owner: ConnectorOwner,
  serviceId: string,
  names: readonly string[],
): Promise<void> {
  const { id } = await lockPerson(tx, owner)
  const changed = await change(
    tx,
    sql`
    insert into mcp_choices (person_id, service_id, disabled_tools) values (${id}, ${serviceId}, ${names}::text[])
    on conflict (person_id, service_id) do update set disabled_tools = excluded.disabled_tools where mcp_choices.disabled_tools <> excluded.disabled_tools`,
  )
  if (changed > 0)
    await addConnectionEvent(tx, { personId: id, serviceId, connectionId: null }, 'mcp_service.tools_selected')
}

/** Records how many tools a service has. */
export async function noteToolsCount(tx: Tx, owner: ConnectorOwner, serviceId: string, count: number): Promise<void> {
  const { id } = await lockPerson(tx, owner)
  await change(
    tx,
    sql`
    insert into mcp_choices (person_id, service_id, tools_count) values (${id}, ${serviceId}, ${count})
    on conflict (person_id, service_id) do update set tools_count = excluded.tools_count where mcp_choices.tools_count <> excluded.tools_count`,
  )
}

/** The names of tools, each once, in order. @throws BerthError invalid_request. */
export function readDisabledTools(given: readonly string[]): string[] {
  const { disabledToolsMax, toolNameLength } = connectorLimits
  const areFit =
    given.length <= disabledToolsMax &&
    given.every((name) => name !== '' && name.length <= toolNameLength && !name.includes('\0') && name.isWellFormed())
  if (areFit) return [...new Set(given)].sort()
  throw new BerthError(
    'invalid_request',
    `disabled_tools must be at most ${disabledToolsMax} names of 1 to ${toolNameLength} characters.`,
    { field: 'disabled_tools' },
  )
}
