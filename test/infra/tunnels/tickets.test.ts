/** Who opens tunnels: tickets, roles at each moment, limits, and what the socket refuses. */
import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { tunnelLimits } from '#src/platform/limits/tunnels.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { change as write, findAll, getOne, sql } from '#src/platform/postgres.ts'
import { beginStream } from '#src/platform/streams/open-streams.ts'
import { beginBrowserSession } from '#src/resources/identity/browser-sessions.ts'
import { deactivateMembership } from '#src/resources/identity/memberships.ts'
import { readPublicKey } from '#src/resources/infra/tunnels/public-keys.ts'
import { tunnelRetention } from '#src/resources/infra/tunnels/tickets.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf, makeKey, makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { startTerminalNode, type TerminalNode } from '../terminals/clients.ts'
import { startListening, TunnelClient, type Listening } from './clients.ts'

let berth: Berth
let node: TerminalNode
let token: string
let echo: Listening
const clients: TunnelClient[] = []
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await startTerminalNode(berth.services)
  echo = await startListening((socket) => void socket.pipe(socket))
})
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.terminate()
  await until('no tunnel is open', () => node.inUse() === 0)
})
afterAll(async () => {
  await echo.stop()
  await node.stop([])
  await berth.stop()
})

const db = () => berth.services.db
const makeVm = (whose = token) => makeVmRow(db(), whose, node.id)
type Sent = Parameters<Berth['ask']>[1]
const asked = (vm: string, port: number | string, more: Sent = { token }) =>
  berth.ask(`mutation { createTunnelTicket(input: { vmId: "${vm}", port: ${port} }) { ticket } }`, more)
async function ticketFor(vm: string, more: Sent = { token }, port = echo.port): Promise<string> {
  const { body } = await asked(vm, port, more)
  expect(body.errors).toBeUndefined()
  const made = body.data?.['createTunnelTicket'] as { ticket: string }
  return made.ticket
}
const codeOf = ({ body }: Awaited<ReturnType<Berth['ask']>>) => body.errors?.[0]?.extensions.code
function open(ticket: string, headers: Record<string, string> = {}): Promise<TunnelClient> {
  const client = new TunnelClient(berth.url, headers)
  clients.push(client)
  return client.open(ticket)
}
async function refusal(ticket: string, headers: Record<string, string> = {}) {
  const client = await open(ticket, headers)
  return { ...(await client.closed), told: client.told[0] }
}
const membershipOf = async ({ userId, organizationId } = idsOf(token)) =>
  (
    await getOne<{ id: string }>(
      db(),
      sql`select id from memberships where user_id = ${userId} and organization_id = ${organizationId} and deactivated_at is null`,
    )
  ).id

describe('a ticket', () => {
  test('is used once, by whoever comes first', async () => {
    const ticket = await ticketFor(await makeVm())
    const both = await Promise.all([open(ticket), open(ticket)])
    expect(both.map(({ told }) => told[0]?.type).sort((one = '', other = '') => one.localeCompare(other))).toEqual([
      'error',
      'opened',
    ])
    expect(await refusal(ticket)).toMatchObject({
      code: 4401,
      told: { code: 'unauthorized', message: expect.stringContaining('createTunnelTicket') as string },
    })
  })

  test('is kept as a digest, refused after its time, and when there never was one; and goes by itself', async () => {
    const vm = await makeVm()
    const ticket = await ticketFor(vm)
    const rows = () => findAll<object>(db(), sql`select * from tunnel_tickets where vm_id = ${decodeId('vm', vm)}`)
    expect(await rows()).toHaveLength(1)
    expect(JSON.stringify(await rows())).not.toContain(ticket)
    await write(db(), sql`update tunnel_tickets set expires_at = now() where vm_id = ${decodeId('vm', vm)}`)
    expect((await refusal(ticket)).code).toBe(4401)
    for (const one of ['x'.repeat(43), 'x'.repeat(500), '']) expect((await refusal(one)).code).toBe(4401)
    await ticketFor(vm)
    await write(db(), sql`update tunnel_tickets set expires_at = now() where vm_id = ${decodeId('vm', vm)}`)
    for (const { forget } of tunnelRetention) await forget(berth.services)
    expect(await rows()).toEqual([])
  })

  test('of a member who has become a viewer is refused, and of one who has left', async () => {
    const bob = await berth.token('bob', 'acme', 'member')
    const vm = await makeVm(bob)
    const [first, second] = [await ticketFor(vm, { token: bob }), await ticketFor(vm, { token: bob })]
    const membership = await membershipOf(idsOf(bob))
    await write(db(), sql`update memberships set role = 'viewer' where id = ${membership}`)
    expect(await refusal(first)).toMatchObject({ code: 4403, told: { code: 'not_permitted_for_role' } })
    await deactivateMembership(db(), membership)
    expect(await refusal(second)).toMatchObject({ code: 4401 })
  })

  test('of a key that was revoked is refused, and of one that holds is taken', async () => {
    const { key, keyId } = await makeKey(berth, token)
    const vm = await makeVm()
    const [first, second] = [await ticketFor(vm, { token: key }), await ticketFor(vm, { token: key })]
    expect((await open(first)).told[0]).toEqual({ type: 'opened' })
    await write(db(), sql`update api_keys set revoked_at = now() where key_id = ${keyId}`)
    expect(await refusal(second)).toMatchObject({ code: 4401, told: { code: 'unauthorized' } })
  })

  test('of a session in a browser holds for our own pages only', async () => {
    const { userId } = idsOf(token)
    const { secret } = await beginBrowserSession(db(), { userId, userAgent: 'test', address: '127.0.0.1' })
    const vm = await makeVm()
    const ofSession = async (): Promise<string> => {
      const ticket = await ticketFor(vm)
      await write(
        db(),
        sql`update tunnel_tickets set rights = jsonb_set(rights, '{browserSessionId}',
          (select to_jsonb(id::text) from browser_sessions where user_id = ${userId} order by created_at desc limit 1))
        where vm_id = ${decodeId('vm', vm)}`,
      )
      return ticket
    }
    expect(secret).not.toBe('')
    const own = { origin: `http://localhost:${berth.port}`, host: `localhost:${berth.port}` }
    expect(await refusal(await ofSession(), { origin: 'https://elsewhere.example' })).toMatchObject({ code: 4403 })
    expect((await refusal(await ofSession())).code).toBe(4403)
    expect((await open(await ofSession(), own)).told[0]).toEqual({ type: 'opened' })
    const last = await ofSession()
    await write(db(), sql`delete from browser_sessions where user_id = ${userId}`)
    expect((await refusal(last, own)).code).toBe(4401)
  })
})

