/**
 * Tokens of previews. Whoever has one reaches one port of one VM until it expires, and nothing else. It is signed, not
 * stored: the edge checks it without asking anybody. Bytes: when it expires (4, Unix seconds), the organization (16); as
 * base64url, with a dot and the signature.
 */
import { encodeId, idPrefixes } from '#src/platform/ids.ts'
import type { Sealer } from '#src/platform/secrets.ts'

/** A port of a VM that previews show. */
export type PreviewTarget = { vmId: string; port: number }

/** What a token says: of which organization the VM is, and until when it opens it. */
export type Preview = { organizationId: string; expiresAtSeconds: number }

type Derive = Pick<Sealer, 'derive'>

const bodyBytes = 20

/** The purposes that signatures are derived for. */
const purposes = {
  token: ({ vmId, port }: PreviewTarget) => `preview token\n${vmId}\n${port}`,
}

/** The token that opens a port of a VM until then. */
export function makePreviewToken(sealer: Derive, target: PreviewTarget, preview: Preview): string {
  return signed(sealer, purposes.token(target), preview)
}

const previewLabel = 'preview'

/** The host at which the edge shows a port of a VM to those who have a token, without any entry. */
export function previewHost({ domain }: { domain: string }, { vmId, port }: PreviewTarget): string {
  return `${port}-${encodeId('vm', vmId).slice(idPrefixes.vm.length + 1)}.${previewLabel}.${domain}`
}

function signed(sealer: Derive, purpose: string, { organizationId, expiresAtSeconds }: Preview): string {
  const body = Buffer.alloc(bodyBytes)
  body.writeUInt32BE(expiresAtSeconds)
  body.write(organizationId.replaceAll('-', ''), 4, 'hex')
  const text = body.toString('base64url')
  return `${text}.${sealer.derive(`${purpose}\n${text}`)}`
}
