/** Functions that are linked to a repository: linking, and what becomes of a push. Builds are only rows here. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeId, encodeId, newId } from '#src/platform/ids.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import { openSource } from '#src/resources/infra/builds/sources.ts'
import { openSpec } from '#src/resources/infra/builds/specs.ts'
import { findBuildRow, type Build } from '#src/resources/infra/builds/rows.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { codeHostSettings, startCodeHost, type CodeHost } from '../../support/code-host/code-host.ts'
import { commit, deliver, sendPush, signed, type PushGiven } from '../../support/code-host/pushes.ts'
import { idsOf, makeKey, makeSilentNode } from '../../support/makers.ts'

let berth: Berth
let host: CodeHost
let token: string
beforeAll(async () => {
  host = await startCodeHost({ name: 'host.berth.internal' })
  berth = await startBerth({
    settings: { ...codeHostSettings(host, 'http://host.berth.internal'), BERTH_RATE_LIMIT_FACTOR: '100' },
  })
  token = await berth.token()
  await makeSilentNode(berth.services.db)
  host.account('octocat').repositories = ['site', 'other']
})
afterAll(async () => {
  await berth.stop()
  host.close()
})
beforeEach(async () => {
  host.heal()
  await connect(token)
  host.account('octocat').hooks = []
})

type Failure = { code: string; message: string; field?: string }
type Linked = {
  function: { id: string }
  webhookUrl: string
  webhookSecret: string | null
  webhookReason: string | null
}
type Shown = {
  repository: {
    fullName: string
    branch: string
    webhookUrl: string
    hasOwnWebhook: boolean
    linkedBy: { id: string } | null
    lastPush: {
      commitSha: string
      buildId: string | null
      build: { status: string } | null
      reason: string | null
    } | null
  } | null
}

const connect = (as: string, login = 'octocat') =>
  berth.call('POST', '/api/v1/codehost/save-token', { token: as, body: { code: host.code(login) } })
async function ask<Data>(query: string, variables: object, as = token): Promise<Data & Failure> {
  const { body } = await berth.ask(query, { token: as, variables: variables as Record<string, unknown> })
  const [error] = body.errors ?? []
  if (error) return { ...error.extensions, message: error.message } as unknown as Data & Failure
  return Object.values(body.data as Record<string, Data>)[0] as Data & Failure // it has one root field
}
const create = async (name = `f-${randomUUID().slice(0, 8)}`, as = token): Promise<string> =>
  (
    await ask<{ function: { id: string } }>(
      'mutation ($name: String) { createFunction(input: {name: $name}) { function { id } } }',
      { name },
      as,
    )
  ).function.id
const link = (id: string, input: object = {}, as = token) =>
  ask<Linked>(
    'mutation ($input: LinkFunctionRepositoryInput!) { linkFunctionRepository(input: $input) { function { id } webhookUrl webhookSecret webhookReason } }',
    { input: { id, repository: 'octocat/site', ...input } },
    as,
  )
const unlink = (id: string, as = token) =>
  ask('mutation ($id: ID!) { unlinkFunctionRepository(input: {id: $id}) { function { id } } }', { id }, as)
const show = async (id: string, as = token): Promise<Shown['repository']> =>
  (
    await ask<Shown>(
      `query ($id: ID!) { function(id: $id) { repository { fullName branch webhookUrl hasOwnWebhook linkedBy { id }
        lastPush { commitSha buildId build { status } reason } } } }`,
      { id },
      as,
    )
  ).repository
const buildOf = async (publicId: string | null | undefined): Promise<Build> => {
  const found = await findBuildRow(berth.services.db, decodeId('build', publicId ?? '') ?? '')
  if (!found) throw new Error('there is no such build')
  return found
}
/** A linked function, and what the code host was given to tell of pushes. */
async function linked(input: object = {}): Promise<{ id: string; hook: { url: string; secret: string } }> {
  const id = await create()
  await link(id, input)
  const hook = host.account('octocat').hooks.at(-1)?.config
  return { id, hook: { url: atBerth(hook?.['url'] ?? ''), secret: hook?.['secret'] ?? '' } }
}
/** The address as this test reaches it. */
const atBerth = (url: string): string => berth.url + new URL(url).pathname

