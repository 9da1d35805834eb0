/** Who attaches to terminals: tickets, roles at each moment, limits, and what the socket refuses. */
import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { beginBrowserSession } from '#src/resources/identity/browser-sessions.ts'
import { deactivateMembership } from '#src/resources/identity/memberships.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { change as write, findAll, getOne, sql } from '#src/platform/postgres.ts'
import { endLostTerminals, endTerminalsOf, terminalRetention } from '#src/resources/infra/terminals/records.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf, makeKey, makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { Client, startTerminalNode, type TerminalNode } from './clients.ts'

let berth: Berth
let node: TerminalNode
let token: string
const opened: string[] = []
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await startTerminalNode(berth.services)
})
afterAll(async () => {
  await node.stop(opened)
  await berth.stop()
})

type Opened = { terminal: { id: string }; ticket: string }
type Sent = Parameters<Berth['ask']>[1]
const makeVm = (whose = token) => makeVmRow(berth.services.db, whose, node.id)
const openIn = (vm: string, more: Sent = { token }, input = '') =>
  berth.ask(
    `mutation { openTerminal(input: { vmId: "${vm}", columns: 80, rows: 24, command: "cat"${input} }) { terminal { id } ticket } }`,
    more,
  )
async function open(vm: string, more: Sent = { token }): Promise<Opened> {
  const { body } = await openIn(vm, more)
  expect(body.errors).toBeUndefined()
  const made = body.data?.['openTerminal'] as Opened
  opened.push(made.terminal.id)
  return made
}
const codeOf = ({ body }: Awaited<ReturnType<Berth['ask']>>) => body.errors?.[0]?.extensions.code
const attach = (ticket: string, headers: Record<string, string> = {}) => new Client(berth.url, headers).attach(ticket)
async function refusal(ticket: string, headers: Record<string, string> = {}) {
  const client = await attach(ticket, headers)
  return { ...(await client.closed), told: client.told[0] }
}
const db = () => berth.services.db
const membershipOf = async ({ userId, organizationId } = idsOf(token)) =>
  (
    await getOne<{ id: string }>(
      db(),
      sql`select id from memberships where user_id = ${userId} and organization_id = ${organizationId} and deactivated_at is null`,
    )
  ).id

describe('a ticket', () => {
  test('is used once, by whoever comes first', async () => {
    const { ticket } = await open(await makeVm())
    const both = await Promise.all([attach(ticket), attach(ticket)])
    expect(both.map(({ told }) => told[0]?.type).sort((one = '', other = '') => one.localeCompare(other))).toEqual([
      'attached',
      'error',
    ])
    expect(await refusal(ticket)).toMatchObject({
      code: 4401,
      told: { type: 'error', code: 'unauthorized', message: expect.stringContaining('createTerminalTicket') as string },
    })
  })

  test('is kept as a digest, and refused after its time, and when there never was one', async () => {
    const { ticket, terminal } = await open(await makeVm())
    const id = decodeId('terminal', terminal.id)
    const rows = await findAll<object>(db(), sql`select * from terminal_tickets where terminal_id = ${id}`)
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(ticket)
    await write(db(), sql`update terminal_tickets set expires_at = now() where terminal_id = ${id}`)
    expect((await refusal(ticket)).code).toBe(4401)
    for (const one of ['x'.repeat(43), 'x'.repeat(500), '']) expect((await refusal(one)).code).toBe(4401)
  })

  test('of a member who has become a viewer is refused, and of one who has left', async () => {
    const bob = await berth.token('bob', 'acme', 'member')
    const vm = await makeVm(bob)
    const [first, second] = [await open(vm, { token: bob }), await open(vm, { token: bob })]
    const membership = await membershipOf(idsOf(bob))
    await write(db(), sql`update memberships set role = 'viewer' where id = ${membership}`)
    expect(await refusal(first.ticket)).toMatchObject({ code: 4403, told: { code: 'not_permitted_for_role' } })
    await deactivateMembership(db(), membership)
    expect(await refusal(second.ticket)).toMatchObject({ code: 4401 })
  })

  test('of a key that was revoked is refused, and of one that holds is taken', async () => {
    const { key, keyId } = await makeKey(berth, token)
    const vm = await makeVm()
    const [first, second] = [await open(vm, { token: key }), await open(vm, { token: key })]
    expect((await attach(first.ticket)).told[0]).toMatchObject({ type: 'attached' })
    await write(db(), sql`update api_keys set revoked_at = now() where key_id = ${keyId}`)
    expect(await refusal(second.ticket)).toMatchObject({ code: 4401, told: { code: 'unauthorized' } })
  })

  test('of a token that ran out is refused, however high the role', async () => {
    const { ticket, terminal } = await open(await makeVm())
    await write(
      db(),
      sql`update terminal_tickets set rights = jsonb_set(rights, '{expiresAtSeconds}', '1') where terminal_id = ${decodeId('terminal', terminal.id)}`,
    )
    expect(await refusal(ticket)).toMatchObject({ code: 4401, told: { code: 'unauthorized' } })
  })

  test('of a session in a browser holds for our own pages only, and ends with the session', async () => {
    const { userId } = idsOf(token)
    const { secret } = await beginBrowserSession(db(), { userId, userAgent: 'test', address: '127.0.0.1' })
    const own = { origin: `http://localhost:${berth.port}`, host: `localhost:${berth.port}` }
    const signedIn = async (): Promise<Opened> => {
      const query = `mutation { openTerminal(input: { vmId: "${vm}", columns: 80, rows: 24 }) { terminal { id } ticket } }`
      const headers = { ...own, 'sec-fetch-site': 'same-origin', cookie: `berth=${secret}` }
      const body = (await post('/graphql', { query }, headers)) as { data: { openTerminal: Opened } }
      opened.push(body.data.openTerminal.terminal.id)
      return body.data.openTerminal
    }
    const vm = await makeVm()
    const strange = await refusal((await signedIn()).ticket, { origin: 'https://elsewhere.example' })
    expect(strange).toMatchObject({ code: 4403, told: { code: 'forbidden' } })
    expect((await refusal((await signedIn()).ticket)).code).toBe(4403)
    expect((await attach((await signedIn()).ticket, own)).told[0]).toMatchObject({ type: 'attached' })
    const last = await signedIn()
    await write(db(), sql`delete from browser_sessions where user_id = ${userId}`)
    expect((await refusal(last.ticket, own)).code).toBe(4401)
  })
})

