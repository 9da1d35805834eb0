/** Files that go along with requests: what the responder gets of them, and how they are served. How they leave a VM and get into one is in machines.vm.test.ts of the resources of sessions. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { answerHeader } from '#src/drivers/node/file-transfers.ts'
import { noMasker } from '#src/platform/masking.ts'
import { change, getOne, sql } from '#src/platform/postgres.ts'
import { askPeer, findAnswer } from '#src/resources/agents/peers/asking.ts'
import { findMissingAttachments } from '#src/resources/agents/peers/placing.ts'
import type { Session, SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import type { Placing } from '#src/resources/agents/tools/guest-placing.ts'
import { askOther } from '#workers/agents/peers.ts'
import type { StepRun } from '#workers/agents/step-runs.ts'
import { textOf } from '../../support/agent-sessions.ts'
import { callAgents } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { peerWorld, type Exchange, type PeerWorld } from './world.ts'

let berth: Berth
let own: PeerWorld
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  own = peerWorld(berth, await berth.token('alice', 'acme', 'member'))
})
afterAll(() => berth?.stop())

/** A file of this person's; its public id. */
async function upload(name: string, content: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const form = new FormData()
  form.set('file', new Blob([content]), name)
  const answer = await fetch(`${berth.url}/agents/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.token}` },
    body: form,
  })
  expect(answer.status, await answer.clone().text()).toBe(200)
  return ((await answer.json()) as { id: string }).id
}

/** Asks as a step of a session does that has read a file out of its VM; the exchange, once it has ended. */
async function askWith(asked: string, file: string): Promise<Exchange> {
  const { db } = berth.services
  const { id: sessionId, fence } = await getOne<{ id: string; fence: number }>(
    db,
    sql`
    update sessions set status = 'running', running_since = now(), step_fence = step_fence + 1, step_beat_at = now() + interval '1 hour'
    where id = ${decodeId('session', await own.idle())} returning id, step_fence as fence`,
  )
  const question = { id: newUuid(), named: asked, text: 'What is in it?', turnId: newUuid() }
  const asking = { ...question, fileId: decodeId('file', file) ?? null }
  expect(await askPeer(berth.services, { sessionId, fence }, asking)).toBe('waits')
  await until('it is answered', async () => (await findAnswer(berth.services, question.id)) !== 'waits')
  return (await own.exchange(encodeId('peerExchange', question.id))).body
}

const download = (id: string, method = 'GET'): Promise<Response> =>
  fetch(`${berth.url}/agents/v1/peer-exchanges/${id}/attachment`, {
    method,
    headers: { authorization: `Bearer ${own.token}` },
  })

test('a text is shown to a responder without a machine, and served as an attachment only, whatever its name and type', async () => {
  const name = `x'; filename=y%0d%0aset-cookie, ü\u202e (1).html`
  const content = '<script>alert(document.domain)</script>'
  const file = await upload(name, content)
  const asked = await own.begin(await own.agent(), null)
  const exchange = await askWith(asked, file)
  expect(exchange).toMatchObject({
    state: 'completed',
    attachment: {
      filename: name,
      media_type: 'text/html',
      size_bytes: content.length,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  })
  const [told, , , said] = await own.log(asked)
  expect(told?.['content']).toMatchObject([
    { type: 'text', text: expect.stringContaining('below') },
    { type: 'document', source: { type: 'file', file_id: file }, title: name },
  ])
  expect(textOf(said)).toContain(content) // the built-in model repeats what it reads
  for (const method of ['GET', 'HEAD']) {
    const answer = await download(exchange.id, method)
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html',
      'content-length': String(content.length),
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
      'cache-control': 'private, no-store',
    })
    const disposition = answer.headers.get('content-disposition') ?? ''
    const [, encoded] = /^attachment; filename="[\w .-]+"; filename\*=UTF-8''([\w.%-]+)$/.exec(disposition) ?? []
    expect(decodeURIComponent(encoded ?? ''), disposition).toBe(name)
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect(await answer.text()).toBe(method === 'GET' ? content : '')
  }
  const { paths } = (await (await fetch(`${berth.url}/agents/openapi.json`)).json()) as {
    paths: Record<string, { get: { responses: { 200: { content: object } } } }>
  }
  for (const path of ['/v1/peer-exchanges/{id}/attachment', '/v1/files/{id}/content'])
    expect(Object.keys(paths[path]?.get.responses[200].content ?? {}), path).toEqual(['*/*'])
})

