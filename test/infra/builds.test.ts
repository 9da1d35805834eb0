/** Build jobs as far as they go without a node: what is refused, whose turn it is, how they end. Real ones: builds.vm.test.ts. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { dispatchBuilds } from '#src/resources/infra/builds/dispatch.ts'
import { findBuildRow } from '#src/resources/infra/builds/rows.ts'
import { openSource } from '#src/resources/infra/builds/sources.ts'
import { openSpec } from '#src/resources/infra/builds/specs.ts'
import { finishBuild, setBuildCommit } from '#src/resources/infra/builds/states.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import {
  bytes,
  claimOf,
  clearBuilds,
  organizationOf,
  startWithoutBuilder,
  submit,
  submitRunning,
  uuidOf,
  type Entry,
  type Job,
} from '../support/builds.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  ;({ berth, token } = await startWithoutBuilder())
})
afterEach(() => clearBuilds(berth))
afterAll(() => berth.stop())

const post = (body: unknown, as = token) =>
  berth.call<Job & { error: string; message: string }>('POST', '/api/v1/build/jobs', { token: as, body })
const order = (rest: Record<string, unknown> = {}): Record<string, unknown> => ({
  org_id: organizationOf(token),
  spec: [123, 125],
  ...rest,
})
const get = async (job: Job): Promise<Job> =>
  (await berth.call<Job>('GET', `/api/v1/build/jobs/${job.id}`, { token })).body
const cancel = (job: Pick<Job, 'id'>, as = token) =>
  berth.call<Job>('POST', `/api/v1/build/jobs/${job.id}/cancel`, { token: as })

describe('a submission', () => {
  test('of {} is queued with every default', async () => {
    const { status, body } = await post(order())
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^bld_[0-7][0-9a-z]{25}$/),
      organization_id: organizationOf(token),
      status: 'queued',
      repo_url: null,
      git_ref: null,
      commit_sha: null,
      error: null,
      queued_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      started_at: null,
      finished_at: null,
      cancel_requested: false,
      exit_code: null,
    })
    const row = (await findBuildRow(berth.services.db, uuidOf(body)))!
    expect(openSpec(berth.services.sealer, row)).toEqual({
      version: 1,
      builder: 'command',
      template: 'base',
      context: '.',
      commands: [],
      env: {},
      secrets: [],
      output: { type: 'artifact', name: 'build', path: null },
      cache: true,
      resources: { vcpu: 2, memory_mb: 2048 },
      timeout_seconds: 1800,
    })
  })

  test('with everything keeps it all', async () => {
    const spec = {
      version: 1,
      builder: 'command',
      template: 'base',
      context: 'app/web',
      commands: ['npm ci', 'npm test'],
      env: { NODE_ENV: 'test' },
      secrets: [],
      output: { type: 'template', name: 'web', path: 'dist/' },
      cache: false,
      resources: { vcpu: 4, memory_mb: 4096 },
      timeout_seconds: 7200,
    }
    const job = await submit(berth, token, spec, {
      repo_url: 'https://example.com/acme/web.git',
      git_ref: 'release/1.x',
      commit_sha: 'ABCDEF0123456789abcdef0123456789abcdef01',
    })
    expect(job).toMatchObject({
      repo_url: 'https://example.com/acme/web.git',
      git_ref: 'release/1.x',
      commit_sha: 'abcdef0123456789abcdef0123456789abcdef01',
    })
    const row = (await findBuildRow(berth.services.db, uuidOf(job)))!
    expect(row).toMatchObject({
      vcpuCount: 4,
      memoryMb: 4096,
      timeoutSeconds: 7200,
      outputType: 'template',
      outputName: 'web',
    })
    expect(openSpec(berth.services.sealer, row)).toEqual(spec)
  })

  test.each<[string, unknown]>([
    ['missing', undefined],
    ['null', null],
    ['empty', []],
    ['a text', '{}'],
    ['of halves', [1.5]],
    ['of negatives', [-1]],
    ['of 256', [256]],
    ['of texts', ['1']],
    ['of nulls', [null]],
    ['not UTF-8', [255, 254]],
    ['not JSON', [...Buffer.from('{"a":')]],
    ['a list', bytes([])],
    ['a number', bytes(5)],
    ['null inside', bytes(null)],
    ['with NUL', bytes({ commands: ['a\0b'] })],
    ['too long', Array.from({ length: limits.buildSpecBytes + 1 }, () => 32)],
    ['of a dockerfile', bytes({ builder: 'dockerfile' })],
    ['of version 2', bytes({ version: 2 })],
    ['with a command that is no text', bytes({ commands: [5] })],
    ['with commands that are no list', bytes({ commands: 'npm test' })],
    ['with an unknown key', bytes({ comands: [] })],
    ['with an unknown key of its resources', bytes({ resources: { gpu: 1 } })],
    ['with an env of numbers', bytes({ env: { A: 1 } })],
    ['with a context outside', bytes({ context: '../x' })],
    ...[
      'file:///etc/passwd',
      'file:/etc/passwd',
      'FILE:x',
      'ssh://host/x',
      'ftp://host/x',
      'HTTPS://host/x',
      'data:,x',
    ].map((context) => [`with the context ${context}`, bytes({ context })] as [string, number[]]),
    ['with an absolute path', bytes({ output: { type: 'artifact', name: 'a', path: '/etc' } })],
    ['with an output without a name', bytes({ output: { type: 'artifact' } })],
    ['with an unknown output', bytes({ output: { type: 'image', name: 'a' } })],
    ['with an output named in capitals', bytes({ output: { type: 'artifact', name: 'A' } })],
    ['with a cache that is no switch', bytes({ cache: 'yes' })],
    ['with no time', bytes({ timeout_seconds: 0 })],
    ['with 7201 s', bytes({ timeout_seconds: 7201 })],
    ['with half a processor', bytes({ resources: { vcpu: 0.5 } })],
    ['with a secret nobody set', bytes({ secrets: ['NPM_TOKEN'] })],
    ['with commands for static', bytes({ builder: 'static', commands: ['true'] })],
    ['with an upload of nobody’s', bytes({ context: 'https://example.com/compute/x/y' })],
  ])('whose spec is %s is refused with invalid_spec', async (_what, spec) => {
    const { status, body } = await post({ ...order(), spec })
    expect([status, body.error, body.message]).toEqual([400, 'invalid_spec', expect.stringContaining('spec')])
    expect(
      (await berth.call<{ jobs: Job[] }>('GET', `/api/v1/build/jobs?org_id=${organizationOf(token)}`, { token })).body
        .jobs,
    ).toEqual([])
  })

  test('whose spec is an object is the same as one of its bytes', async () => {
    const spec = {
      commands: ['true'],
      env: { A: 'ü' },
      output: { type: 'template', name: 'kept' },
      timeout_seconds: 60,
    }
    const [object, list] = await Promise.all([post(order({ spec })), post(order({ spec: bytes(spec) }))])
    const kept = await Promise.all(
      [object, list].map(async ({ status, body }) => {
        expect(status).toBe(201)
        const row = await findBuildRow(berth.services.db, uuidOf(body))
        return row && openSpec(berth.services.sealer, row)
      }),
    )
    expect(kept[0]).toMatchObject(spec)
    expect(kept[1]).toEqual(kept[0])
  })

  test.each([
    [{ comands: [] }, 'comands'],
    [{ builder: 'COMMAND' }, 'builder'],
    [{ env: { A: null } }, 'env'],
    [{ resources: { vcpu_count: 1 } }, 'vcpu_count'],
    [{ commands: ['x'.repeat(limits.buildSpecBytes)] }, 'bytes'],
    ['{}', 'JSON object'],
    [null, 'spec'],
    [true, 'JSON object'],
  ])('whose spec as an object is wrong is refused with a sentence', async (spec, words) => {
    const { status, body } = await post({ ...order(), spec })
    expect([status, body.message]).toEqual([400, expect.stringContaining(words)])
  })

  test.each<[Record<string, unknown>, string]>([
    [{ repo_url: 'http://example.com/a/b' }, 'repo_url'],
    [{ repo_url: 'file:///etc/passwd' }, 'repo_url'],
    [{ repo_url: '--upload-pack=x' }, 'repo_url'],
    ...[
      'ssh://-oProxyCommand=touch%20x/a/b',
      'ssh://%2doProxyCommand=x/a/b',
      'ssh://git@-oProxyCommand=x/a/b',
      'ssh://-oProxyCommand=x@example.com/a/b',
      'ssh://%2DoProxyCommand=x@example.com/a/b',
      'ssh://example%2ecom/a/b',
      'git@-oProxyCommand:a/b',
      'https://-example.com/a/b',
    ].map((repo_url) => [{ repo_url }, 'repo_url'] as [Record<string, unknown>, string]),
    [{ repo_url: 'https://example.com/' }, 'repo_url'],
    [{ repo_url: '' }, 'repo_url'],
    [{ repo_url: 'https://example.com/a/b', git_ref: '--all' }, 'git_ref'],
    [{ repo_url: 'https://example.com/a/b', git_ref: 'a..b' }, 'git_ref'],
    [{ repo_url: 'https://example.com/a/b', git_ref: '' }, 'git_ref'],
    [{ repo_url: 'https://example.com/a/b', commit_sha: 'HEAD' }, 'commit_sha'],
    [{ git_ref: 'main' }, 'repo_url'],
    [{ repo_url: 5 }, 'repo_url'],
    [{ spec: bytes({ context: 'app' }) }, 'no source: name a repository in repo_url'],
    [{ spec: bytes({ builder: 'static' }) }, 'no source: name a repository in repo_url'],
    [{ org_id: undefined }, 'org_id'],
    [{ org_id: null }, 'org_id'],
  ])('with %j is refused with 400', async (rest, words) => {
    const { status, body } = await post(order(rest))
    expect([status, body.message]).toEqual([400, expect.stringContaining(words)])
  })

  test.each([
    [{ env: { LD_PRELOAD: 'x' } }, 'invalid_env_key'],
    [{ env: { BERTH_X: 'x' } }, 'invalid_env_key'],
    [{ env: { A: '() { :; }' } }, 'invalid_env_value'],
    [{ template: 'nobodys' }, 'invalid_template'],
  ])('with the spec %j is refused with %s', async (spec, code) => {
    expect(await post(order({ spec: bytes(spec) }))).toMatchObject({ status: 400, body: { error: code } })
  })

  test('never shows a credential of its repository, and stores the whole URL for the build', async () => {
    const secret = 'canary-5e1f'
    for (const url of [
      `https://bot:${secret}@example.com/acme/web.git`,
      `https://${secret}@example.com/acme/web?token=${secret}`,
    ]) {
      const job = await submit(berth, token, {}, { repo_url: url })
      expect(job.repo_url).toBe(
        url.includes('.git') ? 'https://example.com/acme/web.git' : 'https://example.com/acme/web',
      )
      const { rows } = await sql<{ row: string }>`select b::text as row from build_jobs b`.execute(berth.services.db)
      expect(JSON.stringify(rows)).not.toContain(secret)
      expect(openSource(berth.services.sealer, (await findBuildRow(berth.services.db, uuidOf(job)))!)?.url).toBe(url)
    }
  })

  test('to another organization than the token’s works for its members, and is 403 for others', async () => {
    const other = await berth.token('alice', 'second', 'viewer')
    const both = await berth.token('alice', 'acme', 'owner')
    expect(await post({ ...order(), org_id: organizationOf(other) }, both)).toMatchObject({
      status: 403,
      body: { error: 'not_permitted_for_role' },
    })
    await berth.token('alice', 'second', 'member')
    const now = await berth.token('alice', 'acme', 'owner')
    expect(await post({ ...order(), org_id: organizationOf(other) }, now)).toMatchObject({
      status: 201,
      body: { organization_id: organizationOf(other) },
    })
    for (const org of [organizationOf(await berth.token('eve', 'elsewhere')), newId('organization'), 'org_x', 'x'])
      expect(await post({ ...order(), org_id: org })).toMatchObject({ status: 403, body: { error: 'forbidden' } })
  })

  test(`beyond ${limits.buildsQueuedMax} queued ones is refused, and room again when one is cancelled`, async () => {
    const jobs: Job[] = []
    for (let i = 0; i < limits.buildsQueuedMax; i++) jobs.push(await submit(berth, token))
    const refused = await post(order())
    expect(refused).toMatchObject({ status: 429, body: { error: 'build_quota_exceeded' } })
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    await cancel(jobs[0]!)
    expect((await post(order())).status).toBe(201)
  })

  test(`beyond ${limits.buildsPerMinute} a minute is refused, and only for that organization`, async () => {
    const strict = await startBerth()
    try {
      const ours = await strict.token()
      const from = performance.now()
      const submitOne = () =>
        strict.call('POST', '/api/v1/build/jobs', {
          token: ours,
          body: { org_id: organizationOf(ours), spec: [123, 125] },
        })
      const answers = [await submitOne()]
      for (let i = 0; i < 3 * limits.buildsPerMinute && answers.at(-1)?.status === 201; i++)
        answers.push(await submitOne())
      const refused = answers.at(-1)
      expect(refused).toMatchObject({ status: 429, body: { error: 'build_quota_exceeded' } })
      expect(refused?.headers.get('retry-after')).toMatch(/^\d+$/)
      const cameBack = Math.ceil(((performance.now() - from) / 60_000) * limits.buildsPerMinute) // a busy machine takes a while
      expect(answers.length - 1).toBeGreaterThanOrEqual(limits.buildsPerMinute)
      expect(answers.length - 1).toBeLessThanOrEqual(limits.buildsPerMinute + cameBack)
      await submit(strict, await strict.token('bob', 'other'))
    } finally {
      await strict.stop()
    }
  })

  test('in GraphQL takes the spec as an object', async () => {
    const ask = (args: string) =>
      berth.ask(
        `mutation { createBuild(input: { organizationId: "${organizationOf(token)}", ${args} }) { build { id status } } }`,
        {
          token,
        },
      )
    expect((await ask('spec: {commands: ["true"]}')).body.data).toEqual({
      createBuild: { build: { id: expect.stringMatching(/^bld_/), status: 'QUEUED' } },
    })
    expect((await ask('spec: null')).body.errors?.[0]?.extensions.code).toBe('INVALID_SPEC')
  })
})

describe('reading', () => {
  test('lists the organization’s jobs, newest first, and needs org_id', async () => {
    const jobs = [await submit(berth, token), await submit(berth, token), await submit(berth, token)]
    const list = (query: string) => berth.call<{ jobs: Job[] }>('GET', `/api/v1/build/jobs${query}`, { token })
    const org = organizationOf(token)
    expect((await list(`?org_id=${org}`)).body).toEqual({ jobs: [...jobs].reverse() })
    expect((await list(`?org_id=${org}&limit=1&offset=1`)).body).toEqual({ jobs: [jobs[1]] })
    expect((await list('')).status).toBe(400)
    expect((await list(`?org_id=${org}&limit=201`)).status).toBe(400)
    expect((await list('?org_id=org_x')).status).toBe(403)
  })

  test('of another organization’s job is 403, of an unknown one 404, by every path', async () => {
    const theirs = await submit(berth, await berth.token('eve', 'elsewhere'))
    for (const [method, rest] of [
      ['GET', ''],
      ['POST', '/cancel'],
      ['GET', '/logs'],
      ['GET', '/logs/stream'],
    ] as const) {
      expect(await berth.call(method, `/api/v1/build/jobs/${theirs.id}${rest}`, { token }), rest).toMatchObject({
        status: 403,
        body: { error: 'forbidden' },
      })
      for (const id of [newId('build'), 'bld_x', 'x', '%00'])
        expect(await berth.call(method, `/api/v1/build/jobs/${id}${rest}`, { token }), rest).toMatchObject({
          status: 404,
          body: { error: 'not_found' },
        })
    }
  })
})

describe('cancelling', () => {
  test('a queued job cancels it at once, with an ended log; again changes nothing', async () => {
    const job = await submit(berth, token)
    const { status, body } = await cancel(job)
    expect([status, body]).toEqual([200, { ...job, status: 'cancelled', finished_at: expect.any(String) }])
    expect((await cancel(job)).body).toEqual(body)
    expect(
      (await berth.call<{ logs: Entry[] }>('GET', `/api/v1/build/jobs/${job.id}/logs`, { token })).body.logs,
    ).toEqual([{ id: expect.stringMatching(/^\d+-0$/), output: '', done: true }])
    expect(await dispatchBuilds(berth.services)).toBe(0)
  })

  test('a running job asks it to end, and it is cancelled when its worker says so', async () => {
    const job = await submitRunning(berth, token)
    const asked = (await cancel(job)).body
    expect(asked).toMatchObject({ status: 'running', cancel_requested: true, finished_at: null })
    expect((await cancel(job)).body).toEqual(asked)
    await finishBuild(berth.services, uuidOf(job), { status: 'cancelled' })
    expect(await get(job)).toMatchObject({ status: 'cancelled', cancel_requested: true, exit_code: null })
  })

  test('is not for viewers', async () => {
    expect(await cancel(await submit(berth, token), await berth.token('victor', 'acme', 'viewer'))).toMatchObject({
      status: 403,
      body: { error: 'not_permitted_for_role' },
    })
  })
})

describe('the end', () => {
  test('comes once: a second end changes nothing', async () => {
    const job = await submitRunning(berth, token)
    const ends = await Promise.all([
      finishBuild(berth.services, uuidOf(job), {
        status: 'failed',
        exitCode: 3,
        failingStep: 2,
        error: 'The command 2 ended with 3.',
      }),
      finishBuild(berth.services, uuidOf(job), { status: 'succeeded', exitCode: 0 }),
    ])
    expect(ends.filter(Boolean)).toHaveLength(1)
    const after = await get(job)
    await finishBuild(berth.services, uuidOf(job), { status: 'cancelled' })
    expect(await get(job)).toEqual(after)
  })

  test('is followed by a subscription, from any position', async () => {
    const job = await submitRunning(berth, token)
    await setBuildCommit(berth.services.db, await claimOf(berth.services.db, uuidOf(job)), 'a'.repeat(40))
    await finishBuild(berth.services, uuidOf(job), { status: 'succeeded', exitCode: 0 })
    const follow = async (after: string): Promise<string[]> => {
      const answer = await fetch(`${berth.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${token}` },
        body: JSON.stringify({
          query: `subscription { buildEvents(id: "${job.id}"${after}) { ... on BuildEvent { cursor status } } }`,
        }),
      })
      return [...(await answer.text()).matchAll(/"cursor":"(\d+)","status":"(\w+)"/g)].map(
        (match) => `${match[1]} ${match[2]}`,
      )
    }
    expect(await follow(', after: "0"')).toEqual(['1 QUEUED', '2 RUNNING', '3 RUNNING', '4 SUCCEEDED'])
    expect(await follow(', after: "2"')).toEqual(['3 RUNNING', '4 SUCCEEDED'])
    expect(await follow('')).toEqual(['4 SUCCEEDED'])
    expect(await follow(', after: "4"')).toEqual([])
  })

  test('with a file shows where to get it, and with a template its id', async () => {
    const job = await submitRunning(berth, token)
    const key = `builds/${organizationOf(token)}/${job.id}`
    await finishBuild(berth.services, uuidOf(job), {
      status: 'succeeded',
      exitCode: 0,
      output: { type: 'artifact', name: 'build', key, templateId: null, sizeBytes: 5_000_000_000, sha256: 'ab' },
    })
    const { body } = await berth.ask(
      `{ build(id: "${job.id}") { output { type name url templateId sizeBytes sha256 } } }`,
      { token },
    )
    expect(body.data?.['build']).toEqual({
      output: {
        type: 'ARTIFACT',
        name: 'build',
        url: expect.stringContaining(key),
        templateId: null,
        sizeBytes: 5_000_000_000,
        sha256: 'ab',
      },
    })
  })
})
