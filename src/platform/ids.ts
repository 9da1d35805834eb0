/**
 * TypeIDs: `<prefix>_` and 26 characters of lower-case Crockford base32 of a UUIDv7.
 * The database stores the bare UUID; the prefix is added and checked here.
 */
import { randomBytes, randomFillSync } from 'node:crypto'
import { nowMs } from './clock.ts'

/** The prefix of every kind of object. */
export const idPrefixes = {
  vm: 'vm',
  template: 'tpl',
  folder: 'fld',
  process: 'prc',
  terminal: 'trm',
  node: 'node',
  build: 'bld',
  upload: 'upl',
  database: 'db',
  project: 'prj',
  backup: 'bkp',
  restore: 'rst',
  backupSchedule: 'bks',
  proxy: 'prx',
  domain: 'dom',
  service: 'svc',
  function: 'fn',
  functionVersion: 'fnv',
  functionRepository: 'fnr',
  codeHostLink: 'chl',
  agent: 'agt',
  environment: 'env',
  mcpConnection: 'svcn',
  vault: 'vlt',
  credential: 'vcrd',
  session: 'sesn',
  sessionEvent: 'sevt',
  outcome: 'outc',
  file: 'file',
  sessionResource: 'sesrsc',
  skill: 'skill',
  skillVersion: 'skillver',
  group: 'grp',
  groupMessage: 'gmsg',
  groupRun: 'grun',
  approval: 'apr',
  trigger: 'trg',
  triggerFire: 'fire',
  memory: 'mem',
  peerExchange: 'pex',
  deployment: 'depl',
  webhookEndpoint: 'whk',
  webhookEvent: 'event',
  webhookDelivery: 'whd',
  deploymentRun: 'drun',
  schedule: 'sch',
  scheduleRun: 'srun',
  organization: 'org',
  user: 'usr',
  membership: 'mbr',
  invitation: 'inv',
  auditEvent: 'aud',
  browserSession: 'bses',
  authorization: 'authz',
  oauthClient: 'oac',
  request: 'req',
  inferenceRequest: 'infreq',
  completion: 'chatcmpl',
} as const

/** A kind of object that has an id. */
export type IdKind = keyof typeof idPrefixes

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const digitPairs = Array.from({ length: 1024 }, (_, value) => `${alphabet[value >> 5]}${alphabet[value & 31]}`)
const digitOf = new Map(Array.from(alphabet, (letter, value) => [letter, value]))
const hexByte = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'))

const randomPool = Buffer.alloc(10 * 512)
let randomUsed = randomPool.length

/**
 * A new UUIDv7 in its canonical text form; sorts by creation time to the millisecond. A hot path: several for every
 * request.
 */
export function newUuid(): string {
  if (randomUsed === randomPool.length) {
    randomFillSync(randomPool)
    randomUsed = 0
  }
  const at = randomUsed
  randomUsed += 10
  const byte = (place: number, keep = 0xff, set = 0): string => hexByte[(randomPool[at + place]! & keep) | set]! // ten are left from here on
  return `${timeText()}-${byte(0, 0x0f, 0x70)}${byte(1)}-${byte(2, 0x3f, 0x80)}${byte(3)}-${byte(4)}${byte(5)}${byte(6)}${byte(7)}${byte(8)}${byte(9)}`
}

let timeMs = -1
let timeHex = ''

/** The first two groups of a uuid for the current time. */
function timeText(): string {
  const ms = nowMs()
  if (ms !== timeMs) {
    const digits = ms.toString(16).padStart(12, '0')
    timeMs = ms
    timeHex = `${digits.slice(0, 8)}-${digits.slice(8)}`
  }
  return timeHex
}

/** A new id of this kind, as callers see it. */
export function newId(kind: IdKind): string {
  return encodeId(kind, newUuid())
}

/** The public id of a stored uuid. */
export function encodeId(kind: IdKind, uuid: string): string {
  return `${idPrefixes[kind]}_${encodeSuffix(uuid)}`
}

/** The stored uuid of a public id of this kind, or undefined when the text is not one. */
export function decodeId(kind: IdKind, id: string): string | undefined {
  const prefix = idPrefixes[kind]
  if (id.length !== prefix.length + 27 || id[prefix.length] !== '_' || !id.startsWith(prefix)) return undefined
  if (id.charCodeAt(prefix.length + 1) > 0x37) return undefined // 26 digits have 130 bits, so the first is at most 7
  const bytes = Buffer.alloc(16)
  let bits = 0
  let held = 0
  let at = 0
  for (let i = prefix.length + 1; i < id.length; i++) {
    const digit = digitOf.get(id[i]!)
    if (digit === undefined) return undefined
    if (i === prefix.length + 1) {
      bits = digit
      held = 3
      continue
    }
    bits = ((bits << 5) | digit) & 0xfff
    held += 5
    if (held >= 8) {
      held -= 8
      bytes[at++] = (bits >> held) & 0xff
    }
  }
  return uuidText(bytes)
}

/** Whether a text is a stored uuid, as other processes of Berth send one. */
export function isStoredId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
}

const tokenBytes = 32

/** So many unpredictable bytes as base64url text; for tokens and other secrets. */
export function randomToken(bytes: number = tokenBytes): string {
  return randomBytes(bytes).toString('base64url')
}

/** Whether a text has the form of such a token of the usual length. */
export function isToken(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

/** The 26-character suffix of every id made from this uuid. A hot path: called for every row of a list. */
function encodeSuffix(uuid: string): string {
  const first = (hexDigit(uuid, 0) << 4) | hexDigit(uuid, 1) // 128 bits are padded in front to 130
  return (
    digitPairs[first]! + // two hexadecimal digits are below 256
    fourDigits(uuid, 2, 3, 4, 5, 6) +
    fourDigits(uuid, 7, 9, 10, 11, 12) +
    fourDigits(uuid, 14, 15, 16, 17, 19) +
    fourDigits(uuid, 20, 21, 22, 24, 25) +
    fourDigits(uuid, 26, 27, 28, 29, 30) +
    fourDigits(uuid, 31, 32, 33, 34, 35)
  )
}

/** Twenty bits, as five hexadecimal digits of a uuid's text have them, which is where its hyphens are not. */
function fourDigits(uuid: string, a: number, b: number, c: number, d: number, e: number): string {
  const upper = (hexDigit(uuid, a) << 6) | (hexDigit(uuid, b) << 2) | (hexDigit(uuid, c) >> 2)
  const lower = ((hexDigit(uuid, c) & 3) << 8) | (hexDigit(uuid, d) << 4) | hexDigit(uuid, e)
  return digitPairs[upper]! + digitPairs[lower]! // both have ten bits
}

function hexDigit(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code < 0x3a ? code - 0x30 : (code | 0x20) - 0x57
}

function uuidText(bytes: Buffer): string {
  let text = ''
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += '-'
    text += hexByte[bytes[i]!]
  }
  return text
}
