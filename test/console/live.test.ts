/** What the console shows follows what others do, outlives a lost connection and the end of a session, and stays text. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openConsole, signIn, type OpenConsole } from './console.ts'

let console: OpenConsole
let token: string
beforeAll(async () => {
  console = await openConsole()
  token = await console.berth.token()
  await signIn(console.page, 'alice')
  await console.page.getByRole('heading', { name: 'Home' }).waitFor()
}, 60_000)
afterAll(() => console.stop())
afterEach(({ task }) => console.showFailure(task.result?.state))

type Data = Record<string, Record<string, Record<string, string>>>
async function graphql(query: string, variables: object): Promise<Data> {
  const { status, body } = await console.berth.call<{ data: Data; errors?: unknown }>('POST', '/graphql', {
    token,
    body: { query, variables },
  })
  expect([status, body.errors]).toEqual([200, undefined])
  return body.data
}
const createKey = async (name: string): Promise<string> =>
  (await graphql('mutation($name: String!) { createApiKey(input: {name: $name}) { apiKey { id } } }', { name }))[
    'createApiKey'
  ]!['apiKey']!['id']!
const revokeKey = (id: string) =>
  graphql('mutation($id: ID!) { revokeApiKey(input: {id: $id}) { apiKey { id } } }', { id })
const row = (name: string) => console.page.getByRole('row', { name: new RegExp(name) })

test('a list shows what somebody else makes and changes, once, without being read again', async () => {
  const { page } = console
  await page.getByRole('link', { name: 'Keys', exact: true }).click()
  await page.getByText('With a key a program uses').waitFor()
  const asked: string[] = []
  page.on('request', (request) => void (request.method() === 'POST' && asked.push(request.url())))
  const id = await createKey('ci-live')
  await row('ci-live').getByRole('button', { name: 'Revoke' }).waitFor()
  await revokeKey(id)
  await row('ci-live').getByText('revoked').waitFor()
  expect(await row('ci-live').count()).toBe(1)
  expect(asked).toEqual([])
})

test('every list shows what is made elsewhere, with the fields of its columns', async () => {
  const { page } = console
  for (const [place, mutation, row] of [
    [
      'Agents',
      'createAgent(input: {name: "made-agent", model: {id: "berth/demo"}}) { agent { id } }',
      /made-agent.*berth\/demo/,
    ],
    ['Vaults', 'createVault(input: {displayName: "made-vault"}) { vault { id } }', /made-vault in use/],
    ['Environments', 'createEnvironment(input: {name: "made-environment"}) { environment { id } }', /made-environment/],
  ] as const) {
    await page.getByRole('link', { name: place, exact: true }).click()
    await page.getByRole('heading', { name: place, level: 1 }).waitFor()
    await graphql(`mutation { ${mutation} }`, {})
    await page.getByRole('row', { name: row }).waitFor()
  }
  await page.getByRole('link', { name: 'Keys', exact: true }).click()
})

test('what happens while the connection is lost is shown once it is back, and that it was lost is said', async () => {
  const { page, way } = console
  way.cut()
  await page.getByText(/Connection lost \d+ s ago/).waitFor({ timeout: 60_000 })
  await createKey('ci-missed')
  expect(await row('ci-missed').count()).toBe(0)
  way.mend()
  await row('ci-missed').waitFor({ timeout: 60_000 })
  await page.getByText(/Connection lost/).waitFor({ state: 'detached' })
  console.complaints.length = 0 // the browser's, of the network
}, 150_000)

test('all tabs of a browser have one socket, and each is live; one that is closed is forgotten', async () => {
  const { context, page, origin, way } = console
  const before = way.sockets()
  const other = await context.newPage()
  await other.goto(`${origin}/o/acme/keys`)
  await other.getByRole('row', { name: /ci-missed/ }).waitFor()
  await createKey('ci-tabs')
  await other.getByRole('row', { name: /ci-tabs/ }).waitFor()
  await row('ci-tabs').waitFor()
  expect(way.sockets()).toBe(before)
  await page.bringToFront()
  await other.close()
  await createKey('ci-one-tab')
  await row('ci-one-tab').waitFor()
})

test('a form makes what it says, shows itself as code, and says what is refused in the server’s words', async () => {
  const { page } = console
  await page.getByRole('link', { name: 'Agents', exact: true }).click()
  await page.getByRole('button', { name: 'New agent' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('helper')
  await page.getByLabel('Instructions').fill('Say <img src=//example.com/x> & nothing \u202eelse')
  await page.getByText('As code').click()
  await page.getByText('mutation CreateAgent($input: CreateAgentInput!)').first().waitFor()
  await page.getByText('"name": "helper"').waitFor()
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'helper' }).waitFor()
  await page.getByRole('link', { name: 'Definition' }).click()
  await page.getByText('Say <img src=//example.com/x> & nothing \\u202eelse').waitFor()
  await page.getByRole('link', { name: 'VMs', exact: true }).click()
  await page.getByRole('button', { name: 'New VM' }).first().click()
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page
    .getByRole('alert')
    .getByText('capacity_unavailable', { exact: false })
    .or(page.getByText('CAPACITY_UNAVAILABLE'))
    .waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  expect(console.complaints.filter((one) => !/status of 503/.test(one))).toEqual([])
})

test('when the session ends, sign-in opens over the page, and what somebody was writing is there after it', async () => {
  const { page, berth } = console
  await page.getByRole('link', { name: 'Agents', exact: true }).click()
  await page.getByRole('button', { name: 'New agent' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('draft')
  const { data } = (
    await berth.call<{ data: { viewer: { browserSessions: { id: string }[] } } }>('POST', '/graphql', {
      token,
      body: { query: '{ viewer { browserSessions { id } } }' },
    })
  ).body
  for (const { id } of data.viewer.browserSessions)
    await graphql('mutation($id: ID!) { revokeBrowserSession(input: {id: $id}) { browserSession { id } } }', { id })
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
  await signIn(page, 'alice')
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ state: 'detached' })
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('draft')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'draft' }).waitFor()
}, 60_000)

test('who may only look is told who may do it', async () => {
  const { browser, origin } = console
  const page = await (await browser.newContext()).newPage()
  await page.goto(origin)
  await signIn(page, 'bob')
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  const { members } = (await graphql('{ members(first: 10) { nodes { id user { name } } } }', {})) as never as {
    members: { nodes: { id: string; user: { name: string } }[] }
  }
  const id = members.nodes.find(({ user }) => user.name === 'bob')?.id
  await graphql('mutation($id: ID!) { updateMember(input: {id: $id, role: VIEWER}) { member { id } } }', { id })
  await page.goto(`${origin}/o/acme/vms`)
  const button = page.getByRole('button', { name: 'New VM' }).first()
  await button.waitFor()
  expect(await button.isDisabled()).toBe(true)
  expect(await button.locator('+ [role=tooltip]').textContent()).toBe('Your role is viewer: ask a member to do this.')
})
