/** What begins work by itself, and what agents are and use, made and changed in the console alone. No VM. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { zipOf } from '../agents/skills/zips.ts'
import { callAgents } from '../support/agents-service.ts'
import { deliverHook, hookSecret, payloads } from '../support/code-host/deliveries.ts'
import { openConsole, signIn, violationsOf, type OpenConsole } from './console.ts'
import { handsOn } from './hands.ts'

const limitMs = 120_000
let console: OpenConsole
beforeAll(async () => {
  console = await openConsole({
    worker: true,
    settings: {
      BERTH_VMS: 'off',
      GITHUB_WEBHOOK_SECRET: hookSecret,
      GITHUB_WEBHOOK_ORGANIZATIONS: 'acme',
    },
  })
  await signIn(console.page, 'alice')
  await console.page.getByRole('heading', { name: 'Home' }).waitFor()
}, 2 * limitMs) // it has a worker, too
afterAll(async () => {
  await console?.stop()
  expect(console?.complaints).toEqual([])
})

const { go, link, button, field, dialog, submit, heading } = handsOn(() => console)
const row = (text: string | RegExp) => console.page.getByRole('row').filter({ hasText: text })
const head = (name: string) => heading(name).waitFor()

/** Everybody can use what is shown now. */
async function expectUsable(what: string): Promise<void> {
  expect(await violationsOf(console.page), what).toEqual([])
}

const weather = [
  {
    custom: {
      name: 'weather',
      description: 'Tells the weather.',
      inputSchema: { type: 'object', properties: { town: { type: 'string' } } },
    },
  },
]

test(
  'a credential of each kind is put into a vault, and its secret is shown nowhere, not as code either',
  async () => {
    const secret = 'canary-of-the-vault'
    await go('Vaults')
    await button('New vault').first().click()
    await field('Name').fill('shop')
    await submit('Create')
    await link('shop').click()
    await head('shop')
    for (const [kind, fields] of [
      ['A variable of the machine’s', { Variable: 'PLAIN', Value: secret }],
      [
        'A variable that the machine never sees',
        { Variable: 'SAFE', Value: secret, 'Hosts that get it': 'api.example.com' },
      ],
      ['The token of a tool server', { 'Address of the tool server': 'https://a.example.com/mcp', Token: secret }],
      [
        'A sign-in to a tool server (OAuth)',
        { 'Address of the tool server': 'https://b.example.com/mcp', 'Access token': secret },
      ],
    ] as const) {
      await button('New credential').click()
      await field('Kind').selectOption({ label: kind })
      for (const [label, text] of Object.entries(fields)) await field(label).fill(text)
      await dialog().getByText('As code').click()
      await dialog().getByText('mutation CreateVaultCredential').first().waitFor()
      await expectUsable(kind)
      expect(await dialog().innerText()).not.toContain(secret)
      await submit('Add')
      await dialog().waitFor({ state: 'detached' })
    }
    await row('variable, as a placeholder').filter({ hasText: 'api.example.com' }).waitFor()
    await row('token of a tool server').getByRole('button', { name: 'Change' }).click()
    await field('Name').fill('the first')
    await field('New token').fill(`${secret}-2`)
    await submit('Change')
    await row('the first').getByRole('button', { name: 'Archive' }).click()
    await dialog().getByText('Archive the first?').waitFor()
    await submit('Archive')
    await row('the first').getByText('archived').waitFor()
    await row('the first').getByRole('button', { name: 'Delete' }).click()
    await submit('Delete')
    await row('the first').waitFor({ state: 'detached' })
    await expectUsable('the vault')
    expect(await console.page.content()).not.toContain(secret)
  },
  limitMs,
)

