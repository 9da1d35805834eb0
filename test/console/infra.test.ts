/** What one does in the console with functions, webhooks, projects, templates and the host. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { idsOf, makeSilentNode } from '../support/makers.ts'
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

const { open, heading, press, submit } = handsOn(() => console)

test('a function is made of a program that one writes, deployed again, told how to be asked, and deleted', async () => {
  await open('functions')
  await press('New function')
  await page.getByLabel('Name', { exact: true }).fill('hello')
  await page.getByLabel('Program', { exact: true }).fill('#!/bin/sh\necho one')
  await page.getByLabel('Variables', { exact: true }).fill('COLOUR=blue\nEMPTY=')
  await page.getByText('As code').click()
  await page.getByText('"binaryUrl": "the binaryUrl that createUpload answers').first().waitFor()
  await submit('Create')
  await heading('hello').waitFor()
  await page.getByText('#!/bin/sh').waitFor({ state: 'detached' })
  await page.getByRole('row', { name: /1 current/ }).waitFor()
  await press('Deploy')
  await page.getByLabel('Program', { exact: true }).fill('#!/bin/sh\necho two')
  await page.getByLabel('Port', { exact: true }).fill('9000')
  await submit('Deploy')
  await page.getByRole('row', { name: /2 current/ }).waitFor()
  const { body } = await console.berth.ask(
    '{ functions(first: 1) { nodes { name variables { key value } versions(first: 5) { nodes { number port } } } } }',
    { token },
  )
  const [made] = (body.data as { functions: { nodes: object[] } }).functions.nodes
  expect(made).toMatchObject({
    name: 'hello',
    variables: [
      { key: 'COLOUR', value: 'blue' },
      { key: 'EMPTY', value: '' },
    ],
    versions: {
      nodes: [
        { number: 2, port: 9000 },
        { number: 1, port: 8080 },
      ],
    },
  })
  await page.getByRole('link', { name: 'Invoke' }).click()
  await page.getByLabel('Method', { exact: true }).selectOption('POST')
  await page.getByLabel('Path', { exact: true }).fill('/it’s?a=1')
  await page.getByLabel('Body', { exact: true }).fill("it's")
  const command = await page.getByTitle('Copy the command').textContent()
  expect(command).toMatch(/^curl -i -X POST 'https?:\/\/[^/]+\/it’s\?a=1' --data-binary 'it'\\''s'/)
  await press('Delete')
  await page.getByRole('dialog', { name: 'Delete hello?' }).waitFor()
  await submit('Delete the function')
  await heading('Functions').waitFor()
  await page.getByText('A function is a program').waitFor()
  expect(console.complaints).toEqual([])
}, 90_000)

test('a webhook shows its secret once, what it was told, and is changed, tested, disabled and deleted', async () => {
  await open('webhooks')
  await press('New webhook')
  await page.getByLabel('Address', { exact: true }).fill('https://example.com/hook')
  await page.getByText('Only of some things').click()
  await page.getByRole('checkbox', { name: /^vm created/ }).check()
  await submit('Create')
  await page.getByText(/^whsec_/).waitFor()
  await press('I have it')
  await heading('https://example.com/hook').waitFor()
  expect(await page.getByText(/whsec_/).count()).toBe(0)
  await press('Send a test')
  await page.getByRole('article', { name: 'webhook endpoint test, pending' }).waitFor()
  await press('Change')
  expect(await page.getByRole('checkbox', { name: /^vm created/, includeHidden: true }).isChecked()).toBe(true)
  await page.getByLabel('What for', { exact: true }).fill('of the shop')
  await submit('Change')
  await page.getByRole('link', { name: 'Settings' }).last().click()
  await page.getByText('of the shop').waitFor()
  await page.getByText('vm created').waitFor()
  await press('New secret')
  await submit('Make it')
  await page.getByText(/^whsec_/).waitFor()
  await press('I have it')
  await press('Disable')
  await page.getByText('disabled: manual').waitFor()
  await page.getByRole('link', { name: 'Deliveries' }).click()
  await page.getByRole('article', { name: 'webhook endpoint test, failed' }).waitFor()
  await press('Delete')
  await submit('Delete the webhook')
  await page.getByText('A webhook is an address of yours').waitFor()
  expect(console.complaints).toEqual([])
}, 90_000)

test('a project is made, renamed and deleted, but not while something is in it', async () => {
  await open('projects')
  await press('New project')
  await page.getByLabel('Name', { exact: true }).fill('shop')
  await submit('Create')
  await heading('shop').waitFor()
  await press('Rename')
  await page.getByLabel('Name', { exact: true }).fill('market')
  await submit('Rename')
  await heading('market').waitFor()
  const { db } = console.berth.services
  const { organizationId } = idsOf(token)
  const vm = newUuid()
  await sql`
    insert into vms (id, organization_id, name, status, desired_status, template_id, vcpu_count, memory_mb, disk_mb, event_position, project_id, node_id)
    select ${vm}, ${organizationId}, 'till', 'stopped', 'stopped', '00000000-0000-7000-8000-000000000001', 1, 512, 10240, 1, id,
      ${await makeSilentNode(db)}
    from projects where name = 'market'`.execute(db)
  await page.getByRole('link', { name: 'VMs (1)' }).click()
  await page.getByRole('link', { name: 'till' }).waitFor()
  expect(await page.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
  await sql`update vms set status = 'deleted', desired_status = 'deleted' where id = ${vm}`.execute(db)
  await page.getByRole('link', { name: 'VMs (0)' }).waitFor()
  await press('Delete')
  await submit('Delete the project')
  await page.getByText('A project is what belongs together').waitFor()
}, 60_000)

test('a template says which VMs started from it, and an own one can be deleted', async () => {
  const { db } = console.berth.services
  await sql`
    insert into templates (id, organization_id, name, description, size_bytes)
    values (${newUuid()}, ${idsOf(token).organizationId}, 'own', 'With tools', 1048576)`.execute(db)
  await open('templates')
  await page.getByRole('link', { name: 'own' }).click()
  await page.getByText('With tools').waitFor()
  await page.getByRole('link', { name: 'VMs (0)' }).click()
  await page.getByText('No VM of the organization starts from it.').waitFor()
  await press('Delete')
  await page.getByRole('dialog', { name: 'Delete own?' }).waitFor()
  await submit('Delete the template')
  await heading('Templates').waitFor()
  await page.getByRole('link', { name: 'own' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'base', exact: true }).click()
  await heading('base').waitFor()
  expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0)
}, 60_000)

test('the host says its version and limits to everybody, and its machines to admins', async () => {
  await open('host')
  await page.getByText('0.1.0').waitFor()
  await page.getByText('at this machine, without a password').waitFor()
  await page.getByRole('row', { name: /silent in emulation, several times slower/ }).waitFor()
  const context = await console.browser.newContext()
  const other = await context.newPage()
  other.setDefaultTimeout(20_000)
  await other.goto(console.origin)
  await signIn(other, 'bob')
  await other.getByRole('heading', { name: 'Home' }).waitFor()
  const { body } = await console.berth.ask('{ members(first: 10) { nodes { id user { name } } } }', { token })
  const { members } = body.data as { members: { nodes: { id: string; user: { name: string } }[] } }
  const id = members.nodes.find(({ user }) => user.name === 'bob')?.id
  const demote = 'mutation($id: ID!) { updateMember(input: {id: $id, role: MEMBER}) { member { id } } }'
  await console.berth.ask(demote, { token, variables: { id } })
  await open('host', other)
  await other.getByText('0.1.0').waitFor()
  await other.getByText('Which hosts run VMs is shown to admins.').waitFor()
  expect(await other.getByText('silent').count()).toBe(0)
  await context.close()
}, 90_000)