describe('linking', () => {
  test('makes a webhook at the code host with a secret that is stored sealed, and unlinking lets a job remove it', async () => {
    const id = await create()
    const made = await link(id)
    expect(made).toMatchObject({ function: { id }, webhookSecret: null, webhookReason: null })
    const [hook] = host.account('octocat').hooks
    expect(hook).toMatchObject({
      repository: 'site',
      active: true,
      events: ['push'],
      config: { url: made.webhookUrl, content_type: 'json', insecure_ssl: '0' },
    })
    expect(hook?.config['secret']).toMatch(/^[\w-]{43}$/)
    const rows = JSON.stringify((await sql`select * from function_repositories`.execute(berth.services.db)).rows)
    expect(rows).not.toContain(hook?.config['secret'])
    expect(await show(id)).toMatchObject({
      fullName: 'octocat/site',
      branch: 'main',
      webhookUrl: made.webhookUrl,
      hasOwnWebhook: true,
      linkedBy: { id: encodeId('user', idsOf(token).userId) },
      lastPush: null,
    })
    expect(await unlink(id)).toMatchObject({ function: { id } })
    expect(await show(id)).toBeNull()
    expect(await unlink(id)).toMatchObject({ function: { id } })
  })

  test('gives the address and the secret once where the app may make no webhook, and says why', async () => {
    host.fail('/api/v3/repos/octocat/site/hooks', (response) =>
      response.writeHead(403).end('{"message": "Resource not accessible by integration"}'),
    )
    const id = await create()
    const made = await link(id, { branch: 'release' })
    expect(made.webhookSecret).toMatch(/^[\w-]{43}$/)
    expect(made.webhookReason).toContain('may not make webhooks')
    expect(await show(id)).toMatchObject({ branch: 'release', hasOwnWebhook: false })
    const hook = { url: atBerth(made.webhookUrl), secret: made.webhookSecret ?? '' }
    expect((await sendPush(hook, { ref: 'refs/heads/release' })).status).toBe(200)
  })

  test('is done by hand too while the code host does not answer, or refuses the address', async () => {
    host.fail('/api/v3/repos/octocat/site/hooks', (response) => response.writeHead(502).end())
    expect((await link(await create())).webhookReason).toContain('by hand')
    host.fail('/api/v3/repos/octocat/site/hooks', (response) =>
      response
        .writeHead(422)
        .end(
          '{"message": "Validation Failed", "errors": [{"message": "url is not supported because it isn\'t reachable over the public Internet (localhost)"}]}',
        ),
    )
    expect((await link(await create())).webhookReason).toContain(
      "isn't reachable over the public Internet (localhost). Add it",
    )
  })

  test('again takes the place of the link before, whose secret no longer counts', async () => {
    const { id, hook } = await linked()
    await link(id, { repository: 'octocat/other' })
    expect(await show(id)).toMatchObject({ fullName: 'octocat/other' })
    expect((await sendPush(hook)).status).toBe(401)
  })

  test.each([
    [{ repository: 'site' }, 'INVALID_REQUEST'],
    [{ repository: 'a/b/c' }, 'INVALID_REQUEST'],
    [{ repository: `${'o'.repeat(101)}/r` }, 'INVALID_REQUEST'],
    [{ repository: '../..' }, 'INVALID_REQUEST'],
    [{ repository: 'octocat/none' }, 'INVALID_REQUEST'],
    [{ branch: 'a..b' }, 'INVALID_REQUEST'],
    [{ branch: '-x' }, 'INVALID_REQUEST'],
    [{ branch: '' }, 'INVALID_REQUEST'],
    [{ branch: 'b'.repeat(300) }, 'INVALID_REQUEST'],
    [{ spec: { output: { type: 'ARTIFACT', name: 'x' } } }, 'INVALID_SPEC'],
    [{ spec: { output: { type: 'FUNCTION', name: 'of-another' } } }, 'INVALID_SPEC'],
    [{ spec: { context: 'https://example.com/x' } }, 'INVALID_SPEC'],
    [{ spec: { secrets: ['ABSENT'] } }, 'INVALID_SPEC'],
    [{ spec: { timeoutSeconds: 0 } }, 'INVALID_SPEC'],
    [{ spec: { env: { 'A B': 'x' } } }, 'INVALID_ENV_KEY'],
    [{ id: newId('function') }, 'NOT_FOUND'],
    [{ id: 'x' }, 'NOT_FOUND'],
  ])('with %j is refused, and makes no webhook', async (input, code) => {
    expect(await link(await create(), input)).toMatchObject({ code })
    expect(host.account('octocat').hooks).toEqual([])
  })

  test('needs a person, the role of a member, the function’s organization, and a connected account', async () => {
    const id = await create()
    const { key, keyId } = await makeKey(berth, token)
    expect(await link(id, {}, key)).toMatchObject({ code: 'UNAUTHORIZED' })
    await sql`update api_keys set revoked_at = now() where key_id = ${keyId}`.execute(berth.services.db)
    expect(await link(id, {}, key)).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(await link(id, {}, await berth.token('victor', 'acme', 'viewer'))).toMatchObject({
      code: 'NOT_PERMITTED_FOR_ROLE',
    })
    const stranger = await berth.token('eve', 'evil')
    await connect(stranger, 'eve')
    expect(await link(id, {}, stranger)).toMatchObject({ code: 'NOT_FOUND' })
    expect(await unlink(id, stranger)).toMatchObject({ code: 'NOT_FOUND' })
    expect(await link(id, {}, await berth.token('ben', 'acme', 'member'))).toMatchObject({
      code: 'PROVIDER_NOT_CONNECTED',
    })
    expect(await show(id)).toBeNull()
  })

  test('a viewer sees the link, and no secret of it', async () => {
    const { id, hook } = await linked({ spec: { env: { HIDDEN: 'canary' } } })
    const seen = JSON.stringify(await show(id, await berth.token('victor', 'acme', 'viewer')))
    expect(seen).toContain('octocat/site')
    expect(seen).not.toContain(hook.secret)
  })

  test('ends with the function', async () => {
    const { id, hook } = await linked()
    await ask('mutation ($id: ID!) { deleteFunction(input: {id: $id}) { deletedId } }', { id })
    expect((await sendPush(hook)).status).toBe(401)
  })
})

