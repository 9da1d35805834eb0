/**
 * Replaces the placeholders of secrets in what a VM sends, on the way to the hosts that a secret is for. The VM never
 * holds the secret. This happens only in TLS that the proxy terminates, which it does for these hosts alone, after their
 * certificate is verified (secured.ts); over plain HTTP anybody on the path could read the secret.
 */
import type { IncomingMessage } from 'node:http'
import { decodeId } from '#src/platform/ids.ts'
import type { GitUse } from './git.ts'

/** What a placeholder stands for. `hosts` are exact names or `*.suffix`; null means every host. */
export type SecretUse = { secret: string; hosts: readonly string[] | null; inHeaders: boolean; inBody: boolean }

/**
 * A secret of a machine, by the stored uuid of its credential. `git`: it is replaced in such requests of git only, since it
 * opens more than repositories.
 */
export type MachineSecret = SecretUse & { credentialId: string; git?: GitUse }

/** Finds what the placeholders that a machine was given stand for. */
export type FindSecrets = (machineId: string) => Promise<readonly MachineSecret[]>

/** The hosts that the secrets of a machine are for, one entry for each secret; null means every host. */
export type FindSecretHosts = (machineId: string) => Promise<readonly (readonly string[] | null)[]>

/** Bodies up to this size are searched; larger ones, compressed ones and those of unknown length are forwarded unchanged. */
export const searchedBodyBytesMax = 64 * 1024

const mark = 'berth-secret-'
const placeholder = /berth-secret-((?:vcrd|chl|sesrsc)_[0-7][0-9a-hjkmnp-tv-z]{25})/g

/** What is forwarded: headers as a flat list, and the body when it was read. */
export type Outgoing = { headers: string[]; body: Buffer | null }

/**
 * Replaces placeholders in a request.
 * @param headers as they will be sent, a flat list of names and values.
 * @throws what reading the body throws, when the guest goes away.
 */
export async function withSecrets(
  secrets: readonly MachineSecret[],
  host: string,
  headers: readonly string[],
  req: IncomingMessage,
): Promise<Outgoing> {
  const find: Find = (credentialId) => secrets.find((one) => one.credentialId === credentialId)
  const replaced = headers.map((text, at) => (at % 2 === 0 ? text : inHeader(find, host, headers[at - 1] ?? '', text)))
  const sizeBytes = Number(req.headers['content-length'] ?? NaN)
  const searched = sizeBytes > 0 && sizeBytes <= searchedBodyBytesMax && req.headers['content-encoding'] === undefined
  if (!searched) return { headers: replaced, body: null }
  const body = Buffer.concat((await req.toArray()) as Buffer[]) // a request yields buffers
  if (!body.includes(mark)) return { headers: replaced, body }
  const changed = Buffer.from(
    replaceIn(
      find,
      host,
      body.toString('latin1'),
      (use) => use.inBody,
      (secret) => Buffer.from(secret).toString('latin1'),
    ),
    'latin1',
  )
  return {
    headers: replaced.map((text, at) =>
      at % 2 === 1 && replaced[at - 1]?.toLowerCase() === 'content-length' ? String(changed.length) : text,
    ),
    body: changed,
  }
}

type Find = (credentialId: string) => SecretUse | undefined

function inHeader(find: Find, host: string, name: string, value: string): string {
  const inHeaders = (use: SecretUse): boolean => use.inHeaders
  const basic = name.toLowerCase() === 'authorization' ? /^basic +([a-z0-9+/]+=*) *$/i.exec(value)?.[1] : undefined // a user name and password are base64
  const unpacked = basic && Buffer.from(basic, 'base64').toString('latin1')
  if (unpacked?.includes(mark))
    return `Basic ${Buffer.from(replaceIn(find, host, unpacked, inHeaders), 'latin1').toString('base64')}`
  return value.includes(mark) ? replaceIn(find, host, value, inHeaders) : value
}

function replaceIn(
  find: Find,
  host: string,
  text: string,
  where: (use: SecretUse) => boolean,
  encode = (secret: string): string => secret,
): string {
  return text.replaceAll(placeholder, (whole, publicId: string) => {
    const use = find(
      decodeId('credential', publicId) ??
        decodeId('codeHostLink', publicId) ??
        decodeId('sessionResource', publicId) ??
        '',
    )
    return use && where(use) && isFor(use.hosts, host) ? encode(use.secret) : whole
  })
}

/** Whether a secret of these hosts is for this one, which is in normal form. */
export function isFor(hosts: readonly string[] | null, host: string): boolean {
  return hosts === null || hosts.some((one) => (one.startsWith('*.') ? host.endsWith(one.slice(1)) : host === one))
}
