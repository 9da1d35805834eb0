/** The tools of services: asked with the person's connection, which remembers what the service says of it. */
import type { McpToolList } from '#src/drivers/mcp/tools.ts'
import { transaction } from '#src/platform/postgres.ts'
import { listServerTools, type Bearer, type McpOrder, type McpOutcome } from '#src/resources/agents/mcp/servers.ts'
import type { RefreshServices } from '#src/resources/agents/mcp/refreshing.ts'
import { noteToolsCount } from './choices.ts'
import type { ConnectorOwner } from './people.ts'
import { noteMissingScope } from './rows.ts'
import type { McpService } from './services.ts'
import { connectionBearer } from './tokens.ts'

/** The token for a service; null for one that needs none. */
export async function serviceBearer(services: RefreshServices, { connection }: McpService): Promise<Bearer | null> {
  return connection && connectionBearer(services, connection)
}

/** What to tell of an outcome, in terms of connections instead of vaults; and notes what it says of the connection. */
export async function serviceOutcome<Result>(
  services: RefreshServices,
  { name, connection }: McpService,
  outcome: McpOutcome<Result>,
): Promise<McpOutcome<Result>> {
  if (outcome.status !== 'auth_required') return outcome
  const { missingScope, notRenewed } = outcome
  if (missingScope === null && notRenewed)
    return {
      status: 'unreachable',
      error: `The sign-in to ${name} cannot be renewed now: its authorization server ${notRenewed === 'unreachable' ? 'could not be reached' : 'gave no new token'}. Try again later.`,
    }
  if (connection && missingScope !== null)
    await transaction(services.db, (tx) => noteMissingScope(tx, connection, missingScope))
  const error =
    missingScope === null
      ? refusedSentence(name)
      : `${name} asks for more than its connection allows (${missingScope}). Connect it again to allow that.`
  return { ...outcome, error }
}

/** Lists the tools of a service, within 10 s and 1 MiB, and remembers how many there are. */
export async function listServiceTools(
  services: RefreshServices,
  owner: ConnectorOwner,
  service: McpService,
  how: Pick<McpOrder, 'keeper' | 'signal'> = {},
): Promise<McpOutcome<McpToolList>> {
  const outcome = await listServerTools(services, {
    url: service.url,
    bearer: () => serviceBearer(services, service),
    ...how,
  })
  if (outcome.status === 'ok' && outcome.result.tools.length !== service.toolsCount)
    await transaction(services.db, (tx) => noteToolsCount(tx, owner, service.id, outcome.result.tools.length))
  return serviceOutcome(services, service, outcome)
}

/** For a service that is not connected. */
export function notConnectedSentence({ id, name }: Pick<McpService, 'id' | 'name'>): string {
  return `You have not connected ${name}. Connect it with POST /agents/v1/mcp-services/${id}/connect/start.`
}

function refusedSentence(name: string): string {
  return `${name} does not accept its connection any more. Connect it again.`
}
