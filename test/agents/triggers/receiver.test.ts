/** The receiver of GitHub's webhooks: who gets in, what is answered, and what is recorded. */
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { startBerth } from '../../support/berth.ts'
import { refusal } from '../../support/agents-service.ts'
import { deliverHook, hookSecret, payloads, repository } from '../../support/code-host/deliveries.ts'
import { idsOf } from '../../support/makers.ts'
import { clearRoom, fillRoom, nearRooms } from '../../platform/rooms/full-rooms.ts'
import { berth, connect, create, deliver, firesOf, makeAgent, useTriggers } from './trigger-world.ts'

const previous = 'webhook-secret-of-before'
useTriggers({ decides: false, settings: { GITHUB_WEBHOOK_SECRET_PREVIOUS: previous, ...nearRooms } })

const hmac = (body: string, secret = hookSecret): string => createHmac('sha256', secret).update(body).digest('hex')
const body = JSON.stringify(payloads.push())

describe('the receiver', () => {
  test('answers a ping, takes an event, and takes the secret of before too', async () => {
    const ping = { zen: 'Design for failure.', hook_id: 1, repository: repository() }
    expect(await deliver('ping', ping)).toMatchObject({ status: 200, body: { ok: true } })
    const delivery = randomUUID()
    const answer = await deliver('push', payloads.push(), { 'x-github-delivery': delivery })
    expect([answer.status, answer.body]).toEqual([202, { received: true, delivery_id: delivery, fires: 0 }])
    expect((await deliverHook(berth.url, 'push', payloads.push(), {}, previous)).status).toBe(202)
  })

  test.each([
    ['no signature', undefined],
    ['an empty one', ''],
    ['no digits', 'sha256='],
    ['a digit too few', `sha256=${hmac(body).slice(1)}`],
    ['a digit too many', `sha256=${hmac(body)}0`],
    ['the digits alone', hmac(body)],
    ['another algorithm', `sha1=${createHmac('sha1', hookSecret).update(body).digest('hex')}`],
    ['another algorithm’s name', `sha512=${hmac(body)}`],
    ['another body’s', `sha256=${hmac(`${body} `)}`],
    ['another secret’s', `sha256=${hmac(body, 'guessed-secret-guessed')}`],
    ['an empty secret’s', `sha256=${createHmac('sha256', '').update(body).digest('hex')}`],
    ['two signatures', `sha256=${hmac(body)}, sha256=${hmac(body)}`],
    ['zeros', `sha256=${'0'.repeat(64)}`],
    ['letters that are no digits', `sha256=${'g'.repeat(64)}`],
    ['base64', `sha256=${createHmac('sha256', hookSecret).update(body).digest('base64')}`],
    ['a long text', `sha256=${'a'.repeat(5000)}`],
  ])('refuses %s', async (_, signature) => {
    const answer = await deliverHook(berth.url, 'push', body, { 'x-hub-signature-256': signature })
    expect(answer).toMatchObject(refusal(401, 'unauthorized'))
    expect(answer.body['error']).toMatchObject({ type: 'authentication_error' })
  })

  test.each([
    ['no event', { 'x-github-event': undefined }],
    ['no id', { 'x-github-delivery': undefined }],
    ['an id with spaces', { 'x-github-delivery': 'a b' }],
    ['a long id', { 'x-github-delivery': 'x'.repeat(101) }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a text', { 'content-type': 'text/plain' }],
  ])('refuses %s, though the signature is right', async (_, headers) => {
    expect(await deliverHook(berth.url, 'push', body, headers)).toMatchObject(refusal(400, 'invalid_request'))
  })

  test.each(['', '[]', '{', 'null', '5', '"push"', '["a",'.repeat(200)])(
    'refuses the signed body %j, which is no event',
    async (text) => {
      expect(await deliverHook(berth.url, 'push', text)).toMatchObject(refusal(400, 'invalid_request'))
    },
  )

  test.each([
    {},
    { repository: null },
    { repository: { full_name: 5 } },
    { repository: { full_name: 'a/b', id: 'x' } },
  ])('takes the event %j of no repository that is known', async (payload) => {
    expect(await deliver('push', payload)).toMatchObject({ status: 202, body: { fires: 0 } })
  })

  test('refuses 26 MB before they have come, and a stranger’s body too', async () => {
    const head = async (headers: Record<string, string | number>): Promise<number | undefined> => {
      const sending = request(`${berth.url}/agents/v1/hooks/github`, { method: 'POST', headers })
      sending.flushHeaders()
      const [answer] = (await once(sending, 'response')) as [IncomingMessage]
      sending.destroy()
      return answer.statusCode
    }
    const signed = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }
    expect(await head({ ...signed, 'content-length': 26 * 1024 * 1024 })).toBe(413)
    expect(await head({ 'content-type': 'application/json', 'content-length': 1000 })).toBe(401)
  })

  test('takes nothing without a secret, and says which setting is missing', async () => {
    const without = await startBerth()
    const answer = await deliverHook(without.url, 'push', body)
    await without.stop()
    expect(answer).toMatchObject(refusal(401, 'unauthorized'))
    expect(JSON.stringify(answer.body)).toContain('GITHUB_WEBHOOK_SECRET')
  })
})

