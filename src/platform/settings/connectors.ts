/** The settings of connectors. */
import { optional, setting } from './entries.ts'
import { path, returnOrigins } from './readers.ts'

/** Which services there are, and where people come back to from signing in to them. */
export const connectorSettings = {
  connectorsFile: optional(
    'BERTH_CONNECTORS_FILE',
    path('a file of connectors; see "Your own catalog" in docs/connectors.md'),
    'your connectors, in the form of [connectors.yaml](src/resources/agents/mcp-services/connectors.yaml)',
    "none: Berth's own catalog",
  ),
  returnOrigins: setting(
    'BERTH_RETURN_ORIGINS',
    returnOrigins,
    [],
    'origins to which people may come back from signing in to a connector: https, or http on localhost; that of `BERTH_PUBLIC_URL` is always one',
  ),
}
