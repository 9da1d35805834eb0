/** Finds the user of this machine at the other end of a loopback connection, from Linux's /proc/net. */
import { readFile } from 'node:fs/promises'
import { isIPv4, type Socket } from 'node:net'
import { endianness } from 'node:os'

const established = '01'
const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
const ipv6Loopback = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>

/**
 * The uid of the process that opened this connection; null when it is unknown: not over loopback, not on Linux, or
 * already closed. A socket that its process has closed is listed as root's, so only open ones count.
 */
export async function userOfPeer({ remoteAddress, remotePort, localAddress, localPort }: Ends): Promise<number | null> {
  if (!remotePort || !localPort) return null
  for (const [file, form] of [
    ['/proc/self/net/tcp', shortForm],
    ['/proc/self/net/tcp6', longForm],
  ] as const) {
    const [peer, ours] = [form(remoteAddress ?? ''), form(localAddress ?? '')]
    if (!peer || !ours) continue
    const table = await readFile(file, 'latin1').catch(() => '') // not Linux, or without IPv6
    const uid = findUser(table, `${peer}:${port(remotePort)} ${ours}:${port(localPort)} `)
    if (uid !== null) return uid
  }
  return null
}

/**
 * The uid in the line of a connection: after its two ends come the state, queues, timer, retransmissions, and the uid.
 */
function findUser(table: string, ends: string): number | null {
  const at = table.indexOf(ends)
  if (at < 0) return null
  const [state, , , , uid] = table
    .slice(at + ends.length, table.indexOf('\n', at))
    .split(' ')
    .filter(Boolean)
  return state === established && uid !== undefined ? Number(uid) : null
}

function port(number: number): string {
  return number.toString(16).toUpperCase().padStart(4, '0')
}

/** An IPv4 address as /proc/net/tcp writes it; null for another. */
function shortForm(address: string): string | null {
  const bytes = ipv4Bytes(address)
  return bytes && inWords(bytes)
}

/** The same as /proc/net/tcp6 writes it: IPv4 by its mapped form, and the loopback address of IPv6. */
function longForm(address: string): string | null {
  const bytes = ipv4Bytes(address)
  return bytes ? inWords([...mappedPrefix, ...bytes]) : address === '::1' ? inWords(ipv6Loopback) : null
}

function ipv4Bytes(address: string): number[] | null {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
  return isIPv4(plain) ? plain.split('.').map(Number) : null
}

/** Bytes as the kernel prints them: words of four in this machine's order. */
function inWords(bytes: readonly number[]): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 4) {
    const word = bytes.slice(at, at + 4)
    text += (endianness() === 'LE' ? word.reverse() : word).map((byte) => byte.toString(16).padStart(2, '0')).join('')
  }
  return text.toUpperCase()
}
