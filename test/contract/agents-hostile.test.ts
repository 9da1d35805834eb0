/** Nonsense sent to every path of the agents service: refused or harmless, in its own envelope, and never a failure. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'
import { isSecondPath } from './attacked-fields.ts'
import { agentsRows } from './matrix/agents.ts'
import { fill, makeCallers, makeRefusingNode, makeTarget, picture, type Callers, type Target } from './callers.ts'
import type { RestRow } from './matrix.ts'
import { triggerSettings } from './matrix/triggers.ts'

let berth: Berth
let callers: Callers
let node: string
let target: Target
const properties: Record<string, string[]> = {}
/** The properties whose description says that they may be null, and may not. */
const nullable: Record<string, [may: string[], mayNot: string[]]> = {}
/** The properties that are described as text. */
const texts: Record<string, string[]> = {}
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000', ...triggerSettings } })
  callers = await makeCallers(berth)
  node = await makeRefusingNode(berth)
  target = await makeTarget(berth, callers.owner, node)
  type Shape = { properties?: Record<string, { type?: unknown }> }
  type Described = {
    paths: Record<
      string,
      Record<string, { requestBody?: { content: Record<string, { schema: Shape & { $ref?: string } }> } }>
    >
    components: { schemas: Record<string, Shape> }
  }
  const { body } = await berth.call<Described>('GET', '/agents/openapi.json')
  for (const [path, methods] of Object.entries(body.paths)) {
    for (const [method, { requestBody }] of Object.entries(methods)) {
      const key = `${method.toUpperCase()} /agents${path}`
      const schema = requestBody?.content['application/json']?.schema
      const shape = schema?.$ref ? body.components.schemas[schema.$ref.split('/').at(-1) ?? ''] : schema
      const described = Object.entries(shape?.properties ?? {})
      properties[key] = described.map(([name]) => name)
      const typed = (isNullable: boolean): string[] =>
        described
          .filter(([, { type }]) => type !== undefined && (Array.isArray(type) || type === 'null') === isNullable)
          .map(([name]) => name)
      nullable[key] = [typed(true), typed(false)]
      texts[key] = described.filter(([, { type }]) => [type].flat().includes('string')).map(([name]) => name)
    }
  }
})
afterAll(() => berth.stop())

const rows = Object.entries(agentsRows).filter(([key]) => !key.endsWith('/stream'))
const withBody = rows.filter(([key]) => /^(POST|PUT|PATCH) /.test(key))