describe('a push', () => {
  test('is built at its commit, with the account and the spec of the link, and the function as its output', async () => {
    const { id, hook } = await linked({ spec: { commands: ['make'], env: { DEEP: 'x' } } })
    const answer = await sendPush(hook, { after: commit('b') })
    expect(answer).toMatchObject({
      status: 200,
      body: { message: expect.stringContaining('is built by bld_') as string },
    })
    const build = await buildOf(answer.body?.build_id)
    expect(build).toMatchObject({
      status: 'queued',
      commitSha: commit('b'),
      gitRef: 'main',
      outputType: 'function',
      outputName: await nameOf(id),
      createdBy: idsOf(token).userId,
      submittedRole: 'owner',
    })
    const { sealer, db } = berth.services
    expect(openSource(sealer, build)?.url).toBe(`http://host.berth.internal:${host.port}/octocat/site.git`)
    expect(openSpec(sealer, build)).toMatchObject({ commands: ['make'], env: { DEEP: 'x' } })
    const account = await getOne(db, sql`select id from code_host_links where user_id = ${idsOf(token).userId}`)
    expect(account).toEqual({ id: build.codeHostLinkId })
    expect((await show(id))?.lastPush).toEqual({
      commitSha: commit('b'),
      buildId: answer.body?.build_id,
      build: { status: 'QUEUED' },
      reason: null,
    })
    const event = await getOne<{ reason: string }>(
      db,
      sql`select status_reason as reason from function_events where function_id = ${decodeId('function', id)} order by position desc limit 1`,
    )
    expect(event.reason).toBe(`Commit bbbbbbbbbbbb was pushed; ${answer.body?.build_id} builds it.`)
  })

  test('is built once, however often it is delivered, and whichever webhook tells of it', async () => {
    const { hook } = await linked()
    const delivery = { 'x-github-delivery': randomUUID() }
    const given = { pushedAt: 1_800_000_000 }
    const answers = await Promise.all([1, 2, 3].map(() => sendPush(hook, given, delivery)))
    const again = await sendPush(hook, given)
    expect(new Set([...answers, again].map(({ status, body }) => `${status} ${body?.build_id}`)).size).toBe(1)
    expect(again.body?.message).toContain('is built already')
    expect((await sendPush(hook, { ...given, after: commit('c') })).body?.build_id).not.toBe(again.body?.build_id)
  })

  test.each([
    ['to another branch', { ref: 'refs/heads/mainly' }],
    ['of a tag with the branch’s name', { ref: 'refs/tags/main' }],
    ['that deletes the branch', { after: commit('0') }],
    ['to another repository', { repositoryId: 5_000_000_001 }],
  ] as [string, PushGiven][])('%s is ignored', async (_, given) => {
    const { id, hook } = await linked()
    expect(await sendPush(hook, given)).toMatchObject({
      status: 200,
      body: { message: expect.stringMatching(/^Ignored: /) as string, build_id: null },
    })
    expect((await show(id))?.lastPush).toBeNull()
  })

  test('of a plain git server needs no more than the ref and the commit', async () => {
    const { hook } = await linked()
    const body = `{"ref":"refs/heads/main","after":"${commit('d')}"}`
    expect((await deliver(hook, body)).body?.build_id).toMatch(/^bld_/)
  })

  test.each([
    '',
    '[]',
    '{',
    'payload=%7B%7D',
    '{"ref":5,"after":"a"}',
    '{"ref":"refs/heads/main","after":"HEAD"}',
    '\u{ffff}',
    '["a",'.repeat(100),
  ])('whose body is %j is refused, and its signature was right', async (body) => {
    const { hook } = await linked()
    expect(await deliver(hook, body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })

  test.each([{ 'x-github-delivery': '' }, { 'x-github-delivery': 'a b' }, { 'x-github-delivery': 'x'.repeat(101) }])(
    'with %j is refused, because it could not be known again',
    async (headers) => {
      const { hook } = await linked()
      expect(await sendPush(hook, {}, headers)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    },
  )

  test('a ping is answered, and other events are ignored', async () => {
    const { hook } = await linked()
    expect(await deliver(hook, '{"zen":"Design for failure."}', { 'x-github-event': 'ping' })).toMatchObject({
      status: 200,
    })
    expect(await deliver(hook, '{}', { 'x-github-event': 'issues' })).toMatchObject({ status: 204, body: null })
  })
})

describe('whoever has no secret', () => {
  test('hears the same of a link that is there, one that is not, and one that was removed', async () => {
    const { id, hook } = await linked()
    const removed = await linked()
    await unlink(removed.id)
    const answers = [
      await sendPush({ ...hook, secret: 'wrong' }),
      await sendPush({ ...hook, url: hook.url.replace(/fnr_.*/, newId('functionRepository')) }),
      await sendPush({ ...hook, url: hook.url.replace(/fnr_.*/, 'x') }),
      await sendPush(removed.hook),
      ...(await Promise.all(
        ['', 'sha256=', `sha256=${'0'.repeat(64)}`, `sha1=${'0'.repeat(40)}`, `sha256=${'g'.repeat(64)}`].map(
          (signature) => sendPush(hook, {}, { 'x-hub-signature-256': signature }),
        ),
      )),
    ]
    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
    expect(answers[0]).toMatchObject({ status: 401, body: { error: 'unauthorized' } })
    expect((await show(id))?.lastPush).toBeNull()
  })

  test('cannot use the secret of one function for another', async () => {
    const [one, other] = [await linked(), await linked()]
    expect((await sendPush({ url: one.hook.url, secret: other.hook.secret })).status).toBe(401)
  })

  test('cannot change a body that was signed', async () => {
    const { hook } = await linked()
    const body = `{"ref":"refs/heads/main","after":"${commit('d')}"}`
    const signature = signed(body, hook.secret)
    expect((await deliver(hook, body.replaceAll('d', 'e'), { 'x-hub-signature-256': signature })).status).toBe(401)
  })

  test('cannot send more than a push may have, in whatever encoding', async () => {
    const { hook } = await linked()
    expect(await sendPush(hook, {}, { 'content-encoding': 'gzip' })).toMatchObject({ status: 415 })
    const sending = request(hook.url, { method: 'POST' })
    const piece = Buffer.alloc(1024 * 1024)
    const more = (): void => void (sending.destroyed || sending.write(piece, () => setImmediate(more)))
    sending.on('error', () => undefined) // it is cut off in the end
    more()
    const [answer] = (await once(sending, 'response')) as [IncomingMessage]
    expect(answer.statusCode).toBe(413)
    sending.destroy()
  })
})

describe('of two pushes', () => {
  test('the older one’s build is cancelled if it still waits', async () => {
    const { id, hook } = await linked()
    const first = await sendPush(hook, { after: commit('1') })
    const second = await sendPush(hook, { after: commit('2') })
    expect(await buildOf(first.body?.build_id)).toMatchObject({
      status: 'cancelled',
      error: 'A newer push came before its build began.',
    })
    expect(await buildOf(second.body?.build_id)).toMatchObject({ status: 'queued' })
    expect((await show(id))?.lastPush).toMatchObject({ commitSha: commit('2') })
  })

  test('the one that the code host says was made earlier is not built after the other', async () => {
    const { id, hook } = await linked()
    await sendPush(hook, { after: commit('2'), pushedAt: 1_900_000_001 })
    const late = await sendPush(hook, { after: commit('1'), pushedAt: 1_900_000_000 })
    expect(late).toMatchObject({
      status: 200,
      body: { message: 'Not built: A newer push came first.', build_id: null },
    })
    expect((await show(id))?.lastPush).toMatchObject({ commitSha: commit('2') })
  })

  test('that went back to an earlier commit, that commit is built again', async () => {
    const { hook } = await linked()
    const [first, , third] = [
      await sendPush(hook, { after: commit('1') }),
      await sendPush(hook, { after: commit('2') }),
      await sendPush(hook, { after: commit('1') }),
    ]
    expect(third.body?.build_id).toMatch(/^bld_/)
    expect(third.body?.build_id).not.toBe(first.body?.build_id)
  })

  test('unlinking cancels what waits', async () => {
    const { id, hook } = await linked()
    const { body } = await sendPush(hook)
    await unlink(id)
    expect(await buildOf(body?.build_id)).toMatchObject({ status: 'cancelled' })
  })
})

describe('a push is not built, and the function says why,', () => {
  const refused = async (
    hook: { url: string; secret: string },
    id: string,
    status: number,
    reason: string,
  ): Promise<void> => {
    const delivery = { 'x-github-delivery': randomUUID() }
    const answer = await sendPush(hook, {}, delivery)
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    expect((await show(id))?.lastPush).toMatchObject({
      buildId: null,
      reason: expect.stringContaining(reason) as string,
    })
  }

  test('while the account is disconnected; once it is connected again, the same delivery is built', async () => {
    const { id, hook } = await linked()
    await berth.call('DELETE', '/api/v1/codehost/disconnect', { token })
    const delivery = { 'x-github-delivery': randomUUID() }
    expect(await sendPush(hook, { pushedAt: 1_850_000_000 }, delivery)).toMatchObject({
      status: 400,
      body: { error: 'provider_not_connected' },
    })
    expect((await show(id))?.lastPush).toMatchObject({
      buildId: null,
      reason: expect.stringContaining('has disconnected their account') as string,
    })
    await connect(token)
    expect((await sendPush(hook, { pushedAt: 1_850_000_000 }, delivery)).body?.build_id).toMatch(/^bld_/)
    expect((await show(id))?.lastPush).toMatchObject({ build: { status: 'QUEUED' }, reason: null })
  })

  test('once whoever linked it has left, or may no longer deploy', async () => {
    const member = await berth.token('mona', 'acme', 'member')
    await connect(member)
    const id = await create(undefined, member)
    await link(id, {}, member)
    const hook = host.account('octocat').hooks.at(-1)?.config
    const at = { url: atBerth(hook?.['url'] ?? ''), secret: hook?.['secret'] ?? '' }
    const { userId } = idsOf(member)
    await sql`update memberships set role = 'viewer' where user_id = ${userId}`.execute(berth.services.db)
    await refused(at, id, 403, 'Your role viewer may not do this')
    await sql`update memberships set deactivated_at = now() where user_id = ${userId}`.execute(berth.services.db)
    await refused(at, id, 403, 'has left the organization')
  })

  test('when a build secret that the spec names is gone', async () => {
    const set = 'mutation { setBuildSecret(input: {name: "KEY", value: "v"}) { buildSecret { name } } }'
    expect((await berth.ask(set, { token })).body.errors).toBeUndefined()
    const { id, hook } = await linked({ spec: { secrets: ['KEY'] } })
    await sql`delete from build_secrets`.execute(berth.services.db)
    await refused(hook, id, 400, 'spec.secrets names KEY')
  })
})

async function nameOf(id: string): Promise<string> {
  return (await ask<{ name: string }>('query ($id: ID!) { function(id: $id) { name } }', { id })).name
}
