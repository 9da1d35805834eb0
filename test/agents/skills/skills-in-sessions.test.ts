/** Skills of agents: which versions sessions have, and what their models are told. */
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { skillLimits } from '#src/resources/agents/skills/limits.ts'
import { startMockBerth, type MockBerth } from '../../llm/mock-berth.ts'
import { agentSessions, type AgentSessions } from '../../support/agent-sessions.ts'
import type { Berth } from '../../support/berth.ts'
import { makeVmToken } from '../../support/makers.ts'
import type { MockUpstream } from '../../support/mock-upstream.ts'

let berth: Berth
let mock: MockUpstream
let stop: MockBerth['stop']
let client: Anthropic
let sessions: AgentSessions
let token: string
let people = 0
beforeAll(async () => {
  ;({ berth, mock, stop } = await startMockBerth())
})
beforeEach(async () => {
  token = await berth.token(`person${people++}`)
  client = new Anthropic({ baseURL: `${berth.url}/agents`, apiKey: null, authToken: token, maxRetries: 0 })
  sessions = agentSessions(berth, token)
})
afterAll(() => stop?.())

const files = async (name: string, text: string): Promise<File[]> => [
  await toFile(Buffer.from(`---\nname: ${name}\ndescription: What ${name} is for.\n---\n${text}\n`), 'SKILL.md'),
]
const make = async (name: string, text: string): Promise<Anthropic.Beta.BetaSkill> =>
  client.beta.skills.create({ files: await files(name, text) })
const agentWith = async (...skills: Anthropic.Beta.BetaManagedAgentsSkillParams[]): Promise<string> =>
  sessions.agent({ model: 'test/plain', system: 'Be kind.', skills })
/** What the model of a session is asked first. */
async function asked(id: string): Promise<string> {
  mock.forget()
  mock.script({ parts: [{ text: 'salve' }] })
  await sessions.say(id, 'hello')
  await sessions.rested(id)
  return mock.requests[0]?.bodyText ?? ''
}
const start = (agent: string): Promise<Anthropic.Beta.BetaManagedAgentsSession> =>
  client.beta.sessions.create({ agent } as Anthropic.Beta.SessionCreateParams) // an environment may be left out here

test('a session has the versions that it started with, and its model is told what they say', async () => {
  const latin = await make('latin', 'Answer in Latin.')
  const verse = await make('verse', 'Answer in verse.')
  const newer = await client.beta.skills.versions.create(verse.id, { files: await files('verse', 'Answer in rhymes.') })
  const agent = await agentWith(
    { type: 'custom', skill_id: latin.id },
    { type: 'custom', skill_id: verse.id, version: verse.latest_version_id },
  )
  const session = await start(agent)
  expect(session.agent.skills).toEqual([
    { type: 'custom', skill_id: latin.id, version: latin.latest_version_id },
    { type: 'custom', skill_id: verse.id, version: verse.latest_version_id },
  ])
  const greek = await client.beta.skills.versions.create(latin.id, { files: await files('latin', 'Answer in Greek.') })
  const told = await asked(session.id)
  for (const text of ['Be kind.', 'What latin is for.', 'Answer in Latin.', 'What verse is for.', 'Answer in verse.'])
    expect(told).toContain(text)
  for (const text of ['Greek', 'rhymes']) expect(told).not.toContain(text)
  const later = await start(agent)
  expect(later.agent.skills.map(({ version }) => version)).toEqual([greek.id, verse.latest_version_id])
  expect(await asked(later.id)).toContain('Answer in Greek.')
  await client.beta.skills.delete(verse.id)
  expect(newer.skill_id).toBe(verse.id)
  const after = await asked(later.id)
  expect(after).toContain('Answer in Greek.')
  expect(after).not.toContain('Answer in verse.')
})

test('a session that the token inside a VM begins or writes to is told no skills, which that token may not read', async () => {
  const latin = await make('latin', 'Answer in Latin.')
  const agent = await agentWith({ type: 'custom', skill_id: latin.id })
  const own = await start(agent)
  expect(await asked(own.id)).toContain('Answer in Latin.')
  sessions = agentSessions(berth, await makeVmToken(berth, token))
  for (const id of [own.id, await sessions.begin(agent, null)]) {
    const told = await asked(id)
    expect(told).toContain('Be kind.')
    expect(told).not.toContain('Answer in Latin.')
  }
})

test('with tools that read files of a VM, the model is told each skill’s folder instead of its instructions', async () => {
  const latin = await make('latin', 'Answer in Latin.')
  const skills = [{ type: 'custom', skill_id: latin.id }]
  const [own, theirs] = [
    await client.beta.environments.create({ name: 'own' }),
    await client.beta.environments.create({ name: 'theirs', config: { type: 'self_hosted' } }),
  ]
  const toolset = { type: 'agent_toolset_20260401' }
  const blind = { ...toolset, default_config: { enabled: false }, configs: [{ name: 'glob', enabled: true }] }
  const ask = async (tools: object[], environment: string | null): Promise<string> => {
    const agent = await sessions.agent({ model: 'test/plain', skills, tools })
    return asked(await sessions.begin(agent, null, environment ? { environment_id: environment } : {}))
  }
  const told = await ask([toolset], own.id)
  for (const text of [`/home/user/.skills/${latin.latest_version_id}/latin`, 'What latin is for.', 'SKILL.md'])
    expect(told).toContain(text)
  expect(told).not.toContain('Answer in Latin.')
  for (const [tools, environment] of [
    [[toolset], null],
    [[], own.id],
    [[blind], own.id],
    [[toolset], theirs.id],
  ] as const) {
    const whole = await ask([...tools], environment)
    expect(whole).toContain('Answer in Latin.')
    expect(whole).not.toContain('.skills')
  }
})

test('instructions that are too long for all skills are left out, and the model is told so', async () => {
  const long = await make('long', 'x'.repeat(skillLimits.includedCharacters + 1))
  const short = await make('short', 'Answer shortly.')
  const told = await asked(
    (await start(await agentWith({ type: 'custom', skill_id: long.id }, { type: 'custom', skill_id: short.id }))).id,
  )
  expect(told).toContain('What long is for.')
  expect(told).toContain('too long to be given')
  expect(told).toContain('Answer shortly.')
  expect(told).not.toContain('xxxx')
})

test('no session starts with a skill that is not there, not the person’s, or in another skill’s version', async () => {
  const [mine, other] = [await make('mine', 'x'), await make('other', 'x')]
  const eve = new Anthropic({
    baseURL: `${berth.url}/agents`,
    apiKey: null,
    authToken: await berth.token('eve'),
    maxRetries: 0,
  })
  const hers = await eve.beta.skills.create({ files: await files('hers', 'x') })
  for (const skill of [
    { skill_id: 'skill_x' },
    { skill_id: hers.id },
    { skill_id: mine.id, version: '1' },
    { skill_id: mine.id, version: other.latest_version_id },
    { skill_id: mine.id, version: hers.latest_version_id },
  ]) {
    const agent = await agentWith({ type: 'custom', ...skill })
    await expect(start(agent)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('not one of yours'),
    })
  }
})
