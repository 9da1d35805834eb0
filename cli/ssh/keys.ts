/** The key by which a person's SSH clients get into VMs: made once, for its owner only. OpenSSH's format, as ssh-keygen writes it. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stateFolderOf, type Env } from '../contexts.ts'
import { Failure } from '../errors.ts'
import { makeFolderOf } from '../json-files.ts'

const type = 'ssh-ed25519'
const comment = 'berth'
const blockBytes = 8
const lineLength = 70

/** Where the private key is; the public one is beside it, in `.pub`. */
export function keyFileOf(env: Env): string {
  return join(stateFolderOf(env), 'ssh', 'id_ed25519')
}

/** Makes the key unless there is one. @returns the public key, a line. @throws Failure when it cannot be read. */
export function ensureKey(env: Env): string {
  const file = keyFileOf(env)
  const publicFile = `${file}.pub`
  const known = readIfThere(publicFile)
  if (known !== undefined) return known.trim()
  makeFolderOf(file)
  const made = newKey()
  // Two commands may be the first ones: both take the key of the one that has made its file.
  const next = `${file}.${process.pid}`
  writeFileSync(next, made.privateKey, { mode: 0o600 })
  try {
    linkSync(next, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(next, { force: true })
  }
  const line = publicKeyIn(readFileSync(file, 'utf8'))
  if (line === undefined) throw new Failure(`${file} is not the key that Berth made. Move it away, and try again.`)
  writeFileSync(publicFile, `${line}\n`, { mode: 0o600 })
  return line
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined // it is made now
    throw new Failure(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function newKey(): { privateKey: string } {
  const { privateKey } = generateKeyPairSync('ed25519')
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' })
  const seed = Buffer.from(d, 'base64url')
  const point = Buffer.from(x, 'base64url')
  const check = randomBytes(4)
  const blob = Buffer.concat([field(type), field(point)])
  const pair = field(Buffer.concat([seed, point]))
  const inner = Buffer.concat([check, check, field(type), field(point), pair, field(comment)])
  const padding = Buffer.from(
    Array.from({ length: (blockBytes - (inner.length % blockBytes)) % blockBytes }, (_, at) => at + 1),
  )
  const keys = Buffer.from([0, 0, 0, 1])
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    keys,
    field(blob),
    field(Buffer.concat([inner, padding])),
  ]).toString('base64')
  const lines = Array.from({ length: Math.ceil(whole.length / lineLength) }, (_, at) =>
    whole.slice(at * lineLength, (at + 1) * lineLength),
  )
  return {
    privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`,
  }
}

/** The public half of a private key of this format; undefined for another one. */
function publicKeyIn(text: string): string | undefined {
  const body = /^-----BEGIN OPENSSH PRIVATE KEY-----\n([A-Za-z0-9+/=\n]+)\n-----END/.exec(text)?.[1] ?? ''
  const bytes = Buffer.from(body, 'base64')
  const head = Buffer.from('openssh-key-v1\0')
  const blobAt = head.length + field('none').length * 2 + field('').length + 4
  const length = field(type).length + 4 + 32
  const blob = bytes.subarray(blobAt + 4, blobAt + 4 + length)
  const isOurs = bytes.subarray(0, head.length).equals(head) && blob.subarray(0, field(type).length).equals(field(type))
  return isOurs && blob.length === length ? `${type} ${blob.toString('base64')} ${comment}` : undefined
}

function field(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string) // a Buffer is copied as it is
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
