import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/ports.ts'
import { startApp, type RunningApp } from '../gateway/running-app.ts'

let running: RunningApp
beforeAll(async () => {
  running = await startApp()
})
afterAll(() => running.stop())

type Changes = { headers?: Record<string, string | undefined>; body?: unknown; method?: string; to?: RunningApp; localAddress?: string }

/** Sends what our page sends, with changes; node:http, because fetch decides about Host and Origin by itself. */
function signIn({ headers = {}, body = { user: 'alice', organization: 'acme', role: 'owner' }, method = 'POST', to = running, localAddress }: Changes = {}): Promise<{ status: number; body: Record<string, string> }> {
  const own = { 'content-type': 'application/json', host: `localhost:${to.port}`, origin: `http://localhost:${to.port}`, 'x-berth-sign-in': '1', 'sec-fetch-site': 'same-origin' }
  const sent = Object.fromEntries(Object.entries({ ...own, ...headers }).filter((entry): entry is [string, string] => entry[1] !== undefined))
  return new Promise((resolve, reject) => {
    const asked = request({ host: localAddress ?? '127.0.0.1', port: to.port, path: '/identity/token', method, headers: sent }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk)).on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) as Record<string, string> }))
    })
    asked.once('error', reject).end(JSON.stringify(body))
  })
}

describe('local sign-in', () => {
  it('gives our own page a token', async () => {
    const { status, body } = await signIn()
    expect(status).toBe(201)
    expect(decodeJwt(body['token'] ?? '')).toMatchObject({ role: 'owner', iss: `http://localhost:${running.port}` })
    expect((await running.ask('{ me { name } }', { token: body['token'] })).body.data).toEqual({ me: { name: 'alice' } })
  })

  const refusals: Record<string, Changes> = {
    'a page of another site': { headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } },
    'a page of another port of this machine': { headers: { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' } },
    'a page without an origin': { headers: { origin: 'null' } },
    'a request that names no origin': { headers: { origin: undefined } },
    'a name that leads here (DNS rebinding)': { headers: { host: 'rebound.evil.example', origin: 'http://rebound.evil.example' } },
    'a name that begins as ours does': { headers: { host: 'localhost.evil.example', origin: 'http://localhost.evil.example' } },
    'a form, which cannot send the header': { headers: { 'x-berth-sign-in': undefined } },
    'a proxy that names whom it speaks for': { headers: { 'x-forwarded-for': '203.0.113.7' } },
    'a proxy that names itself': { headers: { via: '1.1 proxy' } },
    'a cross-site fetch that forges the rest': { headers: { 'sec-fetch-site': 'cross-site' } },
  }
  for (const [name, changes] of Object.entries(refusals)) {
    it(`refuses ${name}`, async () => expect(await signIn(changes)).toMatchObject({ status: 403, body: { error: 'forbidden' } }))
  }

  it('refuses a form by its type', async () => expect((await signIn({ headers: { 'content-type': 'text/plain' } })).status).toBe(400))
  it('refuses a wrong body, and says what to send', async () => {
    for (const body of [{}, { user: 'alice', organization: 'acme', role: 'king' }, { user: '', organization: 'acme', role: 'owner' }, { user: 'x'.repeat(256), organization: 'acme', role: 'owner' }, [], { user: 1, organization: 'acme', role: 'owner' }]) {
      expect(await signIn({ body })).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    }
  })
  it('gives a page elsewhere no leave to try', async () => {
    const preflight = await fetch(`${running.url}/identity/token`, { method: 'OPTIONS', headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-berth-sign-in' } })
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(preflight.status).toBe(404)
  })
  it('does not answer HTTP/1.0, which proxies speak', async () => {
    const { connect } = await import('node:net')
    const body = JSON.stringify({ user: 'alice', organization: 'acme', role: 'owner' })
    const said = await new Promise<string>((resolve) => {
      let text = ''
      const socket = connect(running.port, '127.0.0.1', () => socket.write(`POST /identity/token HTTP/1.0\r\nhost: 127.0.0.1:${running.port}\r\norigin: http://127.0.0.1:${running.port}\r\nx-berth-sign-in: 1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`))
      socket.setEncoding('utf8').on('data', (chunk) => (text += chunk)).on('close', () => resolve(text))
    })
    expect(said).toMatch(/ 403 /)
  })

  it('is off where the setting says so, and where Berth has a public address', async () => {
    const off = await startApp({ settings: { BERTH_LOCAL_SIGN_IN: 'off' } })
    const publicOne = await startApp({ settings: { BERTH_PUBLIC_URL: 'https://berth.example' } })
    try {
      expect((await signIn({ to: off })).status).toBe(404)
      expect((await signIn({ to: publicOne })).status).toBe(403)
      const page = await (await fetch(`${publicOne.url}/graphql`, { headers: { accept: 'text/html' } })).text()
      expect(page).not.toContain('id="berth-sign-in"')
    } finally {
      await off.stop()
      await publicOne.stop()
    }
  })

  it('is off while VMs may reach the port, since what they send comes from this machine', async () => {
    const port = await freePort()
    const reachable = await startApp({ settings: { PORT: String(port), BERTH_VM_HOST_PORTS: String(port) } })
    try {
      expect((await signIn({ to: reachable })).status).toBe(403)
    } finally {
      await reachable.stop()
    }
  })

  it('answers this machine only, also when Berth listens to others', async (context) => {
    const outer = Object.values(networkInterfaces()).flat().find((one) => one && one.family === 'IPv4' && !one.internal)
    if (!outer) return context.skip('this machine has no address but loopback')
    const wide = await startApp({ settings: { BERTH_HOST: '0.0.0.0', BERTH_LOCAL_SIGN_IN: 'on' }, host: '0.0.0.0' })
    try {
      expect((await signIn({ to: wide, localAddress: outer.address })).status).toBe(403)
      expect((await signIn({ to: wide })).status).toBe(201)
    } finally {
      await wide.stop()
    }
  })
})
