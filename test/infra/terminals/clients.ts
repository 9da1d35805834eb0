/** Terminals in tests: a node whose machines are this host, and a client of the web socket. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import type { Channel, Command, Compute, Machine } from '#src/drivers/compute/machine.ts'
import { closeTerminal } from '#src/drivers/compute/guest/terminals.ts'
import { unreachable } from '#src/drivers/compute/ssh.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'
import { openNodeAgent, type NodeAgent } from '#workers/infra/node-agent.ts'
import type { GuestEnv } from '#workers/infra/guest-env.ts'
import { unnotedUse } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

/** A node with the real agent, whose machines run programs of this host, in a home folder of their own. */
export type TerminalNode = {
  id: string
  home: string
  /** How many requests and connections use a VM now. */
  inUse: () => number
  /** Cuts all connections, as when the worker is killed, and starts the next one. */
  restart: (between?: () => Promise<void>) => Promise<void>
  /** Ends the terminals of these public ids, too. */
  stop: (terminals: readonly string[]) => Promise<void>
}

/** Starts one. */
export async function startTerminalNode(services: Services): Promise<TerminalNode> {
  const home = mkdtempSync(join(tmpdir(), 'berth-terminals-'))
  const id = newUuid()
  const machine = {
    run: (command: Command) => runHere(command, home),
    connect: connectHere,
    connectPort: connectPortHere,
    postgresPort: null,
  } as Partial<Machine> // what terminals and tunnels use of one
  const socketPath = join(home, 'node.sock')
  let inUse = 0
  const begin = async () => {
    inUse++
    return () => void inUse--
  }
  const open = (): Promise<NodeAgent> =>
    openNodeAgent({
      services,
      compute: { find: () => machine } as Partial<Compute> as Compute,
      env: { push: async () => true } as Partial<GuestEnv> as GuestEnv,
      use: { ...unnotedUse, begin },
      socketPath,
    })
  let agent = await open()
  await sql`insert into nodes (id, name, agent_url, acceleration, memory_mb) values (${id}, 'here', ${`unix:${socketPath}`}, 'emulation', 0)`.execute(
    services.db,
  )
  return {
    id,
    home,
    inUse: () => inUse,
    async restart(between = async () => undefined) {
      await agent.close()
      await between()
      agent = await open()
    },
    async stop(terminals) {
      await agent.close()
      for (const one of terminals) await closeTerminal(machine as Machine, decodeId('terminal', one) ?? '')
      rmSync(home, { recursive: true, force: true })
    },
  }
}

async function runHere({ argv }: Command, home: string): Promise<Channel> {
  const [program = '', ...rest] = argv
  const { PATH = '' } = process.env
  const child = spawn(program, rest, { cwd: home, env: { HOME: home, PATH, LANG: 'C.UTF-8', PS1: '$ ' } })
  const exit = once(child, 'close').then(([code]) => ({ exitCode: Number(code), timedOut: false }))
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exit,
    close: () => void child.kill('SIGKILL'),
  }
}

async function connectHere(path: string): Promise<Duplex> {
  const socket = connect({ path, allowHalfOpen: true })
  await once(socket, 'connect').catch(() => {
    throw unreachable()
  })
  return socket
}

async function connectPortHere(port: number): Promise<Duplex> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  await once(socket, 'connect').catch(() => {
    throw new BerthError('upstream_error', `Nothing in the VM listens at port ${port}.`) // as the driver says it
  })
  return socket
}

/** What a client was told, in order; output and its offset are beside it. */
export type Told = { type: string; offset?: number; code?: number | string; message?: string }

/** A client. It acknowledges what it gets, unless told otherwise. */
export class Client {
  readonly socket: WebSocket
  readonly told: Told[] = []
  readonly closed: Promise<{ code: number; reason: string }>
  acknowledges = true
  output = Buffer.alloc(0)
  /** Of the first byte of `output`. */
  offset = 0
  #pieces: Buffer[] = []

  constructor(url: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(`${url.replace('http', 'ws')}/terminal`, 'berth.terminal.v1', { headers })
    this.closed = once(this.socket, 'close').then(([code, reason]) => ({ code: Number(code), reason: String(reason) }))
    this.socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (!isBinary) return this.#hear(JSON.parse(data.toString()) as Told)
      this.#pieces.push(data)
      if (this.acknowledges) this.acknowledge()
    })
  }

  #hear(told: Told): void {
    this.told.push(told)
    if ((told.type === 'attached' || told.type === 'gap') && this.received.length === 0) this.offset = told.offset ?? 0
  }

  /** What was printed so far. */
  get received(): Buffer {
    if (this.#pieces.length > 0) this.output = Buffer.concat([this.output, ...this.#pieces.splice(0)])
    return this.output
  }

  get text(): string {
    return this.received.toString()
  }

  /** How many bytes of all output it has. */
  get end(): number {
    return this.offset + this.received.length
  }

  say(message: object): void {
    this.socket.send(JSON.stringify(message))
  }

  acknowledge(): void {
    this.say({ type: 'ack', offset: this.end })
  }

  type(text: string): void {
    this.socket.send(Buffer.from(text))
  }

  /** Until it is attached, or refused. */
  async attach(ticket: string, more: { after?: number; columns?: number; rows?: number } = {}): Promise<this> {
    if (this.socket.readyState !== WebSocket.OPEN) await once(this.socket, 'open')
    this.say({ type: 'attach', ticket, columns: 80, rows: 24, ...more })
    await until('it is attached or refused', () => this.told.length > 0)
    return this
  }

  /** Until this was printed. */
  async sees(wanted: string | RegExp, limitMs = 20_000): Promise<void> {
    const has = (): boolean => (typeof wanted === 'string' ? this.text.includes(wanted) : wanted.test(this.text))
    await until(`${String(wanted)} is printed`, has, limitMs).catch((error: unknown) => {
      throw new Error(`${String(wanted)} is not in: ${this.text.slice(-500)}`, { cause: error })
    })
  }
}
