/**
 * A machine whose Postgres is a set of names: it understands what backups and restores say to a server, and a dump is
 * whatever text a database holds.
 */
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { connectTo } from './fake-postgres.ts'
import type { Channel, Command, Machine } from '#src/drivers/compute/machine.ts'

/** A server in a guest. */
export type FakeServer = {
  readonly machine: Machine
  /** What each database holds. */
  readonly databases: Map<string, string>
  /** Those that nobody may connect to. */
  readonly closed: Set<string>
  /** Every statement, as it came. */
  readonly said: string[]
  /** Called before each statement; a test fails or delays it here. */
  before: (statement: string) => Promise<void> | void
  /** How the next dumps end: `hang` sends half and waits, `fail` half and an error. */
  dumps: 'well' | 'hang' | 'fail'
  /** How the next loads end. */
  loads: 'well' | 'hang' | 'fail'
  /** Channels that were closed by the worker. */
  closedChannels: number
  freeKilobytes: number
}

/** Starts one with the database `app`. */
export function fakeServer(held = 'the first data'): FakeServer {
  const server: FakeServer = {
    machine: {
      run: (command: Command) => run(server, command),
      connect: async () => connectTo((statement) => answer(server, statement)),
    } as unknown as Machine,
    databases: new Map([
      ['app', held],
      ['postgres', ''],
    ]),
    closed: new Set(),
    said: [],
    before: () => undefined,
    dumps: 'well',
    loads: 'well',
    closedChannels: 0,
    freeKilobytes: 10_000_000,
  }
  return server
}

async function run(server: FakeServer, { argv }: Command): Promise<Channel> {
  if (argv[0] === 'df')
    return ended(`Filesystem 1024-blocks Used Available\n/dev/vdb 1 1 ${server.freeKilobytes} 1% /\n`)
  const [, name = ''] = /^dbname=(\w+) /.exec(argv[argv.indexOf('-d') + 1] ?? '') ?? []
  if (argv.some((word) => word.endsWith('/pg_dump'))) return dump(server, name)
  if (argv.some((word) => word.endsWith('/pg_restore'))) return load(server, name)
  throw new Error(`no such program: ${argv.join(' ')}`)
}

/** A program that has printed this and ended. */
function ended(stdout: string, exitCode = 0, stderr = ''): Channel {
  const stdin = new PassThrough()
  stdin.resume()
  const output = Readable.from([Buffer.from(stdout)])
  const exit = once(output, 'end').then(() => ({ exitCode, timedOut: false }))
  return { stdin, stdout: output, stderr: Readable.from([Buffer.from(stderr)]), exit, close: () => undefined }
}

async function answer(server: FakeServer, statement: string): Promise<string> {
  await server.before(statement)
  server.said.push(statement)
  return execute(server, statement)
}

function execute({ databases, closed }: FakeServer, statement: string): string {
  if (statement.startsWith('select datname')) return `${[...databases.keys()].join('\n')}\n`
  if (statement.includes("current_setting('server_version')")) return '17.6 (Debian)|8000000\n'
  const name = (pattern: RegExp): string | undefined => pattern.exec(statement)?.[1]
  const dropped = name(/^drop database if exists "(\w+)"/)
  if (dropped) databases.delete(dropped)
  const made = name(/^create database "(\w+)"/)
  if (made) databases.set(made, '')
  const [shut, opened] = [name(/"(\w+)" with allow_connections false/), name(/"(\w+)" with allow_connections true/)]
  if (shut) closed.add(shut)
  if (opened) closed.delete(opened)
  for (const [, from = '', to = ''] of statement.matchAll(/alter database "(\w+)" rename to "(\w+)"/g)) {
    if (databases.has(to) || !databases.has(from)) throw new Error(`database "${to}" already exists`)
    databases.set(to, databases.get(from) ?? '')
    databases.delete(from)
    if (closed.delete(from)) closed.add(to)
  }
  return ''
}

async function dump(server: FakeServer, name: string): Promise<Channel> {
  const bytes = Buffer.from(server.databases.get(name) ?? '')
  const half = bytes.subarray(0, bytes.length / 2)
  if (server.dumps === 'well') return ended(bytes.toString())
  if (server.dumps === 'fail') return ended(half.toString(), 1, 'pg_dump: error: query failed: out of memory\n')
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  stdout.write(half)
  return { stdin, stdout, stderr, ...closable(server, () => stdout.destroy()) }
}

async function load(server: FakeServer, name: string): Promise<Channel> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  if (server.loads === 'hang') {
    stdin.resume()
    return { stdin, stdout, stderr, ...closable(server, () => stdin.destroy()) }
  }
  const exit = (async () => {
    const data = await text(stdin)
    stdout.end()
    if (server.loads === 'fail') {
      stderr.end('pg_restore: error: could not execute query: ERROR: disk full\n')
      return { exitCode: 1, timedOut: false }
    }
    stderr.end()
    server.databases.set(name, data)
    return { exitCode: 0, timedOut: false }
  })()
  return { stdin, stdout, stderr, exit, close: () => undefined }
}

/** A program that ends when its channel is closed. */
function closable(server: FakeServer, onClose: () => void): Pick<Channel, 'exit' | 'close'> {
  const closing = new PassThrough()
  const exit = once(closing, 'close').then(() => ({ exitCode: 137, timedOut: false }))
  let isOpen = true
  return {
    exit,
    close() {
      if (!isOpen) return
      isOpen = false
      server.closedChannels++
      onClose()
      closing.destroy()
    },
  }
}
