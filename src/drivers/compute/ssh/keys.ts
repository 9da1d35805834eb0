/** The two SSH key pairs of a machine, each in the form its reader wants. Ed25519: the cheapest under emulation. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'

const keyType = 'ssh-ed25519'

/** Seeds of both pairs, base64url, and the guest's machine id. Never logged. */
export type MachineKeys = { hostSeed: string; clientSeed: string; machineId: string }

/** New keys for one machine. */
export function newKeys(): MachineKeys {
  return { hostSeed: newSeed(), clientSeed: newSeed(), machineId: randomBytes(16).toString('hex') }
}

/** The guest's host key in dropbear's own format. */
export function dropbearHostKey(keys: MachineKeys): Buffer {
  return Buffer.concat([
    field(keyType),
    field(Buffer.concat([Buffer.from(keys.hostSeed, 'base64url'), publicPart(keys.hostSeed)])),
  ])
}

/** The public half of the host key as the SSH protocol shows it: what a connection is pinned to. */
export function pinnedHostKey(keys: MachineKeys): Buffer {
  return publicBlob(keys.hostSeed)
}

/** The line of authorized_keys that lets us in. */
export function authorizedKey(keys: MachineKeys): string {
  return `${keyType} ${publicBlob(keys.clientSeed).toString('base64')} berth`
}

/** Our private key in OpenSSH's format, which ssh2 reads. */
export function clientPrivateKey(keys: MachineKeys): string {
  const check = randomBytes(4)
  const pair = Buffer.concat([Buffer.from(keys.clientSeed, 'base64url'), publicPart(keys.clientSeed)])
  const inner = Buffer.concat([
    check,
    check,
    field(keyType),
    field(publicPart(keys.clientSeed)),
    field(pair),
    field('berth'),
  ])
  const blockBytes = 8
  const padding = Buffer.from(
    Array.from({ length: (blockBytes - (inner.length % blockBytes)) % blockBytes }, (_, index) => index + 1),
  )
  const count = Buffer.alloc(4)
  count.writeUInt32BE(1)
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    count,
    field(publicBlob(keys.clientSeed)),
    field(Buffer.concat([inner, padding])),
  ])
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${whole.toString('base64').replace(/(.{70})/g, '$1\n')}\n-----END OPENSSH PRIVATE KEY-----\n`
}

function newSeed(): string {
  const { d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return d! // an Ed25519 private key always has it
}

function publicPart(seed: string): Buffer {
  // The fixed head of an unencrypted PKCS #8 Ed25519 key, then the seed (RFC 8410).
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.from(seed, 'base64url')])
  const { x } = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({ format: 'jwk' })
  return Buffer.from(x!, 'base64url') // an Ed25519 public key always has it
}

function publicBlob(seed: string): Buffer {
  return Buffer.concat([field(keyType), field(publicPart(seed))])
}

function field(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string) // a Buffer is copied as it is
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
