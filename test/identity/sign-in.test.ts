import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { request } from 'node:http'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { userOfPeer } from '#src/drivers/connection-users.ts'
import { makeSignInCode } from '#src/platform/tokens/sign-in-code.ts'
import { freePort } from '../support/ports.ts'
import { startApp, type RunningApp } from '../gateway/running-app.ts'
import { until } from '../support/until.ts'

let running: RunningApp
beforeAll(async () => {
  running = await startApp()
})
afterAll(() => running.stop())

type Changes = {
  headers?: Record<string, string | undefined>
  body?: unknown
  method?: string
  to?: RunningApp
  localAddress?: string
}

/** Sends what our page sends, with changes; node:http, because fetch decides about Host and Origin by itself. */
function signIn({
  headers = {},
  body = { user: 'alice', organization: 'acme', role: 'owner' },
  method = 'POST',
  to = running,
  localAddress,
}: Changes = {}): Promise<{ status: number; body: Record<string, string> }> {
  const own = {
    'content-type': 'application/json',
    host: `localhost:${to.port}`,
    origin: `http://localhost:${to.port}`,
    'x-berth-sign-in': '1',
    'sec-fetch-site': 'same-origin',
  }
  const sent = Object.fromEntries(
    Object.entries({ ...own, ...headers }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: localAddress ?? '127.0.0.1', port: to.port, path: '/identity/token', method, headers: sent },
      (answer) => {
        let text = ''
        answer
          .setEncoding('utf8')
          .on('data', (chunk: string) => (text += chunk))
          .on('end', () =>
            resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) as Record<string, string> }),
          )
      },
    )
    asked.once('error', reject).end(JSON.stringify(body))
  })
}

