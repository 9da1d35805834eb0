/** A Berth with connectors to real tool servers, behind a real authorization server, and a person who connects them. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { startBerth, type Answer, type Berth } from '../berth.ts'
import { startMcpServer, type TestMcpServer } from '../mcp-server.ts'
import { startAuthority, type ConnectorAuthority } from './authorization-server.ts'

/** A tool server that takes tokens for itself only, and says where to get them. */
export type ProtectedServer = TestMcpServer & {
  /** Its metadata; replaced by a test that makes it lie. */
  metadata: Record<string, unknown>
  /** The scope without which it answers 403; null for none. */
  needs: string | null
  /** Handles a request before anything else does. */
  before: TestMcpServer['intercept']
}

/** Starts one. */
export async function startProtectedServer(authority: ConnectorAuthority): Promise<ProtectedServer> {
  const plain = await startMcpServer()
  const metadataPath = '/.well-known/oauth-protected-resource/mcp'
  const running: ProtectedServer = Object.assign(plain, {
    metadata: { resource: plain.url, authorization_servers: [authority.issuer], scopes_supported: ['read'] },
    needs: null,
    before: null,
  })
  const challenge = (error: string, scope: string): string =>
    `Bearer error="${error}", resource_metadata="http://${plain.hostPort}${metadataPath}", scope="${scope}"`
  plain.intercept = (req, res, body) => {
    if (running.before?.(req, res, body)) return true
    if (req.url === metadataPath)
      return Boolean(res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(running.metadata)))
    if (req.url !== '/mcp') return Boolean(res.writeHead(404).end())
    const scopes = authority.scopesOf((req.headers.authorization ?? '').replace(/^Bearer /, ''), running.url)
    if (!scopes) return Boolean(res.writeHead(401, { 'www-authenticate': challenge('invalid_token', 'read') }).end())
    if (running.needs === null || scopes.includes(running.needs)) return false
    return Boolean(res.writeHead(403, { 'www-authenticate': challenge('insufficient_scope', running.needs) }).end())
  }
  return running
}

/** Where people come back to. */
export const returnUrl = 'https://app.example.com/done?from=berth'

/** A service as REST shows it. */
export type Service = { id: string; connected: boolean; connected_at: string | null; tools_count: number; auth: string }

/** What tests do in it. */
export type ConnectorWorld = {
  berth: Berth
  authority: ConnectorAuthority
  tools: ProtectedServer
  open: TestMcpServer
  token: string
  call: <Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    as?: string,
  ) => Promise<Answer<Body>>
  services: (as?: string) => Promise<Record<string, Service>>
  /** Begins a sign-in. */
  start: (id?: string, as?: string) => Promise<{ authorization_url: string; state: string }>
  /** Begins one, signs in, and passes by Berth. @returns what came back to the application. */
  signIn: (id?: string, as?: string) => Promise<{ code: string; state: string }>
  /** Connects a service. */
  connect: (id?: string, as?: string) => Promise<void>
  stop: () => Promise<void>
}

/** Starts it: the services `desk` (to sign in to) and `board` (open to everybody), beside Berth’s own. */
export async function startConnectorWorld(
  settings: Record<string, string> = {},
  { worker = false, more = () => '' }: { worker?: boolean; more?: (url: string, open: string) => string } = {},
): Promise<ConnectorWorld> {
  const authority = await startAuthority()
  const tools = await startProtectedServer(authority)
  const open = await startMcpServer()
  const file = join(mkdtempSync(join(tmpdir(), 'connectors-')), 'connectors.yaml')
  writeFileSync(
    file,
    `services:
  desk: {name: Desk, description: Sums for those who sign in, url: "${tools.url}", icon_url: "https://desk.example.com/i.png"}
  board: {name: Board, description: Sums for everybody, url: "${open.url}", auth: none}
  stripe: null
${more(tools.url, open.url)}`,
  )
  const berth = await startBerth({
    worker,
    settings: {
      BERTH_RATE_LIMIT_FACTOR: '1000',
      BERTH_VMS: 'off',
      BERTH_CONNECTORS_FILE: file,
      BERTH_RETURN_ORIGINS: 'https://app.example.com',
      BERTH_PRIVATE_HOSTS: [authority.hostPort, tools.hostPort, open.hostPort].join(),
      ...settings,
    },
  })
  const token = await berth.token('alice', 'acme', 'owner')
  const call: ConnectorWorld['call'] = (method, path, body, as = token) =>
    berth.call(method, `/agents/v1${path}`, { token: as, ...(body === undefined ? {} : { body }) })
  const start: ConnectorWorld['start'] = async (id = 'desk', as = token) => {
    const begun = await call<{ authorization_url: string; state: string }>(
      'POST',
      `/mcp-services/${id}/connect/start`,
      { return_url: returnUrl },
      as,
    )
    expect(begun.status, JSON.stringify(begun.body)).toBe(200)
    return begun.body
  }
  const signIn: ConnectorWorld['signIn'] = async (id, as) => {
    const { authorization_url } = await start(id, as)
    const onward = await passBy(await authority.visit(authorization_url))
    return { code: onward.searchParams.get('code') ?? '', state: onward.searchParams.get('state') ?? '' }
  }
  return {
    berth,
    authority,
    tools,
    open,
    token,
    call,
    start,
    signIn,
    async services(as) {
      const { status, body } = await call<{ data: Service[] }>('GET', '/mcp-services', undefined, as)
      expect(status).toBe(200)
      return Object.fromEntries(body.data.map((service) => [service.id, service]))
    },
    async connect(id, as) {
      const done = await call('POST', '/mcp-services/connect/complete', await signIn(id, as), as)
      expect(done.status, JSON.stringify(done.body)).toBe(200)
    },
    async stop() {
      await berth.stop()
      await tools.close()
      await open.close()
      authority.close()
    },
  }
}

/** Opens Berth’s own address for browsers that come back. @returns where it sends them. */
export async function passBy(back: URL): Promise<URL> {
  const answer = await fetch(back, { redirect: 'manual' })
  expect(answer.status, await answer.text()).toBe(303)
  return new URL(answer.headers.get('location') ?? '')
}
