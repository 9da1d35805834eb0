/** A Berth with machines whose ports are served by its edge process, for the benchmarks of functions. */
import { once } from 'node:events'
import { request, Agent, type IncomingMessage } from 'node:http'
import { decodeJwt } from 'jose'
import { freePort } from '../../support/ports.ts'
import { startHost, withVms, type VmHost } from '../vm-host.ts'
import { inWorld, startProcess, type World } from '../world.ts'

/** What is asked for things and measured. */
export type Machines = { world: World; host: VmHost; edgePid: number; token: string; agent: Agent }

const mebibyte = 1024 ** 2
/** How much the path `/large` answers. Unit: bytes. */
export const largeBytes = 1024 * mebibyte
/** The same of `/first`, so that everything has been used once. */
export const firstBytes = 128 * mebibyte

/**
 * The program, as a function and in a plain VM: it answers a few bytes, or many. It writes head and body together: apart, Nagle's
 * algorithm holds the body back for 40 ms.
 */
export const program = `#!/usr/bin/env python3
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version, wbufsize = 'HTTP/1.1', -1
    def do_GET(self):
        times = {'/large': ${largeBytes / mebibyte}, '/first': ${firstBytes / mebibyte}}.get(self.path)
        piece = b'hello' if times is None else bytes(${mebibyte})
        self.send_response(200); self.send_header('Content-Length', str(len(piece) * (times or 1))); self.end_headers()
        for _ in range(times or 1): self.wfile.write(piece)
    def log_message(self, *args): pass
ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
`

/** Starts all of it, with one machine that is kept warm; it ends with the work. */
export async function withMachines<Result>(work: (machines: Machines) => Promise<Result>): Promise<Result> {
  const settings = {
    BERTH_POSTGRES_PORT: String(await freePort()),
    BERTH_HTTP_PORT: String(await freePort()),
    BERTH_HTTPS_PORT: String(await freePort()),
  }
  return inWorld(settings, (world) =>
    withVms(world, async () => {
      const edge = await startProcess(world, 'edge')
      await edge.line(/the ingress listens/)
      const agent = new Agent({ keepAlive: true })
      try {
        const host = await startHost(world, 1)
        return await work({ world, host, edgePid: edge.child.pid!, token: await world.token(), agent }) // it listens
      } finally {
        agent.destroy()
      }
    }),
  )
}

/** Asks the ingress for a path of a host, and reads all of it. */
export async function ask(
  { world, agent }: Pick<Machines, 'world' | 'agent'>,
  host: string,
  path = '/',
): Promise<{ status: number; sizeBytes: number }> {
  const asking = request({ host: '127.0.0.1', port: world.config.httpPort, path, headers: { host }, agent })
  asking.end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  let sizeBytes = 0
  for await (const piece of answer as AsyncIterable<Buffer>) sizeBytes += piece.length
  return { status: answer.statusCode ?? 0, sizeBytes }
}

/** Calls the API. @throws Error unless it succeeds */
export async function call<Body>(
  { world, token }: Machines,
  method: string,
  path: string,
  body?: unknown,
): Promise<Body> {
  const answer = await fetch(`${world.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`)
  return (text === '' ? null : JSON.parse(text)) as Body // the caller says what it expects
}

/** Uploads the program. @returns its address for functions */
export async function uploadProgram(machines: Machines): Promise<string> {
  const made = await call<{ upload_url: string; binary_url: string }>(machines, 'POST', '/api/v1/compute/uploads', {
    organization_id: String(decodeJwt(machines.token)['org_id']),
  })
  const answer = await fetch(made.upload_url, { method: 'PUT', body: program })
  if (!answer.ok) throw new Error(`the program was not taken: ${answer.status}`)
  return made.binary_url
}

/** Makes a function that runs the program. */
export async function makeFunction(
  machines: Machines,
  name: string,
  binaryUrl: string,
): Promise<{ id: string; host: string }> {
  const query = 'mutation ($input: CreateFunctionInput!) { createFunction(input: $input) { function { id url } } }'
  const input = { name, binaryUrl, idleSeconds: 3600 }
  const { data, errors } = await call<{
    data?: { createFunction: { function: { id: string; url: string } } }
    errors?: unknown
  }>(machines, 'POST', '/graphql', { query, variables: { input } })
  if (!data || errors) throw new Error(`a function was not made: ${JSON.stringify(errors)}`)
  const { id, url } = data.createFunction.function
  return { id, host: new URL(url).hostname }
}

/** Runs the program in a plain VM, at a port. */
export async function startProgram({ host }: Machines, vmId: string, port: number): Promise<void> {
  const command = `cat > /tmp/program <<'end'\n${program}end\nPORT=${port} nohup python3 /tmp/program > /dev/null 2>&1 &`
  const { status, body } = await host.call<{ exit_code?: number }>('POST', `/${vmId}/envd/exec`, { command })
  if (status !== 200) throw new Error(`the program was not started: ${status} ${JSON.stringify(body)}`)
}

/** How long the program alone takes in a VM that runs, until it takes a connection. Unit: ms. */
export async function ownStartMs({ host }: Machines, vmId: string): Promise<number> {
  const command = `from=$(date +%s%N); PORT=9999 python3 /tmp/program & until (: < /dev/tcp/127.0.0.1/9999) 2> /dev/null; do sleep 0.01; done; echo $((($(date +%s%N) - from) / 1000000)); kill $!`
  const { status, body } = await host.call<{ stdout?: string }>('POST', `/${vmId}/envd/exec`, { command })
  const ms = Number(body.stdout)
  if (status !== 200 || !(ms > 0)) throw new Error(`the program did not start: ${status} ${JSON.stringify(body)}`)
  return ms
}

/** Opens a port of a VM under a host name. */
export async function openPort(
  machines: Machines,
  vmId: string,
  port: number,
  name: string,
): Promise<{ id: string; host: string }> {
  const host = `${name}.${machines.world.config.domain}`
  const { id } = await call<{ id: string }>(machines, 'POST', '/api/v1/proxies', {
    service_name: name,
    vm_id: vmId,
    vm_port: port,
    domain: host,
  })
  return { id, host }
}
