/**
 * Tokens of previews. Whoever has one reaches one port of one VM until it expires, and nothing else. It is signed, not
 * stored: the edge checks it without asking anybody. Bytes: when it expires (4, Unix seconds), the organization (16); as
 * base64url, with a dot and the signature.
 */
import { timingSafeEqual } from 'node:crypto'
import { nowMs } from '#src/platform/clock.ts'
import { encodeId, decodeId, idPrefixes } from '#src/platform/ids.ts'
import type { Sealer } from '#src/platform/secrets.ts'

/** A port of a VM that previews show. */
export type PreviewTarget = { vmId: string; port: number }

/** What a token says: of which organization the VM is, and until when it opens it. */
export type Preview = { organizationId: string; expiresAtSeconds: number }

type Derive = Pick<Sealer, 'derive'>

const bodyBytes = 20
const bodyLength = 27 // of base64url
const tokenLength = bodyLength + 1 + 43

/** The purposes that signatures are derived for. A cookie also belongs to the host that set it. */
const purposes = {
  token: ({ vmId, port }: PreviewTarget) => `preview token\n${vmId}\n${port}`,
  cookie: ({ vmId, port }: PreviewTarget, host: string) => `preview cookie\n${vmId}\n${port}\n${host}`,
}

/** The token that opens a port of a VM until then. */
export function makePreviewToken(sealer: Derive, target: PreviewTarget, preview: Preview): string {
  return signed(sealer, purposes.token(target), preview)
}

/** What a token says that was made for this port of this VM; null for any other text; `expired` when it is over. */
export function readPreviewToken(sealer: Derive, target: PreviewTarget, token: string): Preview | 'expired' | null {
  return opened(sealer, purposes.token(target), token)
}

/** The value of the cookie that stands for a token at this host. */
export function makePreviewCookie(sealer: Derive, target: PreviewTarget, host: string, preview: Preview): string {
  return signed(sealer, purposes.cookie(target, host), preview)
}

/** The same for a cookie that this host has set. */
export function readPreviewCookie(
  sealer: Derive,
  target: PreviewTarget,
  host: string,
  value: string,
): Preview | 'expired' | null {
  return opened(sealer, purposes.cookie(target, host), value)
}

/** The host at which the edge shows a port of a VM to those who have a token, without any entry: one level below the platform's domain, as its certificate covers. */
export function previewHost({ domain }: { domain: string }, { vmId, port }: PreviewTarget): string {
  return `${port}-${encodeId('vm', vmId).slice(idPrefixes.vm.length + 1)}.${domain}`
}

/** The port of a VM that such a host, in lower case, shows; null for any other one. */
export function readPreviewHost({ domain }: { domain: string }, host: string): PreviewTarget | null {
  const rest = `.${domain}`
  if (!host.endsWith(rest) || host.length > rest.length + 32) return null
  const [digits = '', suffix = '', ...more] = host.slice(0, -rest.length).split('-')
  const vmId = decodeId('vm', `${idPrefixes.vm}_${suffix}`)
  const port = /^[1-9]\d{0,4}$/.test(digits) ? Number(digits) : 0
  return vmId && port > 0 && port <= 65_535 && more.length === 0 ? { vmId, port } : null
}

function signed(sealer: Derive, purpose: string, { organizationId, expiresAtSeconds }: Preview): string {
  const body = Buffer.alloc(bodyBytes)
  body.writeUInt32BE(expiresAtSeconds)
  body.write(organizationId.replaceAll('-', ''), 4, 'hex')
  const text = body.toString('base64url')
  return `${text}.${sealer.derive(`${purpose}\n${text}`)}`
}

function opened(sealer: Derive, purpose: string, given: string): Preview | 'expired' | null {
  if (given.length !== tokenLength || given[bodyLength] !== '.') return null
  const text = given.slice(0, bodyLength)
  const made = Buffer.from(sealer.derive(`${purpose}\n${text}`))
  const shown = Buffer.from(given.slice(bodyLength + 1))
  if (made.length !== shown.length || !timingSafeEqual(made, shown)) return null
  const body = Buffer.from(text, 'base64url')
  const expiresAtSeconds = body.readUInt32BE()
  if (expiresAtSeconds * 1000 <= nowMs()) return 'expired'
  return { organizationId: uuidText(body.toString('hex', 4)), expiresAtSeconds }
}

function uuidText(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
