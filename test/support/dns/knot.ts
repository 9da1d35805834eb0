/** A real DNS server for tests: Knot, authoritative for zones of its own, on a port of loopback. Records change while it runs. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'

const run = promisify(execFile)
const daemon = '/usr/sbin/knotd'
const control = '/usr/sbin/knotc'

/** A running server. `address`: for `BERTH_DNS_SERVERS`. */
export type DnsServer = {
  address: string
  port: number
  /** Replaces the records of this type at a name, in full; no values: removes them. Rdata as in a zone file. */
  set: (name: string, type: string, ...values: string[]) => Promise<void>
  /** Stops answering, without ending; `false`: answers again. */
  hang: (isHanging?: boolean) => void
  stop: () => Promise<void>
}

/**
 * Starts one with these zones; each has itself as its name server, unless another one is set.
 * @param at where it listens: by default on a free port of 127.0.0.1.
 */
export async function startDnsServer(
  zones: readonly string[],
  at?: { address: string; port: number },
): Promise<DnsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-dns-'))
  const { address, port } = at ?? { address: '127.0.0.1', port: await freePort() }
  for (const place of ['run', 'zones']) mkdirSync(join(folder, place))
  for (const zone of zones)
    writeFileSync(
      join(folder, 'zones', `${zone}.zone`),
      `$TTL 0\n@ SOA ns1 admin 1 60 60 60 0\n@ NS ns1\nns1 A ${address}\n`,
    )
  const config = join(folder, 'knot.conf')
  writeFileSync(config, configOf(folder, `${address}@${port}`, zones))
  const server = spawn(daemon, ['-c', config], { stdio: 'ignore' })
  const ended = once(server, 'exit')
  const tell = async (...words: string[]) => run(control, ['-s', join(folder, 'run', 'knot.sock'), ...words])
  await until('the DNS server is up', async () => (await tell('zone-status').catch(() => null)) !== null)
  let last: Promise<void> = Promise.resolve()

  async function change(name: string, type: string, values: string[]): Promise<void> {
    const zone = zones.filter((one) => name === one || name.endsWith(`.${one}`)).sort((a, b) => b.length - a.length)[0]
    if (!zone) throw new Error(`${name} is in none of the zones`)
    await tell('zone-begin', zone)
    await tell('zone-unset', zone, `${name}.`, type).catch(() => undefined) // there was none
    for (const value of values) await tell('zone-set', zone, `${name}.`, '0', type, value)
    await tell('zone-commit', zone)
  }

  return {
    address: `${address}:${port}`,
    port,
    set: async (name, type, ...values) => (last = last.catch(() => undefined).then(() => change(name, type, values))),
    hang: (isHanging = true) => void server.kill(isHanging ? 'SIGSTOP' : 'SIGCONT'),
    async stop() {
      server.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function configOf(folder: string, listen: string, zones: readonly string[]): string {
  return `server:
    rundir: "${folder}/run"
    listen: ${listen}
    background-workers: 1
    udp-workers: 1
    tcp-workers: 1
database:
    storage: "${folder}/run"
template:
  - id: default
    storage: "${folder}/zones"
    zonefile-sync: -1
    zonefile-load: whole
    journal-content: none
zone:
${zones.map((zone) => `  - domain: ${zone}\n`).join('')}`
}