test(
  'each change of an agent is a version, and what it was before can be used again',
  async () => {
    const { page } = console
    await go('Agents')
    await button('New agent').first().click()
    await field('Name').fill('asker')
    await field('Commands, files and pages of the web').selectOption({ label: 'None' })
    await page.getByText('Each tool', { exact: true }).click()
    const tools = field('Tools, as JSON')
    expect(await tools.inputValue()).toBe('[]')
    await tools.fill('[{')
    await submit('Create')
    expect(await tools.evaluate((area: HTMLTextAreaElement) => area.validationMessage)).toContain('This is no JSON')
    await tools.fill(JSON.stringify(weather))
    await expectUsable('the form of an agent')
    await submit('Create')
    await head('asker')
    await link('Definition').click()
    await page.getByRole('cell', { name: 'weather', exact: true }).waitFor()
    await button('Change').click()
    await field('Instructions').fill('Be brief.')
    await field('Questions, memories, other sessions').selectOption({ label: 'Run at once' })
    await submit('Change')
    await page.getByText('Be brief.', { exact: true }).waitFor()
    await page.getByRole('cell', { name: 'berth_toolset_v1' }).first().waitFor()
    await link('Versions').click()
    await page.getByRole('row', { name: /^1 / }).getByRole('button', { name: 'Show' }).click()
    await button('Use version 1 again').click()
    await page.getByRole('row', { name: /^3 .*in use/ }).waitFor()
    await page.getByRole('row', { name: /^2 / }).getByRole('button', { name: 'Show' }).click()
    await page.getByRole('region', { name: 'Version 2' }).getByText('Be brief.', { exact: true }).waitFor()
    await expectUsable('the versions of an agent')
    await link('Definition').click()
    await page.getByText('None.', { exact: true }).waitFor()
  },
  limitMs,
)

test(
  'a deployment runs by hand; its agent waits for a tool of ours, and what one answers is its result',
  async () => {
    const { page } = console
    await go('Automation')
    await button('New deployment').first().click()
    await field('Name').fill('forecast')
    await field('Agent').fill('ASK')
    await page.getByRole('option', { name: 'asker', exact: true }).click()
    expect(await field('Agent').inputValue()).toBe('asker')
    await field('What it is told first').fill('!tool weather {"town": "Rome"}\n!say Now I know.')
    await expectUsable('the form of a deployment')
    await submit('Create')
    await head('forecast')
    await button('Run').click()
    await page.getByText('The agent waits for the result of this tool').waitFor()
    await field('Result').fill('{"degrees": 21}')
    await expectUsable('a session that waits')
    await button('Answer').click()
    await page.getByText('{"degrees": 21}', { exact: true }).waitFor()
    await page.getByText('Now I know.', { exact: true }).waitFor()
    expect(await field('Result').count()).toBe(0)
    await page.goBack()
    await head('forecast')
    await page.getByRole('row').filter({ hasText: 'hand' }).getByRole('link').waitFor()
    await button('Change').click()
    await field('Name').fill('forecast of today')
    await submit('Change')
    await head('forecast of today')
    await button('Pause').click()
    await page.locator('.head .state', { hasText: 'paused' }).waitFor()
    await button('Resume').click()
    await page.locator('.head .state', { hasText: 'active' }).waitFor()
    await expectUsable('a deployment')
  },
  limitMs,
)

test(
  'a schedule of a deployment shows when it is next, and is switched off',
  async () => {
    const { page } = console
    await link('Schedules and triggers').click()
    await button('New schedule').click()
    await field('How often').selectOption({ label: 'Every day at 9' })
    expect(await field('Cron').inputValue()).toBe('0 9 * * *')
    await field('Time zone').fill('Europe/Rome')
    await submit('Create')
    await link('0 9 * * * Europe/Rome').click()
    await head('0 9 * * * Europe/Rome')
    const next = page.getByRole('list', { name: 'Next' }).getByRole('listitem')
    await next.first().waitFor()
    expect(await next.count()).toBe(5)
    expect(await next.first().innerText()).toContain('9:00')
    await expectUsable('a schedule')
    await button('Switch off').click()
    await page.getByText('It is switched off, and starts nothing.').waitFor()
    await button('Change').click()
    await field('Cron').fill('30 7 * * mon')
    await submit('Change')
    await head('30 7 * * mon Europe/Rome')
    await link('Definition').click()
    await link('forecast of today').click()
    await head('forecast of today')
  },
  limitMs,
)

test(
  'a trigger says what it would do with an event, and shows what it did with each as it comes',
  async () => {
    const { page, berth } = console
    await link('Schedules and triggers').click()
    await button('New trigger').click()
    await field('Repository').fill('octocat/site')
    await field('push').check()
    await expectUsable('the form of a trigger')
    await submit('Create')
    await link('octocat/site').click()
    await head('octocat/site')
    await button('Try an event').click()
    await field('Event').fill('push')
    await field('Payload').fill(JSON.stringify(payloads.push()))
    await submit('Try')
    await page.getByText('It would begin a session, which is told:').waitFor()
    await expectUsable('a trial')
    expect(await page.getByRole('table', { name: 'Fires' }).count()).toBe(0)
    expect((await deliverHook(berth.url, 'push', payloads.push())).body['fires']).toBe(1)
    await row('started')
      .getByRole('link', { name: /^sesn_/ })
      .waitFor()
    await expectUsable('a trigger')
    await button('Delete').click()
    await submit('Delete')
    await head('Triggers')
    await page.getByText('A trigger begins a session when').waitFor()
  },
  limitMs,
)

