/** A real ACME authority: Debian's pebble, with validation at ports of the test, and names from a real dnsmasq. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'

/** A running authority. */
export type Pebble = {
  directory: string
  /** The file by which its own address is trusted. */
  caFile: string
  /** The root of the certificates that it issues, in PEM. It makes a new one whenever it starts. */
  root: () => Promise<string>
  /** What it has printed. */
  lines: string[]
  /** Ends it, as if its host had failed; `restart` starts it at the same address, without its memory. */
  kill: () => Promise<void>
  restart: () => Promise<void>
  stop: () => Promise<void>
}

/** Starts one that looks for proofs of names below `test` at these ports of loopback. */
export async function startPebble({
  httpPort,
  tlsPort,
  dnsPort,
  env = {},
}: {
  httpPort: number
  tlsPort: number
  /** Of another name server than the one that says loopback for all names below `test`. */
  dnsPort?: number
  env?: Record<string, string>
}): Promise<Pebble> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-pebble-'))
  const [port, managementPort] = [await freePort(), await freePort()]
  const [caFile, keyFile, configFile] = ['ca.pem', 'key.pem', 'config.json'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const subject = ['-subj', '/CN=pebble', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  await promisify(execFile)('openssl', ['req', ...kind, ...subject, '-keyout', keyFile, '-out', caFile])
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: caFile,
    privateKey: keyFile,
    httpPort,
    tlsPort,
  }
  writeFileSync(configFile, JSON.stringify({ pebble }))
  const names = dnsPort === undefined ? await startDnsmasq(['--address=/test/127.0.0.1']) : null
  const lines: string[] = []
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const words = ['-config', configFile, '-strict', '-dnsserver', `127.0.0.1:${dnsPort ?? names?.port}`]
    child = spawn('pebble', words, {
      env: { PATH: process.env['PATH'], PEBBLE_VA_NOSLEEP: '1', PEBBLE_AUTHZREUSE: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text: Buffer) => lines.push(...text.toString().split('\n')))
    await until('pebble listens', () => lines.some((line) => line.includes('Listening on')))
  }
  const kill = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    lines.length = 0
  }
  await start()
  return {
    directory: `https://127.0.0.1:${port}/dir`,
    caFile,
    root: () => fetchText(`https://127.0.0.1:${managementPort}/roots/0`, caFile),
    lines,
    kill,
    restart: start,
    async stop() {
      await kill()
      await names?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Starts a real dnsmasq on a free port of loopback. @param words its further arguments, such as `--address=/test/127.0.0.1`. */
export async function startDnsmasq(words: readonly string[]): Promise<{ port: number; stop: () => Promise<void> }> {
  const port = await freePort()
  const usual = ['--keep-in-foreground', '--no-resolv', '--no-hosts', '--bind-interfaces', '--conf-file=/dev/null']
  const where = [`--port=${port}`, '--listen-address=127.0.0.1', '--pid-file', '--log-facility=-', '--user=root']
  const child = spawn('/usr/sbin/dnsmasq', [...usual, ...where, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => lines.push(text.toString()))
  await until('dnsmasq listens', () => lines.join('').includes('started'))
  return {
    port,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function fetchText(url: string, caFile: string): Promise<string> {
  const [response] = (await once(get(url, { agent: new Agent({ ca: readFileSync(caFile) }) }), 'response')) as [
    AsyncIterable<Buffer>,
  ]
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part)
  return Buffer.concat(parts).toString()
}