describe('a delivery', () => {
  test('is one fire for each trigger that listens, whose job is committed with it; again it only counts', async () => {
    const [one, two, other] = [
      await create({ events: ['pull_request.opened'] }),
      await create({ events: ['pull_request'] }),
      await create({ events: ['pull_request.closed', 'push'] }),
    ]
    const delivery = { 'x-github-delivery': randomUUID() }
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map(() => deliver('pull_request', payloads.pull_request(), delivery)),
    )
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202])
    expect(answers.reduce((sum, answer) => sum + Number(answer.body['fires']), 0)).toBe(2)
    const again = await deliver('pull_request', payloads.pull_request(), delivery)
    expect(again.body['fires']).toBe(0)
    for (const { id } of [one, two]) {
      const fires = await firesOf(id)
      expect(fires).toMatchObject([
        {
          type: 'trigger_fire',
          trigger_id: id,
          status: 'pending',
          redelivery_count: 5,
          event: 'pull_request',
          action: 'opened',
          sender: null,
        },
      ])
    }
    expect(await firesOf(other.id)).toEqual([])
    const jobs = await sql<{ count: string }>`
      select count(*) from pgboss.job where name = 'triggers-fire' and data->>'fireId' in (
        select id::text from trigger_fires where delivery = ${delivery['x-github-delivery']})`.execute(
      berth.services.db,
    )
    expect(Number(jobs.rows[0]?.count)).toBe(2)
  })

  test('of a repository with another id is nobody’s, though it has the name; a renamed one’s still is', async () => {
    const { id } = await create()
    const stolen = payloads.push({ repository: repository('octocat/site', 777) })
    expect((await deliver('push', stolen)).body['fires']).toBe(0)
    expect(await firesOf(id)).toEqual([])
    const renamed = payloads.push({ repository: repository('octocat/renamed') })
    await deliver('push', renamed)
    expect(await firesOf(id)).toMatchObject([{ repo: 'octocat/renamed', status: 'pending' }])
  })

  test('keeps what cannot be stored as text out of the tables', async () => {
    await create({ events: ['issues'] })
    const hostile = payloads.issues()
    ;(hostile['issue'] as Record<string, unknown>)['title'] = 'a\u0000b\ud800'
    const text = JSON.stringify(hostile)
    expect((await deliverHook(berth.url, 'issues', text)).status).toBe(202)
  })
})

test('a delivery beyond an organization’s room is refused, and taken when there is room again', async () => {
  const nina = await berth.token('nina', 'hoarders')
  await connect(nina)
  await create({ agent: await makeAgent(nina), events: ['release.published'] }, nina)
  const delivery = randomUUID()
  const send = () => deliver('release', payloads.release(), { 'x-github-delivery': delivery })
  await fillRoom(berth, nina, 'deliveries')
  expect(await send()).toMatchObject(refusal(429, 'rate_limited'))
  await clearRoom(berth, nina, 'deliveries')
  expect((await send()).body).toMatchObject({ fires: 1 })
})

test('what an organization takes no more is refused, and can be delivered again; what others take is taken', async () => {
  const eve = await berth.token('eve', 'busy') // of whose organization nothing was delivered yet
  await connect(eve)
  const full = await create({ agent: await makeAgent(eve), events: ['release.published'] }, eve)
  const other = await create({ events: ['release.published'] })
  const bucket = `trigger-deliveries:${idsOf(eve).organizationId}`
  await sql`insert into rate_buckets (bucket, tokens, granted, refilled_at) values (${bucket}, -1000000, 0, now())`.execute(
    berth.services.db,
  )
  const delivery = randomUUID()
  const send = () => deliver('release', payloads.release(), { 'x-github-delivery': delivery })
  expect(await send()).toMatchObject(refusal(429, 'rate_limited'))
  expect([await firesOf(full.id, eve), await firesOf(other.id)]).toMatchObject([[], [{ redelivery_count: 0 }]])
  await sql`delete from rate_buckets where bucket = ${bucket}`.execute(berth.services.db)
  expect((await send()).body).toMatchObject({ fires: 1 })
  expect([await firesOf(full.id, eve), await firesOf(other.id)]).toMatchObject([
    [{ redelivery_count: 0 }],
    [{ redelivery_count: 1 }],
  ])
})