/** node:http, because fetch decides about Origin and cookies by itself. */
async function post(path: string, body: object, headers: Record<string, string>): Promise<unknown> {
  const asked: ClientRequest = request({
    host: '127.0.0.1',
    port: berth.port,
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
  }).end(JSON.stringify(body))
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of answer.setEncoding('utf8') as AsyncIterable<string>) text += piece
  return JSON.parse(text)
}

test('a client is cut within seconds when whoever asked for its ticket may no longer write, and the terminal stays', async () => {
  const carol = await berth.token('carol', 'acme', 'member')
  const { ticket, terminal } = await open(await makeVm(carol), { token: carol })
  const client = await attach(ticket)
  expect(client.told[0]).toMatchObject({ type: 'attached' })
  await deactivateMembership(db(), await membershipOf(idsOf(carol)))
  expect(await client.closed).toMatchObject({ code: 4401 })
  const rows = await findAll(db(), sql`select status from terminals where id = ${decodeId('terminal', terminal.id)}`)
  expect(rows).toEqual([{ status: 'running' }])
})

test('another organization finds neither the terminal nor its VM, and gets no ticket', async () => {
  const vm = await makeVm()
  const { terminal } = await open(vm)
  const stranger = await berth.token('mallory', 'elsewhere')
  expect(codeOf(await openIn(vm, { token: stranger }))).toBe('NOT_FOUND')
  for (const name of ['createTerminalTicket', 'closeTerminal']) {
    const query = `mutation { ${name}(input: { id: "${terminal.id}" }) { terminal { id } } }`
    expect(codeOf(await berth.ask(query, { token: stranger }))).toBe('NOT_FOUND')
  }
  const { body } = await berth.ask(`{ node(id: "${terminal.id}") { id } }`, { token: stranger })
  expect(body.data).toEqual({ node: null })
})

test.each([
  ['a VM that is stopped', 'stopped', 'INVALID_REQUEST', ''],
  ['no columns', 'running', 'INVALID_REQUEST', ', columns: 0'],
  ['too many rows', 'running', 'INVALID_REQUEST', `, rows: ${terminalLimits.rowsMax + 1}`],
  ['an empty command', 'running', 'INVALID_REQUEST', ', command: " "'],
])('%s makes no terminal', async (_, status, code, wrong) => {
  const vm = await makeVmRow(berth.services.db, token, node.id, { status })
  const given = { vmId: `"${vm}"`, columns: '80', rows: '24', command: '"cat"' }
  const [, name = '', value = ''] = /^, (\w+): (.+)$/.exec(wrong) ?? []
  const input = Object.entries(name ? { ...given, [name]: value } : given)
    .map((one) => one.join(': '))
    .join(', ')
  expect(codeOf(await berth.ask(`mutation { openTerminal(input: { ${input} }) { ticket } }`, { token }))).toBe(code)
  const rows = await findAll(
    db(),
    sql`select 1 from terminals where vm_id = ${decodeId('vm', vm)} and status = 'running'`,
  )
  expect(rows).toEqual([])
})

test('a terminal that the node cannot open leaves a record that is closed', async () => {
  const vm = await makeVmRow(berth.services.db, token, await makeSilentNode(db()))
  expect(codeOf(await openIn(vm))).toBe('VM_UNREACHABLE')
  expect(await findAll(db(), sql`select status from terminals where vm_id = ${decodeId('vm', vm)}`)).toEqual([
    { status: 'closed' },
  ])
})

const fill = (vm: string, count: number, { organizationId } = idsOf(token)) =>
  write(
    db(),
    sql`insert into terminals (id, organization_id, vm_id, columns, rows, status)
    select gen_random_uuid(), ${organizationId}, ${decodeId('vm', vm)}, 80, 24, 'running' from generate_series(1, ${count}::int)`,
  )
