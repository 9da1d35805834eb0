/** Addresses of previews: a port of a VM for whoever has the address, until it expires. */
import { actingIn, allowIn, findScope } from '#src/platform/access.ts'
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import type { Call } from '#src/platform/services.ts'
import { externalUrl } from '#src/resources/infra/routes/urls.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import { makePreviewToken, previewHost, type PreviewTarget } from './preview-tokens.ts'
import type { Proxy } from './rows.ts'

/** The query parameter that has the token. */
export const previewParameter = 'berth_token'

/** How long an address is to work. */
export type PreviewWish = { ttlSeconds?: number | null }

/**
 * An address at which a port of a VM is shown to whoever has it.
 * @param vm one that the caller may see; it need not run yet.
 * @throws BerthError invalid_request; 403 for those who may not open VMs to others.
 */
export function previewUrl(
  call: Call,
  vm: Pick<Vm, 'id' | 'organizationId'>,
  { port, ttlSeconds }: PreviewWish & { port: number },
): string {
  wholeNumber('port', port, 1, 65_535)
  return addressOf(call, previewHost(call.config, { vmId: vm.id, port }), '/', {
    vmId: vm.id,
    port,
    organizationId: vm.organizationId,
    ttlSeconds,
  })
}

/** The same; null for callers who may not open VMs to others. @throws BerthError invalid_request. */
export function findPreviewUrl(
  call: Call,
  vm: Pick<Vm, 'id' | 'organizationId'>,
  wish: PreviewWish & { port: number },
): string | null {
  return findScope(actingIn(call.caller, vm.organizationId), 'proxies:write') ? previewUrl(call, vm, wish) : null
}

/** The address of an entry with a token; null for one that needs none. @throws BerthError as previewUrl. */
export function previewUrlOf(call: Call, proxy: Proxy, { ttlSeconds }: PreviewWish): string | null {
  if (proxy.deploymentType !== 'preview') return null
  const { vmId, vmPort: port, organizationId } = proxy
  return addressOf(call, proxy.host, proxy.path, { vmId, port, organizationId, ttlSeconds })
}

function addressOf(
  { caller, config, sealer }: Call,
  host: string,
  path: string,
  { organizationId, ttlSeconds, ...target }: PreviewTarget & PreviewWish & { organizationId: string },
): string {
  allowIn(caller, 'proxies:write', organizationId)
  const seconds = wholeNumber('ttl_seconds', ttlSeconds ?? proxyLimits.previewSeconds, 1, proxyLimits.previewSecondsMax)
  const isOfProgram = caller.kind === 'person' && caller.program !== undefined
  if (isOfProgram && seconds > proxyLimits.previewSecondsByProgram)
    throw new BerthError(
      'invalid_request',
      `ttl_seconds may be ${proxyLimits.previewSecondsByProgram} at most where a program acts for you: an address cannot be taken back when the program is. Ask for a shorter time, and again later.`,
      { field: 'ttlSeconds' },
    )
  const expiresAtSeconds = Math.ceil(nowMs() / 1000) + seconds
  const token = makePreviewToken(sealer, target, { organizationId, expiresAtSeconds })
  return `${externalUrl(config, host, path)}?${previewParameter}=${token}`
}
