/** What people come to the console for, beside machines: a domain, colleagues, a model and what it cost, who did what. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ingress, startDomainWorld, type DomainWorld } from '../infra/domains/domain-world.ts'
import { openConsole, signIn, type OpenConsole } from './console.ts'
import { handsOn } from './hands.ts'

let world: DomainWorld
let console: OpenConsole
beforeAll(async () => {
  world = await startDomainWorld({}, { worker: true })
  console = await openConsole({ of: world.berth })
  await signIn(console.page, 'alice')
  await console.page.getByRole('heading', { name: 'Home' }).waitFor()
}, 60_000)
afterAll(async () => {
  expect(console.complaints).toEqual([])
  await console.stop()
  await world.dns.stop()
})

afterEach(({ task }) => console.showFailure(task.result?.state))

const { go, button } = handsOn(() => console)

test('a domain shows what DNS says beside what it should say, until it is right', async () => {
  const { page, picture } = console
  const name = world.name()
  await go('Domains')
  await button('Add a domain').first().click()
  await page.getByLabel('Name', { exact: true }).fill(name)
  await button('Add').click()
  await page.getByRole('heading', { name }).waitFor()
  const record = (type: string) => page.getByRole('row', { name: new RegExp(`^${type} `) })
  await record('A').getByText('nothing', { exact: true }).waitFor()
  await picture('walk-domain-wrong')
  const should = async (type: string): Promise<string> =>
    (await record(type)
      .getByRole('button', { name: 'Copy the value' })
      .or(record(type).locator('.copy code'))
      .last()
      .textContent()) ?? ''
  expect(await should('A')).toBe(ingress)
  await world.dns.set(name, 'A', '198.51.100.9')
  await button('Check now').click()
  await record('A').getByText('198.51.100.9', { exact: true }).waitFor()
  await record('A').getByText('no', { exact: true }).waitFor()
  await world.dns.set(name, 'A', await should('A'))
  await world.dns.set(`_berth-challenge.${name}`, 'TXT', `"${await should('TXT')}"`)
  await button('Check now').click()
  await page.locator('.head .state', { hasText: 'verified' }).waitFor()
  await button('Activate').click()
  await page.locator('.head .state', { hasText: 'active' }).waitFor()
  await record('A').getByText('yes', { exact: true }).waitFor()
  await record('TXT').getByText('yes', { exact: true }).waitFor()
  const vm = await world.vm()
  await button('Link').click()
  await page.getByLabel('To', { exact: true }).selectOption(vm)
  await page.getByLabel('Port').fill('8080')
  await page.getByRole('dialog').getByRole('button', { name: 'Link' }).click()
  await button('Unlink').waitFor()
  expect(await world.show(name)).toMatchObject({ vm_id: vm, vm_port: 8080 })
  await picture('walk-domain-right')
  await button('Remove').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('heading', { name: 'Domains', level: 1 }).waitFor()
  await page.getByRole('cell', { name, exact: true }).waitFor({ state: 'detached' })
})

test('a colleague is invited by a link, joins, gets another role, and is removed, each seen at once by the other', async () => {
  const { page, browser, origin, picture } = console
  await go('Members')
  await button('Invite').click()
  await page.getByLabel('Note').fill('for Bob')
  await button('Make a link').click()
  const link = new URL((await page.locator('.secret code').textContent()) ?? '')
  await button('I have it').click()
  await page.getByRole('region', { name: 'Invitations' }).getByRole('cell', { name: 'for Bob' }).waitFor()
  await picture('walk-invited')

  const theirs = await (await browser.newContext()).newPage()
  await theirs.goto(`${origin}${link.pathname}${link.hash}`)
  await signIn(theirs, 'bob', 'bobs')
  await button('Join', theirs).click()
  await theirs.getByRole('heading', { name: 'Home' }).waitFor()
  expect(new URL(theirs.url()).pathname).toBe('/o/acme')
  const role = page.getByLabel('Role of bob')
  await role.waitFor()
  expect(await role.inputValue()).toBe('MEMBER')

  await go('Vaults', theirs)
  await button('New vault', theirs).first().click()
  await theirs.getByLabel('Name', { exact: true }).fill('of-bob')
  await button('Create', theirs).click()
  await theirs.getByRole('cell', { name: 'of-bob' }).waitFor()
  await role.selectOption('VIEWER')
  await button('Change').click()
  await theirs.reload()
  const off = button('New vault', theirs).first()
  await off.waitFor()
  expect(await off.getAttribute('aria-disabled')).toBe('true')
  await off.click({ force: true }) // it can be pressed, and nothing happens
  expect(await theirs.getByRole('dialog').count()).toBe(0)

  await page.getByRole('row', { name: /bob/ }).getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await role.waitFor({ state: 'detached' })
  await theirs.reload()
  await theirs.getByRole('heading', { name: 'No such organization' }).waitFor()
  await theirs.context().close()
})

test('a model is tried, a program uses it with a key, and usage says which key and model cost what', async () => {
  const { page, origin, picture } = console
  await go('Models')
  await page.getByRole('link', { name: 'Try one' }).click()
  await page.getByLabel('Model').selectOption('berth/demo')
  await page.getByLabel('Your message').fill('Say <b>this</b> again')
  await button('Send').click()
  await page.getByRole('log', { name: 'Chat' }).locator('article.agent pre').filter({ hasText: 'this' }).waitFor()
  await picture('walk-model')

  await go('Keys')
  await button('New key').first().click()
  await page.getByLabel('Name', { exact: true }).fill('ci')
  await button('Create').click()
  const key = (await page.locator('.secret code').textContent()) ?? ''
  await button('I have it').click()
  const answer = await fetch(`${origin}/llm/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'berth/demo', messages: [{ role: 'user', content: 'hello' }] }),
  })
  expect(answer.status).toBe(200)
  await answer.text()

  await go('Usage')
  await page.getByLabel('By', { exact: true }).first().selectOption('KEY')
  await page
    .getByRole('region', { name: 'Inference' })
    .getByRole('row', { name: /^ci 1 / })
    .waitFor()
  await picture('walk-usage')
  await go('Models')
  await page.getByRole('link', { name: 'Requests' }).click()
  await page.getByRole('row', { name: /berth\/demo ci/ }).waitFor()
  await page.getByRole('link', { name: 'Budget' }).click()
  await button('Set the budget').click()
  await page.getByLabel('US dollars a month').fill('50')
  await button('Set').click()
  await page.getByText('50.00', { exact: true }).waitFor()
  await button('Set a key’s budget').click()
  await page.getByLabel('Key', { exact: true }).selectOption({ label: 'ci' })
  await page.getByLabel('US dollars a month').fill('2.5')
  await button('Set').click()
  await page.getByRole('row', { name: /^ci 0\.00 2\.50/ }).waitFor()
  await button('No limit').click()
  await page.getByRole('row', { name: /^ci 0\.00 2\.50/ }).waitFor({ state: 'detached' })
})

test('what was done is in the audit, with who did it, to what and from where', async () => {
  const { page, picture } = console
  await go('Audit')
  await page.getByRole('row', { name: /bob.*createVault.*of-bob.*(?:127\.0\.0\.1|::1)/ }).waitFor()
  await page.getByRole('row', { name: /alice.*removeMember/ }).waitFor()
  await page
    .getByRole('row', { name: /alice.*createApiKey.*ci/ })
    .first()
    .waitFor()
  await picture('walk-audit')
})
