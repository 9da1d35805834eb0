/** `berth apply` and `berth export` against a real web process: plans, what becomes of them, and files that come back. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { berth, token, useTriggers } from '../../agents/triggers/trigger-world.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { makePerson, type Ended, type Person } from '../command.ts'

useTriggers({ decides: false })
let person: Person
let nodeId: string
let folder: string
beforeAll(async () => {
  person = makePerson({ BERTH_URL: berth.url, BERTH_TOKEN: token })
  nodeId = await makeSilentNode(berth.services.db)
  folder = join(person.home, 'files')
  mkdirSync(join(folder, 'hello'), { recursive: true })
  writeFileSync(join(folder, 'hello/main.js'), 'require("http")\n')
})
afterAll(() => person.leave())

const whole = `
project: shop
vms:
  web: { vcpuCount: 2 }
functions:
  hello: { code: ./hello, startCommand: node main.js, idleSeconds: 60, variables: { GREETING: hello } }
domains:
  hello.example.com: { function: hello, path: /api }
  shop.example.com: { vm: "web:3000" }
vaults:
  keys: { metadata: { team: a } }
environments:
  linux:
    description: For reviews.
    config: { packages: { npm: [typescript] }, networking: { limited: { allowedHosts: [example.com], allowPackageManagers: true } }, gitRepos: [{ url: "https://example.com/a.git", path: app }] }
agents:
  reviewer:
    description: Reviews.
    system: Review what you are shown.
    model: { id: berth/demo }
    metadata: { team: a, kind: review }
    mcpServers: [{ type: URL, name: files, url: "https://example.com/mcp" }]
    tools:
      - agentToolset: { configs: [{ name: bash, permissionPolicy: { type: ALWAYS_ASK } }] }
      - mcpToolset: { mcpServerName: files }
      - custom: { name: ask, description: Asks., inputSchema: { type: object, properties: { what: { type: string } } } }
deployments:
  nightly:
    agent: { name: reviewer, version: 1 }
    environment: linux
    vaults: [keys]
    budget: { limit: { maxListCost: { amount: "2.5", currency: USD } } }
    kickoff: { events: [{ userMessage: { content: [{ text: { text: Look around. } }] } }] }
  fresh:
    agent: reviewer
    environment: { ephemeral: { config: { memoryMb: 1024 } } }
    kickoff: { text: Begin. }
schedules:
  morning: { cron: "0  9 * * mon-fri", timezone: Europe/Rome, deployment: nightly }
  evening: { cron: "0 18 * * *", timezone: UTC, agent: reviewer, kickoff: { text: Tidy up. }, enabled: false }
triggers:
  reviews: { agent: reviewer, repo: octocat/site, events: [PUSH, PULL_REQUEST_OPENED], filters: { branches: [main] } }
`

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const apply = (file: string, ...words: string[]): Promise<Ended> => person.run(['apply', '-f', file, ...words])
type Planned = {
  hasChanges: boolean
  unchanged: number
  steps: {
    action: string
    section: string
    name: string
    differences: { path: string; from?: unknown; to?: unknown }[]
  }[]
}
async function planOf(file: string, ...words: string[]): Promise<Planned> {
  const { out, err, exit } = await apply(file, '--plan', '--json', ...words)
  expect([exit, err]).toEqual([out.includes('"hasChanges":true') ? 8 : 0, ''])
  return JSON.parse(out) as Planned
}
async function ask(query: string): Promise<Record<string, unknown>> {
  const { body } = await berth.ask(query, { token })
  expect(body).not.toHaveProperty('errors')
  return body.data as Record<string, unknown>
}
async function makeVm(name: string, project: string | null): Promise<string> {
  const id = await makeVmRow(berth.services.db, token, nodeId, { status: 'running' })
  await sql`
    update vms set name = ${name}, project_id = (select id from projects where name = ${project}) where id = ${decodeId('vm', id)}`.execute(
    berth.services.db,
  )
  return id
}

describe('a file with every kind of object', () => {
  test('is planned, made in the order of its names, and changes nothing the second time', async () => {
    await ask('mutation { createProject(input: { name: "shop" }) { project { id } } }')
    await makeVm('web', 'shop')
    const file = write('whole.yaml', whole)
    const planned = await apply(file, '--plan')
    expect(planned).toMatchObject({ exit: 8, err: '' })
    expect(planned.out).toContain('+ create agents.reviewer\n')
    expect(planned.out).toContain('    variables: (not shown)\n')
    expect(planned.out).toContain('= 1 unchanged; 11 to create, 0 to change, 0 to delete\n')
    expect((await ask('{ agents { totalCount } vaults { totalCount } }'))['vaults']).toEqual({ totalCount: 0 })
    const refused = await apply(file)
    expect(refused).toMatchObject({ exit: 2, err: expect.stringContaining('--yes') })
    const made = await apply(file, '--yes')
    expect(made).toMatchObject({ exit: 0, err: expect.stringContaining('Done: 11 of 11.') })
    const again = await apply(file)
    expect(again).toEqual({ exit: 0, out: '= 12 unchanged; 0 to create, 0 to change, 0 to delete\n', err: '' })
    const data = await ask(`{
      schedules { nodes { name ownAgentReference { agent { name } } deployment { name } } }
      domains { nodes { name path vm { name } vmPort function { name } } }
      functions { nodes { name currentVersion { revision startCommand } variables { key value } } } }`)
    expect(data['schedules']).toEqual({
      nodes: expect.arrayContaining([
        { name: 'morning', ownAgentReference: null, deployment: { name: 'nightly' } },
        { name: 'evening', ownAgentReference: { agent: { name: 'reviewer' } }, deployment: null },
      ]),
    })
    expect(data['domains']).toEqual({
      nodes: expect.arrayContaining([
        { name: 'shop.example.com', path: '/', vm: { name: 'web' }, vmPort: 3000, function: null },
        { name: 'hello.example.com', path: '/api', vm: null, vmPort: null, function: { name: 'hello' } },
      ]),
    })
    expect(data['functions']).toEqual({
      nodes: [
        {
          name: 'hello',
          currentVersion: { revision: expect.stringMatching(/^sha256:/), startCommand: 'node main.js' },
          variables: [{ key: 'GREETING', value: 'hello' }],
        },
      ],
    })
  }, 120_000)

  test('comes back as a file that is found unchanged, without ids and what may be secret', async () => {
    const { exit, out, err } = await person.run(['export'])
    expect([exit, err]).toEqual([0, ''])
    expect(out.split('\n')[0]).toBe(`# yaml-language-server: $schema=${berth.url}/cli/apply/berth.schema.json`)
    expect(out).not.toMatch(/\b(?:agt|vlt|env|depl|sch|trg|vm|fn|prj|dom)_[0-9a-z]{26}/)
    expect(out).not.toContain('GREETING')
    const back = write('back.yaml', out)
    expect(await apply(back, '--plan')).toEqual({
      exit: 0,
      out: '= 14 unchanged; 0 to create, 0 to change, 0 to delete\n',
      err: '',
    })
    expect((await person.run(['export'])).out).toBe(out)
    const some = await person.run(['export', 'vms', 'databases', '--project', 'shop', '--json'])
    expect(JSON.parse(some.out)).toMatchObject({ project: 'shop', vms: { web: { vcpuCount: 2 } } })
    expect(await person.run(['export', 'agent'])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('Did you mean agents?'),
    })
    expect(await person.run(['export', '--project', 'none'])).toMatchObject({ exit: 4 })
  }, 120_000)

  test('with other values is changed where it is different, and nowhere else', async () => {
    writeFileSync(join(folder, 'hello/main.js'), 'require("https")\n')
    const changed = whole
      .replace('cron: "0 18', 'cron: "0 19')
      .replace('metadata: { team: a, kind: review }', 'metadata: { team: b }')
      .replace('GREETING: hello', 'NAME: you')
      .replace('{ function: hello, path: /api }', '{ vm: "web:80" }')
      .replace('[PUSH, PULL_REQUEST_OPENED]', '[PULL_REQUEST_OPENED, PUSH, ISSUES]')
      .replace('memoryMb: 1024', 'memoryMb: 2048')
    const file = write('whole.yaml', changed)
    const { steps, unchanged } = await planOf(file)
    expect(unchanged).toBe(6)
    expect(steps.map(({ action, section, name }) => `${action} ${section}.${name}`)).toEqual([
      'change functions.hello',
      'change domains.hello.example.com',
      'change agents.reviewer',
      'change deployments.fresh',
      'change schedules.evening',
      'change triggers.reviews',
    ])
    const differences = steps.flatMap((step) => step.differences)
    expect(differences).toContainEqual({ path: 'schedules.evening.cron', from: '0 18 * * *', to: '0 19 * * *' })
    expect(differences).toContainEqual({ path: 'agents.reviewer.metadata.kind', from: 'review', to: null })
    expect(differences).toContainEqual({ path: 'agents.reviewer.metadata.team', from: 'a', to: 'b' })
    expect(differences).toContainEqual({ path: 'functions.hello.variables.GREETING' })
    expect(differences).toContainEqual({
      path: 'deployments.fresh.environment.ephemeral.config.memoryMb',
      from: 1024,
      to: 2048,
    })
    expect(await apply(file, '--yes')).toMatchObject({ exit: 0 })
    expect(await planOf(file)).toMatchObject({ hasChanges: false, unchanged: 12 })
    const { functions, agents } = (await ask(
      '{ functions { nodes { variables { key } versions { totalCount } } } agents(filter: { text: "reviewer" }) { nodes { metadata } } }',
    )) as Record<string, { nodes: unknown[] }>
    expect(functions?.nodes).toEqual([{ variables: [{ key: 'NAME' }], versions: { totalCount: 2 } }])
    expect(agents?.nodes).toEqual([{ metadata: { team: 'b' } }])
  }, 120_000)
})

describe('refused before anything changes:', () => {
  test('names that lead nowhere, with what was probably meant', async () => {
    const file = write(
      'lost.yaml',
      'vaults: {new: {}}\nschedules: {s: {cron: "0 1 * * *", timezone: UTC, agent: reviewr, kickoff: {text: Go.}}}\n',
    )
    expect(await apply(file, '--yes')).toEqual({
      exit: 2,
      out: '',
      err: 'berth: schedules.s.agent: there is no agent "reviewr", neither in the file nor in the organization. Did you mean reviewer?\n',
    })
    expect(await ask('{ vaults(filter: { text: "new" }) { totalCount } }')).toEqual({ vaults: { totalCount: 0 } })
  }, 60_000)

  test('what cannot be changed, with what to do instead', async () => {
    const file = write('fixed.yaml', 'vaults: {new: {}}\nvms: {web: {project: shop, templateId: data, diskMb: 1}}\n')
    const refused = await apply(file, '--yes')
    expect(refused).toMatchObject({ exit: 5, out: '' })
    expect(refused.err).toContain('vms.web.templateId: it is "base", not "data". A VM keeps its template')
    expect(refused.err).toContain('vms.web.diskMb: ')
    expect(await ask('{ vaults(filter: { text: "new" }) { totalCount } }')).toEqual({ vaults: { totalCount: 0 } })
  }, 60_000)

  test('a name that several have, and a mistake, whose file is not even looked up', async () => {
    const ids = [await makeVm('twin', 'shop'), await makeVm('twin', 'shop')]
    const several = await apply(write('twin.yaml', 'project: shop\nvms: {twin: {vcpuCount: 4}}\n'), '--yes')
    expect(several.exit).toBe(2)
    for (const id of ids) expect(several.err).toContain(id)
    const { err } = await person.run(['export', 'vms'])
    expect(err).toBe('vms.twin is left out: 2 have this name: pass --project, or rename them.\n')
    const wrong = await person.run(['apply', '-f', '-', '--yes'], 'agents: {reviewer: {modle: x, model: {id: m}}}', {
      BERTH_TOKEN: 'none',
    })
    expect(wrong).toEqual({
      exit: 2,
      out: '',
      err: 'berth: agents.reviewer.modle: no such field. Did you mean model?\n',
    })
  }, 60_000)
})

test('what fails in the middle leaves what was done, is said, and is gone on with by applying again', async () => {
  const text =
    'vaults: {later: {}}\nagents: {broken: {model: {id: nonsense}}}\nschedules: {late: {cron: "0 1 * * *", timezone: UTC, agent: broken, kickoff: {text: Go.}}}\n'
  const failed = await apply(write('broken.yaml', text), '--yes')
  expect(failed.exit).toBe(1)
  expect(failed.err).toContain('done: + create vaults.later')
  expect(failed.err).toMatch(/failed: \+ create agents\.broken: model is not available here/)
  expect(failed.err).toContain('not done: + create schedules.late')
  expect(failed.err).toContain('1 of 3 are done. Apply the file again to go on.')
  const mended = await apply(write('broken.yaml', text.replace('nonsense', 'berth/demo')), '--yes', '--json')
  expect(mended.exit).toBe(0)
  expect(JSON.parse(mended.out)).toMatchObject({
    unchanged: 1,
    done: [
      { action: 'create', section: 'agents', name: 'broken' },
      { action: 'create', section: 'schedules', name: 'late' },
    ],
    failed: [],
  })
}, 120_000)

describe('what a file does not name', () => {
  test('stays without --prune, and with it in other projects and in sections that the file has not', async () => {
    await makeVm('old', 'shop')
    await makeVm('other', null)
    const file = write(
      'prune.yaml',
      'project: shop\nvms: {web: {}, twin2: {vcpuCount: 2}}\nagents: {reviewer: {model: {id: berth/demo}}}\n',
    )
    const named = (planned: Planned): string[] =>
      planned.steps.filter(({ action }) => action === 'delete').map(({ section, name }) => `${section}.${name}`)
    expect(named(await planOf(file))).toEqual([])
    expect(named(await planOf(file, '--prune')).sort()).toEqual(['vms.old', 'vms.twin', 'vms.twin'])
    expect(named(await planOf(file, '--prune-all')).sort()).toEqual([
      'agents.broken',
      'agents.r',
      'vms.old',
      'vms.twin',
      'vms.twin',
    ])
    const nowhere = await apply(write('nowhere.yaml', 'vms: {}\n'), '--prune')
    expect(nowhere).toMatchObject({ exit: 2, err: expect.stringContaining('names no project') })
  }, 120_000)

  test('is deleted when it was asked for, but no vault with credentials', async () => {
    const { agents } = (await ask('{ agents(filter: { text: "reviewer" }) { nodes { id } } }')) as {
      agents: { nodes: { id: string }[] }
    }
    await ask(
      `mutation { createSchedule(input: { cron: "0 1 * * *", timezone: "UTC", agent: { agent: { id: "${agents.nodes[0]?.id}" } }, kickoff: { text: "Go." } }) { schedule { id } } }`,
    )
    const { createVault } = (await ask(
      'mutation { createVault(input: { displayName: "full" }) { vault { id } } }',
    )) as {
      createVault: { vault: { id: string } }
    }
    const secret = await person.run(['vault', 'set', 'full', 'TOKEN', '--host', 'example.com'], 'secret')
    expect(secret.exit).toBe(0)
    const file = write(
      'vaults.yaml',
      'vaults: {keys: {}}\nschedules: {morning: {cron: "0 9 * * mon-fri"}, evening: {cron: "0 19 * * *"}, late: {cron: "0 1 * * *"}}\n',
    )
    const terminal = person.atTerminal(['apply', '-f', file, '--prune-all'])
    await terminal.printed('Delete 1 (vaults.later)?')
    terminal.type('y\n')
    const { exit, out } = await terminal.ended
    expect(exit).toBe(0)
    expect(out).toContain('vaults.full stays: it has 1 credential, which are never deleted by a file.')
    expect(out).toMatch(/schedules\.sch_\w+ stays: it has no name/)
    expect(out).toContain('- delete vaults.later')
    expect(await ask('{ vaults { nodes { id displayName } } }')).toMatchObject({
      vaults: { nodes: [{ id: createVault.vault.id }, { displayName: 'keys' }] },
    })
  }, 120_000)
})

test('a plan that somebody has overtaken while its reader was asked is not done', async () => {
  const file = write('late.yaml', 'environments: {late: {description: late}}\n')
  const terminal = person.atTerminal(['apply', '-f', file])
  await terminal.printed('Create 1 and change 0?')
  expect(await apply(file, '--yes')).toMatchObject({ exit: 0 })
  terminal.type('y\n')
  const { exit, out } = await terminal.ended
  expect([exit, out]).toEqual([5, expect.stringContaining('has changed since this plan was made')])
  expect(await ask('{ environments(filter: { text: "late" }) { nodes { name } } }')).toEqual({
    environments: { nodes: [{ name: 'late' }] },
  })
}, 60_000)

test('a plan shows no login of an address, in lines or as JSON', async () => {
  const url = 'https://me:s3cret@git.example.com/a.git'
  const file = write('login.yaml', `vms: {cloned: {gitRepoUrl: "${url}", gitRepos: [{url: "${url}"}]}}\n`)
  for (const words of [[], ['--json']]) {
    const { out, err } = await apply(file, '--plan', ...words)
    expect(out).toContain('https://…@git.example.com/a.git')
    expect(out + err).not.toContain('s3cret')
  }
}, 60_000)

test('names that objects of JavaScript have are names as others, there and back', async () => {
  const names = ['__proto__', 'constructor', 'toString']
  const entries = names.map((name) => `  ${name}: {description: named so, metadata: {constructor: x}}`)
  const file = write('names.yaml', `vaults: {}\nenvironments:\n${entries.join('\n')}\n`)
  expect(await apply(file, '--yes')).toMatchObject({ exit: 0 })
  expect(await planOf(file)).toMatchObject({ hasChanges: false })
  const exported = await person.run(['export', 'environments'])
  for (const name of names) expect(exported.out).toContain(`  ${name}:\n`)
  const back = write('back.yaml', exported.out)
  expect(await planOf(back, '--prune-all')).toMatchObject({ hasChanges: false })
  const fewer = write('fewer.yaml', 'environments: {constructor: {metadata: {}}}\n')
  expect(await apply(fewer, '--yes')).toMatchObject({ exit: 0 })
  expect(await planOf(fewer)).toMatchObject({ hasChanges: false })
}, 120_000)

test('the JSON Schema is printed, and served where the files that are exported say', async () => {
  const printed = await person.run(['export', '--schema'])
  const served = await fetch(`${berth.url}/cli/apply/berth.schema.json`)
  expect(JSON.parse(printed.out)).toEqual(await served.json())
  expect(JSON.parse(printed.out)).toEqual(
    JSON.parse(readFileSync(join(import.meta.dirname, '../../../cli/apply/berth.schema.json'), 'utf8')),
  )
}, 60_000)
