/** Previews: who is let in with which token, and what the target sees of it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createRoutes } from '#src/edge/http/routes.ts'
import type { Config } from '#src/platform/config.ts'
import { judgePreview, openPreviews, type PreviewRequest, type PreviewVerdict } from '#src/edge/http/previews.ts'
import { nowMs, shiftClock } from '#src/platform/clock.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { createSealer } from '#src/platform/secrets.ts'
import {
  makePreviewToken,
  previewHost,
  readPreviewHost,
  readPreviewToken,
} from '#src/resources/infra/proxies/preview-tokens.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf, makeKey, makeSilentNode, makeVmRow } from '../../support/makers.ts'

const sealer = createSealer([Buffer.alloc(32, 7)])
const place = { vmId: newUuid(), port: 3000, organizationId: newUuid() }
const host = previewHost({ domain: 'berth.localhost' }, place)
const tokenFor = (target: typeof place, seconds = 60): string =>
  makePreviewToken(sealer, target, {
    organizationId: target.organizationId,
    expiresAtSeconds: Math.floor(nowMs() / 1000) + seconds,
  })
const token = tokenFor(place)
const judge = (request: Partial<PreviewRequest>, at = place): PreviewVerdict =>
  judgePreview(sealer, at, {
    method: 'GET',
    url: '/',
    headers: [],
    host,
    isSecure: true,
    isUpgrade: false,
    ...request,
  })
const opened = (request: Partial<PreviewRequest>, at = place) => {
  const verdict = judge(request, at)
  if (verdict.kind !== 'open') throw new Error(`it was not opened: ${JSON.stringify(verdict)}`)
  return verdict
}
const redirected = (request: Partial<PreviewRequest>) => {
  const verdict = judge(request)
  if (verdict.kind !== 'redirect') throw new Error(`it was not redirected: ${JSON.stringify(verdict)}`)
  return verdict.headers
}
const cookieOf = (request: Partial<PreviewRequest> = {}): string =>
  (redirected({ url: `/?berth_token=${token}`, ...request })['set-cookie'] ?? '').split(';')[0] ?? ''

afterEach(() => shiftClock(0))

describe('a token', () => {
  test('in the address opens a page, which is asked for again without it, by a cookie of this host alone', () => {
    const headers = redirected({ url: `/a/b?x=1&berth_token=${token}&y=%20` })
    expect(headers).toMatchObject({
      location: '/a/b?x=1&y=%20',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    expect(headers['set-cookie']).toMatch(
      /^__Host-berth-preview-[0-9a-f]{16}=\S+; Path=\/; Max-Age=(?:60|59); HttpOnly; SameSite=Lax; Secure$/,
    )
    expect(headers['set-cookie']).not.toContain(token)
    expect(redirected({ url: `/?berth_token=${token}`, isSecure: false })['set-cookie']).toMatch(
      /^berth-preview-.*SameSite=Lax$/,
    )
    expect(opened({ headers: ['Cookie', `a=b; ${cookieOf()}; c=d`, 'Accept', '*/*'] })).toEqual({
      kind: 'open',
      organizationId: place.organizationId,
      url: '/',
      headers: ['Cookie', 'a=b; c=d', 'Accept', '*/*'],
    })
  })

  test('in the header opens every request, and the target does not see it', () => {
    for (const method of ['GET', 'POST', 'DELETE'])
      expect(opened({ method, url: '/x?y', headers: ['X-Berth-Preview-Token', token, 'A', 'b'] })).toEqual({
        kind: 'open',
        organizationId: place.organizationId,
        url: '/x?y',
        headers: ['A', 'b'],
      })
  })

  test('in the address of what is no page is let in without being asked for again', () => {
    const url = `/hook?berth_token=${token}`
    expect(opened({ method: 'POST', url }).url).toBe('/hook')
    expect(opened({ isUpgrade: true, url: `${url}&v=1` }).url).toBe('/hook?v=1')
  })

  test('reaches the target in no other way either', () => {
    const own = cookieOf()
    const other = 'berth-preview-0011223344556677=x; __Host-berth-preview-0011223344556677=y'
    const { headers, url } = opened({
      url: `/p?berth_token=${token}&berth_token=${token}`,
      method: 'PUT',
      headers: [
        'Referer',
        `https://${host}/?berth_token=${token}`,
        'cookie',
        `${own};${other}`,
        'x_berth_preview_token',
        token,
      ],
    })
    expect([url, headers]).toEqual(['/p', []])
  })

  test('leads to no other host by its address', () => {
    const at = (url: string): string | undefined => redirected({ url: `${url}?berth_token=${token}` })['location']
    expect(at('//evil.example/x')).toBe('/.//evil.example/x')
    expect(new URL(at('//evil.example/x') ?? '', 'https://here.example').host).toBe('here.example')
    expect(new URL(at('/\\evil.example/x') ?? '', 'https://here.example').host).toBe('here.example')
    expect(at('/ü\ud800')).toBe('/%C3%BC%EF%BF%BD')
  })

  test.each([
    ['of another VM', tokenFor({ ...place, vmId: newUuid() })],
    ['of another port', tokenFor({ ...place, port: 3001 })],
    ['of another organization', tokenFor({ ...place, organizationId: newUuid() })],
    [
      'signed with another key',
      makePreviewToken(createSealer([Buffer.alloc(32, 8)]), place, {
        organizationId: place.organizationId,
        expiresAtSeconds: 4e9,
      }),
    ],
    ['that is a text', 'x'],
    ['that is empty', ''],
    ['that is long', 'x'.repeat(100_000)],
    ['that is cut', token.slice(0, -1)],
    ['with a longer life', `${tokenFor(place, 9_999).slice(0, 27)}${token.slice(27)}`],
    ['with other letters', `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`],
    ['with letters outside of ASCII', `${token.slice(0, -1)}é`],
  ])('%s is refused, in the address and in the header', (_, bad) => {
    expect(judge({ url: `/?berth_token=${bad}` })).toMatchObject({ kind: 'refused', status: 403 })
    expect(judge({ headers: ['x-berth-preview-token', bad] })).toMatchObject({ kind: 'refused', status: 403 })
    expect(judge({ url: `/?berth_token=${bad}`, headers: ['Cookie', cookieOf()] })).toMatchObject({ kind: 'refused' })
  })

  test('that is over is refused, and so is its cookie', () => {
    const cookie = cookieOf()
    shiftClock(61_000)
    expect(judge({ url: `/?berth_token=${token}` })).toMatchObject({ kind: 'refused', status: 401 })
    expect(judge({ headers: ['cookie', cookie] })).toMatchObject({ kind: 'refused', status: 401 })
  })

  test('that nobody showed is asked for', () => {
    expect(judge({})).toMatchObject({ kind: 'refused', status: 401 })
    expect(judge({ headers: ['cookie', 'a=b'] })).toMatchObject({ kind: 'refused', status: 401 })
  })

  test.each([
    ['another host', { host: 'other.berth.localhost' }, place],
    ['another VM', {}, { ...place, vmId: newUuid() }],
    ['another port', {}, { ...place, port: 3001 }],
    ['plain HTTP', { isSecure: false }, place],
  ])('’s cookie is not taken for %s, under its own name or that one’s', (_, request, at) => {
    const [, value = ''] = cookieOf().split('=')
    const theirs = judgePreview(sealer, at, {
      method: 'GET',
      url: `/?berth_token=${tokenFor(at)}`,
      headers: [],
      host,
      isSecure: true,
      isUpgrade: false,
      ...request,
    })
    const [name = ''] = theirs.kind === 'redirect' ? (theirs.headers['set-cookie'] ?? '').split('=') : []
    expect(name).toContain('berth-preview-')
    const isOnlyUnsafe = 'isSecure' in request // the same host without TLS: the value is right, and the name keeps it away
    expect(judge({ ...request, headers: ['cookie', cookieOf()] }, at)).toMatchObject({ kind: 'refused' })
    if (!isOnlyUnsafe)
      expect(judge({ ...request, headers: ['cookie', `${name}=${value}`] }, at)).toMatchObject({
        kind: 'refused',
        status: 401,
      })
  })

  test('is no cookie, and a cookie is no token', () => {
    const [name = '', value = ''] = cookieOf().split('=')
    expect(judge({ headers: ['cookie', `${name}=${token}`] })).toMatchObject({ kind: 'refused' })
    expect(judge({ headers: ['x-berth-preview-token', value] })).toMatchObject({ kind: 'refused' })
  })
})

