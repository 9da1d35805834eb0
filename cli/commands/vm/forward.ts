/** `berth vm forward`: ports of a VM at this machine. */
import { createServer, type Server, type Socket } from 'node:net'
import { isBerthError, Failure, sentenceOf, UsageError } from '../../errors.ts'
import type { Cli, Verb } from '../../grammar.ts'
import { lineOf } from '../../text.ts'
import { pourInto } from '../../tunnels.ts'
import { findVmOf } from './names.ts'

const portMax = 65_535
const portsMax = 20 // of one command
const connectionsMax = 100 // of each port
const usualAddress = '127.0.0.1'

/** A port here, 0 for any that is free, and the one in the VM that it leads to. */
type Pair = { here: number; there: number }

/** `forward`. */
export const forwardVerb: Verb = {
  name: 'forward',
  args: '<vm> <ports...>',
  about: 'ports of a VM at this machine, until Ctrl-C: 5432, or 15432:5432 for another one here',
  options: [['--bind <address>', `listen at this address, ${usualAddress} by default`]],
  async run(cli, [text = ''], options, words) {
    const pairs = words.map(pairOf)
    if (pairs.length > portsMax) throw new UsageError(`One command forwards at most ${portsMax} ports.`)
    const address = options.text('bind') ?? usualAddress
    const vmId = await findVmOf(cli, text)
    await (await cli.berth()).vms.get(vmId) // one that is not there is told now, and not to the first connection
    const servers: Server[] = []
    try {
      for (const pair of pairs) servers.push(await listen(cli, { vmId, text, address, pair }))
      if (address !== usualAddress && address !== '::1' && address !== 'localhost')
        cli.out.note(`Whoever reaches ${lineOf(address)} reaches these ports of the VM as you.`)
      await new Promise<never>(() => undefined) // a signal ends it
    } finally {
      for (const server of servers) server.close()
    }
  },
}

function pairOf(word: string): Pair {
  const [, first = '', second] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(word) ?? []
  const pair = { here: Number(first), there: Number(second ?? first) }
  if (first === '' || pair.here > portMax || pair.there < 1 || pair.there > portMax)
    throw new UsageError(
      `'${lineOf(word)}' is no port. Pass 5432, or 15432:5432: the port here, and the one in the VM.`,
    )
  return pair
}

type Forwarded = { vmId: string; text: string; address: string; pair: Pair }

async function listen(cli: Cli, { vmId, text, address, pair }: Forwarded): Promise<Server> {
  const { here, there } = pair
  const name = `${lineOf(text)}:${there}`
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
    connect(cli, socket, vmId, there).catch((error: unknown) => {
      socket.destroy()
      cli.out.note(`${name}: ${lineOf(isBerthError(error) ? error.message : sentenceOf(error))}`)
    })
  })
  server.maxConnections = connectionsMax
  server.on('drop', () => cli.out.note(`${name}: more than ${connectionsMax} connections; one was refused.`))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, { text, address, pair })))
    server.listen(here, address, resolve)
  })
  const at = server.address()
  const port = typeof at === 'object' && at ? at.port : here
  const shown = address.includes(':') ? `[${address}]` : lineOf(address)
  cli.out.result({ vmId, address, port, vmPort: there }, `${shown}:${port} -> ${name}`)
  return server
}

function cannotListen(error: NodeJS.ErrnoException, { text, address, pair }: Omit<Forwarded, 'vmId'>): Failure {
  const { here, there } = pair
  const other = here + 10_000 <= portMax ? here + 10_000 : 0
  const advice = `Try another one: berth vm forward ${lineOf(text)} ${other}:${there}`
  if (error.code === 'EADDRINUSE') return new Failure(`Port ${here} of ${lineOf(address)} is taken. ${advice}`)
  if (error.code === 'EACCES') return new Failure(`Port ${here} is not for everybody here. ${advice}`)
  return new Failure(`Nothing can listen at ${lineOf(address)}: ${error.message}.`)
}

/** One connection, to its end. */
async function connect(cli: Cli, socket: Socket, vmId: string, port: number): Promise<void> {
  socket.on('error', () => socket.destroy()) // 'close' follows
  const { vms } = await cli.berth()
  const tunnel = await vms.tunnels.open(vmId, port, {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        socket.write(bytes, (error) => (error ? reject(error) : resolve()))
      }),
    end: () => void socket.end(),
  })
  socket.once('close', () => tunnel.leave())
  if (socket.destroyed) tunnel.leave()
  await pourInto(tunnel, socket)
}
