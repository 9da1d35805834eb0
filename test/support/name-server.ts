/** A real DNS server on a free UDP port of loopback, whose answers a test sets: A and AAAA, time to live 0. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** The addresses of a name, by the number of the query for it and type (from 0); `silent` never answers. */
type Answers = readonly string[] | 'silent' | ((query: number) => readonly string[])

/** `asked` counts the queries as `A name` or `AAAA name`. */
export type NameServer = {
  address: string
  names: Record<string, Answers>
  asked: Map<string, number>
  close: () => void
}

const typeA = 1
const typeAaaa = 28

/** Starts one; a name that is not set does not exist. */
export async function startNameServer(names: Record<string, Answers>): Promise<NameServer> {
  const socket = createSocket('udp4')
  const asked = new Map<string, number>()
  socket.on('message', (query, peer) => {
    const { name, type, end } = readQuestion(query)
    const key = `${type === typeA ? 'A' : 'AAAA'} ${name}`
    const before = asked.get(key) ?? 0
    asked.set(key, before + 1)
    const set = names[name]
    if (set === 'silent') return
    const addresses = (typeof set === 'function' ? set(before) : (set ?? [])).filter(
      (address) => address.includes(':') === (type === typeAaaa),
    )
    const header = Buffer.alloc(12)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(set === undefined ? 0x8183 : 0x8180, 2) // NXDOMAIN, or a plain answer
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(addresses.length, 6)
    const records = addresses.map((address) => {
      const data = type === typeA ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address)
      const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length])
      return Buffer.concat([head, data])
    })
    socket.send(Buffer.concat([header, query.subarray(12, end), ...records]), peer.port, peer.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, names, asked, close: () => socket.close() }
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function ipv6Bytes(address: string): Buffer {
  const [front = '', back = ''] = address.split('::')
  const head = front.split(':').filter(Boolean)
  const tail = back.split(':').filter(Boolean)
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail]
  return Buffer.from(groups.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 0xff]))
}
