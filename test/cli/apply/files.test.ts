/** What files for `berth apply` may say: mistakes are refused with their path, before Berth is asked for anything. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { digestOf } from '../../../cli/apply/code.ts'
import { fileSchema, problemsIn } from '../../../cli/apply/json-schema.ts'
import { readDescribed } from '../../../cli/apply/reading.ts'
import { listQuery, pageRowsOf } from '../../../cli/apply/rows.ts'
import { sections } from '../../../cli/apply/sections.ts'
import { UsageError } from '../../../cli/errors.ts'
import { Kind, parse, validate } from 'graphql'
import { measureOperation, refuseLarge } from '#src/gateway/operation-size.ts'
import { schema } from '#schema/schema.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-files-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const isRight = new Ajv2020({ strict: false }).compile(fileSchema as object)

/** The sentence that refuses a file. */
async function refusalOf(text: string): Promise<string> {
  const path = join(folder, 'berth.yaml')
  writeFileSync(path, text)
  const error = await readDescribed(path).then(
    () => undefined,
    (problem: unknown) => problem,
  )
  expect(error).toBeInstanceOf(UsageError)
  return (error as UsageError).message
}

const agent = { model: { id: 'berth/demo' } }

describe('a mistake is refused with its path:', () => {
  test.each<[string, unknown, string]>([
    [
      'a field that nothing has',
      { agents: { r: { ...agent, modle: 1 } } },
      'agents.r.modle: no such field. Did you mean model?',
    ],
    ['a section that nothing has', { agent: {} }, 'agent: no such field. Did you mean agents?'],
    [
      'a field of an object inside',
      { agents: { r: { model: { id: 'x', sped: 'FAST' } } } },
      'agents.r.model.sped: no such field. Did you mean speed?',
    ],
    [
      'a text for a number',
      { vms: { web: { vcpuCount: 'two' } } },
      'vms.web.vcpuCount: it must be a whole number or null, not "two".',
    ],
    [
      'a number for a text',
      { vaults: { v: { metadata: { port: 80 } } } },
      'vaults.v.metadata.port: it must be a text, not 80. Put it in quotes: "80".',
    ],
    [
      'half a processor',
      { vms: { web: { vcpuCount: 1.5 } } },
      'vms.web.vcpuCount: it must be a whole number or null, not 1.5.',
    ],
    [
      'a word that is none',
      { schedules: { s: { cron: '* * * * *', overlap: 'ALOW' } } },
      'schedules.s.overlap: it must be one of ALLOW, SKIP, not "ALOW". Did you mean ALLOW?',
    ],
    ['what is missing', { agents: { r: {} } }, 'agents.r.model: it is missing.'],
    [
      'two of which one is wanted',
      { vms: { web: { networkPolicy: { none: true, unrestricted: true } } } },
      'vms.web.networkPolicy: it must have exactly one of limited, none, unrestricted.',
    ],
    [
      'an element of a list',
      { agents: { r: { ...agent, tools: [{ custom: { name: 'x', inputSchema: {} } }] } } },
      'agents.r.tools[0].custom.description: it is missing.',
    ],
    ['a list for a map', { agents: [] }, 'agents: it must be fields with values or null, not [].'],
    [
      'a name with a dot',
      { domains: { 'a.example.com': { port: 1 } } },
      'domains."a.example.com".port: no such field.',
    ],
    [
      'no port',
      { domains: { 'a.example.com': { vm: 'web' } } },
      'domains."a.example.com".vm: it must be a name, a colon and a port, such as web:3000, not "web".',
    ],
    [
      'no agent',
      { deployments: { d: { agent: 3 } } },
      'deployments.d.agent: it must be a text or fields with values, not 3.',
    ],
    ['a secret of a vault', { vaults: { v: { credentials: [] } } }, 'vaults.v.credentials: no such field.'],
  ])('%s', (_, value, sentence) => {
    expect(problemsIn(value)).toEqual([sentence])
    expect(isRight(value)).toBe(false)
  })

  test('all of them at once', async () => {
    const sentence = await refusalOf('vms: {web: {cpus: 2}}\nagents: {r: {modle: x}}\n')
    expect(sentence).toContain('vms.web.cpus: no such field.')
    expect(sentence).toContain('agents.r.modle: no such field. Did you mean model?')
    expect(sentence).toContain('agents.r.model: it is missing.')
  })

  test('a name twice, in YAML and in JSON', async () => {
    expect(await refusalOf('vms:\n  web: {}\n  web: {}\n')).toMatch(/unique.*line 3/)
    expect(await refusalOf('{"vms": {"web": {}, "web": {}}}')).toMatch(/unique/)
  })

  test('what does not go together', async () => {
    expect(await refusalOf('functions: {f: {port: 80}}')).toBe(
      'functions.f.port: it belongs to what is deployed. Give code too, or buildId.',
    )
    expect(await refusalOf('domains: {a.example.com: {vm: "w:1", function: f}}')).toBe(
      'domains."a.example.com": give vm or function, not both.',
    )
    expect(await refusalOf('functions: {f: {code: ./nothing}}')).toMatch(/^functions\.f\.code: ENOENT/)
    expect(await refusalOf('functions: {f: {code: ., buildId: b}}')).toContain('not both')
  })

  test.each([
    ['a set, which would name nothing', 'vms: !!set {web, db}', /tag.*set at line 1, column 6/],
    ['an ordered map', 'vms: !!omap [web: {}]', /tag.*omap/],
    ['the same in a file of YAML 1.1', '%YAML 1.1\n---\nvms: !!omap [web: {}]', /tag.*omap at line 3/],
    ['a time for fields', 'vms: {web: !!timestamp 2001-01-01}', /tag.*timestamp/],
    ['a tag of another program', 'vms: {web: {env: {A: !!js/function "f"}}}', /tag.*function/],
    ['a list as a name', 'vms: {? [a, b] : {}}', /A key must be a text at line 1/],
    ['names that are one when they are texts', 'vms: {1: {}, "1": {}}', /unique at line 1, column 14/],
    ['several files in one', 'vms: {}\n---\nvms: {}', /multiple documents at line 2/],
    ['what has itself in it', 'vms: {web: &a {metadata: *a}}', /aliases/],
    ['a tool that has itself in it', 'agents: {r: {model: {id: x}, tools: &t [*t]}}', /aliases/],
    ['brackets without end', `vms: ${'['.repeat(20_000)}`, /line 1/],
    ['a number that there is not', 'vms: {web: {memoryMb: .inf}}', /must be a whole number or null, not Infinity/],
  ])('%s', async (_, text, sentence) => {
    expect(await refusalOf(text)).toMatch(sentence)
  })

  test('too many objects, soon', async () => {
    const names = Array.from({ length: 30_000 }, (_, at) => `v${at}: {}`)
    expect(await refusalOf(`vms: {${names.join(', ')}}`)).toContain('describes 30000 objects: 2000 at most')
  }, 30_000)

  test('values of variables, which are not shown, whatever is wrong with them', async () => {
    for (const text of [
      'vms: {web: {env: {PIN: 987654321}}}',
      'vms: {"my \\" web": {env: {PIN: [987654321]}}}',
      'vms: {web: {env: "987654321"}}',
      'functions: {f: {variables: {PIN: 987654321}}}',
      'vms:\n  web:\n    env: {PIN: "987654321}\n',
      'vms:\n  web:\n    env: {PIN: 987654321, PIN: b}\n',
    ])
      expect(await refusalOf(text)).not.toContain('987654321')
    expect(await refusalOf('vms: {web: {env: {PIN: 987654321}}}')).toBe(
      'vms.web.env.PIN: it must be a text, not a whole number (not shown). Put it in quotes.',
    )
  })

  test('aliases that unfold without end', async () => {
    const lines = Array.from({ length: 12 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}]`)
    expect(await refusalOf(`a0: &a0 [x]\n${lines.join('\n')}\n`)).toMatch(/alias/)
  })
})

test('what is right is read, and the schema of editors agrees', async () => {
  const value = {
    project: 'shop',
    projects: { other: null },
    vms: {
      web: {
        vcpuCount: 2,
        metadata: { a: 'b' },
        idleSeconds: null,
        networkPolicy: { limited: { allowedHosts: ['a.example.com'] } },
      },
      bare: null,
    },
    agents: {
      r: { ...agent, tools: [{ agentToolset: { defaultConfig: { permissionPolicy: { type: 'ALWAYS_ASK' } } } }] },
    },
    deployments: { d: { agent: { name: 'r', version: 1 }, environment: { none: true }, kickoff: { text: 'Go.' } } },
    schedules: { s: { cron: '0 9 * * *', timezone: 'UTC', deployment: 'd' } },
  }
  expect(problemsIn(value)).toEqual([])
  expect([isRight(value), isRight.errors]).toEqual([true, null])
  const path = join(folder, 'right.json')
  writeFileSync(path, JSON.stringify(value))
  const described = await readDescribed(path)
  expect(described.sections.get('vms')?.get('bare')).toEqual({ project: 'shop' })
  expect(described.sections.get('deployments')?.get('d')).toMatchObject({ agent: { name: 'r', version: 1 } })
})

test('the example is right', async () => {
  const example = await readDescribed(join(import.meta.dirname, '../../../examples/berth.yaml'))
  expect(example.project).toBe('shop')
  expect(example.sections.size).toBeGreaterThan(6)
})

test('the digest of code changes with a file, its name and who may run it, and with nothing else', async () => {
  const make = (name: string): string => {
    const path = join(folder, name)
    mkdirSync(join(path, 'lib'), { recursive: true })
    writeFileSync(join(path, 'lib/a.js'), '1')
    writeFileSync(join(path, 'main.js'), '2')
    return path
  }
  const [one, other] = [make('one'), make('other')]
  const first = await digestOf(one, 'x')
  expect(first).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(await digestOf(other, 'x')).toBe(first)
  writeFileSync(join(other, 'main.js'), '3')
  const changed = await digestOf(other, 'x')
  chmodSync(join(other, 'main.js'), 0o755)
  const executable = await digestOf(other, 'x')
  expect(new Set([first, changed, executable])).toHaveLength(3)
})

test('every section of a file is one that apply knows, and its queries are right', () => {
  expect(Object.keys(fileSchema.properties ?? {}).filter((name) => name !== 'project')).toEqual(Object.keys(sections))
  for (const [name, section] of Object.entries(sections)) {
    const query = parse(listQuery(section))
    expect([name, validate(schema, query)]).toEqual([name, []])
    const [operation] = query.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION)
    const size = operation && measureOperation(schema, query, operation, { first: pageRowsOf(section) })
    expect([name, size?.objects]).toEqual([name, expect.any(Number)])
    if (size) refuseLarge(size)
    for (const { select } of Object.values(section.late ?? {}))
      expect([name, validate(schema, parse(`query ($id: ID!) { one: ${select} }`))]).toEqual([name, []])
  }
})
