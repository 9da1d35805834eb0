/** How webhooks are delivered: attempts, refusals, rests, ends, replays, and what one organization may take. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createWebhookPoster } from '#src/drivers/webhook-posts.ts'
import { decodeId } from '#src/platform/ids.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { emitWebhookEvents } from '#src/resources/infra/webhooks/emit.ts'
import { claimDeliveries, recordAttempt } from '#src/resources/infra/webhooks/queue.ts'
import { forgetWebhookEvents } from '#src/resources/infra/webhooks/retention.ts'
import { deliverWebhooks } from '#workers/infra/webhooks.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'
import { alter, hurry, startReceiver, unwrap, webhooksOf, type Receiver } from './receiver.ts'

let berth: Berth
let receiver: Receiver
let mine: ReturnType<typeof webhooksOf>
let organizationId: string
beforeAll(async () => {
  receiver = await startReceiver()
  berth = await startBerth({ settings: { BERTH_PRIVATE_HOSTS: receiver.host, BERTH_RATE_LIMIT_FACTOR: '100' } })
  deliverWebhooks(berth.services)
  mine = webhooksOf(berth, await berth.token())
  const { webhookEndpoint } = await mine.create({ url: receiver.url('/first'), eventTypes: ['BUILD_FAILED'] })
  const { shown } = await mine.done<{ shown: { organizationId: string } }>(
    `{ shown: webhookEndpoint(id: "${webhookEndpoint.id}") { organizationId } }`,
  )
  organizationId = decodeId('organization', shown.organizationId) ?? ''
  await mine.remove(webhookEndpoint.id)
})
afterAll(async () => {
  await berth?.stop()
  await receiver?.close()
})

/** An endpoint at this path that wants nothing by itself, and its secret. */
const listening = async (path: string) => {
  const { webhookEndpoint, secret } = await mine.create({ url: receiver.url(path), eventTypes: ['BACKUP_FAILED'] })
  return { id: webhookEndpoint.id, secret }
}
const settled = async (id: string, status: 'SUCCEEDED' | 'FAILED') => {
  await until(`the delivery has ${status}`, async () => (await mine.delivery(id)).status === status)
  return mine.delivery(id)
}
const attempted = async (id: string, count: number) => {
  await until(`${count} attempts`, async () => (await mine.delivery(id)).attemptCount >= count)
  return mine.delivery(id)
}

test('a refused event is sent again, with the same id and body, until the endpoint takes it', async () => {
  const { id, secret } = await listening('/refusing')
  receiver.answer('/refusing', (response) => void response.writeHead(500).end(`no, and your secret is ${secret}`))
  const { id: delivery } = await mine.test(id)
  const refused = await attempted(delivery, 1)
  expect(refused).toMatchObject({ status: 'PENDING', responseStatus: 500, problem: 'It answered 500.' })
  expect(refused.attempts).toMatchObject([
    { number: 1, responseStatus: 500, problem: 'It answered 500.', answer: 'no, and your secret is ***' },
  ])
  expect(Date.parse(refused.nextAttemptAt ?? '')).toBeGreaterThan(
    Date.parse(refused.attempts[0]?.startedAt ?? '') + 500,
  )
  expect(await mine.endpoint(id)).toMatchObject({ failuresInARow: 1, enabled: true, lastProblem: 'It answered 500.' })
  receiver.answer('/refusing', 204)
  await hurry(berth)
  expect(await settled(delivery, 'SUCCEEDED')).toMatchObject({ attemptCount: 2, responseStatus: 204, problem: null })
  const [first, second] = await receiver.got('/refusing', 2)
  expect(second?.body).toBe(first?.body)
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  expect(await mine.endpoint(id)).toMatchObject({ failuresInARow: 0, heldUntil: null })
  await mine.remove(id)
})

