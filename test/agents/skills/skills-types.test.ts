/** Anthropic's client and its skills, held against the types that it declares: answers, and every parameter. */
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anthropicTypes, membersOf } from '../../support/declared-types.ts'
import { client, closeAnthropicWorld, openAnthropicWorld } from '../anthropic-world.ts'
import { instructionsOf } from './zips.ts'

/** What the client declares of skills: names of its other files are the same. */
const { declarations, problems } = anthropicTypes(['skills/skills', 'skills/versions'])

let made: Anthropic.Beta.BetaSkill
beforeAll(async () => {
  await openAnthropicWorld()
  made = await makeSkill({})
})
afterAll(closeAnthropicWorld)

/** The members of parameters that are sent as headers, and the one that is in the path. */
const elsewhere = ['betas', 'workspace_id', 'skill_id']
const files = async (): Promise<File[]> => [await toFile(Buffer.from(instructionsOf('typed')), 'typed/SKILL.md')]
const makeSkill = async (extra: object): Promise<Anthropic.Beta.BetaSkill> =>
  client.beta.skills.create({ files: await files(), ...extra })
const makeVersion = async (extra: object): Promise<Anthropic.Beta.Skills.BetaSkillVersion> =>
  client.beta.skills.versions.create(made.id, { files: await files(), ...extra })

/** What a method is asked with; which parameters it has; the type of its answer. */
type Method = {
  ask: (extra: object) => Promise<unknown>
  parameters: string
  honoured: readonly string[]
  answer: string | null
}
const ofSkills: Readonly<Record<string, Method>> = {
  create: {
    ask: makeSkill,
    parameters: 'SkillCreateParams',
    honoured: ['files', 'display_name'],
    answer: 'BetaSkill',
  },
  retrieve: {
    ask: async (extra) => client.beta.skills.retrieve(made.id, extra),
    parameters: 'SkillRetrieveParams',
    honoured: [],
    answer: 'BetaSkill',
  },
  list: {
    ask: async (extra) => (await client.beta.skills.list(extra)).data[0],
    parameters: 'SkillListParams',
    honoured: ['limit', 'page', 'source'],
    answer: 'BetaSkill',
  },
  delete: {
    ask: async (extra) => client.beta.skills.delete((await makeSkill({})).id, extra),
    parameters: 'SkillDeleteParams',
    honoured: [],
    answer: 'BetaDeletedSkill',
  },
}
const ofVersions: Readonly<Record<string, Method>> = {
  create: { ask: makeVersion, parameters: 'VersionCreateParams', honoured: ['files'], answer: 'BetaSkillVersion' },
  retrieve: {
    ask: async (extra) => client.beta.skills.versions.retrieve(made.latest_version_id, { skill_id: made.id, ...extra }),
    parameters: 'VersionRetrieveParams',
    honoured: [],
    answer: 'BetaSkillVersion',
  },
  list: {
    ask: async (extra) => (await client.beta.skills.versions.list(made.id, extra)).data[0],
    parameters: 'VersionListParams',
    honoured: ['limit', 'page'],
    answer: 'BetaSkillVersion',
  },
  delete: {
    ask: async (extra) =>
      client.beta.skills.versions.delete((await makeVersion({})).id, { skill_id: made.id, ...extra }),
    parameters: 'VersionDeleteParams',
    honoured: [],
    answer: 'BetaDeletedSkillVersion',
  },
  download: {
    ask: async (extra) => client.beta.skills.versions.download(made.latest_version_id, { skill_id: made.id, ...extra }),
    parameters: 'VersionDownloadParams',
    honoured: [],
    answer: null, // bytes
  },
}

test('the tables have every method of the client for skills, so that an upgrade shows what is new', () => {
  const methodsOf = (resource: object): string[] =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(resource)).filter((name) => name !== 'constructor')
  expect(methodsOf(client.beta.skills).sort()).toEqual(Object.keys(ofSkills).sort())
  expect(methodsOf(client.beta.skills.versions).sort()).toEqual(Object.keys(ofVersions).sort())
})

describe.each([
  ...Object.entries(ofSkills).map(([name, method]) => [`skills.${name}`, method] as const),
  ...Object.entries(ofVersions).map(([name, method]) => [`skills.versions.${name}`, method] as const),
])('%s', (_, { ask, parameters, honoured, answer }) => {
  test('answers what the client’s types say, and refuses a workspace by name', async () => {
    const said = await ask({ betas: ['skills-2025-10-02'] })
    if (answer) expect(problems(said, answer)).toEqual([])
    else expect((await (said as Response).arrayBuffer()).byteLength).toBeGreaterThan(100)
    const error: unknown = await ask({ workspace_id: 'wrkspc_x' }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Anthropic.BadRequestError)
    expect(String((error as Error).message)).toContain('anthropic-workspace-id')
  })

  test('honours every parameter of the client', () => {
    expect([...honoured].sort()).toEqual(
      [...membersOf(declarations, parameters).keys()].filter((name) => !elsewhere.includes(name)).sort(),
    )
  })
})
