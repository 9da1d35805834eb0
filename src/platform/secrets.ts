/**
 * Stored secrets: sealed with AES-256-GCM, bound to the place where they are stored, so that a sealed value copied
 * to another row or organization does not open. Layout: version (1) · key id (4) · nonce (12) · tag (16) · ciphertext.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hash,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'

const version = 1
const headerBytes = 1 + 4 + 12 + 16

/** Seals and opens stored secrets. `place` names the table, column, row and organization: `vm_env.value:<vm>:<key>`. */
export type Sealer = {
  seal(plain: string | Buffer, place: string): Buffer
  /** @throws Error when the value was changed, moved, or sealed with another key. */
  open(sealed: Buffer, place: string): string
  /** A value that only holders of the same key can derive from this text: a signature, or a token as proof. */
  derive(purpose: string): string
}

/** Makes a sealer. The first key seals; all of them open, so that keys can be rotated without downtime. */
export function createSealer(keys: readonly Buffer[]): Sealer {
  const known = keys.map((key) => {
    if (key.length !== 32) throw new Error('a sealing key has 32 bytes')
    return { key, id: createHash('sha256').update('berth key id').update(key).digest().subarray(0, 4) }
  })
  const current = known[0]
  if (!current) throw new Error('at least one sealing key is needed')
  return {
    seal(plain, place) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', current.key, nonce).setAAD(Buffer.from(place))
      const body = [typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain), cipher.final()]
      return Buffer.concat([Buffer.of(version), current.id, nonce, cipher.getAuthTag(), ...body])
    },
    open(sealed, place) {
      if (sealed.length < headerBytes || sealed[0] !== version) throw new Error('not a sealed value')
      const id = sealed.subarray(1, 5)
      const match = known.find((one) => one.id.equals(id))
      if (!match) throw new Error('sealed with a key that this process does not have; see BERTH_SECRET_KEY')
      const decipher = createDecipheriv('aes-256-gcm', match.key, sealed.subarray(5, 17))
        .setAAD(Buffer.from(place))
        .setAuthTag(sealed.subarray(17, 33))
      return Buffer.concat([decipher.update(sealed.subarray(33)), decipher.final()]).toString('utf8')
    },
    derive: (purpose) => createHmac('sha256', current.key).update(purpose).digest('base64url'),
  }
}

/**
 * The sealing key: from the setting, else from `secret.key` in the data folder, made at first use.
 * @throws Error when others than its owner can read that file.
 */
export function loadSealer(secretKey: string | null, dataDir: string): Sealer {
  if (secretKey) return createSealer([Buffer.from(secretKey, 'base64')])
  const file = join(dataDir, 'secret.key')
  if (!existsSync(file)) storePrivately(file, randomBytes(32).toString('base64'))
  return createSealer([Buffer.from(readPrivately(file).trim(), 'base64')])
}

/** Writes a file that only its owner can read, atomically. An existing file stays. */
export function storePrivately(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, text, { mode: 0o600 })
  chmodSync(fresh, 0o600)
  try {
    linkSync(fresh, file) // fails when another process was first: then its file is used
  } catch (error) {
    if (!existsSync(file)) throw error
  } finally {
    rmSync(fresh, { force: true })
  }
}

/** Reads such a file. @throws Error when others than its owner can read it. */
export function readPrivately(file: string): string {
  if ((statSync(file).mode & 0o077) !== 0) throw new Error(`${file} can be read by others; run: chmod 600 ${file}`)
  return readFileSync(file, 'utf8')
}

/** SHA-256 of a text. */
export function sha256(text: string | Buffer): Buffer {
  return hash('sha256', text, 'buffer')
}

/** SHA-256 of many bytes, in steps between which the event loop goes on. */
export async function sha256InSteps(bytes: Buffer): Promise<Buffer> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += digestStepBytes) {
    if (at > 0) await nextTurn()
    hash.update(bytes.subarray(at, at + digestStepBytes))
  }
  return hash.digest()
}
const digestStepBytes = 4 * 1024 * 1024

/** SHA-256 of bytes as they come. */
export function startSha256(): { update: (bytes: Buffer) => void; hex: () => string } {
  const hash = createHash('sha256')
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') }
}

/** HMAC-SHA-256 of a text under a key. */
export function hmacSha256(key: Buffer, text: string | Buffer): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** The digest of bytes by an algorithm of the given name, such as sha384. */
export function digestOf(algorithm: string, bytes: Buffer): Buffer {
  return hash(algorithm, bytes, 'buffer')
}

/** Whether two digests are equal, in a time that does not tell where they differ. */
export function sameDigest(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
