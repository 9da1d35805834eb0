/** Anthropic's client and the resources of sessions, held against the types that it declares: answers, and every parameter. */
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { membersOf } from '../../../support/declared-types.ts'
import {
  client,
  closeAnthropicWorld,
  declarations,
  makeSession,
  openAnthropicWorld,
  problems,
} from '../../anthropic-world.ts'

beforeAll(openAnthropicWorld)
afterAll(closeAnthropicWorld)

/** The members of parameters that are sent as headers. */
const headers = ['betas', 'workspace_id']
const resources = (): Anthropic['beta']['sessions']['resources'] => client.beta.sessions.resources
const file = async (): Promise<string> =>
  (await client.beta.files.upload({ file: await toFile(Buffer.from('x'), 'x.txt') })).id
const repository = {
  type: 'github_repository',
  url: 'https://github.com/octocat/hello',
  authorization_token: 'x',
  checkout: { type: 'commit', sha: 'a'.repeat(40) },
} as const
/** A session with a file and a repository, and their ids. */
async function world(): Promise<{ session_id: string; file: string; repository: string }> {
  const { id } = await makeSession({ resources: [{ type: 'file', file_id: await file() }, repository] })
  const { data } = await resources().list(id)
  const [one, two] = data as { id: string }[]
  return { session_id: id, file: one?.id ?? '', repository: two?.id ?? '' }
}

/** What a method is asked with; which of its parameters are honoured; the type of its answer. */
type Method = {
  ask: (extra: object) => Promise<unknown>
  parameters: string
  honoured: readonly string[]
  answer: string
}
const methods: Readonly<Record<string, Method>> = {
  add: {
    ask: async (extra) => resources().add((await makeSession()).id, { type: 'file', file_id: await file(), ...extra }),
    parameters: 'ResourceAddParams',
    honoured: ['file_id', 'type', 'mount_path'],
    answer: 'BetaManagedAgentsFileResource',
  },
  retrieve: {
    ask: async (extra) => {
      const { session_id, repository: id } = await world()
      return resources().retrieve(id, { session_id, ...extra })
    },
    parameters: 'ResourceRetrieveParams',
    honoured: ['session_id'],
    answer: 'BetaManagedAgentsGitHubRepositoryResource',
  },
  update: {
    ask: async (extra) => {
      const { session_id, repository: id } = await world()
      return resources().update(id, { session_id, authorization_token: 'y', ...extra })
    },
    parameters: 'ResourceUpdateParams',
    honoured: ['session_id', 'authorization_token'],
    answer: 'BetaManagedAgentsGitHubRepositoryResource',
  },
  list: {
    ask: async (extra) => (await resources().list((await world()).session_id, extra)).data[0],
    parameters: 'ResourceListParams',
    honoured: ['limit', 'page'],
    answer: 'BetaManagedAgentsFileResource',
  },
  delete: {
    ask: async (extra) => {
      const { session_id, file: id } = await world()
      return resources().delete(id, { session_id, ...extra })
    },
    parameters: 'ResourceDeleteParams',
    honoured: ['session_id'],
    answer: 'BetaManagedAgentsDeleteSessionResource',
  },
}

test('the table has every method of the client for resources, so that an upgrade shows what is new', () => {
  const found = Object.getOwnPropertyNames(Object.getPrototypeOf(resources()))
  expect(found.filter((name) => name !== 'constructor').sort()).toEqual(Object.keys(methods).sort())
})

describe.each(Object.entries(methods))('resources.%s', (_, { ask, parameters, honoured, answer }) => {
  test('answers what the client’s types say', async () => {
    expect(problems(await ask({}), answer)).toEqual([])
  })

  test('honours every parameter of the client, or refuses it by name', async () => {
    expect([...honoured].sort()).toEqual(
      [...membersOf(declarations, parameters).keys()].filter((name) => !headers.includes(name)).sort(),
    )
    const error: unknown = await ask({ workspace_id: 'wrkspc_x' }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Anthropic.BadRequestError)
    expect(String((error as Error).message)).toContain('anthropic-workspace-id')
    expect(await ask({ betas: ['managed-agents-2026-04-01'] })).toBeDefined()
  })
})