test('it is kept for 30 days as a file of its owner’s, and gone once that is deleted', async () => {
  const file = await upload('data.bin', new Uint8Array([0, 1, 2, 255]))
  const asked = await own.begin(await own.agent(), null)
  const exchange = await askWith(asked, file)
  const { body } = await callAgents<{ expires_at: string }>(berth, own.token, 'GET', `/files/${file}`)
  const days = (Date.parse(body.expires_at) - Date.parse(exchange.created_at)) / 86_400_000
  expect(days).toBeCloseTo(30, 3)
  const [told] = await own.log(asked)
  expect(textOf(told)).toContain('which you cannot read, because you have no machine')
  expect(Buffer.from(await (await download(exchange.id)).arrayBuffer())).toEqual(Buffer.from([0, 1, 2, 255]))
  expect((await callAgents(berth, own.token, 'DELETE', `/files/${file}`)).status).toBe(200)
  expect((await download(exchange.id)).status).toBe(404)
  expect((await own.exchange(exchange.id)).body).toMatchObject({ state: 'completed', attachment: null })
})

test('a file comes into the machine of a responder that had answered without one, once', async () => {
  const { db } = berth.services
  const asked = await own.begin(await own.agent(), null)
  const file = await upload('data.csv', 'day,visits')
  const exchange = await askWith(asked, file)
  const session = { id: decodeId('session', asked) }
  const missing = async (vm = newUuid()) =>
    findMissingAttachments(berth.services, { session, vm: { id: vm } } as Placing) // of which it reads no more
  const path = `/home/user/peer/${exchange.id}/data.csv`
  expect(await missing()).toMatchObject([{ path }])
  const id = decodeId('peerExchange', exchange.id)
  await change(db, sql`update peer_exchange_events set status = 'submitted' where exchange_id = ${id}`)
  expect(await missing(), 'of a request that it was never given').toEqual([])
  await change(db, sql`update peer_exchange_events set status = 'working' where exchange_id = ${id}`)
  await change(
    db,
    sql`update peer_exchanges set attachment_vm_id = ${newUuid()}, attachment_placed_at = now() where id = ${id}`,
  )
  expect(await missing(), 'in another machine').toEqual([])
  await change(db, sql`update peer_exchanges set attachment_vm_id = null, attachment_placed_at = null where id = ${id}`)
  expect(await missing()).toHaveLength(1)
  expect((await callAgents(berth, own.token, 'DELETE', `/files/${file}`)).status).toBe(200)
  expect(await missing(), 'once it is deleted').toEqual([])
})

test('a file that shrinks while it is read fails the call, and not the step', async () => {
  const { db } = berth.services
  const facts = { sizeBytes: 10, modifiedMs: 1, etag: '"1"' }
  const part = { status: 200, startByte: 0, lengthBytes: 10 }
  const node = createServer((_, response) =>
    response.writeHead(200, { [answerHeader]: JSON.stringify({ facts, part, uploadedBytes: null }) }).end('half'),
  )
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
  try {
    const nodeId = await makeSilentNode(db)
    const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
    await change(db, sql`update nodes set agent_url = ${url} where id = ${nodeId}`)
    const vmId = decodeId('vm', await makeVmRow(db, own.token, nodeId))
    const made = await callAgents<{ id: string }>(berth, own.token, 'POST', '/environments', {
      name: 'box',
      config: { type: 'cloud' },
    })
    const environmentId = decodeId('environment', made.body.id) ?? null
    await change(
      db,
      sql`update environments set status = 'ready', vm_id = ${vmId}, prepared_vm_id = ${vmId} where id = ${environmentId}`,
    )
    const row = await getOne<Session>(
      db,
      sql`select * from sessions where id = ${decodeId('session', await own.idle())}`,
    )
    const run = {
      services: berth.services,
      session: { ...row, environmentId },
      over: new AbortController().signal,
      log: [],
    }
    const use = { id: newUuid() } as unknown as SessionEvent
    const input = { session_id: '?', text: 'What is in it?', path: 'data.bin' }
    expect(await askOther(run as unknown as StepRun, use, input, noMasker)).toMatchObject({
      isError: true,
      text: expect.stringContaining('/home/user/data.bin could not be sent: the file changed while it was read'),
    })
  } finally {
    node.close()
  }
})
