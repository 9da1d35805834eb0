/**
 * Answers what ACME authorities ask the DNS about wildcards: the zone `acme.<platform domain>`, to which the owner of a
 * domain points `_acme-challenge` by a CNAME. Authoritative for that zone only, over UDP, and off unless a port is set.
 */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { AUTHORITATIVE_ANSWER, decode, encode, type Answer, type Packet, type Question } from 'dns-packet'
import type { Config } from '#src/platform/config.ts'
import { log } from '#src/platform/log.ts'

/** What it needs. `answersOf` gives the TXT records at a label below the zone; null when nobody has that label. */
export type ChallengeDnsOptions = {
  host: string
  /** 0 takes any that is free. */
  port: number
  /** Such as `acme.berth.example.com`. */
  zone: string
  answersOf: (label: string) => Promise<readonly string[] | null>
}

/** A server that listens. */
export type ChallengeDns = { port: number; close: () => void }

/** Questions that wait for an answer at a time; further ones get none, and are asked again. */
const questionsAtOnce = 64
/** Longer ones are no questions that an authority asks. Unit: bytes. */
const questionBytesMax = 512
const answerSeconds = 1
const plainName = /^[A-Za-z0-9_.-]{1,253}$/
const [noError, noSuchName, refusedCode] = [0, 3, 5]

/** Opens one. @throws Error when the port is taken. */
export async function openChallengeDns({ host, port, zone, answersOf }: ChallengeDnsOptions): Promise<ChallengeDns> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  let asked = 0
  socket.on('message', (bytes, peer) => {
    // Whoever forges a question may forge its port 0, to which nothing can be sent.
    const isRead = bytes.length <= questionBytesMax && peer.port > 0 && asked < questionsAtOnce
    const query = isRead ? readQuery(bytes) : null
    if (!query) return
    asked++
    answer(query, zone, answersOf)
      .then((packet) => send(packet, peer))
      .catch((error: unknown) => log.warn({ err: error }, 'a question about a wildcard could not be answered'))
      .finally(() => asked--)
  })
  const send = (packet: Buffer, peer: RemoteInfo): void => socket.send(packet, peer.port, peer.address)
  const listening = once(socket, 'listening')
  socket.bind(port, host)
  await listening
  socket.on('error', (error) => log.warn({ err: error }, 'the DNS of challenges had an error'))
  return { port: (socket.address() as AddressInfo).port, close: () => socket.close() } // it is bound
}

/**
 * The one that the settings ask for, if they do. Where its port is taken the edge goes on without it: only wildcards are
 * not proven then.
 */
export async function openConfiguredDns(
  { host, dnsPort, domain }: Pick<Config, 'host' | 'dnsPort' | 'domain'>,
  answersOf: ChallengeDnsOptions['answersOf'],
): Promise<ChallengeDns | null> {
  if (dnsPort === null) return null
  try {
    return await openChallengeDns({ host, port: dnsPort, zone: `acme.${domain}`, answersOf })
  } catch (error) {
    log.error({ err: error, port: dnsPort }, 'the port of BERTH_DNS_PORT cannot be used: wildcards are not proven')
    return null
  }
}

type Query = { id: number; flags: number; question: Question }

/** A question; null for everything else that somebody may send. */
function readQuery(bytes: Buffer): Query | null {
  try {
    const { id = 0, type, flags = 0, questions, opcode } = decode(bytes) as Packet & { opcode?: string } // beside what is declared
    const [question] = questions ?? []
    const isOne = type === 'query' && opcode === 'QUERY' && questions?.length === 1
    return isOne && question && plainName.test(question.name) ? { id, flags, question } : null
  } catch {
    return null // anybody may send anything here
  }
}

async function answer(
  { id, flags, question }: Query,
  zone: string,
  answersOf: ChallengeDnsOptions['answersOf'],
): Promise<Buffer> {
  const recursionDesired = flags & 0x100
  const respond = (code: number, answers: Answer[], isOurs = true): Buffer =>
    encode({
      id,
      type: 'response',
      flags: recursionDesired | (isOurs ? AUTHORITATIVE_ANSWER : 0) | code,
      questions: [question],
      answers,
      authorities: isOurs && answers.length === 0 ? [startOf(zone)] : [],
    })
  const name = question.name.toLowerCase()
  if (name === zone) {
    if (question.type === 'SOA') return respond(noError, [startOf(zone)])
    return respond(noError, question.type === 'NS' ? [{ type: 'NS', name: question.name, ttl: 300, data: zone }] : [])
  }
  if (!name.endsWith(`.${zone}`)) return respond(refusedCode, [], false)
  const texts = await answersOf(name.slice(0, -zone.length - 1))
  if (texts === null) return respond(noSuchName, [])
  const answers = texts.map((data): Answer => ({ type: 'TXT', name: question.name, ttl: answerSeconds, data }))
  return respond(noError, question.type === 'TXT' ? answers : [])
}

function startOf(zone: string): Answer {
  const [serial, refresh, retry, expire, minimum] = [1, 3600, 600, 86_400, answerSeconds]
  return {
    type: 'SOA',
    name: zone,
    ttl: answerSeconds,
    data: { mname: zone, rname: `hostmaster.${zone}`, serial, refresh, retry, expire, minimum },
  }
}
