/** What everybody gets from the console who uses keys, a reader of screens, long lists, or the same objects as others do. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { openConsole, signIn, type OpenConsole } from './console.ts'
import { handsOn } from './hands.ts'

let console: OpenConsole
let page: Page
let token: string
beforeAll(async () => {
  console = await openConsole()
  page = console.page
  token = await console.berth.token()
  await signIn(page, 'alice')
  await page.getByRole('heading', { name: 'Home' }).waitFor()
}, 120_000)
afterAll(() => console.stop())
afterEach(({ task }) => console.showFailure(task.result?.state))

async function ask<Data>(query: string, variables: object = {}): Promise<Data> {
  const { body } = await console.berth.ask(query, { token, variables: variables as Record<string, unknown> })
  expect(body.errors).toBeUndefined()
  return body.data as Data
}
const createProject = async (name: string): Promise<string> =>
  (
    await ask<{ createProject: { project: { id: string } } }>(
      'mutation($name: String!) { createProject(input: {name: $name}) { project { id } } }',
      { name },
    )
  ).createProject.project.id
const deleteProject = (id: string) =>
  ask('mutation($id: ID!) { deleteProject(input: {id: $id}) { deletedId } }', { id })
const { go, open, heading } = handsOn(() => console)
/** What has the focus: its name as HTML, and its text. */
const focused = (): Promise<string> =>
  page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.textContent}`)

test('the focus goes to the heading of a page, and stays where it is when a tab or something live changes', async () => {
  await open('keys')
  await heading('Keys').waitFor()
  await go('VMs')
  await until('the heading of VMs has the focus', async () => (await focused()) === 'H1 VMs')
  await go('Projects')
  await until('that of projects has', async () => (await focused()) === 'H1 Projects')
  await page.getByRole('button', { name: 'Search' }).focus()
  await createProject('made meanwhile')
  await page.getByRole('link', { name: 'made meanwhile' }).waitFor()
  expect(await focused()).toBe('BUTTON  Search Ctrl K')
  await page.getByRole('link', { name: 'made meanwhile' }).click()
  await until('that of the project has', async () => (await focused()) === 'H1 made meanwhile')
  await page.getByRole('link', { name: 'Databases (0)' }).click()
  await page.getByText('It has no database.').waitFor()
  expect(await focused()).toBe('A Databases (0)')
  await page.keyboard.press('Control+k')
  await page.getByLabel('What to find', { exact: true }).fill('webh')
  await page.getByRole('option', { name: 'Webhooks' }).waitFor()
  await page.keyboard.press('Enter')
  await until('that of webhooks has, after the palette', async () => (await focused()) === 'H1 Webhooks')
})

test('the first key leads past the places, to the page', async () => {
  await open('vms')
  await heading('VMs').waitFor()
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('A To the page')
  await page.keyboard.press('Enter')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('page')
})

test('a button that a role may not use says why, to keys and readers of screens, and does nothing', async () => {
  const context = await console.browser.newContext()
  const other = await context.newPage()
  other.setDefaultTimeout(20_000)
  await other.goto(console.origin)
  await signIn(other, 'bob')
  await other.getByRole('heading', { name: 'Home' }).waitFor()
  const { members } = await ask<{ members: { nodes: { id: string; user: { name: string } }[] } }>(
    '{ members(first: 10) { nodes { id user { name } } } }',
  )
  const id = members.nodes.find(({ user }) => user.name === 'bob')?.id
  await ask('mutation($id: ID!) { updateMember(input: {id: $id, role: VIEWER}) { member { id } } }', { id })
  await open('vms', other)
  const button = other.getByRole('button', { name: 'New VM' }).first()
  await button.waitFor()
  const devtools = await context.newCDPSession(other)
  const { root } = await devtools.send('DOM.getDocument')
  const { nodes } = await devtools.send('Accessibility.queryAXTree', {
    nodeId: root.nodeId,
    role: 'button',
    accessibleName: 'New VM',
  })
  const property = (name: string): unknown => nodes[0]?.properties?.find((one) => one.name === name)?.value.value
  const why = 'Your role is viewer: ask a member to do this.'
  expect([nodes[0]?.description?.value, property('disabled'), property('focusable')]).toEqual([why, true, true])
  await other.getByRole('searchbox').focus()
  await other.keyboard.press('Tab')
  expect(await button.evaluate((element) => element === document.activeElement)).toBe(true)
  await other.getByText(why).first().waitFor({ state: 'visible' })
  await other.keyboard.press('Enter')
  expect(await other.getByRole('dialog').count()).toBe(0)
  await context.close()
}, 90_000)

/** The names of the projects on the page. */
const shown = (): Promise<string[]> =>
  page.locator('tbody td:first-child').evaluateAll((cells) => cells.map(({ textContent }) => textContent))
async function stored(): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from projects order by id desc`.execute(
    console.berth.services.db,
  )
  return rows.map(({ name }) => name)
}
const count = (text: string | RegExp) => page.locator('.head').getByText(text, { exact: true })

