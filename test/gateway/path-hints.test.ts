/** A path that is not there says which methods it has, or which path was probably meant. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { surfaces } from '#rest-compat/surfaces.ts'
import { startBerth, type Berth } from '../support/berth.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
})
afterAll(() => berth.stop())

type Body = { error: string | { code: string; message: string }; message?: string }
/** Nobody needs a token to be told: OpenAPI is open to everybody too. */
async function ask(method: string, path: string): Promise<{ status: number; code: string; message: string }> {
  const { status, body } = await berth.call<Body>(method, path)
  return typeof body.error === 'string'
    ? { status, code: body.error, message: body.message ?? '' }
    : { status, ...body.error }
}

/** Every path that has no PUT, with its methods; what stands for an id is no word of any path. */
const paths = surfaces.flatMap(({ mount, openapiPath, routes, handlers }) => {
  const methods = new Map<string, string[]>()
  for (const key of [...Object.keys(routes), ...Object.keys(handlers)]) {
    const [method = '', path = ''] = key.split(' ')
    methods.set(mount + path, [...(methods.get(mount + path) ?? []), method])
  }
  return [...methods].map(([path, own]) => ({ path, own, openapiPath }))
})

test.each(paths.filter(({ own }) => !own.includes('PUT')))(
  'PUT on $path is answered with the methods that are there',
  async ({ path, own, openapiPath }) => {
    const { status, message } = await ask('PUT', path.replaceAll(/\{\w+\}/g, 'nothing'))
    expect([status, message]).toEqual([404, expect.stringContaining(`see ${openapiPath}.`)])
    const [, named = ''] = /^There is no PUT at this path, only ([^;]+);/.exec(message) ?? []
    expect(named.split(/, | and /)).toEqual(expect.arrayContaining(own))
  },
)

describe('without a path like it', () => {
  test.each([
    ['POST', '/api/v1/vms/vm_1/exec', 'POST /api/v1/vms/{vm_id}/envd/exec'],
    ['GET', '/api/v1/vm', 'GET /api/v1/vms'],
    ['POST', '/api/v1/database', 'POST /api/v1/databases'],
    ['GET', '/api/v1/database/db_1/backup/bkp_1', 'GET /api/v1/databases/{db_id}/backups/{backup_id}'],
    ['POST', '/api/v1/databases/db_1/client-access/enabled', 'POST /api/v1/databases/{db_id}/client-access/enable'],
    ['GET', '/api/v1/jobs', 'GET /api/v1/build/jobs'],
    ['GET', '/agents/v1/agent', 'GET /agents/v1/agents'],
    ['POST', '/agents/agents', 'POST /agents/v1/agents'],
    ['GET', '/llm/v1/modells', 'GET /llm/v1/models'],
    ['POST', '/llm/v1/v1/messages', 'POST /llm/v1/messages'],
    ['POST', '/anthropic/v1/v1/messages', 'POST /llm/v1/messages'],
    ['GET', '/api/v1//vms', 'GET /api/v1/vms'],
    ['GET', '/api/v1/functions//logs', 'GET /api/v1/functions/{function_id}/logs/stream'],
  ])('%s %s is answered with %s', async (method, path, meant) => {
    const { status, message } = await ask(method, path)
    expect([status, message]).toEqual([404, expect.stringContaining(`. Did you mean ${meant}? See /`)])
  })

  test.each(['/api/v1/nothing/like/it', '/api/v1/databases/db_1/frobnicate', `/api/v1/${'vms/'.repeat(1000)}`])(
    '%s is answered with where all of them are',
    async (path) => {
      expect(await ask('GET', path)).toEqual({
        status: 404,
        code: 'not_found',
        message: 'There is no GET at this path; see /api/v1/openapi.json.',
      })
    },
  )
})

test('a path says which of its methods changes it, and which mutation what REST does not', async () => {
  const said = async (path: string) => (await ask('PUT', path)).message
  expect(await said('/api/v1/vms/vm_1')).toMatch(
    /only GET, PATCH and DELETE; .* PATCH changes it; in GraphQL, updateVm does\.$/,
  )
  expect(await said('/agents/v1/schedules/sch_1')).toMatch(
    /\. (?:PATCH|POST) changes it; in GraphQL, updateSchedule does\.$/,
  )
  expect(await said('/api/v1/databases/db_1')).toMatch(/json\. In GraphQL, updateDatabase changes it\.$/)
  expect(await said('/api/v1/databases/db_1/backups/bkp_1')).toMatch(
    /only GET and DELETE; see \/api\/v1\/openapi\.json\.$/,
  )
})

test.each([
  ['GET', '/agents/v1/groups/', '{id} of /agents/v1/groups/{id} is empty'],
  ['POST', '/agents/v1/groups//messages', '{id} of /agents/v1/groups/{id}/messages is empty'],
  ['GET', '/api/v1/databases//backups?limit=1', '{db_id} of /api/v1/databases/{db_id}/backups is empty'],
])('%s %s says which part of the path is empty', async (method, path, sentence) => {
  const { status, body } = await berth.call<Body>(method, path, { token: await berth.token() })
  expect([status, JSON.stringify(body)]).toEqual([404, expect.stringContaining(sentence)])
})

test.each([
  ['/v1/chat/completions', '/llm/v1/chat/completions'],
  ['/openai/v1/responses', '/llm/v1/responses'],
  ['/v1/messages/count_tokens', '/llm/v1/messages/count_tokens'],
  ['/embeddings', '/llm/v1/embeddings'],
])('a client of the gateway that asks for %s is told of %s, as its errors are read', async (path, meant) => {
  const { status, body } = await berth.call<Body>('POST', path)
  expect([status, body.error]).toEqual([
    404,
    expect.objectContaining({ message: expect.stringContaining(`Did you mean ${meant}?`) }),
  ])
})

test.each([
  ['/v1/vms', ' Did you mean /api/v1/vms?'],
  ['/vms/vm_1/env?x=1', ' Did you mean /api/v1/vms/{vm_id}/env?'],
  ['/v1/sessions', ' Did you mean /agents/v1/sessions?'],
  ['/nothing', ''],
  ['/vm_1', ''],
  [`/${'vms/'.repeat(1000)}`, ''],
])('a path without its beginning, %s, is told the whole one', async (path, hint) => {
  const { status, message } = await ask('GET', path)
  expect([status, message]).toEqual([404, `There is no GET at this path.${hint}`])
})
