/** Who may open a tunnel by a ticket. */
import type { Services } from '#src/platform/services.ts'
import { callerNow, checkPage } from '#src/resources/infra/terminals/rights.ts'
import { redeemTunnelTicket } from './tickets.ts'
import { Tunnel, type TunnelClient } from './tunnel.ts'

/**
 * Opens one; `client` is told once it is open.
 * @throws BerthError unauthorized for a ticket that is not valid, or whose maker is not any more; forbidden, not_found,
 * invalid_request, as reachVm; as NodeClient.tunnel; rate_limited when the organization has too many tunnels.
 */
export async function openTunnel(
  services: Services,
  { ticket, isFromOurPage }: { ticket: string; isFromOurPage: boolean },
  client: TunnelClient,
): Promise<Tunnel> {
  const right = await redeemTunnelTicket(services.db, ticket)
  checkPage(right.rights, isFromOurPage)
  await callerNow(services.db, right.rights)
  const tunnel = new Tunnel(services, right, client)
  await tunnel.begin()
  return tunnel
}