test('a long list counts what is made and deleted, and misses nothing that was made before Show more or while away', async () => {
  const { db } = console.berth.services
  const { organizationId } = idsOf(token)
  await sql`delete from projects`.execute(db)
  const old = Array.from({ length: 150 }, (_, at) => ({ id: newUuid(), name: `old ${at}` }))
  await sql`
    insert into projects (id, organization_id, name)
    values ${sql.join(old.map(({ id, name }) => sql`(${id}, ${organizationId}, ${name})`))}`.execute(db)
  await open('projects')
  await count('100 of 150').waitFor()
  const made: string[] = []
  for (let at = 0; at < 20; at++) made.push(await createProject(`new ${at}`))
  // How many of them are on the page depends on whether it was read again, as it is for each deletion of an object that it does not show.
  await count(/^\d+ of 170$/).waitFor()
  await deleteProject(made[0]!)
  await count(/^\d+ of 169$/).waitFor()
  await deleteProject(encodeId('project', old[3]!.id)) // one that is not on the page yet
  await count(/^\d+ of 168$/).waitFor()
  await page.getByRole('button', { name: 'Show more' }).click()
  await count('168').waitFor()
  expect(await shown()).toEqual(await stored())
  await go('VMs')
  await heading('VMs').waitFor()
  for (let at = 0; at < 30; at++) await createProject(`away ${at}`)
  await go('Projects')
  await count('198').waitFor()
  await page.reload()
  await count('100 of 198').waitFor()
  await page.getByRole('button', { name: 'Show more' }).click()
  await count('198').waitFor()
  expect(await shown()).toEqual(await stored())
}, 120_000)

test('a list that is filtered keeps all its pages when it is read again', async () => {
  const create = (name: string) =>
    ask('mutation($name: String!) { createFunction(input: {name: $name}) { function { id } } }', { name })
  for (let at = 0; at < 105; at++) await create(`many-${at}`)
  await open('functions?q=many')
  await count('100 of 105').waitFor()
  await page.getByRole('button', { name: 'Show more' }).click()
  await count('105').waitFor()
  await create('many-more')
  await count('106').waitFor()
  const names = await shown()
  expect([names[0], names.at(-1), new Set(names).size]).toEqual(['many-more', 'many-0', 106])
}, 120_000)

test('what is made while a list is on its way is in it', async () => {
  const other = await console.context.newPage()
  await open('keys', other)
  await other.getByText('With a key a program uses').waitFor()
  await open('vms')
  await heading('VMs').waitFor()
  const answered = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  await page.route('**/graphql', async (route) => {
    if (!route.request().postData()?.includes('query ApiKeys')) return route.continue()
    const response = await route.fetch()
    answered.resolve()
    await gate.promise
    await route.fulfill({ response })
  })
  await go('Keys')
  await answered.promise // without the key, which is made only now
  await ask('mutation { createApiKey(input: {name: "raced"}) { apiKey { id } } }')
  await other.getByRole('row', { name: /raced/ }).waitFor() // so this page was told of it too: it follows on the same socket
  gate.resolve()
  await page.getByRole('row', { name: /raced/ }).waitFor()
  await count('1').waitFor()
  await page.unroute('**/graphql')
  await other.close()
}, 60_000)

