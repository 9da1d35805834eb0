/** Every place of the console in a real browser: what it shows while there is nothing, and that everybody can use it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { expectUsable, openConsole, signIn, violationsOf, type OpenConsole } from './console.ts'

/** Each place of the list at the side, and the head of its page where that has another name. */
const places: Readonly<Record<string, string>> = {
  Home: 'Home',
  VMs: 'VMs',
  Databases: 'Databases',
  Builds: 'Builds',
  Templates: 'Templates',
  Functions: 'Functions',
  Domains: 'Domains',
  Projects: 'Projects',
  Agents: 'Agents',
  Sessions: 'Sessions',
  Groups: 'Groups',
  Environments: 'Environments',
  Automation: 'Deployments',
  Vaults: 'Vaults',
  Skills: 'Skills',
  Memories: 'Memories',
  Files: 'Files',
  Models: 'Models',
  Usage: 'Usage',
  Keys: 'Keys',
  Members: 'Members',
  Webhooks: 'Webhooks',
  Audit: 'Audit',
  Settings: 'Settings',
  Host: 'Host',
}
/** Lists that a place leads to, and their heads. */
const within: Readonly<Record<string, string>> = {
  'automation/deployments': 'Deployments',
  'automation/schedules': 'Schedules',
  'automation/triggers': 'Triggers',
  'files/folders': 'Folders',
}

let console: OpenConsole
beforeAll(async () => {
  console = await openConsole()
}, 60_000)
afterAll(() => console.stop())

test('sign-in and each place are without a violation of accessibility in light, dark and narrow', async () => {
  const { page, origin, picture, complaints } = console
  await page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor()
  expect(await violationsOf(page), 'sign-in').toEqual([])
  await picture('sign-in')
  await signIn(page, 'alice')
  for (const [place, head] of Object.entries(places)) {
    await page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: place, exact: true }).click()
    await page.getByRole('heading', { name: head, level: 1 }).waitFor()
    await expectUsable(console, place)
  }
  for (const [path, head] of Object.entries(within)) {
    await page.goto(`${origin}/o/acme/${path}`)
    await page.getByRole('heading', { name: head, level: 1 }).waitFor()
    await expectUsable(console, path.replaceAll('/', '-'))
  }
  expect(complaints).toEqual([])
}, 240_000)

test('the pages of objects and their tabs, and their forms, are without a violation too', async () => {
  const { page, origin, berth } = console
  const token = await berth.token()
  const { body } = await berth.ask(
    `mutation {
      createProject(input: {name: "shop"}) { project { id } }
      createFunction(input: {name: "hello"}) { function { id } }
      createWebhookEndpoint(input: {url: "https://example.com/hook"}) { webhookEndpoint { id } }
    }`,
    { token },
  )
  const made = body.data as Record<string, Record<string, { id: string }>>
  const { data } = (await berth.ask('{ templates { nodes { id name } } }', { token })).body
  const [base] = (data as { templates: { nodes: { id: string; name: string }[] } }).templates.nodes
  await page.setViewportSize({ width: 1280, height: 800 })
  for (const [path, head, tabs, form] of [
    [`projects/${made['createProject']!['project']!.id}`, 'shop', ['Databases (0)'], 'Rename'],
    [`functions/${made['createFunction']!['function']!.id}`, 'hello', ['Invoke', 'Log'], 'Deploy'],
    [
      `webhooks/${made['createWebhookEndpoint']!['webhookEndpoint']!.id}`,
      'https://example.com/hook',
      ['Settings'],
      'Change',
    ],
    [`templates/${base!.id}`, base!.name, ['VMs (0)'], null],
  ] as const) {
    await page.goto(`${origin}/o/acme/${path}`)
    await page.getByRole('heading', { name: head, level: 1 }).waitFor()
    await expectUsable(console, path.replaceAll('/', '-'))
    for (const tab of tabs) {
      const link = page.getByRole('navigation', { name: 'Parts' }).getByRole('link', { name: tab })
      await link.click()
      await page.locator('nav[aria-label=Parts] a[aria-current]', { hasText: tab }).waitFor()
      expect(await page.locator('nav[aria-label=Parts] a[aria-current]').allTextContents()).toEqual([tab])
      await expectUsable(console, `${path.replaceAll('/', '-')} ${tab}`)
    }
    if (!form) continue
    await page.getByRole('button', { name: form, exact: true }).click()
    await page.getByRole('dialog').waitFor()
    expect(await violationsOf(page), `${path} ${form}`).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
}, 240_000)

test('keys go to each place, and are letters where somebody writes', async () => {
  const { page } = console
  await page.setViewportSize({ width: 1280, height: 800 })
  const vms = page.getByRole('heading', { name: 'VMs', level: 1 })
  await until('g v leads to VMs', async () => {
    await page.keyboard.press('g') // the two count together for a second, which a busy machine may miss
    await page.keyboard.press('v')
    return vms.isVisible()
  })
  await page.keyboard.press('/')
  await page.keyboard.type('gd')
  expect(await page.getByLabel('Filter by text').inputValue()).toBe('gd')
  await page.waitForURL(/q=gd/)
  await page.getByText('Nothing matches this filter.').waitFor()
  await page.getByRole('button', { name: 'Show all' }).click()
  await page.keyboard.press('c')
  await page.getByRole('dialog', { name: 'New VM' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByLabel('What to find').fill('memb')
  await page.getByRole('option', { name: 'Members' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Members', level: 1 }).waitFor()
})

test('its page lets no other page frame it, and its files are for good; others get what was here before', async () => {
  const { origin, page } = console
  const answer = await fetch(origin, { headers: { accept: 'text/html' } })
  const policy = answer.headers.get('content-security-policy') ?? ''
  for (const rule of [
    "default-src 'none'",
    "frame-ancestors 'none'",
    "script-src 'self';",
    "require-trusted-types-for 'script'",
  ])
    expect(policy).toContain(rule)
  const script = /src="(\/console\/assets\/[^"]+)"/.exec(await answer.text())?.[1] ?? ''
  const file = await fetch(origin + script, { headers: { 'accept-encoding': 'br' } })
  expect([file.status, file.headers.get('content-encoding')]).toEqual([200, 'br'])
  expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  for (const name of ['none.js', '..%2findex.html', '%2e%2e/index.html'])
    expect((await fetch(`${origin}/console/assets/${name}`)).status, name).toBe(404)
  expect(await (await fetch(origin, { headers: { accept: '*/*' } })).text()).toContain('/graphql/schema.graphql')
  expect((await fetch(`${origin}/o/acme`, { headers: { accept: 'application/json' } })).status).toBe(404)
  await page.goto(`${origin}/o/nobody`)
  await page.getByRole('heading', { name: 'No such organization' }).waitFor()
})
