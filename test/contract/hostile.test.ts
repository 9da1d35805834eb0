/** Hostile input to every operation: refused with 4xx in the right envelope, never 5xx, and nothing is stored. */
import { request } from 'node:http'
import fc from 'fast-check'
import { isNonNullType } from 'graphql'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { schema } from '#schema/schema.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { fill, makeCallers, makeRefusingNode, makeTarget, picture, type Callers, type Target } from './callers.ts'
import { documentOf, rootFields } from './documents.ts'
import { graphqlRows, restRows, signedOnly } from './matrix.ts'

let berth: Berth
let callers: Callers
let target: Target
let node: string
const properties: Record<string, string[]> = {}
const queries: Record<string, string[]> = {}
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100000' } })
  callers = await makeCallers(berth)
  node = await makeRefusingNode(berth)
  target = await makeTarget(berth, callers.owner, node)
  // Paths without a body that switch something on and off would leave a trace: now they answer 409.
  await berth.services.database.pool.query("update databases set status = 'restoring'")
  await berth.call('POST', `/api/v1/build/jobs/${target.build}/cancel`, { token: callers.owner }) // again changes nothing
  type Described = {
    paths: Record<
      string,
      Record<
        string,
        {
          parameters: { name: string; in: string }[]
          requestBody?: { content: Record<string, { schema: { properties?: object; $ref?: string } }> }
        }
      >
    >
    components: { schemas: Record<string, { properties?: object }> }
  }
  const { body } = await berth.call<Described>('GET', '/api/v1/openapi.json')
  for (const [path, methods] of Object.entries(body.paths)) {
    for (const [method, { requestBody, parameters }] of Object.entries(methods)) {
      const schema = requestBody?.content['application/json']?.schema
      const shape = schema?.$ref ? body.components.schemas[schema.$ref.split('/').at(-1) ?? ''] : schema
      properties[`${method.toUpperCase()} ${path}`] = Object.keys(shape?.properties ?? {})
      queries[`${method.toUpperCase()} ${path}`] = parameters.filter((one) => one.in === 'query').map((one) => one.name)
    }
  }
})
afterAll(() => berth.stop())

type Answer = { status: number; text: string }
/** Whoever has no signature is told nothing else: test/infra/functions has the tests of what is signed. */
const rows = Object.keys(restRows).filter((key) => restRows[key]?.outcomes !== signedOnly)
const withBody = rows.filter((key) => /^(POST|PUT|PATCH) /.test(key))

async function send(
  key: string,
  body: string | Buffer | undefined,
  { type = 'application/json', query = '', name = (parameter: string): string => fill(`{${parameter}}`, target) } = {},
): Promise<Answer> {
  const [method = '', path = ''] = key.split(' ')
  const leaving = new AbortController()
  const answer = await fetch(
    berth.url + path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => name(parameter)) + query,
    {
      method,
      signal: leaving.signal,
      headers: { authorization: `Bearer ${callers.owner}`, ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body: new Uint8Array(Buffer.from(body)) }),
    },
  )
  if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    leaving.abort()
    return { status: answer.status, text: '' }
  }
  return { status: answer.status, text: await answer.text() }
}

