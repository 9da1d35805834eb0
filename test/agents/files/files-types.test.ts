/** Anthropic's client and its files, held against the types that it declares: answers, and every parameter. */
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { membersOf } from '../../support/declared-types.ts'
import { client, closeAnthropicWorld, declarations, openAnthropicWorld, problems } from '../anthropic-world.ts'

beforeAll(openAnthropicWorld)
afterAll(closeAnthropicWorld)

/** The members of parameters that are sent as headers. */
const headers = ['betas', 'workspace_id']
const upload = async (extra: object = {}): Promise<Anthropic.Beta.BetaFileMetadata> =>
  client.beta.files.upload({ file: await toFile(Buffer.from('x'), 'x.txt'), ...extra })
/** What a method is asked with; which of its parameters are honoured, and which are refused; the type of its answer. */
type Method = {
  ask: (extra: object) => Promise<unknown>
  parameters: string
  honoured: readonly string[]
  refused?: Readonly<Record<string, unknown>>
  answer: string | null
}
const methods: Readonly<Record<string, Method>> = {
  upload: {
    ask: upload,
    parameters: 'FileUploadParams',
    honoured: ['file', 'expires_in_seconds'],
    answer: 'BetaFileMetadata',
  },
  list: {
    ask: async (extra) => (await upload(), (await client.beta.files.list(extra)).data[0]),
    parameters: 'FileListParams',
    honoured: ['limit', 'page', 'ids'],
    refused: { scope_id: 'sesn_x' },
    answer: 'BetaFileMetadata',
  },
  retrieveMetadata: {
    ask: async (extra) => client.beta.files.retrieveMetadata((await upload()).id, extra),
    parameters: 'FileRetrieveMetadataParams',
    honoured: [],
    answer: 'BetaFileMetadata',
  },
  download: {
    ask: async (extra) => client.beta.files.download((await upload()).id, extra),
    parameters: 'FileDownloadParams',
    honoured: [],
    answer: null, // bytes
  },
  delete: {
    ask: async (extra) => client.beta.files.delete((await upload()).id, extra),
    parameters: 'FileDeleteParams',
    honoured: [],
    answer: 'BetaDeletedFile',
  },
}

test('the table has every method of the client for files, so that an upgrade shows what is new', () => {
  const found = Object.getOwnPropertyNames(Object.getPrototypeOf(client.beta.files))
  expect(found.filter((name) => name !== 'constructor').sort()).toEqual(Object.keys(methods).sort())
})

describe.each(Object.entries(methods))('files.%s', (_, { ask, parameters, honoured, refused = {}, answer }) => {
  test('answers what the client’s types say', async () => {
    const said = await ask({})
    if (answer) expect(problems(said, answer)).toEqual([])
    else expect(await (said as Response).text()).toBe('x')
  })

  test('honours every parameter of the client, or refuses it by name', async () => {
    expect([...honoured, ...Object.keys(refused)].sort()).toEqual(
      [...membersOf(declarations, parameters).keys()].filter((name) => !headers.includes(name)).sort(),
    )
    for (const [name, value] of Object.entries({ ...refused, workspace_id: 'wrkspc_x' })) {
      const error: unknown = await ask({ [name]: value }).catch((thrown: unknown) => thrown)
      expect(error, name).toBeInstanceOf(Anthropic.BadRequestError)
      expect(String((error as Error).message), name).toContain(
        name === 'workspace_id' ? 'anthropic-workspace-id' : name,
      )
    }
    expect(await ask({ betas: ['files-api-2025-04-14'] })).toBeDefined()
  })
})
