/** The names and paths of domains: what is taken, in which spelling, and what is refused. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readDomainName, readDomainPath } from '#src/resources/infra/routes/names.ts'
import { startBerth, type Berth } from '../../support/berth.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_DOMAIN: 'berth.test' } })
  token = await berth.token()
})
afterAll(() => berth.stop())

test.each([
  ['Shop.Example.COM', 'shop.example.com'],
  ['*.Example.com', '*.example.com'],
  ['bücher.example.com', 'xn--bcher-kva.example.com'],
  ['XN--BCHER-KVA.example.com', 'xn--bcher-kva.example.com'],
  ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
  ['ｓｈｏｐ.example.com', 'shop.example.com'],
  ['яндекс.example.com', 'xn--d1acpjx3f.example.com'],
  ['r3---sn.example.com', 'r3---sn.example.com'],
  ['a.github.io', 'a.github.io'],
  ['1.2.example.com', '1.2.example.com'],
  [`${'a'.repeat(63)}.example.com`, `${'a'.repeat(63)}.example.com`],
])('%s is stored as %s', (given, stored) => {
  expect(readDomainName(given)).toBe(stored)
  expect(readDomainName(stored)).toBe(stored)
})

const longest = `${'a.'.repeat(121)}example.com` // 253 characters
test('a name has 253 characters at most, `*.` included', () => {
  expect(readDomainName(longest)).toBe(longest)
})

test.each([
  ['nothing', ''],
  ['a wildcard of nothing', '*.'],
  ['one label', 'localhost'],
  ['an IPv4 address', '203.0.113.7'],
  ['one with few parts', '127.1'],
  ['one in decimal', '2130706433'],
  ['one in hexadecimal', '0x7f000001'],
  ['one in octal', '0177.0.0.1'],
  ['one in full-width digits', '１２７.0.0.1'],
  ['a wildcard of one', '*.203.0.113.7'],
  ['an IPv6 address', '2001:db8::1'],
  ['one in brackets', '[::1]'],
  ['a name that ends like an address', 'example.123'],
  ['a port', 'example.com:8080'],
  ['a URL', 'https://example.com'],
  ['a path', 'example.com/a'],
  ['a user', 'me@example.com'],
  ['a query', 'example.com?a'],
  ['a fragment', 'example.com#a'],
  ['a dot at the end', 'example.com.'],
  ['a full-width dot at the end', 'example.com。'],
  ['an empty label', 'shop..example.com'],
  ['a dot at the beginning', '.example.com'],
  ['an underscore', '_acme.example.com'],
  ['a space', 'shop .example.com'],
  ['a space after it', 'example.com '],
  ['a tab', 'shop\t.example.com'],
  ['a new line', 'example.com\n'],
  ['percent signs', '%73hop.example.com'],
  ['a soft hyphen', 'sh\u00adop.example.com'],
  ['a zero-width joiner', 'sh\u200dop.example.com'],
  ['a turned direction', 'sh\u202eop.example.com'],
  ['a backslash', 'shop\\.example.com'],
  ['a hyphen at the beginning', '-shop.example.com'],
  ['a hyphen at the end', 'shop-.example.com'],
  ['a label of 64 characters', `${'a'.repeat(64)}.example.com`],
  ['254 characters', `a${longest}`],
  ['254 characters with a wildcard', `*.${longest.slice(1)}`],
  ['far too much', 'a'.repeat(100_000)],
  ['a public suffix', 'co.uk'],
  ['a private one', 'github.io'],
  ['a wildcard of one', '*.co.uk'],
  ['a wildcard of a private one', '*.vercel.app'],
  ['a top-level domain', 'com'],
  ['a wildcard within', 'shop.*.example.com'],
  ['two wildcards', '*.*.example.com'],
  ['a part of a label as a wildcard', 'sh*.example.com'],
  ['a Cyrillic letter among Latin ones', 'аpple.example.com'],
  ['the same in ASCII', 'xn--pple-43d.example.com'],
  ['a Greek one', 'αpple.example.com'],
  ['what is no ASCII form', 'xn--a.example.com'],
  ['an ASCII form of ASCII', 'xn--shop-.example.com'],
  ['the platform’s domain', 'berth.test'],
  ['a name below it', 'a.db.BERTH.test'],
  ['its wildcard', '*.berth.test'],
])('%s is no domain: 400 invalid_domain', async (_, domain) => {
  const { status, body } = await berth.call('POST', '/api/v1/domains', { token, body: { domain } })
  expect({ status, body }).toMatchObject({
    status: 400,
    body: { error: 'invalid_domain', message: expect.stringMatching(/^domain must /) },
  })
})

test('what is no name is 400 in a path too, whatever it looks like', async () => {
  for (const path of [
    'co.uk',
    'a_b.example.com',
    '203.0.113.7',
    '%00',
    'example.com%2Flink',
    'example.com%3A80',
    '%E0%A4%A',
  ])
    for (const method of ['GET', 'DELETE'])
      expect((await berth.call(method, `/api/v1/domains/${path}`, { token })).status, `${method} ${path}`).toBe(400)
})

test('a name in a path has any spelling of it', async () => {
  await berth.call('POST', '/api/v1/domains', { token, body: { domain: '*.bücher.example.com' } })
  for (const path of ['*.xn--bcher-kva.example.com', '%2A.B%C3%9Ccher.example.com'])
    expect(await berth.call('GET', `/api/v1/domains/${path}`, { token })).toMatchObject({
      status: 200,
      body: { domain: '*.xn--bcher-kva.example.com' },
    })
})

test('a wildcard’s instructions have the CNAME of its certificate', async () => {
  const { body } = await berth.call<{ instructions: string; txt_record_name: string }>('POST', '/api/v1/domains', {
    token,
    body: { domain: '*.wild.example.com' },
  })
  const { body: shown } = await berth.call<{ id: string }>('GET', '/api/v1/domains/*.wild.example.com', { token })
  expect(body.txt_record_name).toBe('_berth-challenge.wild.example.com')
  expect(body.instructions).toContain('A record, name *.wild.example.com,')
  expect(body.instructions).toContain(
    `CNAME record, name _acme-challenge.wild.example.com, value ${shown.id.slice(4)}.acme.berth.test`,
  )
})

test('an organization asks for 30 checks a minute; one more is 429', async () => {
  await berth.call('POST', '/api/v1/domains', { token, body: { domain: 'often.example.com' } })
  const activate = () =>
    berth.call('POST', '/api/v1/domains/activate', { token, body: { domain: 'often.example.com' } })
  const answers = await Promise.all(Array.from({ length: 45 }, activate))
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused[0]).toMatchObject({ body: { error: 'rate_limited' } })
  expect(refused.length).toBeGreaterThanOrEqual(10)
  expect(answers.filter(({ status }) => status === 400).length).toBeGreaterThanOrEqual(28)
})

test.each([
  [undefined, '/'],
  ['/', '/'],
  ['/api', '/api'],
  ['/api/', '/api'],
  ['/a/b.c-d_e~f', '/a/b.c-d_e~f'],
])('the path %s is %s', (given, stored) => {
  expect(readDomainPath(given)).toBe(stored)
})

test.each([
  '',
  'api',
  '//',
  '/a//b',
  '/a/./b',
  '/..',
  '/a?b',
  '/a#b',
  '/%61',
  '/a b',
  '/ü',
  '/a\\b',
  '/a\0',
  `/${'a'.repeat(1024)}`,
])('the path %j is refused', (given) => {
  expect(() => readDomainPath(given)).toThrow(/^path must be a plain path/)
})
