/** Functions that are linked to a repository: linking, unlinking, and whoever has no secret. */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { encodeId, newId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { commit, deliver, sendPush, signed } from '../../support/code-host/pushes.ts'
import { idsOf, makeKey } from '../../support/makers.ts'
import {
  ask,
  atBerth,
  berth,
  connect,
  create,
  host,
  link,
  linked,
  show,
  token,
  unlink,
  useLinkedFunctions,
} from '../../support/code-host/linked-functions.ts'

useLinkedFunctions()

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