/** A session with an environment, of an agent that asks when it is told to. */
async function makeMember(name: string): Promise<string> {
  const token = await console.berth.token()
  const make = async (path: string, body: object): Promise<string> => {
    const made = await callAgents<{ id: string }>(console.berth, token, 'POST', path, body)
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return made.body.id
  }
  const agent = await make('/agents', { name, model: 'berth/demo', tools: [{ type: 'berth_toolset_v1' }] })
  const environment = await make('/environments', { name: `desk of ${name}` })
  return make('/sessions', { agent, environment_id: environment })
}

test(
  'members of a group answer what one says, and one answers what they ask',
  async () => {
    const { page } = console
    await makeMember('Coder')
    await makeMember('Reviewer')
    await go('Groups')
    await button('New group').first().click()
    await field('Name').fill('a change')
    await page.getByRole('checkbox', { name: /^Coder: / }).check()
    await page.getByRole('checkbox', { name: /^Reviewer: / }).check()
    await expectUsable('the form of a group')
    await submit('Create')
    await head('a change')
    await field('Your message').fill(
      '@coder\n!tool ask_user {"question": "Red or blue?", "options": ["red", "blue"]}\n!say So be it.',
    )
    await button('Send').click()
    await page.getByText('It asks: Red or blue?').waitFor()
    await expectUsable('a group that waits')
    await button('blue').click()
    await page.getByRole('log').getByText('So be it.', { exact: true }).waitFor()
    const part = (name: string) =>
      page.getByRole('navigation', { name: 'Parts' }).getByRole('link', { name, exact: true })
    await part('Members').click()
    await row('@reviewer').waitFor()
    await part('Runs').click()
    await row('completed').getByText('So be it.').waitFor()
  },
  limitMs,
)

test(
  'an environment is made with what it may reach, and changed',
  async () => {
    const { page } = console
    await go('Environments')
    await button('New environment').first().click()
    await field('Name').fill('workshop')
    await field('It may connect to').selectOption({ label: 'Only what is named' })
    await field('Hosts').fill('a.example.com\nb.example.com')
    await expectUsable('the form of an environment')
    await submit('Create')
    await head('workshop')
    await page.getByText('a.example.com, b.example.com').waitFor()
    await button('Change').click()
    await field('Script that sets it up').fill('echo ready')
    await field('It may connect to').selectOption({ label: 'Every public address' })
    await submit('Change')
    await page.getByText('echo ready', { exact: true }).waitFor()
    await page.getByText('every public address').waitFor()
    await expectUsable('an environment')
  },
  limitMs,
)

test(
  'files, skills and memories are made, shown and deleted',
  async () => {
    const { page } = console
    await go('Files')
    await button('Upload a file').first().click()
    await field('File').setInputFiles({
      name: 'notes.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('what we said'),
    })
    await expectUsable('the form of a file')
    await submit('Upload')
    await link('notes.txt').click()
    await head('notes.txt')
    await page.getByText('12 bytes').waitFor()
    await button('Delete').click()
    await submit('Delete')
    await page.getByText('A file is kept for agents').waitFor()

    await go('Skills')
    await button('Upload a skill').first().click()
    const skill = '---\nname: minutes\ndescription: Writes minutes of meetings.\n---\nBegin with the decisions.\n'
    await field('Its folder, as a zip').setInputFiles({
      name: 'minutes.zip',
      mimeType: 'application/zip',
      buffer: zipOf([{ path: 'minutes/SKILL.md', content: skill }]),
    })
    await submit('Upload')
    await head('minutes')
    await page.getByText('Writes minutes of meetings.').waitFor()
    await page.getByRole('cell', { name: /SKILL\.md$/ }).waitFor()
    await expectUsable('a skill')

    await go('Memories')
    await button('New memory').first().click()
    await field('Text').fill('Answer in one sentence.')
    await submit('Create')
    await head('Answer in one sentence.')
    await button('Change').click()
    await field('Text').fill('Answer in two sentences.')
    await submit('Change')
    await head('Answer in two sentences.')
    await expectUsable('a memory')
    await link('Memories').first().click()
    await link('Answer in two sentences.').waitFor()
  },
  limitMs,
)
