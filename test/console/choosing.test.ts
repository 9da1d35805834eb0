/** What one chooses in the console: among more than a page shows, archived ones too, and where something belongs. */
import type { Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { expectUsable, openConsole, signIn, type OpenConsole } from './console.ts'
import { handsOn } from './hands.ts'

const limitMs = 240_000
let console: OpenConsole
let page: Page
let token: string
beforeAll(async () => {
  console = await openConsole()
  page = console.page
  token = await console.berth.token()
  await signIn(page, 'alice')
  await page.getByRole('heading', { name: 'Home' }).waitFor()
}, limitMs)
afterAll(async () => {
  expect(console.complaints).toEqual([])
  await console.stop()
})
afterEach(({ task }) => console.showFailure(task.result?.state))

async function ask(query: string, variables: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
  const { body } = await console.berth.ask(query, { token, variables })
  expect(body.errors).toBeUndefined()
  return body.data ?? {}
}
/** Makes one by a mutation such as `createVault`. @returns its id. */
async function make(mutation: string, field: string, input: object): Promise<string> {
  const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input!`
  const data = await ask(`mutation($input: ${type}) { made: ${mutation}(input: $input) { one: ${field} { id } } }`, {
    input,
  })
  return (data['made'] as { one: { id: string } }).one.id
}
const makeAgent = (name: string) => make('createAgent', 'agent', { name, model: { id: 'berth/demo' } })
const { open, heading, button, field, dialog, link, submit } = handsOn(() => console)
const option = (name: string): Locator => page.getByRole('option', { name, exact: true })

test(
  'one of more agents than a list has is found by its name, by keys alone, and stays in the draft by name',
  async () => {
    const wanted = await makeAgent('the <b>needle</b>')
    const { organizationId, userId } = idsOf(token)
    const many = Array.from({ length: 120 }, (_, at) => ({ id: newUuid(), name: `hay ${at}` }))
    const { db } = console.berth.services
    await sql`
      insert into agents (id, organization_id, owner_user_id, version, definition)
      select one.id::uuid, ${organizationId}, ${userId}, 1, jsonb_set(definition::jsonb, '{name}', to_jsonb(one.name))::json
      from agents, jsonb_to_recordset(${JSON.stringify(many)}::jsonb) as one (id text, name text)`.execute(db)
    await open('automation/deployments')
    await button('New deployment').first().click()
    await field('Name').fill('searching')
    await field('What it is told first').fill('begin')
    await button('Create').click()
    expect(await field('Agent').evaluate((input: HTMLInputElement) => input.validity.valueMissing)).toBe(true)
    const offered = page.getByRole('listbox', { name: 'Agent, found' }).getByRole('option')
    await field('Agent').focus()
    await page.keyboard.press('ArrowDown')
    await offered.first().waitFor()
    await page.getByText('The newest 20 of 121: type to find others.').waitFor()
    expect([await offered.count(), await option('the <b>needle</b>').count()]).toEqual([20, 0])
    await expectUsable(console, 'a picker')
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.keyboard.press('Escape')
    await offered.first().waitFor({ state: 'detached' })
    await dialog().waitFor() // it closes the list, and not the form
    await field('Agent').pressSequentially('NEEDLE')
    await option('the <b>needle</b>').waitFor()
    await page.keyboard.press('Enter')
    expect(await field('Agent').inputValue()).toBe('the <b>needle</b>')
    await page.getByText('As code').click()
    await page.getByText(`"id": "${wanted}"`).first().waitFor()
    await page.reload()
    await dialog().getByText('What you had begun to write is here again.').waitFor()
    await until('the draft has its name', async () => (await field('Agent').inputValue()) === 'the <b>needle</b>')
    await field('Agent').fill('nobody has this')
    await page.getByText('Nothing has this name.').waitFor()
    await field('Name').focus()
    expect(await field('Agent').inputValue()).toBe('the <b>needle</b>') // what is not chosen changes nothing
    await button('Create').click()
    await heading('searching').waitFor()
    const made = await ask('{ deployments(first: 1) { nodes { agentReference { id } } } }')
    expect(made['deployments']).toEqual({ nodes: [{ agentReference: { id: wanted } }] })
  },
  limitMs,
)

test(
  'any of many vaults are picked, taken out again, and kept by a form that changes something else',
  async () => {
    for (const name of ['red keys', 'blue keys', 'green keys'])
      await make('createVault', 'vault', { displayName: name })
    await open('automation/deployments')
    await link('searching').click()
    await button('Change').click()
    await field('Vaults').click()
    for (const name of ['red keys', 'green keys']) await option(name).click()
    await button('Take out red keys').click()
    await field('Vaults').fill('blue')
    await option('blue keys').click()
    await expectUsable(console, 'picked vaults')
    await page.setViewportSize({ width: 1280, height: 800 })
    await submit('Change')
    await dialog().waitFor({ state: 'detached' })
    await button('Change').click()
    await button('Take out green keys').waitFor()
    expect(await button('Take out red keys').count()).toBe(0)
    await field('Name').fill('found')
    await submit('Change')
    await heading('found').waitFor()
    const { deployments } = await ask('{ deployments(first: 1) { nodes { name vaultIds } } }')
    expect(deployments).toEqual({ nodes: [{ name: 'found', vaultIds: [expect.any(String), expect.any(String)] }] })
  },
  limitMs,
)

test.each([
  ['agents', 'Agent', { name: 'old agent', model: { id: 'berth/demo' } }],
  ['environments', 'Environment', { name: 'old environment' }],
  ['vaults', 'Vault', { displayName: 'old vault' }],
  [
    'automation/deployments',
    'Deployment',
    { name: 'old deployment', kickoff: { text: 'begin' }, environment: { none: true } },
  ],
] as const)(
  'what is archived leaves its list, and is there with the switch, which the address has: %s',
  async (place, type, input) => {
    const noun = type.toLowerCase()
    const name = `old ${noun}`
    const agent = type === 'Deployment' ? { agent: { agent: { id: await makeAgent('of a deployment') } } } : {}
    const id = await make(`create${type}`, noun, { ...input, ...agent })
    await open(`${place}?q=old`)
    await link(name).waitFor()
    await open(place)
    await link(name).waitFor()
    await make(`archive${type}`, noun, { id })
    await link(name).waitFor({ state: 'detached' })
    await field('Archived').press('Space')
    const row = page.getByRole('row').filter({ hasText: name }).filter({ hasText: 'archived' })
    await row.waitFor()
    expect(new URL(page.url()).search).toBe('?archived=1')
    await expectUsable(console, `${place} with archived ones`)
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByLabel('Filter by text').fill(name.toUpperCase())
    await page.waitForURL(/archived=1.*q=OLD|q=OLD.*archived=1/)
    await page.reload()
    expect(await field('Archived').isChecked()).toBe(true)
    await row.waitFor()
    await field('Archived').uncheck()
    await page.getByText('Nothing matches this filter.').waitFor()
  },
  limitMs,
)

test(
  'the sessions of an environment are live',
  async () => {
    const environmentId = await make('createEnvironment', 'environment', { name: 'workroom' })
    const agentId = await makeAgent('worker')
    await open(`environments/${environmentId}?tab=sessions`)
    await heading('workroom').waitFor()
    await page.getByText('No session').first().waitFor()
    const session = await make('createSession', 'session', { agentId, environmentId, title: 'made meanwhile' })
    await link('made meanwhile').waitFor()
    await ask('mutation($id: ID!) { deleteSession(input: {id: $id}) { deletedId } }', { id: session })
    await link('made meanwhile').waitFor({ state: 'detached' })
  },
  limitMs,
)

test(
  'a database is moved into a project, under a name there, and out of it; a VM shows its project',
  async () => {
    const { db } = console.berth.services
    const { organizationId, userId } = idsOf(token)
    const projectId = await make('createProject', 'project', { name: 'the shop' })
    const [database, pgUser] = [newUuid(), 'app_000001']
    await sql`
      insert into databases (id, organization_id, user_id, name, status, pg_user, vcpu_count, memory_mb, disk_mb, token_verifier, settings)
      values (${database}, ${organizationId}, ${userId}, 'orders', 'active', ${pgUser}, 1, 512, 1024, 'x', '{}')`.execute(
      db,
    )
    await open(`databases/${encodeId('database', database)}?tab=connect`)
    await button('Move').click()
    await field('Project').fill('SHOP')
    await option('the shop').click()
    await field('Name at which they reach it').fill('orders')
    await expectUsable(console, 'the form that moves a database')
    await page.setViewportSize({ width: 1280, height: 800 })
    await submit('Move')
    await link('the shop').waitFor()
    await page.getByText(', whose VMs reach it at').getByText('orders', { exact: true }).waitFor()
    await button('Move').click()
    await until('the form has its name', async () => (await field('Project').inputValue()) === 'the shop')
    await field('Project').fill('')
    await submit('Move')
    await link('the shop').waitFor({ state: 'detached' })

    await open('vms')
    await button('New VM').first().click()
    await field('Project').click()
    await option('the shop').click()
    await page.getByText('As code').click()
    await page.getByText(`"projectId": "${projectId}"`).first().waitFor()
    const vm = await makeVmRow(db, token, await makeSilentNode(db))
    await sql`update vms set project_id = projects.id from projects where projects.name = 'the shop'`.execute(db)
    await open(`vms/${vm}`)
    await link('the shop').click()
    await heading('the shop').waitFor()
  },
  limitMs,
)