describe('local sign-in', () => {
  it('gives our own page a token', async () => {
    const { status, body } = await signIn()
    expect(status).toBe(201)
    expect(decodeJwt(body['token'] ?? '')).toMatchObject({ role: 'owner', iss: `http://localhost:${running.port}` })
    expect((await running.ask('{ me { name } }', { token: body['token'] })).body.data).toEqual({
      me: { name: 'alice' },
    })
  })

  const refusals: Record<string, Changes> = {
    'a page of another site': { headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } },
    'a page of another port of this machine': {
      headers: { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' },
    },
    'a page without an origin': { headers: { origin: 'null' } },
    'a request that names no origin': { headers: { origin: undefined } },
    'a name that leads here (DNS rebinding)': {
      headers: { host: 'rebound.evil.example', origin: 'http://rebound.evil.example' },
    },
    'a name that begins as ours does': {
      headers: { host: 'localhost.evil.example', origin: 'http://localhost.evil.example' },
    },
    'a form, which cannot send the header': { headers: { 'x-berth-sign-in': undefined } },
    'a proxy that names whom it speaks for': { headers: { 'x-forwarded-for': '203.0.113.7' } },
    'a proxy that names itself': { headers: { via: '1.1 proxy' } },
    'a cross-site fetch that forges the rest': { headers: { 'sec-fetch-site': 'cross-site' } },
  }
  for (const [name, changes] of Object.entries(refusals)) {
    it(`refuses ${name}`, async () =>
      expect(await signIn(changes)).toMatchObject({ status: 403, body: { error: 'forbidden' } }))
  }

  it('refuses a form by its type', async () =>
    expect((await signIn({ headers: { 'content-type': 'text/plain' } })).status).toBe(400))
  it('refuses a wrong body, and says what to send', async () => {
    for (const body of [
      {},
      { user: 'alice', organization: 'acme', role: 'king' },
      { user: '', organization: 'acme', role: 'owner' },
      { user: 'x'.repeat(256), organization: 'acme', role: 'owner' },
      [],
      { user: 1, organization: 'acme', role: 'owner' },
    ]) {
      expect(await signIn({ body })).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    }
  })
  it('refuses the preflight of a page elsewhere', async () => {
    const preflight = await fetch(`${running.url}/identity/token`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-berth-sign-in',
      },
    })
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(preflight.status).toBe(404)
  })
  it('does not answer HTTP/1.0, which proxies speak', async () => {
    const body = JSON.stringify({ user: 'alice', organization: 'acme', role: 'owner' })
    const said = await new Promise<string>((resolve) => {
      let text = ''
      const socket = connect(running.port, '127.0.0.1', () =>
        socket.write(
          `POST /identity/token HTTP/1.0\r\nhost: 127.0.0.1:${running.port}\r\norigin: http://127.0.0.1:${running.port}\r\nx-berth-sign-in: 1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        ),
      )
      socket
        .setEncoding('utf8')
        .on('data', (chunk: string) => (text += chunk))
        .on('close', () => resolve(text))
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
    const outer = Object.values(networkInterfaces())
      .flat()
      .find((one) => one && one.family === 'IPv4' && !one.internal)
    if (!outer) return context.skip('this machine has no address but loopback')
    const wide = await startApp({ settings: { BERTH_HOST: '0.0.0.0', BERTH_LOCAL_SIGN_IN: 'on' }, host: '0.0.0.0' })
    try {
      expect((await signIn({ to: wide, localAddress: outer.address })).status).toBe(403)
      expect((await signIn({ to: wide })).status).toBe(201)
    } finally {
      await wide.stop()
    }
  })

  it('creates no organization after a typing error, unless new names are asked for', async () => {
    await signIn()
    const refused = await signIn({ body: { user: 'alice', organization: 'acne', role: 'owner' } })
    expect(refused).toEqual({
      status: 404,
      body: {
        error: 'not_found',
        message: 'There is no organization named acne. Did you mean acme? Tick “new names” to create it.',
      },
    })
    expect((await signIn({ body: { user: 'alice', organization: 'acne', role: 'owner', create: true } })).status).toBe(
      201,
    )
  })
})

describe('another user of this machine', () => {
  const nobody = 65_534
  const page = (body: object): object => ({
    url: `http://127.0.0.1:${running.port}/identity/token`,
    body: JSON.stringify({ user: 'mallory', organization: 'acme', role: 'owner', create: true, ...body }),
    headers: {
      'content-type': 'application/json',
      host: `127.0.0.1:${running.port}`,
      origin: `http://127.0.0.1:${running.port}`,
      'x-berth-sign-in': '1',
    },
  })
  /** Sends what our page sends, from a process that gave up being root first. */
  function signInAsNobody(body: object = {}): Promise<{ status: number; body: Record<string, string> }> {
    const script = `process.setgid(${nobody}); process.setuid(${nobody}); const { url, body, headers } = JSON.parse(process.argv[1]); require('node:http').request(url, { method: 'POST', headers }, (answer) => { let text = ''; answer.on('data', (piece) => (text += piece)).on('end', () => console.log(JSON.stringify({ status: answer.statusCode, body: JSON.parse(text) }))) }).end(body)`
    return new Promise((resolve, reject) =>
      execFile(process.execPath, ['-e', script, JSON.stringify(page(body))], (error, said) =>
        error ? reject(error as Error) : resolve(JSON.parse(said) as { status: number; body: Record<string, string> }),
      ),
    )
  }
  const isRoot = process.getuid?.() === 0

  it.runIf(isRoot)('gets nothing without the code that the start printed, and makes nothing', async () => {
    expect(await signInAsNobody()).toMatchObject({ status: 403, body: { error: 'sign_in_code_required' } })
    expect(await signInAsNobody({ code: 'x'.repeat(32) })).toMatchObject({
      status: 403,
      body: { error: 'sign_in_code_required' },
    })
    expect((await running.services.database.pool.query("select 1 from users where name = 'mallory'")).rowCount).toBe(0)
  })

  it.runIf(isRoot)('gets a token with the code, until the next start makes another one', async () => {
    const { dataDir } = running.services.config
    const code = makeSignInCode(dataDir)
    expect(code.length).toBeGreaterThanOrEqual(32) // 192 bits as base64
    expect(statSync(join(dataDir, 'sign-in.code')).mode & 0o777).toBe(0o600)
    expect(await signInAsNobody({ code })).toMatchObject({ status: 201, body: { token: expect.any(String) } })
    makeSignInCode(dataDir)
    expect(await signInAsNobody({ code })).toMatchObject({ status: 403 })
  })

  it.runIf(isRoot)('is told to wait after many tries, and keeps nobody else out', async () => {
    await running.services.database.pool.query("update rate_buckets set tokens = -1000 where bucket = 'sign-in:65534'")
    let status = 403
    for (let tries = 0; status === 403 && tries < 6; tries++) ({ status } = await signInAsNobody({ code: 'wrong' })) // what the process holds already is spent first
    expect(status).toBe(429)
    expect((await signIn()).status).toBe(201)
  })

  it('cannot pass for the user who started Berth by closing its connection, which the kernel lists as root’s', async () => {
    const closed = { remoteAddress: '127.0.0.1', localAddress: '127.0.0.1', localPort: running.port }
    const socket = connect(running.port, '127.0.0.1')
    await once(socket, 'connect')
    const ends = { ...closed, remotePort: socket.localPort ?? 0 }
    expect(await userOfPeer(ends)).toBe(process.getuid?.())
    socket.destroy()
    await until('the connection is closed', async () => (await userOfPeer(ends)) === null)
  })

  it('is recognized over IPv6 and by mapped addresses too', async () => {
    const server = createServer().listen(0, '::')
    await once(server, 'listening')
    try {
      for (const host of ['::1', '127.0.0.1']) {
        const client = connect((server.address() as AddressInfo).port, host)
        const [socket] = (await once(server, 'connection')) as [Socket]
        expect([host, await userOfPeer(socket)]).toEqual([host, process.getuid?.()])
        client.destroy()
      }
    } finally {
      server.close()
    }
  })
})