describe('a host of previews', () => {
  const config = { domain: 'berth.localhost' }
  test('names a port of a VM', () => {
    expect(readPreviewHost(config, host)).toEqual({ vmId: place.vmId, port: place.port })
  })
  test.each([
    'berth.localhost',
    '3000.berth.localhost',
    `3000-${host.slice(6)}`,
    `0-${host.slice(5)}`,
    `03000-${host.slice(5)}`,
    `65536-${host.slice(5)}`,
    `x.${host}`,
    `3000-${host}`,
    host.replace('berth', 'other'),
    `3000-${'z'.repeat(26)}.berth.localhost`,
    `${'3'.repeat(5_000)}.berth.localhost`,
  ])('is not %s', (other) => expect(readPreviewHost(config, other)).toBeNull())
})

describe('the routes of previews', () => {
  const table = createRoutes()
  const entry = {
    id: newUuid(),
    organizationId: newUuid(),
    kind: 'proxy',
    host: 'entry.berth.localhost',
    path: '/',
    access: 'preview',
    vmId: place.vmId,
    vmPort: place.port,
    functionId: null,
    wakes: true,
  } as const
  table.put(entry)
  const { routes, guard } = openPreviews({ config: { domain: 'berth.localhost' } as Config, sealer }, table)
  const asked = (at: string, shown: string) => ({
    method: 'POST',
    url: '/',
    headers: ['x-berth-preview-token', shown],
    host: at,
    isSecure: true,
    isUpgrade: false,
  })

  test('are those of the table, and one for each port of a VM, whose owner a token tells', () => {
    expect(routes.find('entry.berth.localhost', '/x')).toBe(entry)
    expect([routes.find('other.berth.localhost', '/'), routes.hasHost('other.berth.localhost'), routes.size]).toEqual([
      undefined,
      false,
      1,
    ])
    const route = routes.find(host, '/x')
    expect(route).toMatchObject({ access: 'preview', vmId: place.vmId, vmPort: place.port, wakes: true })
    if (!route) return
    expect(guard(route, asked(host, 'x')).kind).toBe('refused')
    expect(routes.find(host, '/')).not.toBe(route)
    expect(guard(route, asked(host, token)).kind).toBe('open')
    expect(routes.find(host, '/')).toBe(route)
    expect(route.organizationId).toBe(place.organizationId)
  })

  test('of an entry open with a token of its own organization', () => {
    expect(guard(entry, asked(entry.host, token))).toMatchObject({ kind: 'refused', status: 403 })
    expect(guard(entry, asked(entry.host, tokenFor({ ...place, organizationId: entry.organizationId }))).kind).toBe(
      'open',
    )
  })
})