test('a tunnel is cut within seconds when whoever asked for its ticket may no longer write', async () => {
  const carol = await berth.token('carol', 'acme', 'member')
  const client = await open(await ticketFor(await makeVm(carol), { token: carol }))
  expect(client.told[0]).toEqual({ type: 'opened' })
  await deactivateMembership(db(), await membershipOf(idsOf(carol)))
  expect(await client.closed).toMatchObject({ code: 4401 })
  expect(client.told.at(-1)).toMatchObject({ type: 'error', code: 'unauthorized' })
})

test('a tunnel ends with its VM, which its user stops', async () => {
  const vm = await makeVm()
  const client = await open(await ticketFor(vm))
  await write(db(), sql`update vms set status = 'stopped' where id = ${decodeId('vm', vm)}`)
  expect(await client.closed).toMatchObject({ code: 4400, reason: expect.stringContaining('stopped') as string })
})

test('a VM that is deleted ends its tunnels, and its tickets open none', async () => {
  const vm = await makeVm()
  const [client, ticket] = [await open(await ticketFor(vm)), await ticketFor(vm)]
  await write(db(), sql`update vms set status = 'deleted' where id = ${decodeId('vm', vm)}`)
  expect(await refusal(ticket)).toMatchObject({ code: 4404, told: { code: 'not_found' } })
  expect(await client.closed).toMatchObject({ code: 4404 })
  expect(codeOf(await asked(vm, 5432))).toBe('NOT_FOUND')
})

test.each([
  ['a VM that is stopped', 'stopped', '5432', 'INVALID_REQUEST'],
  ['port 0', 'running', '0', 'INVALID_REQUEST'],
  ['port 65536', 'running', '65536', 'INVALID_REQUEST'],
])('%s makes no ticket', async (_, status, port, code) => {
  const vm = await makeVmRow(db(), token, node.id, { status })
  expect(codeOf(await asked(vm, port))).toBe(code)
  expect(await findAll(db(), sql`select 1 from tunnel_tickets where vm_id = ${decodeId('vm', vm)}`)).toEqual([])
})

test('another organization finds no VM, a viewer may not, and a node that is away is said', async () => {
  const vm = await makeVm()
  expect(codeOf(await asked(vm, 5432, { token: await berth.token('mallory', 'elsewhere') }))).toBe('NOT_FOUND')
  const viewer = await berth.token('vera', 'acme', 'viewer')
  expect(codeOf(await asked(vm, 5432, { token: viewer }))).toBe('NOT_PERMITTED_FOR_ROLE')
  const away = await makeVmRow(db(), token, await makeSilentNode(db()))
  expect(await refusal(await ticketFor(away))).toMatchObject({ code: 1013, told: { code: 'vm_unreachable' } })
})

