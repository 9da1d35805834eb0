/** Pushes to the linked repositories of functions: what becomes of them. Builds are only rows here. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import { openSource } from '#src/resources/infra/builds/sources.ts'
import { openSpec } from '#src/resources/infra/builds/specs.ts'
import { commit, deliver, sendPush, type PushGiven } from '../../support/code-host/pushes.ts'
import { idsOf } from '../../support/makers.ts'
import {
  ask,
  atBerth,
  berth,
  buildOf,
  connect,
  create,
  deployedBuilds,
  finish,
  host,
  link,
  linked,
  nameOf,
  running,
  show,
  token,
  unlink,
  useLinkedFunctions,
} from '../../support/code-host/linked-functions.ts'

useLinkedFunctions()

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

  test('to a link that is not there is refused before its body has come', async () => {
    const url = `${berth.url}/api/v1/codehost/pushes/${encodeId('functionRepository', newUuid())}`
    const sending = request(url, { method: 'POST', headers: { 'Content-Length': 1000 } })
    sending.flushHeaders()
    const [answer] = (await once(sending, 'response')) as [IncomingMessage]
    expect(answer.statusCode).toBe(401)
    sending.destroy()
  })

  test('a ping is answered, and other events are ignored', async () => {
    const { hook } = await linked()
    expect(await deliver(hook, '{"zen":"Design for failure."}', { 'x-github-event': 'ping' })).toMatchObject({
      status: 200,
    })
    expect(await deliver(hook, '{}', { 'x-github-event': 'issues' })).toMatchObject({ status: 204, body: null })
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

  test('that are both being built, the older one is deployed only while no newer one is', async () => {
    const { id, hook } = await linked()
    const builds: string[] = []
    for (const digit of ['1', '2', '3']) {
      const { body } = await sendPush(hook, { after: commit(digit) })
      builds.push(body?.build_id ?? '')
      await running(body?.build_id ?? '')
    }
    const [first = '', second = '', third = ''] = builds
    await Promise.all([finish(third), finish(second)])
    expect((await finish(first))?.status).toBe('succeeded')
    expect(await deployedBuilds(id)).not.toContain(first)
    expect((await deployedBuilds(id)).at(-1)).toBe(third)
    expect((await show(id))?.lastPush).toMatchObject({ commitSha: commit('3'), reason: null })
    const { reason, deployedAt } = await getOne<{ reason: string; deployedAt: string | null }>(
      berth.services.db,
      sql`select reason, deployed_at from function_pushes where build_id = ${decodeId('build', first)}`,
    )
    expect([reason, deployedAt]).toEqual(['A newer push is deployed already.', null])
  })

  test('that is being built when the repository is unlinked, nothing is deployed', async () => {
    const { id, hook } = await linked()
    const { body } = await sendPush(hook)
    await running(body?.build_id ?? '')
    await unlink(id)
    expect((await finish(body?.build_id ?? ''))?.status).toBe('succeeded')
    expect(await deployedBuilds(id)).toEqual([])
  })

  test('that is being built when its function gets another name, is deployed to that function', async () => {
    const { id, hook } = await linked()
    const { body } = await sendPush(hook)
    await running(body?.build_id ?? '')
    const name = `f-${randomUUID().slice(0, 8)}`
    await ask(
      'mutation ($id: ID!, $name: String) { updateFunction(input: {id: $id, name: $name}) { function { id } } }',
      { id, name },
    )
    await finish(body?.build_id ?? '')
    expect(await deployedBuilds(id)).toEqual([body?.build_id])
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