test('markup, escapes and characters that turn text around are shown as such in each list', async () => {
  const name = '<img src=//example.com/x onerror=alert(1)>\u001b[31m red \u202e turned \u0007 שלום'
  const seen = '<img src=//example.com/x onerror=alert(1)>␛[31m red \\u202e turned ␇ שלום'
  await createProject(name)
  await ask('mutation($name: String!) { createApiKey(input: {name: $name}) { apiKey { id } } }', { name })
  await ask('mutation($name: String!) { createVault(input: {displayName: $name}) { vault { id } } }', { name })
  await ask('mutation($name: String!) { createEnvironment(input: {name: $name}) { environment { id } } }', { name })
  const { createAgent } = await ask<{ createAgent: { agent: { id: string } } }>(
    'mutation($name: String!) { createAgent(input: {name: $name, model: {id: "berth/demo"}}) { agent { id } } }',
    { name },
  )
  await ask(
    'mutation($id: ID!, $name: String!) { createSession(input: {agentId: $id, title: $name}) { session { id } } }',
    { id: createAgent.agent.id, name },
  )
  await ask(
    'mutation($name: String!) { createWebhookEndpoint(input: {url: "https://example.com/h", description: $name}) { webhookEndpoint { id } } }',
    { name },
  )
  const { db } = console.berth.services
  const node = await makeSilentNode(db)
  await makeVmRow(db, token, node)
  await sql`update vms set name = ${name}`.execute(db)
  await sql`
    insert into templates (id, organization_id, name, description, node_id)
    values (${newUuid()}, ${idsOf(token).organizationId}, 'own', ${name}, ${node})`.execute(db)
  await open('')
  await heading('Home').waitFor()
  for (const place of [
    'Projects',
    'Keys',
    'Vaults',
    'Environments',
    'Agents',
    'Sessions',
    'Webhooks',
    'VMs',
    'Templates',
  ]) {
    await go(place)
    await heading(place).waitFor()
    await page.locator('main td').filter({ hasText: seen }).first().waitFor()
    expect(await page.locator('main img').count(), place).toBe(0)
  }
  expect(console.complaints).toEqual([])
}, 120_000)

test('who looks at what somebody else deletes is told so, and finds the way back', async () => {
  const id = await createProject('shared')
  await open(`projects/${id}`)
  await heading('shared').waitFor()
  await deleteProject(id)
  await page.getByText('This project was deleted, or is not yours to see any more.').waitFor()
  expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0)
  await page.getByRole('button', { name: 'Back' }).click()
  await heading('Projects').waitFor()
})

test('a draft is there again after the page was left to sign in, without its secrets, until it is given up', async () => {
  await open('functions')
  await page.getByRole('button', { name: 'New function' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('drafted')
  await page.getByLabel('Program', { exact: true }).fill('#!/bin/sh\necho hello')
  await page.getByLabel('Variables', { exact: true }).fill('TOKEN=hush')
  await page.reload()
  await page.getByRole('dialog', { name: 'New function' }).waitFor()
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('drafted')
  expect(await page.getByLabel('Program', { exact: true }).inputValue()).toBe('#!/bin/sh\necho hello')
  expect(await page.getByLabel('Variables', { exact: true }).inputValue()).toBe('')
  expect(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))).not.toContain('hush')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.reload()
  await heading('Functions').waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
})

test('when a session is ended elsewhere, whoever looks is asked to sign in without touching anything', async () => {
  await open('keys')
  await heading('Keys').waitFor()
  const { viewer } = await ask<{ viewer: { browserSessions: { id: string }[] } }>(
    '{ viewer { browserSessions { id } } }',
  )
  for (const { id } of viewer.browserSessions)
    await ask('mutation($id: ID!) { revokeBrowserSession(input: {id: $id}) { browserSession { id } } }', { id })
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ timeout: 60_000 })
  await signIn(page, 'alice')
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ state: 'detached' })
  await heading('Keys').waitFor()
}, 90_000)