async function send(
  key: string,
  row: RestRow,
  body: string | undefined,
  { to = target, path = fill(key.split(' ')[1] ?? '', to, row.of) } = {},
): Promise<{ status: number; text: string }> {
  const answer = await fetch(berth.url + path, {
    method: key.split(' ')[0] ?? '',
    headers: {
      authorization: `Bearer ${callers.owner}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  })
  return { status: answer.status, text: await answer.text() }
}

/** Below 500, and a refusal in the documented envelope. */
function mustBeCalm({ status, text }: { status: number; text: string }, what: string): void {
  expect(status, `${what}: ${text.slice(0, 300)}`).toBeLessThan(500)
  if (status < 400) return
  expect(JSON.parse(text), what).toEqual({
    type: 'error',
    error: {
      type: expect.stringMatching(/_error$|^request_too_large$/),
      message: expect.any(String),
      code: expect.stringMatching(/^[a-z_]+$/),
    },
    request_id: expect.stringMatching(/^req_/),
  })
}

describe('a body', () => {
  test('with null in a field is refused where OpenAPI says that it cannot be null, and nowhere else', async () => {
    let fresh = await makeTarget(berth, callers.owner, node)
    const refused = async (key: string, row: RestRow, name: string): Promise<boolean> => {
      const { status } = await send(
        key,
        row,
        JSON.stringify({ ...(JSON.parse(fill(JSON.stringify(row.body ?? {}), fresh)) as object), [name]: null }),
        { to: fresh },
      )
      if (status !== 400) fresh = await makeTarget(berth, callers.owner, node) // what is refused changes nothing
      return status === 400
    }
    /** Paths that need one of several fields: what a run is of, and how an approval is said. */
    const needOneOf = ['POST /agents/v1/runs', 'POST /agents/v1/groups/{id}/runs/{run_id}/approvals/{approval_id}']
    /** Whether the row is refused anyway: it is, or the field is the one of several that it has. */
    const isRefusedAnyway = (key: string, { outcomes, body }: RestRow, name: string): boolean =>
      outcomes[0].startsWith('400') || (needOneOf.includes(key) && Object.hasOwn((body ?? {}) as object, name))
    for (const [key, row] of withBody) {
      const [may, mayNot] = nullable[key] ?? [[], []]
      for (const name of may)
        if (!isRefusedAnyway(key, row, name)) expect(await refused(key, row, name), `${key} ${name}`).toBe(false)
      for (const name of mayNot) expect(await refused(key, row, name), `${key} ${name}`).toBe(true)
    }
    expect(nullable['PATCH /agents/v1/agents/{id}']).toEqual([
      ['description', 'mcp_servers', 'mcp_services', 'metadata', 'multiagent', 'skills', 'system', 'tools'],
      ['name', 'version'],
    ])
  })

  test('with a number where OpenAPI says text is refused on every path', async () => {
    for (const [key, row] of withBody)
      for (const name of texts[key] ?? []) {
        const body = { ...(JSON.parse(fill(JSON.stringify(row.body ?? {}), target)) as object), [name]: 5 }
        const answer = await send(key, row, JSON.stringify(body))
        expect(answer.status, `${key} ${name}: ${answer.text}`).toBe(400)
      }
    expect(texts['POST /agents/v1/groups']).toEqual(['description', 'name', 'org_id'])
  })

  test.each([
    '',
    '{',
    '[]',
    '"x"',
    '5',
    'null',
    'true',
    '{"a":1,}',
    '\ufeff{}',
    `${'['.repeat(100)}${']'.repeat(100)}`,
    '{"name":"\\u0000"}',
    '{"name":"\\ud800"}',
  ])('of %j is refused or harmless on every path', async (body) => {
    let untouched: Target | undefined
    for (const [key, row] of withBody) {
      const to = untouched ?? (await makeTarget(berth, callers.owner, node))
      const answer = await send(key, row, body, { to })
      mustBeCalm(answer, `${key} with ${body.slice(0, 40)}`)
      untouched = answer.status < 400 ? undefined : to
    }
  })

  const eachOnce = withBody.filter(([key]) => !isSecondPath(key))
  test.each(eachOnce)('with any wrong value in any field is refused or harmless: %s', async (key, row) => {
    const values = [
      '5',
      '-1',
      '1e400',
      '1.5',
      'true',
      'null',
      '[]',
      '[[]]',
      '[null]',
      '{}',
      '{"a":{"b":[]}}',
      '{"type":"constructor"}',
      '{"type":"__proto__"}',
      '{"__proto__":{"x":1}}',
      '{"constructor":{"prototype":1}}',
      '""',
      `"${'x'.repeat(300_000)}"`,
      `[${'{"type":"x"},'.repeat(2_000)}{}]`,
    ]
    let untouched: Target | undefined
    for (const name of properties[key] ?? []) {
      for (const value of values) {
        const fresh = untouched ?? (await makeTarget(berth, callers.owner, node))
        const rest = Object.entries((row.body ?? {}) as object)
          .filter(([other]) => other !== name)
          .map(([other, item]) => `,${JSON.stringify(other)}:${fill(JSON.stringify(item), fresh)}`)
          .join('')
        const answer = await send(key, row, `{${JSON.stringify(name)}:${value}${rest}}`, { to: fresh })
        mustBeCalm(answer, `${key} with ${name}: ${value.slice(0, 40)}`)
        untouched = answer.status < 400 ? undefined : fresh
      }
    }
    expect(({} as { x?: number }).x).toBeUndefined()
  })

  test('of any JSON at all is answered without a failure', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...withBody), fc.json({ maxDepth: 4 }), async ([key, row], body) => {
        mustBeCalm(await send(key, row, body), `${key} with ${body}`)
      }),
      { numRuns: 200 },
    )
  })

  test('with tools and a config of any shape is answered without a failure', async () => {
    const made = await makeTarget(berth, callers.owner, node)
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ maxDepth: 4 }),
        fc.constantFrom('tools', 'mcp_servers', 'mcp_services', 'skills', 'model', 'metadata'),
        async (value, field) => {
          mustBeCalm(
            await send(
              'POST /agents/v1/agents/{id}',
              { outcomes: [] as never, of: 'agent' },
              JSON.stringify({ [field]: value }),
              { to: made },
            ),
            field,
          )
        },
      ),
      { numRuns: 150 },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ maxDepth: 4 }),
        fc.constantFrom('networking', 'packages', 'git_repos', 'type', 'template_id'),
        async (value, field) => {
          mustBeCalm(
            await send(
              'POST /agents/v1/environments/{id}',
              { outcomes: [] as never, of: 'environment' },
              JSON.stringify({ config: { type: 'vm', [field]: value } }),
              { to: made },
            ),
            field,
          )
        },
      ),
      { numRuns: 100 },
    )
  })
})

describe('a path', () => {
  const pieces = [
    '%00',
    '%ff',
    '..%2f..%2fetc',
    'x'.repeat(301),
    '%F0%9F%A6%8A',
    'agt_',
    'env_01H',
    "' or 1=1 --",
    '%0d%0aset-cookie:x',
    'null',
    '0',
    '-1',
    'AGT_01H2XCEJQTF2NBRE7AHPKMBWXY',
  ]
  /** Paths without a parameter of the query that they need. */
  const needQuery = new Set(['GET /agents/v1/mcp-services/callback/{id}', 'DELETE /agents/v1/memories/{id}'])
  test.each(rows.filter(([key]) => /\{id\}/.test(key)))(
    'with nonsense for an id is refused and changes nothing: %s',
    async (key, row) => {
      const before = await picture(berth, target)
      for (const piece of pieces) {
        const body = row.body === undefined ? undefined : fill(JSON.stringify(row.body), target)
        const said = await send(key, row, body, {
          path: fill((key.split(' ')[1] ?? '').replace('{id}', piece), target, row.of),
        })
        mustBeCalm(said, `${key} with ${piece.slice(0, 40)}`)
        const isNoUrl = piece === '%ff' // no UTF-8
        expect(said.status, `${key} with ${piece.slice(0, 40)}`).toBe(isNoUrl || needQuery.has(key) ? 400 : 404)
      }
      expect(await picture(berth, target)).toBe(before)
    },
  )
})