/** Failures that are no bug: the VM's node refuses, and has no room for another. */
const honest =
  /^(502 \{"error":"vm_unreachable"|503 \{"error":"capacity_unavailable"|500 \{"error":"internal_error","message":"The VM’s node)/

/** The interface lists a body without a message for it. */
const notConnected = '{"error":"provider_not_connected"}'

function mustBeCalm({ status, text }: Answer, what: string): void {
  if (status >= 500) expect(`${status} ${text}`, what).toMatch(honest)
  if (status >= 400 && text !== notConnected)
    expect(Object.keys(JSON.parse(text) as object), what).toEqual(['error', 'message'])
}

function mustBeRefused(said: Answer, what: string, statuses: readonly number[] = [400]): void {
  expect(statuses, `${what}: ${said.status} ${said.text.slice(0, 200)}`).toContain(said.status)
  mustBeCalm(said, what)
}

let before: string
const stored = async (): Promise<string> => {
  const { rows } = await berth.services.database.pool.query(
    'select (select count(*) from vms) as vms, (select count(*) from vm_env) as env, (select count(*) from vm_processes) as processes, (select count(*) from folders) as folders, (select count(*) from vm_events) as events, (select count(*) from pgboss.job) as jobs, (select count(*) from build_jobs) as builds, (select count(*) from build_secrets) as secrets, (select count(*) from uploads) as uploads, (select count(*) from idempotency_keys) as keys',
  )
  return `${JSON.stringify(rows)}\n${await picture(berth, target)}`
}

test('the description says what the fields of bodies are', () => {
  expect(properties['POST /api/v1/vms']?.length).toBeGreaterThan(10)
})

/** What does something without a body: whatever JSON is sent along, it does that. */
const acts = /\/(?:vms|functions)\/\{\w+\}\/(?:start|stop|pause|resume)$/

describe('a body', () => {
  beforeEach(async () => {
    before = await stored()
  })
  afterEach(async () => expect(await stored()).toBe(before))

  const bodies: readonly [string, string | Buffer][] = [
    ['that is not JSON', '{"a":'],
    ['that is a list', '[]'],
    ['that is a text', '"x"'],
    ['that is a number', '5'],
    ['that is null', 'null'],
    ['with a trailing comma', '{"a":1,}'],
    ['in single quotes', "{'a':1}"],
    ['that is two values', '{} {}'],
    ['with NUL in a key', '{"a\\u0000":1}'],
    ['with NUL in a value', '{"a":"\\u0000"}'],
    ['with half a surrogate pair', '{"a":"\\ud800"}'],
    ['with half a pair as a key', '{"\\udc00":1}'],
    ['nested 65 deep', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
    ['nested 20000 deep', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
    ['that is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['in UTF-16', Buffer.from('\ufeff{"a":1}', 'utf16le')],
    ['with a byte order mark before nonsense', '\ufeff{'],
  ]
  // A body that may be anything a path understands is an object; a path without a body ignores an object's keys.
  test.each(bodies)('%s is refused by every path', async (what, body) => {
    const isJson = /list|text|number|null/.test(what)
    for (const key of withBody.filter((one) => !(isJson && acts.test(one))))
      mustBeRefused(
        await send(key, body),
        `${key} with a body ${what}`,
        properties[key]?.length === 0 && isJson && !key.endsWith('/env') ? [200, 400, 404, 409, 500, 502] : [400],
      )
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/jsonp',
    'text/json',
  ])('of the type %s is refused by every path', async (type) => {
    for (const key of withBody) mustBeRefused(await send(key, '{"command":"true"}', { type }), `${key} as ${type}`)
  })

  test('without credentials is not read: every path answers 401 first, whatever is wrong in it', async () => {
    for (const key of withBody) {
      const [method = '', path = ''] = key.split(' ')
      for (const authorization of [undefined, 'Bearer nonsense']) {
        for (const [type, body] of [
          ['application/json', '{'],
          ['text/plain', 'x'],
          ['application/json', ' '.repeat(3 * 1024 * 1024)],
        ] as const) {
          const answer = await fetch(berth.url + fill(path, target), {
            method,
            body,
            headers: { 'content-type': type, ...(authorization ? { authorization } : {}) },
          })
          expect(answer.status, `${key} ${type}`).toBe(401)
          expect(await answer.json(), key).toMatchObject({ error: 'unauthorized' })
        }
      }
    }
  })
  test('of 20 MB is refused before it is read, by every path', async () => {
    const ofAnySize = 'PUT /api/v1/vms/{vm_id}/files'
    for (const key of withBody.filter((one) => one !== ofAnySize))
      expect(await declare(key, 20_000_000), key).toMatchObject({ status: 413, error: 'request_too_large' })
  })

  test.each(withBody)('with any wrong type in any field is refused or harmless: %s', async (key) => {
    const values = [
      '"\\u0000"',
      '"\\ud800"',
      '5',
      '-1',
      '1e400',
      '1e308',
      '9007199254740993',
      '1.5',
      'true',
      '[]',
      '[[]]',
      '{}',
      '{"a":{"b":[]}}',
      '[null]',
      '{"__proto__":{"x":1}}',
      '{"constructor":{"prototype":1}}',
      '""',
      `"${'x'.repeat(100_000)}"`,
      `[${'"x",'.repeat(5_000)}"x"]`,
    ]
    const right: Record<string, string> = {
      background: 'true',
      metadata: '{}',
      spec: '{}',
      start_seconds: '5',
      vcpu_count: '5',
      variables: '{}',
      ttl_seconds: '5',
      verify_ownership: 'true',
      vm_port: '5',
      wake_on_request: 'true',
    } // nothing wrong with these: they leave something
    const needed = restRows[key]?.body as Record<string, unknown> | undefined
    for (const name of properties[key] ?? []) {
      for (const value of values) {
        if (right[name] === value) continue
        const rest = Object.entries(needed ?? {})
          .filter(([other]) => other !== name)
          .map(([other, item]) => `,${JSON.stringify(other)}:${fill(JSON.stringify(item), target)}`)
          .join('')
        const said = await send(key, `{${JSON.stringify(name)}:${value}${rest}}`)
        mustBeCalm(said, `${key} with ${name}: ${value.slice(0, 40)}`)
        expect(said.status, `${key} with ${name}: ${value.slice(0, 40)}`).toBeGreaterThanOrEqual(400)
      }
    }
  })

  test('with a key __proto__ changes no prototype', async () => {
    for (const key of withBody)
      mustBeCalm(await send(key, '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'), key)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    const env = JSON.stringify(await berth.call('GET', `/api/v1/vms/${target.vm}/env`, { token: callers.owner }))
    expect(env).not.toContain('polluted')
  })

  test('of any JSON at all is answered without a failure', async () => {
    // There an object of texts is right, or one without anything is.
    const paths = withBody.filter((key) => !/\/env$|^PATCH .*\/(?:vms|functions)\//.test(key) && !acts.test(key))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), fc.json({ maxDepth: 3 }), async (key, body) => {
        mustBeCalm(await send(key, body), `${key} with ${body}`)
      }),
      { numRuns: 150 },
    )
  })
})

describe('a path', () => {
  const pieces = [
    '%00',
    '%ff',
    '%c0%ae',
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e',
    'x'.repeat(301),
    'x'.repeat(20_000),
    '%F0%9F%A6%8A',
    'vm_',
    'VM_01H',
    "' or 1=1 --",
    '%0d%0aset-cookie:x',
    '%ed%a0%80',
    'a%20b',
    '$%7bx%7d',
    '{vm_id}',
    'null',
    '0',
    '-1',
  ]
  test.each(rows.filter((key) => key.includes('{')))('with nonsense in it is refused: %s', async (key) => {
    before = await stored()
    const names = [...key.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
    for (const wrong of names) {
      for (const piece of pieces) {
        if (piece === '%2e%2e' && key.includes('/organizations/')) continue // clients make another path of it, which is there
        const body = restRows[key]?.body === undefined ? undefined : fill(JSON.stringify(restRows[key].body), target)
        const said = await send(key, body, {
          name: (parameter) => (parameter === wrong ? piece : fill(`{${parameter}}`, target)),
        })
        mustBeRefused(said, `${key} with ${wrong} ${piece.slice(0, 40)}`, [400, 403, 404, 414, 431])
      }
    }
    expect(await stored()).toBe(before)
  })

  test('that is not a path, or is wrongly percent-encoded, is refused in the envelope of its surface', async () => {
    for (const path of ['/api/v1/vms/%', '/api/v1/vms/%zz', '/api/v1/%', '/api/v1/vms/%E0%A4%A/env']) {
      const said = await berth.call('GET', path, { token: callers.owner })
      expect([said.status, Object.keys(said.body)], path).toEqual([400, ['error', 'message']])
    }
  })
})

describe('a query', () => {
  const values = [
    '',
    'abc',
    '-1',
    '0',
    '1e3',
    '99999999999',
    '9'.repeat(400),
    '1.5',
    '%00',
    'null',
    '[]',
    'NaN',
    '%ff',
    '1&{name}=2',
  ]
  test('with nonsense in it is refused or ignored, and never causes a failure', async () => {
    const asked = Object.entries(queries).flatMap(([key, names]) => names.map((name) => [key, name] as const))
    expect(asked.length).toBeGreaterThan(5)
    for (const [key, name] of asked) {
      for (const value of values) {
        const body = restRows[key]?.body === undefined ? undefined : fill(JSON.stringify(restRows[key].body), target)
        const said = await send(key, body, { query: `?${name}=${value.replace('{name}', name)}` })
        mustBeCalm(said, `${key}?${name}=${value}`)
        if (['limit', 'offset'].includes(name) && ['abc', '-1', '1.5', '99999999999'].includes(value))
          expect(said.status, `${key}?${name}=${value}`).toBe(400)
      }
    }
  })
})

describe('GraphQL', () => {
  const values: readonly unknown[] = [
    '\0',
    '\ud800',
    '',
    'x'.repeat(100_000),
    5,
    -1,
    1e308,
    2 ** 53 + 2,
    1.5,
    true,
    [],
    [[]],
    [null],
    {},
    { a: { b: [] } },
    null,
    ['x'],
    { A: 'x\0' },
  ]
  const typeOf = (rootField: string, argument: string): string => {
    const [operation = '', name = ''] = rootField.split(' ')
    const root =
      operation === 'query'
        ? schema.getQueryType()
        : operation === 'mutation'
          ? schema.getMutationType()
          : schema.getSubscriptionType()
    return String(root?.getFields()[name]?.args.find((one) => one.name === argument)?.type)
  }
  const argumentsOf = (rootField: string): string[] => {
    const [operation = '', name = ''] = rootField.split(' ')
    const root = operation === 'query' ? schema.getQueryType() : schema.getMutationType()
    return root?.getFields()[name]?.args.map((one) => one.name) ?? []
  }

  test.each(
    rootFields().filter((rootField) => !rootField.startsWith('subscription') && argumentsOf(rootField).length > 0),
  )('with any wrong value in any argument is refused or harmless: %s', async (rootField) => {
    const codes = new Set<string>()
    let fresh: Target | undefined = rootField.startsWith('mutation') ? undefined : target
    for (const argument of argumentsOf(rootField)) {
      const type = typeOf(rootField, argument)
      for (const value of values) {
        fresh ??= await makeTarget(berth, callers.owner, node)
        const others = fill(graphqlRows[rootField]?.args ?? '', fresh)
          .split(/, (?=\w+:)/)
          .filter((one) => one && !one.startsWith(`${argument}:`))
        const document = documentOf(rootField, [...others, `${argument}: $value`].join(', ')).replace(
          /^(\w+)/,
          `$1 ($value: ${type})`,
        )
        const { status, body } = await berth.ask(document, { token: callers.owner, variables: { value } })
        const code = body.errors?.[0]?.extensions.code
        expect(code, `${argument}: ${JSON.stringify(value).slice(0, 60)}: ${body.errors?.[0]?.message}`).not.toBe(
          'INTERNAL_ERROR',
        )
        expect(status).toBeLessThan(500)
        if (code) codes.add(code)
        else if (rootField.startsWith('mutation')) fresh = undefined // it was carried out
      }
      if (isNonNullType(type)) expect([...codes]).toContain('INVALID_REQUEST')
    }
    expect(codes.size).toBeGreaterThan(0)
  })
})

/** Announces a body of so many bytes and sends none of it: the answer must come by itself. */
function declare(key: string, sizeBytes: number): Promise<{ status: number; error: string }> {
  const [method = '', path = ''] = key.split(' ')
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        host: '127.0.0.1',
        port: berth.port,
        method,
        path: fill(path, target),
        headers: {
          authorization: `Bearer ${callers.owner}`,
          'content-type': 'application/json',
          'content-length': sizeBytes,
        },
      },
      (answer) => {
        let text = ''
        answer
          .setEncoding('utf8')
          .on('data', (piece: string) => (text += piece))
          .on('end', () => {
            asking.destroy()
            resolve({ status: answer.statusCode ?? 0, error: (JSON.parse(text) as { error: string }).error })
          })
      },
    )
    asking.on('error', reject)
    asking.write('{')
  })
}
