/** nginx and caddy beside our ingress: one upstream behind all of them, and the same certificate. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startCommand, type Command } from '../../support/command.ts'
import { freePort } from '../../support/ports.ts'
import { until } from '../../support/until.ts'
import { wordsOf } from '../world.ts'

/** The host that all of them serve. */
export const benchHost = 'app.example.test'
/** What is asked for. */
export const benchPath = '/app/page'

/** Something that serves the host; `securePort` is null for the upstream itself. */
export type Server = { name: string; port: number; securePort: number | null; pids: () => number[] }

/** Everything, in this order: ours, nginx, caddy, the upstream itself. */
export type Servers = { all: readonly Server[]; stop: () => Promise<void> }

const answerBytes = 1024
const readyMs = 20_000

/** Starts them. @throws Error saying what to install */
export async function startServers(): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'))
  const children: ChildProcess[] = []
  const certificate = await makeCertificate(folder)
  const run = (program: string, words: readonly string[]): ChildProcess => {
    const child = spawn(program, words, { stdio: 'ignore', env: { PATH: process.env['PATH'], HOME: folder } })
    child.once('error', (error) => process.stderr.write(`${program}: ${error.message}. Install its Debian package.\n`))
    children.push(child)
    return child
  }
  const nginx = (name: string, http: string): ChildProcess => {
    const file = join(folder, `${name}.conf`)
    writeFileSync(file, nginxFile(folder, name, http))
    return run('nginx', ['-e', '/dev/null', '-c', file])
  }
  const [upstream, ofNginx, ofNginxTls, ofCaddy, ofCaddyTls, ours, oursTls] = await Promise.all(
    Array.from({ length: 7 }, () => freePort()),
  )
  const direct = nginx(
    'upstream',
    `server { listen 127.0.0.1:${upstream}; location / { default_type application/json; return 200 '${'x'.repeat(answerBytes)}'; } }`,
  )
  const nginxMaster = nginx('nginx', nginxServer(Number(upstream), [Number(ofNginx), Number(ofNginxTls)], certificate))
  writeFileSync(
    join(folder, 'Caddyfile'),
    `{\n admin off\n auto_https off\n}\nhttp://${benchHost}:${ofCaddy} {\n reverse_proxy 127.0.0.1:${upstream}\n}\nhttps://${benchHost}:${ofCaddyTls} {\n tls ${certificate.certificate} ${certificate.key}\n reverse_proxy 127.0.0.1:${upstream}\n}\n`,
  )
  const caddy = run('caddy', ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'])
  const ingress = await startIngress([ours, oursTls, upstream].map(String), certificate)
  const all: Server[] = [
    { name: 'Berth', port: Number(ours), securePort: Number(oursTls), pids: () => [ingress.child.pid!] }, // it listens
    { name: 'nginx, one worker', port: Number(ofNginx), securePort: Number(ofNginxTls), pids: () => tree(nginxMaster) },
    { name: 'caddy', port: Number(ofCaddy), securePort: Number(ofCaddyTls), pids: () => tree(caddy) },
    { name: 'the upstream itself', port: Number(upstream), securePort: null, pids: () => tree(direct) },
  ]
  for (const { name, port } of all) await until(`${name} answers`, () => answers(port), readyMs)
  return {
    all,
    async stop() {
      for (const child of [...children, ingress.child]) await end(child)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Our ingress, with the options that the Procfile gives to the edge process. */
async function startIngress(ports: readonly string[], { certificate, key }: Certificate): Promise<Command> {
  const options = wordsOf('edge').filter((word) => word.startsWith('--'))
  const command = startCommand([...options, 'test/bench/edge/alone.ts', ...ports, certificate, key])
  await command.line(/the ingress listens/)
  return command
}

type Certificate = { certificate: string; key: string }

async function makeCertificate(folder: string): Promise<Certificate> {
  const made = { certificate: join(folder, 'certificate.pem'), key: join(folder, 'key.pem') }
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-keyout', made.key, '-out', made.certificate, '-subj', `/CN=${benchHost}`],
    ...['-addext', `subjectAltName=DNS:${benchHost}`],
  ])
  return made
}

/** One worker, no log, and connections that are kept on both sides. */
function nginxFile(folder: string, name: string, http: string): string {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (what) => `${what}_temp_path ${join(folder, `${name}-${what}`)};`,
  )
  return `daemon off; worker_processes 1; error_log /dev/null; pid ${join(folder, `${name}.pid`)};
events { worker_connections 4096; }
http { access_log off; keepalive_requests 100000000; ${places.join(' ')}
${http} }
`
}

function nginxServer(
  upstream: number,
  [port, securePort]: readonly number[],
  { certificate, key }: Certificate,
): string {
  return `upstream up { server 127.0.0.1:${upstream}; keepalive 128; keepalive_requests 100000000; }
server {
  listen 127.0.0.1:${port}; listen 127.0.0.1:${securePort} ssl http2; server_name ${benchHost};
  ssl_certificate ${certificate}; ssl_certificate_key ${key};
  location / {
    proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Forwarded-Host $http_host;
  }
}`
}

async function answers(port: number): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)('curl', [
      ...['--silent', '--max-time', '2', '--header', `host: ${benchHost}`, `http://127.0.0.1:${port}${benchPath}`],
    ])
    return stdout.length === answerBytes
  } catch {
    return false // not up yet
  }
}

/** A process and its children, such as nginx's worker. */
function tree({ pid }: ChildProcess): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim()
  return [pid!, ...(children === '' ? [] : children.split(' ').map(Number))] // it answers, so it was started
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