const clear = () =>
  write(db(), sql`update terminals set status = 'closed', finished_at = now() where status = 'running'`)

test('a VM and an organization have only so many; those that end, or were lost, make room', async () => {
  await clear()
  const [vm, other] = [await makeVm(), await makeVm()]
  await fill(vm, terminalLimits.runningPerVm)
  const refused = await openIn(vm)
  expect(codeOf(refused)).toBe('RATE_LIMITED')
  expect(refused.body.errors?.[0]?.message).toContain(`${terminalLimits.runningPerVm} open terminals in this VM`)
  await open(other)
  await fill(other, terminalLimits.runningPerOrganization - terminalLimits.runningPerVm - 1)
  expect((await openIn(await makeVm())).body.errors?.[0]?.message).toContain('50 open terminals,')
  await endTerminalsOf(db(), decodeId('vm', vm) ?? '')
  await open(vm)
  await fill(vm, terminalLimits.runningPerVm - 1)
  await write(
    db(),
    sql`update terminals set seen_at = now() - interval '18 minutes' where vm_id = ${decodeId('vm', vm)}`,
  )
  await open(vm)
  await clear()
})

test('records without a client end, those that ended go after a day, and tickets after their time', async () => {
  await clear()
  const vm = await makeVm()
  await fill(vm, 3)
  const ids = await findAll<{ id: string }>(
    db(),
    sql`select id from terminals where vm_id = ${decodeId('vm', vm)} order by id`,
  )
  const [lost, old, kept] = ids.map(({ id }) => id)
  await write(db(), sql`update terminals set seen_at = now() - interval '18 minutes' where id = ${lost}`)
  await write(
    db(),
    sql`update terminals set status = 'exited', exit_code = 0, finished_at = now() - interval '25 hours' where id = ${old}`,
  )
  await endLostTerminals(db())
  for (const { forget } of terminalRetention) await forget(berth.services)
  const rows = await findAll(
    db(),
    sql`select id, status from terminals where vm_id = ${decodeId('vm', vm)} order by id`,
  )
  expect(rows).toEqual([
    { id: lost, status: 'closed' },
    { id: kept, status: 'running' },
  ])
  await clear()
  const ticket = `mutation { createTerminalTicket(input: { id: "${encodeId('terminal', kept ?? '')}" }) { ticket } }`
  expect(codeOf(await berth.ask(ticket, { token }))).toBe('INVALID_TRANSITION')
})

describe('the socket', () => {
  const connect = async () => {
    const client = new Client(berth.url)
    await once(client.socket, 'open')
    return client
  }

  test('needs its subprotocol', async () => {
    const socket = new WebSocket(`${berth.url.replace('http', 'ws')}/terminal`, 'something.else')
    const [, answer] = (await once(socket, 'unexpected-response')) as [ClientRequest, IncomingMessage]
    expect(answer.statusCode).toBe(400)
    let text = ''
    for await (const piece of answer.setEncoding('utf8') as AsyncIterable<string>) text += piece
    expect(text).toContain('berth.terminal.v1')
  })

  test.each([
    ['what is typed before it is attached', Buffer.from('ls\n')],
    ['what is no JSON', 'ls'],
    ['what is no object', '[]'],
    ['an unknown type', '{"type":"detach"}'],
    ['a resize before it is attached', '{"type":"resize","columns":80,"rows":24}'],
    ['an unknown key', '{"type":"attach","ticket":"x","columns":80,"rows":24,"vm":"x"}'],
    ['no ticket', '{"type":"attach","columns":80,"rows":24}'],
    ['a negative offset', '{"type":"attach","ticket":"x","after":-1,"columns":80,"rows":24}'],
    ['columns that are a text', '{"type":"attach","ticket":"x","columns":"80","rows":24}'],
    ['a long message', `{"type":"ack","offset":${' '.repeat(2000)}1}`],
  ])('refuses %s', async (_, message) => {
    const client = await connect()
    client.socket.send(message)
    expect((await client.closed).code).toBe(4400)
    expect(client.told).toMatchObject([{ type: 'error', code: 'invalid_request' }])
  })

  test('cuts a message of more than 64 KiB, and takes attach only once', async () => {
    const [{ ticket }, { ticket: second }] = [await open(await makeVm()), await open(await makeVm())]
    const client = await attach(ticket)
    client.type('x'.repeat(terminalLimits.messageBytes + 1))
    expect((await client.closed).code).toBe(1009)
    const twice = await attach(second)
    twice.say({ type: 'attach', ticket: second, columns: 80, rows: 24 })
    expect((await twice.closed).code).toBe(4400)
  })

  test('passes on what is sent right behind attach', async () => {
    const { ticket } = await open(await makeVm())
    const client = await connect()
    client.say({ type: 'attach', ticket, columns: 80, rows: 24 })
    client.type('early\n')
    await client.sees('early\r\nearly\r\n')
  })
})