describe('an address', () => {
  let berth: Berth
  let owner: string
  let vm: string
  beforeAll(async () => {
    berth = await startBerth({ settings: { BERTH_HTTPS_PORT: '8443' } })
    owner = await berth.token()
    vm = await makeVmRow(berth.services.db, owner, await makeSilentNode(berth.services.db))
  })
  afterAll(() => berth.stop())
  const ask = async (args: string, as: string | undefined = owner) => {
    const { body } = await berth.ask(`{ vm(id: "${vm}") { previewUrl(${args}) } }`, { ...(as ? { token: as } : {}) })
    return {
      url: (body.data as { vm: { previewUrl: string } | null } | null)?.vm?.previewUrl ?? null,
      code: body.errors?.[0]?.extensions.code ?? null,
    }
  }

  test('is made for a port of a VM, and opens it for an hour', async () => {
    const { url } = await ask('port: 3000')
    const { host: shown, hostname, searchParams } = new URL(url ?? '')
    const target = { vmId: decodeId('vm', vm) ?? '', port: 3000 }
    expect([shown, readPreviewHost({ domain: 'berth.localhost' }, hostname)]).toEqual([
      `3000-${vm.slice(3)}.berth.localhost:8443`,
      target,
    ])
    const preview = readPreviewToken(berth.services.sealer, target, searchParams.get('berth_token') ?? '')
    expect(preview).toMatchObject({ organizationId: idsOf(owner).organizationId })
    expect(preview !== null && preview !== 'expired' && preview.expiresAtSeconds - nowMs() / 1000).toBeCloseTo(
      proxyLimits.previewSeconds,
      -1,
    )
    const { body, status } = await berth.call('GET', `/api/v1/vms/${vm}/preview-url?port=3000&ttl_seconds=5`, {
      token: owner,
    })
    expect([status, body]).toEqual([200, { preview_url: expect.stringContaining('berth_token=') as string }])
  })

  test('of an entry that takes tokens is its own', async () => {
    const { body } = await berth.call<{ id: string }>('POST', '/api/v1/proxies', {
      token: owner,
      body: { service_name: 'app', vm_id: vm, vm_port: 3000, deployment_type: 'preview', path: '/app' },
    })
    const shown = await berth.ask(`{ proxy(id: "${body.id}") { previewUrl(ttlSeconds: 60) } }`, { token: owner })
    expect(shown.body.data).toMatchObject({
      proxy: {
        previewUrl: expect.stringMatching(/^https:\/\/app-\w{8}\.berth\.localhost:8443\/app\?berth_token=/) as string,
      },
    })
  })

  test.each([
    'port: 0',
    'port: 65536',
    'port: 1, ttlSeconds: 0',
    `port: 1, ttlSeconds: ${proxyLimits.previewSecondsMax + 1}`,
  ])('is not made for %s', async (args) => expect(await ask(args)).toEqual({ url: null, code: 'INVALID_REQUEST' }))

  test('is made for those who may open VMs, of their own organization', async () => {
    expect((await ask('port: 1', await berth.token('victor', 'acme', 'viewer'))).code).toBe('NOT_PERMITTED_FOR_ROLE')
    expect((await ask('port: 1', await berth.token('eve', 'evil'))).code).toBe('NOT_FOUND')
    expect((await ask('port: 1', (await makeKey(berth, owner, { scopes: ['models:read'] })).key)).code).toBe(
      'FORBIDDEN',
    )
    expect((await ask('port: 1', (await makeKey(berth, owner, { scopes: ['compute:use'] })).key)).code).toBeNull()
  })
})
