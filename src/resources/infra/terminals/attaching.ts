/** Who may attach to a terminal by a ticket. */
import type { Services } from '#src/platform/services.ts'
import { Attachment, type AttachRequest, type TerminalClient } from './attachments.ts'
import { callerNow, checkPage } from './rights.ts'
import { redeemTicket } from './tickets.ts'

/**
 * Attaches a client.
 * @throws BerthError unauthorized for a ticket that is not valid, or whose maker is not any more; forbidden, not_found, as reachVm;
 * rate_limited when the caller has too many streams.
 */
export async function attachTerminal(
  services: Services,
  request: AttachRequest,
  client: TerminalClient,
): Promise<Attachment> {
  const { terminal, rights } = await redeemTicket(services.db, request.ticket)
  checkPage(rights, request.isFromOurPage)
  const caller = await callerNow(services.db, rights)
  const attachment = new Attachment(services, { terminal, rights, caller }, request, client)
  await attachment.begin()
  return attachment
}
