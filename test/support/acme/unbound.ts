/** A real resolver, Debian's unbound, which asks these zones at servers on ports of loopback. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'

/** Starts one. @param zones the port of the server of each zone. */
export async function startUnbound(
  zones: Readonly<Record<string, number>>,
): Promise<{ port: number; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-unbound-'))
  const port = await freePort()
  const file = join(folder, 'unbound.conf')
  const stubs = Object.entries(zones).flatMap(([zone, at]) => [
    'stub-zone:',
    `  name: "${zone}"`,
    `  stub-addr: 127.0.0.1@${at}`,
  ])
  const server = [
    'interface: 127.0.0.1',
    `port: ${port}`,
    'do-not-query-localhost: no',
    'use-syslog: no',
    'username: ""',
  ]
  const further = ['chroot: ""', 'pidfile: ""', 'module-config: "iterator"', 'cache-max-ttl: 0', 'do-daemonize: no']
  const free = ['local-zone: "test." nodefault', 'local-zone: "localhost." nodefault', 'logfile: ""', 'verbosity: 1']
  writeFileSync(
    file,
    ['server:', ...[...server, ...further, ...free].map((line) => `  ${line}`), ...stubs, ''].join('\n'),
  )
  const child = spawn('/usr/sbin/unbound', ['-d', '-c', file], { stdio: ['ignore', 'pipe', 'pipe'] })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => lines.push(text.toString()))
  await until('unbound listens', () => {
    if (child.exitCode !== null) throw new Error(lines.join(''))
    return lines.join('').includes('start of service')
  })
  return {
    port,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
