/** An egress world whose origin speaks TLS, with certificates of an authority that the proxy trusts, and guests that trust the node's. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type SecureContext, type TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { createAuthority, type EgressAuthority } from '#src/drivers/compute/egress/authority.ts'
import type { EgressLimits } from '#src/drivers/compute/egress.ts'
import { EgressWorld, openAddress, tell, type SecuredOptions, type Seen } from './egress-world.ts'

/** The authority of the node, and one that stands for those of the world; with the certificate of each, and the file that holds it. */
export type Authorities = { folder: string; node: Vouching; world: Vouching }
type Vouching = { authority: EgressAuthority; certificate: string; file: string }

/** Makes both; once for a file of tests, as it takes a while. */
async function makeAuthorities(): Promise<Authorities> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-authorities-'))
  const make = async (name: string): Promise<Vouching> => {
    const authority = createAuthority(join(folder, name))
    const certificate = await authority.certificate()
    const file = join(folder, `${name}.crt`)
    writeFileSync(file, certificate)
    return { authority, certificate, file }
  }
  return { folder, node: await make('node'), world: await make('world') }
}

/** Removes their files. */
function removeAuthorities({ folder }: Authorities): void {
  rmSync(folder, { recursive: true, force: true })
}

/** What a world may be other than usual; `certificateOf` says with what the origin proves itself. */
export type SecuredWorldOptions = Pick<SecuredOptions, 'findSecretHosts' | 'onError'> & {
  limits?: Partial<EgressLimits>
  certificateOf?: (name: string) => Promise<SecureContext>
}

/** The world, and its TLS server at the open address, for whatever name it is asked. Close it after each test. */
export class SecuredWorld {
  /** What the server does; it tells what it was sent unless the test wants otherwise. */
  handler: (req: IncomingMessage, res: ServerResponse) => void = tell
  /** What the server was sent, request by request: its answers are masked on their way back. */
  seen: Seen[] = []
  connections = 0
  port = 0
  declare authorities: Authorities
  declare world: EgressWorld
  declare server: Server

  static async start(
    authorities: Authorities,
    {
      limits = {},
      certificateOf = (name) => authorities.world.authority.contextFor(name),
      ...options
    }: SecuredWorldOptions = {},
  ): Promise<SecuredWorld> {
    const secured = new SecuredWorld()
    secured.authorities = authorities
    secured.world = await EgressWorld.start(limits, {
      authority: authorities.node.authority,
      roots: [authorities.world.certificate],
      ...options,
    })
    secured.server = createServer(
      { SNICallback: (name, done) => void certificateOf(name).then((context) => done(null, context), done) },
      (req, res) => {
        const seen: Seen = { path: req.url ?? '', headers: req.headers as Record<string, string>, body: '' } // no header of these tests comes twice
        secured.seen.push(seen)
        req.on('data', (chunk: Buffer) => (seen.body += chunk.toString()))
        secured.handler(req, res)
      },
    )
    secured.server.on('secureConnection', () => secured.connections++)
    secured.port = await secured.world.listen(secured.server, openAddress)
    return secured
  }

  /** Where the server is. */
  url(host = 'open.test'): string {
    return `https://${host}:${this.port}/`
  }

  /** Real curl in the guest, which trusts the node's authority and no other. */
  curl(args: readonly string[], input?: string): ReturnType<EgressWorld['curl']> {
    return this.world.curl(['--cacert', this.authorities.node.file, '--suppress-connect-headers', ...args], input)
  }

  /** Sends a request by curl. @returns what the server received; secrets are masked on the way back. */
  async send(args: readonly string[], to = this.url(), input = ''): Promise<Seen> {
    const { code, body, error } = await this.curl([...args, to], input)
    expect(code, error).toBe(0)
    for (const { secret } of this.world.secrets.values()) expect(body).not.toContain(secret)
    return this.seen.at(-1) ?? expect.fail(`nothing arrived: ${body}`)
  }

  /** A guest's connection to the server, TLS inside a tunnel. */
  async inside(host = 'open.test'): Promise<TLSSocket> {
    const socket = connect({
      socket: await this.world.openTunnel(`${host}:${this.port}`),
      servername: host,
      ca: [this.authorities.node.certificate],
    })
    socket.on('error', () => socket.destroy())
    await once(socket, 'secureConnect')
    return socket
  }

  /** A request with a header that holds this text. */
  ask(key: string, path = '/'): string {
    return `GET ${path} HTTP/1.1\r\nHost: open.test:${this.port}\r\nX-Key: ${key}\r\n\r\n`
  }

  close(): void {
    this.world.close()
  }
}

/**
 * A new world for each test of the file, closed after it; the authorities are made once.
 * @param use is given each.
 * @returns how a test begins another instead, with options.
 */
export function securedWorldForEach(
  use: (secured: SecuredWorld) => void,
): (options?: SecuredWorldOptions) => Promise<void> {
  let authorities: Authorities
  let current: SecuredWorld
  const start = async (options?: SecuredWorldOptions): Promise<void> => {
    current = await SecuredWorld.start(authorities, options)
    use(current)
  }
  beforeAll(async () => {
    authorities = await makeAuthorities()
  })
  afterAll(() => removeAuthorities(authorities))
  beforeEach(() => start())
  afterEach(() => current.close())
  return async (options) => {
    current.close()
    await start(options)
  }
}

/** The next bytes of a connection. */
export async function heard(socket: NodeJS.EventEmitter): Promise<string> {
  return String((await once(socket, 'data'))[0])
}

/** What a connection sends, up to and including this text. */
export async function heardUntil(socket: NodeJS.EventEmitter, words: string): Promise<string> {
  let all = ''
  while (!all.includes(words)) all += await heard(socket)
  return all
}
