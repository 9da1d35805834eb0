/** Public keys of SSH, as they are let in. */
import { BerthError } from '#src/platform/errors.ts'
import { tunnelLimits } from '#src/platform/limits/tunnels.ts'

const types: ReadonlySet<string> = new Set([
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
])
const lengthBytes = 4

/**
 * Reads a line of a `.pub` file. @returns its type and its key; the comment is left out, and options are refused.
 * @throws BerthError invalid_request.
 */
export function readPublicKey(line: string): string {
  if (line.length > tunnelLimits.publicKeyLength)
    throw new BerthError('invalid_request', `publicKey may have at most ${tunnelLimits.publicKeyLength} characters.`)
  const [type = '', key = ''] = line.trim().split(/[ \t]+/)
  if (/[\r\n\0]/.test(line.trim()) || !types.has(type) || typeIn(key) !== type)
    throw new BerthError(
      'invalid_request',
      `publicKey must be one line of a .pub file, such as "ssh-ed25519 AAAA…". Its type is one of: ${[...types].join(', ')}.`,
    )
  return `${type} ${key}`
}

/** The type that a key's own bytes begin with. */
function typeIn(key: string): string | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(key)) return null
  const bytes = Buffer.from(key, 'base64')
  if (bytes.length < lengthBytes || bytes.toString('base64') !== key) return null
  const end = lengthBytes + bytes.readUInt32BE(0)
  return end < bytes.length ? bytes.toString('latin1', lengthBytes, end) : null
}