test('after ten attempts a delivery has failed; it can be replayed for thirty days', async () => {
  const { id, secret } = await listening('/broken')
  receiver.answer('/broken', 503)
  const { id: delivery } = await mine.test(id)
  for (let attempt = 1; attempt < 10; attempt++) {
    await attempted(delivery, attempt)
    await hurry(berth)
  }
  const failed = await settled(delivery, 'FAILED')
  expect(failed).toMatchObject({ attemptCount: 10, nextAttemptAt: null, responseStatus: 503 })
  expect(failed.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  receiver.answer('/broken', 200)
  await alter(berth, sql`update webhook_endpoints set held_until = null`)
  expect(await mine.replay(delivery)).toMatchObject({ id: delivery, status: 'PENDING' })
  await settled(delivery, 'SUCCEEDED')
  const received = await receiver.got('/broken', 11)
  expect(new Set(received.map((one) => unwrap(one, secret).id)).size).toBe(1)
  await alter(berth, sql`update webhook_deliveries set created_at = created_at - interval '31 days'`)
  await expect(mine.replay(delivery)).rejects.toThrow('older than 30 days')
  await mine.remove(id)
})

test('an endpoint that answers 410 is disabled, and what waits for it has failed until it is enabled again', async () => {
  const { id } = await listening('/gone')
  receiver.answer('/gone', 410)
  const { id: delivery } = await mine.test(id)
  expect(await settled(delivery, 'FAILED')).toMatchObject({ attemptCount: 1, responseStatus: 410 })
  expect(await mine.endpoint(id)).toMatchObject({ enabled: false, disabledReason: 'GONE' })
  await expect(mine.replay(delivery)).rejects.toThrow('This endpoint is disabled')
  await expect(mine.test(id)).rejects.toThrow('This endpoint is disabled')
  receiver.answer('/gone', 200)
  expect(await mine.update({ id, enabled: true })).toMatchObject({
    enabled: true,
    disabledReason: null,
    failuresInARow: 0,
  })
  await mine.replay(delivery)
  await settled(delivery, 'SUCCEEDED')
  await expect(mine.replay('whd_x')).rejects.toThrow('There is no such webhook delivery')
  await mine.remove(id)
})

test('twenty failures in a row disable an endpoint, and say so', async () => {
  const { id } = await listening('/failing')
  receiver.answer('/failing', 500)
  await alter(berth, sql`update webhook_endpoints set failures = 18 where id = ${decodeId('webhookEndpoint', id)}`)
  const { id: delivery } = await mine.test(id)
  await attempted(delivery, 1)
  expect(await mine.endpoint(id)).toMatchObject({ enabled: true, failuresInARow: 19 })
  await hurry(berth)
  expect(await settled(delivery, 'FAILED')).toMatchObject({ problem: expect.stringContaining('disabled meanwhile') })
  expect(await mine.endpoint(id)).toMatchObject({ enabled: false, disabledReason: 'FAILURES', failuresInARow: 20 })
  await mine.remove(id)
})

test('enabled is true or false, and null changes nothing', async () => {
  const { webhookEndpoint } = await mine.create({ url: receiver.url('/kept') })
  await expect(mine.update({ id: webhookEndpoint.id, enabled: null })).rejects.toThrow('enabled cannot be null.')
  await expect(mine.create({ url: receiver.url('/kept'), enabled: null })).rejects.toThrow('enabled cannot be null.')
  expect(await mine.endpoint(webhookEndpoint.id)).toEqual(webhookEndpoint)
  await mine.remove(webhookEndpoint.id)
})

test('redirects are not followed, and a private address behind an endpoint is not reached', async () => {
  const { id } = await listening('/moved')
  receiver.answer('/moved', (response) => void response.writeHead(302, { location: '/elsewhere' }).end())
  const { id: moved } = await mine.test(id)
  expect((await attempted(moved, 1)).problem).toBe('It answered 302, a redirect; those are not followed.')
  expect(receiver.at('/elsewhere')).toEqual([])
  const inside = `https://127.0.0.1:${Number(receiver.host.split(':')[1]) + 1}/`
  await alter(berth, sql`update webhook_endpoints set url = ${inside}, held_until = null, failures = 0`)
  const { id: refused } = await mine.test(id)
  expect(await attempted(refused, 1)).toMatchObject({
    responseStatus: null,
    problem: 'Loopback addresses may not be reached.',
  })
  await mine.remove(id)
})

test('an endpoint that is silent, or drips, holds nothing for longer than its time', async () => {
  receiver.answer('/silent', () => undefined)
  receiver.answer('/dripping', (response) => void response.writeHead(500).write('no'))
  const poster = createWebhookPoster({ privateHosts: [receiver.host] }, { atOnce: 2 })
  const post = (path: string) =>
    poster.post({
      url: receiver.url(path),
      headers: {},
      body: '{}',
      limitMs: 300,
      answerBytes: 10,
      signal: new AbortController().signal,
    })
  expect(await post('/silent')).toEqual({
    responseStatus: null,
    problem: 'It did not answer within 0.3 s.',
    answer: null,
  })
  expect(await post('/dripping')).toEqual({ responseStatus: 500, problem: 'It answered 500.', answer: 'no' })
  await poster.close()
})

test('a silent endpoint has four requests under way, and others are told meanwhile', async () => {
  const { id } = await listening('/stuck')
  receiver.answer('/stuck', () => undefined)
  for (let at = 0; at < 9; at++) await mine.test(id)
  await receiver.got('/stuck', 4)
  const theirs = webhooksOf(berth, await berth.token('eve', 'evil'))
  const { webhookEndpoint } = await theirs.create({ url: receiver.url('/evil') })
  await theirs.test(webhookEndpoint.id)
  await receiver.got('/evil', 1, 5000)
  expect(receiver.at('/stuck')).toHaveLength(4)
  await mine.remove(id)
})

test('while a secret is rotated both sign, and afterwards only the new one', async () => {
  const { id, secret: old } = await listening('/rotated')
  const { secret, webhookEndpoint } = await mine.rotate({ id, previousSecretHours: 1 })
  expect(Date.parse(webhookEndpoint.previousSecretUntil ?? '') - Date.now()).toBeGreaterThan(3_500_000)
  await mine.test(id)
  const [both] = await receiver.got('/rotated', 1)
  if (!both) throw new Error('nothing came')
  expect(String(both.headers['webhook-signature']).split(' ')).toHaveLength(2)
  expect(unwrap(both, old)).toEqual(unwrap(both, secret))
  await mine.rotate({ id, previousSecretHours: 0 })
  await mine.test(id)
  const [, one] = await receiver.got('/rotated', 2)
  if (!one) throw new Error('nothing came')
  expect(() => unwrap(one, old)).toThrow()
  expect(() => unwrap(one, secret)).toThrow()
  await mine.remove(id)
})

test('what a killed worker had claimed is sent by another, and its late result counts no more', async () => {
  const other = await startBerth({ settings: { BERTH_PRIVATE_HOSTS: receiver.host } })
  try {
    const theirs = webhooksOf(other, await other.token())
    const { webhookEndpoint } = await theirs.create({ url: receiver.url('/killed') })
    const { id: delivery } = await theirs.test(webhookEndpoint.id)
    const [dead] = await claimDeliveries(other.services.db, 10) // its worker dies now
    if (!dead) throw new Error('nothing was due')
    expect(await claimDeliveries(other.services.db, 10)).toEqual([])
    await alter(
      other,
      sql`update webhook_deliveries set claimed_until = now() - interval '1 s', next_attempt_at = now() - interval '1 s'`,
    )
    deliverWebhooks(other.services)
    await receiver.got('/killed', 1)
    await until('it is recorded', async () => (await theirs.delivery(delivery)).status === 'SUCCEEDED')
    const late = { startedAt: new Date(), durationMs: 1, responseStatus: 500, problem: 'late', answer: null }
    await recordAttempt(other.services.db, dead, late)
    expect(await theirs.delivery(delivery)).toMatchObject({ status: 'SUCCEEDED', attemptCount: 1, problem: null })
  } finally {
    await other.stop()
  }
})

test('events are there if and only if their change is, once for each endpoint that wants them', async () => {
  const [one, other] = [await listening('/both-1'), await listening('/both-2')]
  const happened = { type: 'backup.failed', id: 'bkp_x' } as const
  const failing = transaction(berth.services.db, async (tx) => {
    await emitWebhookEvents(tx, organizationId, [happened])
    throw new Error('the change failed')
  })
  await expect(failing).rejects.toThrow('the change failed')
  await transaction(berth.services.db, (tx) =>
    emitWebhookEvents(tx, organizationId, [happened, { type: 'backup.completed', id: 'bkp_x' }]),
  )
  await receiver.got('/both-1', 1)
  await receiver.got('/both-2', 1)
  for (const { id } of [one, other])
    expect((await mine.deliveries(id)).nodes).toMatchObject([{ event: { type: 'BACKUP_FAILED', subjectId: 'bkp_x' } }])
  await mine.remove(one.id)
  await mine.remove(other.id)
})

test('an endpoint for which too much waits gets the rest by a replay', async () => {
  const { id } = await listening('/full')
  const endpointId = decodeId('webhookEndpoint', id)
  await alter(berth, sql`update webhook_endpoints set held_until = now() + interval '1 hour' where id = ${endpointId}`)
  await alter(
    berth,
    sql`
    with made as (insert into webhook_events (id, organization_id, type, subject_id)
      select gen_random_uuid(), ${organizationId}::uuid, 'backup.failed', 'bkp_x' from generate_series(1, 2000) returning id)
    insert into webhook_deliveries (id, organization_id, endpoint_id, event_id, status, next_attempt_at)
    select gen_random_uuid(), ${organizationId}::uuid, ${endpointId}::uuid, id, 'pending', now() from made`,
  )
  await transaction(berth.services.db, (tx) =>
    emitWebhookEvents(tx, organizationId, [{ type: 'backup.failed', id: 'bkp_full' }]),
  )
  const { nodes } = await mine.deliveries(id, { statuses: ['FAILED'] })
  expect(nodes).toMatchObject([
    { event: { subjectId: 'bkp_full' }, problem: expect.stringContaining('2000 deliveries') },
  ])
  await mine.update({ id, enabled: false })
  expect((await mine.deliveries(id, { statuses: ['PENDING'] })).totalCount).toBe(0)
  await alter(
    berth,
    sql`update webhook_events set created_at = now() - interval '31 days' where organization_id = ${organizationId}`,
  )
  await forgetWebhookEvents(berth.services.db)
  expect((await mine.deliveries(id)).totalCount).toBe(0)
  await mine.remove(id)
})

test.each<[object, string]>([
  [{ url: 'http://example.com/' }, 'url must be an https:// address'],
  [{ url: 'https://10.0.0.1/' }, 'public address'],
  [{ url: 'https://[::1]/' }, 'public address'],
  [{ url: 'https://localhost/' }, 'public address'],
  [{ url: 'https://169.254.169.254/latest' }, 'public address'],
  [{ url: 'https://0x7f000001/' }, 'public address'],
  [{ url: 'https://user:secret@example.com/' }, 'without a user name'],
  [{ url: `https://example.com/${'x'.repeat(2048)}` }, '2048 characters'],
  [{ url: 'file:///etc/passwd' }, 'https://'],
  [{ url: '' }, 'https://'],
  [{ url: 'https://example.com/', eventTypes: [] }, 'at least one type'],
  [{ url: 'https://example.com/', description: 'x'.repeat(2049) }, '2048 characters'],
  [{ url: 'https://example.com/', description: 'a\u0000b' }, 'NUL'],
  [{ url: 'https://example.com/', eventTypes: ['VM_FLEW'] }, 'eventTypes[0]'],
  [{ url: 'https://example.com/', color: 'red' }, 'color'],
])('%j makes no endpoint', async (input, words) => {
  await expect(mine.create(input)).rejects.toThrow(words)
})

test('an organization has sixteen endpoints at most, and a secret is kept for a week at most', async () => {
  const made = await Promise.all(
    Array.from({ length: 16 }, (_, at) => mine.create({ url: `https://example.com/${at}` })),
  )
  await expect(mine.create({ url: 'https://example.com/more' })).rejects.toThrow('16 webhook endpoints')
  const id = made[0]?.webhookEndpoint.id
  for (const previousSecretHours of [-1, 169])
    await expect(mine.rotate({ id, previousSecretHours })).rejects.toThrow('0 to 168')
  for (const { webhookEndpoint } of made) await mine.remove(webhookEndpoint.id)
})

test('whoever follows an endpoint hears of each attempt, and resumes after a cursor', async () => {
  const { id } = await listening('/followed')
  const follow = async (after: string): Promise<Record<string, unknown>> => {
    const ending = new AbortController()
    const answer = await fetch(`${berth.url}/graphql`, {
      method: 'POST',
      signal: ending.signal,
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        authorization: `Bearer ${await berth.token()}`,
      },
      body: JSON.stringify({
        query: `subscription ($id: ID!, $after: String) { webhookDeliveryEvents(endpointId: $id, after: $after) { ... on WebhookDeliveryEvent { cursor status deliveryId delivery { status } attempt { number responseStatus } } } }`,
        variables: { id, after },
      }),
    })
    let text = ''
    for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      const found = /data: (.*"cursor".*)\n/.exec(text)?.[1]
      if (found) {
        ending.abort()
        return (JSON.parse(found) as { data: { webhookDeliveryEvents: Record<string, unknown> } }).data
          .webhookDeliveryEvents
      }
    }
    throw new Error(`the stream ended: ${text}`)
  }
  const first = await mine.test(id)
  await settled(first.id, 'SUCCEEDED')
  const second = await mine.test(id)
  await settled(second.id, 'SUCCEEDED')
  expect(await follow('0')).toMatchObject({ cursor: '1', status: 'SUCCEEDED', deliveryId: first.id })
  expect(await follow('1')).toMatchObject({
    cursor: '2',
    deliveryId: second.id,
    attempt: { number: 1, responseStatus: 200 },
  })
  const live = follow('2')
  const third = await mine.test(id)
  expect(await live).toMatchObject({ cursor: '3', deliveryId: third.id })
  await mine.remove(id)
})
