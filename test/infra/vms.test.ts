/** VMs as far as they go without a node: what is refused, and whose is what. Running ones: vms.vm.test.ts. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeSilentNode } from '../support/makers.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
})
afterAll(() => berth.stop())

test('without a node a create answers 503 with a sentence and Retry-After, and stores nothing', async () => {
  const made = await berth.call('POST', '/api/v1/vms', { token, body: { name: 'x' } })
  expect(made).toMatchObject({
    status: 503,
    body: { error: 'capacity_unavailable', message: expect.stringContaining('npm run doctor') },
  })
  expect(made.headers.get('retry-after')).toMatch(/^\d+$/)
  expect((await berth.call('GET', '/api/v1/vms', { token })).body).toEqual([])
})

test.each([
  [{ name: '' }, 'name'],
  [{ name: 5 }, 'name must be text'],
  [{ vm_id: 'vm_nonsense' }, 'vm_id'],
  [{ template_id: 'nope' }, 'template_id'],
  [{ env: { LD_PRELOAD: '/x.so' } }, 'LD_PRELOAD'],
  [{ env: { PATH: '/x' } }, 'PATH'],
  [{ env: { IFS: 'x' } }, 'IFS'],
  [{ env: { BERTH_X: 'x' } }, 'BERTH_X'],
  [{ env: { 'A=B': 'x' } }, 'variable'],
  [{ env: { A: 5 } }, 'env'],
  [{ env: { A: 'x\u0000y' } }, 'NUL'],
  [{ env: [] }, 'env'],
  [{ git_repo_url: 'http://example.com/a/b' }, 'https'],
  [{ git_repo_url: 'file:///etc/passwd' }, 'https'],
  [{ git_repos: [{ url: '--upload-pack=x' }] }, 'Repository 1'],
  [{ git_repos: Array.from({ length: 21 }, (_, i) => ({ url: `https://example.com/a/r${i}` })) }, '20'],
  [{ git_repos: [{ url: 'https://example.com/a/b', path: '../../etc' }] }, 'path'],
  [{ git_repo_url: `https://example.com/a/b${'/'.repeat(900_000)}c` }, '2048'],
  [{ git_repo_url: 'https://example.com/a/b', git_branch: 'b'.repeat(256) }, 'branch'],
  [{ git_branch: 'main' }, 'git_repo_url'],
  [{ git_branch: 'main', git_repos: [{ url: 'https://example.com/a/b' }] }, 'git_repo_url'],
  [{ git_repos: [{ branch: 'main' }] }, 'git_repos'],
  [{ folder_id: 'fld_nope' }, 'folder_id'],
  [{ external_ref: '' }, 'external_ref'],
  [[], 'object'],
  ['"x"', 'object'],
])('a create with %j is refused with 400 and a sentence', async (body, words) => {
  const made = await berth.call<{ error: string; message: string }>('POST', '/api/v1/vms', { token, body })
  expect(made.status).toBe(400)
  expect(Object.keys(made.body)).toEqual(['error', 'message'])
  expect(made.body.message).toContain(words)
})

test('a refused environment value is not repeated in the answer', async () => {
  const secret = 'canary-73f1'
  for (const env of [{ LD_PRELOAD: secret }, { A: [secret] }, { 'A B': secret }]) {
    const made = await berth.call('POST', '/api/v1/vms', { token, body: { env } })
    expect(made.status).toBe(400)
    expect(JSON.stringify(made.body)).not.toContain(secret)
  }
})

test('absent, malformed and foreign ids answer the same bytes', async () => {
  const bodies = await Promise.all(
    [newId('vm'), 'vm_x', 'nonsense', '%00', '..%2f..%2fetc'].map(
      async (id) => await berth.call('GET', `/api/v1/vms/${id}`, { token }),
    ),
  )
  for (const answer of bodies) expect(answer).toMatchObject({ status: 404, body: bodies[0]!.body })
})

test('every answer carries its request id twice, and the allowance', async () => {
  const answer = await berth.call('GET', '/api/v1/vms', { token })
  expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-7][0-9a-z]{25}$/)
  expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'))
  expect(Number(answer.headers.get('ratelimit-remaining'))).toBeLessThan(Number(answer.headers.get('ratelimit-limit')))
})

test('a path that is not there answers 404 in the envelope of its surface', async () => {
  expect(await berth.call('GET', '/api/v1/nothing', { token })).toMatchObject({
    status: 404,
    body: { error: 'not_found' },
  })
  expect(await berth.call('GET', '/agents/v1/nothing', { token })).toMatchObject({
    status: 404,
    body: { type: 'error', error: { type: 'not_found_error' } },
  })
  expect(await berth.call('GET', '/llm/v1/nothing', { token })).toMatchObject({
    status: 404,
    body: { error: { type: 'not_found_error', service_id: 'gateway' } },
  })
})

test('a create that is not to be waited for is answered at once, by REST and by GraphQL', async () => {
  await makeSilentNode(berth.services.db)
  const made = await berth.call<{ status: string; vm_id: string }>('POST', '/api/v1/vms', {
    token,
    body: { wait: false },
  })
  expect([made.status, made.body.status]).toEqual([201, 'creating'])
  const { body } = await berth.ask('mutation { createVm(input: {wait: false}) { vm { status } } }', { token })
  expect(body.data).toEqual({ createVm: { vm: { status: 'CREATING' } } })
  const wrong = await berth.call<{ message: string }>('POST', '/api/v1/vms', { token, body: { wait: 'no' } })
  expect([wrong.status, wrong.body.message]).toEqual([400, expect.stringContaining('wait')])
})