test('an organization has only so many, and those that end make room', async () => {
  const vm = await makeVm()
  const whose = `tunnels of ${encodeId('organization', idsOf(token).organizationId)}`
  const others = Array.from({ length: tunnelLimits.perOrganization - 1 }, () =>
    beginStream('tunnel', whose, tunnelLimits.perOrganization),
  )
  const last = await open(await ticketFor(vm))
  expect(last.told[0]).toEqual({ type: 'opened' })
  expect(await refusal(await ticketFor(vm))).toMatchObject({ code: 4429, told: { code: 'rate_limited' } })
  for (const end of others) end()
  expect((await open(await ticketFor(vm))).told[0]).toEqual({ type: 'opened' })
})

test('a VM has only so many', async () => {
  const vm = await makeVm()
  const { connectionsPerVm } = tunnelLimits
  for (let at = 0; at < connectionsPerVm; at++)
    expect((await open(await ticketFor(vm))).told[0]).toEqual({ type: 'opened' })
  expect(await refusal(await ticketFor(vm))).toMatchObject({ code: 1013, told: { code: 'capacity_unavailable' } })
  clients[0]?.socket.close()
  await until('one has ended', () => node.inUse() < connectionsPerVm)
  expect((await open(await ticketFor(vm))).told[0]).toEqual({ type: 'opened' })
})

describe('the socket', () => {
  const connect = async () => {
    const client = new TunnelClient(berth.url)
    clients.push(client)
    await once(client.socket, 'open')
    return client
  }

  test('needs its subprotocol', async () => {
    const socket = new WebSocket(`${berth.url.replace('http', 'ws')}/tunnel`, 'something.else')
    const [, answer] = (await once(socket, 'unexpected-response')) as [ClientRequest, IncomingMessage]
    expect(answer.statusCode).toBe(400)
    let text = ''
    for await (const piece of answer.setEncoding('utf8') as AsyncIterable<string>) text += piece
    expect(text).toContain('berth.tunnel.v1')
  })

  test.each([
    ['bytes before it is open', Buffer.from('bytes')],
    ['what is no JSON', 'open'],
    ['what is no object', '[]'],
    ['an unknown type', '{"type":"close"}'],
    ['an end before it is open', '{"type":"end"}'],
    ['an unknown key', '{"type":"open","ticket":"x","port":1}'],
    ['no ticket', '{"type":"open"}'],
    ['a negative offset', '{"type":"ack","offset":-1}'],
    ['a long message', `{"type":"ack","offset":${' '.repeat(2000)}1}`],
  ])('refuses %s', async (_, message) => {
    const client = await connect()
    client.socket.send(message)
    expect((await client.closed).code).toBe(4400)
    expect(client.told).toMatchObject([{ type: 'error', code: 'invalid_request' }])
  })

  test('refuses bytes behind an end, an acknowledgement of what was not sent, and a second open', async () => {
    const vm = await makeVm()
    for (const wrong of [
      { type: 'ack', offset: 1 },
      { type: 'open', ticket: 'x' },
    ]) {
      const client = await open(await ticketFor(vm))
      client.say(wrong)
      expect((await client.closed).code).toBe(4400)
    }
    const quiet = await startListening(() => undefined) // which does not end with its client
    const client = await open(await ticketFor(vm, { token }, quiet.port))
    client.say({ type: 'end' })
    client.send('more')
    expect((await client.closed).code).toBe(4400)
    await quiet.stop()
  })

  test('cuts a message of more than 64 KiB', async () => {
    const client = await open(await ticketFor(await makeVm()))
    client.send('x'.repeat(tunnelLimits.messageBytes + 1))
    expect((await client.closed).code).toBe(1009)
  })
})

describe('a public key', () => {
  const key = 'AAAAC3NzaC1lZDI1NTE5AAAAIIxtdVplC7ZnOujik2uYJmJA5Cay+GgY5u/sp4cRhhDp'

  test('is taken without its comment', () => {
    expect(readPublicKey(`ssh-ed25519 ${key} me@here\n`)).toBe(`ssh-ed25519 ${key}`)
  })

  test.each([
    ['options', `command="sh" ssh-ed25519 ${key}`],
    ['another type than its bytes', `ssh-rsa ${key}`],
    ['an unknown type', `ssh-dss ${key}`],
    ['two lines', `ssh-ed25519 ${key}\nssh-ed25519 ${key}`],
    ['no key', 'ssh-ed25519'],
    ['what is no base64', 'ssh-ed25519 AAAA$(id)'],
    ['a key cut short', `ssh-ed25519 ${key.slice(0, 20)}`],
    ['too much', `ssh-ed25519 ${key} ${'x'.repeat(tunnelLimits.publicKeyLength)}`],
  ])('with %s is refused', (_, line) => {
    expect(() => readPublicKey(line)).toThrow(/publicKey/)
  })
})
