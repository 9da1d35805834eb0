/** What comes to the Postgres port and is no good: garbage, wrong names, too much, too slow, settings that are not for clients. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PostgresRefusal } from '#src/edge/postgres/refusals.ts'
import { message, requestCodes } from '#src/edge/postgres/protocol/messages.ts'
import { limits } from '#src/platform/limits.ts'
import { until } from '../../support/until.ts'
import { clientDatabase, clientToken, clientUser, openProxyWorld, serverName, type ProxyWorld } from '../proxy-world.ts'
import {
  ask,
  connectRaw,
  connectSecured,
  errorOf,
  requestPacket,
  saslMessage,
  startup,
  type Answer,
  type RawClient,
} from '../raw-client.ts'

let world: ProxyWorld
beforeAll(async () => {
  world = await openProxyWorld()
})
afterAll(() => world.close())

const whole = { user: clientUser, database: clientDatabase }
/** Opens a session without a password, for what comes behind the login. */
async function enter(settings: Record<string, string> = {}): Promise<{ client: RawClient; answers: Answer[] }> {
  const { found } = world
  world.found = () => ({ by: 'nothing', admission: world.admission })
  const client = await connectSecured(world.port)
  client.send(startup({ ...whole, ...settings }))
  const answers = await client.until('Z')
  world.found = found
  return { client, answers }
}
const serves = async (): Promise<void> => {
  const client = await world.client()
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await client.end()
}

describe('before there is a session', () => {
  test('a connection without TLS is told how to get it', async () => {
    const client = await connectRaw(world.port)
    client.send(startup(whole))
    expect(errorOf([await client.next()])).toMatchObject({
      S: 'FATAL',
      C: '28000',
      H: expect.stringContaining('sslmode=require'),
    })
    await client.closed
  })

  test.each([
    ['random bytes', Buffer.from('8f3a11c0ffee00112233445566778899aabbccddeeff', 'hex')],
    ['a request of HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
    ['a length of nothing', Buffer.alloc(16)],
    [
      'a startup packet above 10,000 bytes',
      startup({ ...whole, options: `-c application_name=${'x'.repeat(10_000)}` }),
    ],
    ['a startup packet without its end', Buffer.concat([requestPacket(196_608, Buffer.from('user\0x'))])],
    ['a setting without a value', requestPacket(196_608, Buffer.from('user\0x\0database\0\0'))],
    ['a cancel request that is too short', requestPacket(requestCodes.cancel, Buffer.alloc(4))],
    ['a request for TLS with more in it', requestPacket(requestCodes.tls, Buffer.alloc(4))],
    [
      'what was not encrypted, behind a request for TLS',
      Buffer.concat([requestPacket(requestCodes.tls), startup(whole)]),
    ],
  ])('%s: a protocol violation', async (_what, bytes) => {
    const client = await connectRaw(world.port)
    client.send(bytes)
    expect(errorOf(await client.until('E'))).toMatchObject({ S: 'FATAL', C: '08P01' })
    await client.closed
  })

  test('an older protocol is refused; of a newer one the client is told what is spoken, and goes on', async () => {
    const old = await connectSecured(world.port)
    old.send(startup(whole, 2 << 16))
    expect(errorOf([await old.next()])).toMatchObject({ C: '0A000' })
    const newer = await connectSecured(world.port)
    newer.send(startup({ ...whole, '_pq_.colour': 'red' }, (3 << 16) + 2))
    const negotiation = await newer.next()
    expect(negotiation?.type).toBe('v')
    expect(negotiation?.content.readInt32BE(0)).toBe(3 << 16)
    expect(negotiation?.content.toString('utf8', 8)).toBe('_pq_.colour\0')
    expect((await newer.next())?.type).toBe('R')
    newer.socket.destroy()
  })

  test('GSS is declined, and TLS may be asked for afterwards, each once', async () => {
    const client = await connectRaw(world.port)
    client.send(requestPacket(requestCodes.gss))
    expect(await client.bytes(1)).toBe('N')
    client.send(requestPacket(requestCodes.gss))
    expect(await client.bytes(1)).toBe('N')
    client.send(requestPacket(requestCodes.gss))
    expect(errorOf([await client.next()])).toMatchObject({ C: '08P01' })
  })

  test('TLS may begin at once where it names the protocol, and only there', async () => {
    const options = { port: world.port, host: '127.0.0.1', rejectUnauthorized: false, servername: serverName }
    const named = connectTls({ ...options, ALPNProtocols: ['postgresql'] })
    await once(named, 'secureConnect')
    expect(named.alpnProtocol).toBe('postgresql')
    named.write(startup(whole))
    expect(String((await once(named, 'data'))[0])).toContain('SCRAM-SHA-256-PLUS')
    expect(world.asked.at(-1)).toEqual({ user: clientUser, database: clientDatabase, serverName })
    named.destroy()
    const nameless = connectTls(options)
    await once(nameless, 'secureConnect')
    expect(String((await once(nameless, 'data'))[0])).toContain('ALPN')
  })

  test.each([
    [{ replication: 'true' }, '0A000'],
    [{ replication: 'database' }, '0A000'],
    [{ options: '-D /tmp' }, '22023'],
    [{ options: '--' }, '22023'],
    [{ options: '--local_preload_libraries=../../tmp/x' }, '0A000'],
    [{ options: '-c LOCAL-preload-libraries=' }, '0A000'],
    [{ options: '-c search_path=x -clocal_preload_libraries=x' }, '0A000'],
    [{ local_preload_libraries: 'x' }, '0A000'],
    [{ Local_Preload_Libraries: '../../tmp/x' }, '0A000'],
    [{ user: '' }, '28000'],
  ])('settings such as %j are refused before any login', async (settings, code) => {
    const client = await connectSecured(world.port)
    client.send(startup({ ...whole, ...settings }))
    expect(errorOf([await client.next()])).toMatchObject({ S: 'FATAL', C: code })
    await client.closed
  })

  test.each([
    ['-c session_replication_role=replica', '42501'],
    ['-c log_statement=all', '42501'],
    ['-c shared_preload_libraries=x', '55P02'],
    ['-csearch_path=nowhere -c nothing.such=1 --no-such-setting=1', '42704'],
    ['-c statement_timeout=fast', '22023'],
  ])('options "%s" are what Postgres itself says', async (options, code) => {
    const { answers } = await enter({ options })
    expect(errorOf(answers)).toMatchObject({ S: 'FATAL', C: code })
  })

  test('a session that began as another role is nobody else’s afterwards', async () => {
    const keeper = await world.direct()
    const { user } = world.admission.server
    const { client } = await enter({ options: `-c role=${user}` })
    const before = world.proxy.totals().backends
    client.send(message('X'.charCodeAt(0)))
    await until('its backend is gone', () => world.proxy.totals().backends === before - 1)
    await keeper.end()
  })
})

test('any bytes, before and behind TLS, end their own connection and nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 8, maxLength: 300 }),
      fc.boolean(),
      fc.nat(40),
      async (bytes, secured, length) => {
        const client = secured ? await connectSecured(world.port) : await connectRaw(world.port)
        // Half of them with a length that is believed.
        const sized = Buffer.from(bytes)
        if (length > 20) sized.writeUInt32BE(Math.min(sized.length, length), 0)
        client.socket.on('error', () => undefined)
        client.socket.end(sized)
        client.socket.resume()
        await client.closed
      },
    ),
    { numRuns: 150 },
  )
  await serves()
}, 60_000)

describe('a login', () => {
  /** All that a client hears when it tries, without what is random. */
  async function tried(user: string, database: string): Promise<string[]> {
    const client = await connectSecured(world.port)
    client.send(startup({ user, database }))
    const heard = [await client.next()]
    client.send(saslMessage('SCRAM-SHA-256', 'n,,n=,r=clientnonce'))
    const first = await client.next()
    heard.push(first)
    const nonce = /r=([^,]+)/.exec(first?.content.toString() ?? '')?.[1] ?? ''
    client.send(message('p'.charCodeAt(0), `c=biws,r=${nonce},p=${Buffer.alloc(32, 1).toString('base64')}`))
    heard.push(await client.next())
    await client.closed
    return heard.map(
      (answer) =>
        `${answer?.type}${answer?.content
          .toString('latin1')
          .replace(/r=[^,]+,/, '')
          .replaceAll(user, 'USER')}`,
    )
  }

  test('as somebody who is not there, or to a database that is not, looks like a wrong password', async () => {
    const wrong = await tried(clientUser, clientDatabase)
    expect(errorOf([{ type: 'E', content: Buffer.from(wrong[2]!.slice(1), 'latin1') }])).toMatchObject({ C: '28P01' })
    for (const [user, database] of [
      ['nobody', clientDatabase],
      [clientUser, 'elsewhere'],
      ['postgres', 'postgres'],
      [world.admission.server.user, world.admission.server.database],
    ] as const) {
      const heard = await tried(user, database)
      expect(heard[0]).toBe(wrong[0])
      expect(heard[2]).toBe(wrong[2])
      expect(heard[1]?.replace(/s=[^,]+/, '')).toBe(wrong[1]?.replace(/s=[^,]+/, ''))
      expect(await tried(user, database)).toEqual(heard) // the same salt every time, as somebody has who is there
    }
  })

  test.each([
    ['a mechanism that was not offered', 'SCRAM-SHA-1', 'n,,n=,r=x', '08P01'],
    ['no attributes', 'SCRAM-SHA-256', 'n,,hello', '08P01'],
    ['somebody else’s authority', 'SCRAM-SHA-256', 'n,a=postgres,n=,r=x', '0A000'],
    ['a claim that TLS could not be bound', 'SCRAM-SHA-256', 'y,,n=,r=x', '28000'],
    ['a binding of another kind', 'SCRAM-SHA-256-PLUS', 'p=tls-unique,,n=,r=x', '08P01'],
    ['a bound mechanism without a binding', 'SCRAM-SHA-256-PLUS', 'n,,n=,r=x', '08P01'],
    ['a message that is too long', 'SCRAM-SHA-256', `n,,n=,r=${'x'.repeat(2000)}`, '08P01'],
  ])('with %s is refused', async (_what, mechanism, text, code) => {
    const client = await connectSecured(world.port)
    client.send(startup(whole))
    await client.next()
    client.send(saslMessage(mechanism, text))
    expect(errorOf([await client.next()])).toMatchObject({ C: code })
    await client.closed
  })

  test('bound to another certificate than ours is refused', async () => {
    const client = await connectSecured(world.port)
    client.send(startup(whole))
    await client.next()
    client.send(saslMessage('SCRAM-SHA-256-PLUS', 'p=tls-server-end-point,,n=,r=x'))
    const nonce = /r=([^,]+)/.exec((await client.next())?.content.toString() ?? '')?.[1] ?? ''
    const binding = Buffer.concat([Buffer.from('p=tls-server-end-point,,'), Buffer.alloc(32)]).toString('base64')
    client.send(message('p'.charCodeAt(0), `c=${binding},r=${nonce},p=${Buffer.alloc(32).toString('base64')}`))
    expect(errorOf([await client.next()])).toMatchObject({ C: '28000' })
  })

  test('says only to those who proved themselves why a database takes nobody', async () => {
    world.admission.refusal = new PostgresRefusal('cannot_connect_now', 'the database is being restored')
    await expect(world.client({ password: 'wrong' })).rejects.toMatchObject({ code: '28P01' })
    await expect(world.client()).rejects.toMatchObject({ code: '57P03', message: 'the database is being restored' })
    world.admission.refusal = null
    await serves()
  })

  test('that fails too often from one address is answered later and later, while a right one is let in', async () => {
    const other = await openProxyWorld({ plainText: true, iterations: 1 })
    for (let attempt = 0; attempt < limits.postgresFailuresPerMinute; attempt++)
      await expect(other.client({ password: 'wrong' })).rejects.toMatchObject({ code: '28P01' })
    const order: string[] = []
    const wrong = [1, 2, 3].map(async (which) => {
      const refusal = await other.client({ password: 'wrong' }).catch((error: unknown) => error)
      order.push(`wrong ${which}`)
      return refusal
    })
    for (const right of ['right', 'right again']) {
      await (await other.client()).end()
      order.push(right)
    }
    for (const refusal of await Promise.all(wrong))
      expect(refusal).toMatchObject({ code: '28000', message: expect.stringContaining('too many failed logins') })
    expect(order.slice(0, 2)).toEqual(['right', 'right again'])
    const { found } = other
    other.found = (user) => found(user, clientDatabase)
    await expect(other.client({ database: 'another', password: 'wrong' })).rejects.toMatchObject({ code: '28P01' })
    await other.close()
  })

  test('with a token needs TLS, and a token that is not valid looks like a wrong password', async () => {
    const { found } = world
    world.found = () => ({ by: 'token', check: async (token) => (token === clientToken ? world.admission : null) })
    await (await world.client()).end()
    await expect(world.client({ password: 'another' })).rejects.toMatchObject({ code: '28P01' })
    world.found = found
  })
})

describe('in a session', () => {
  test.each([
    ['a message of no known type', Buffer.from('!\0\0\0\u0004', 'latin1')],
    ['a length below that of the length', Buffer.from('Q\0\0\0\u0001', 'latin1')],
    ['a length of two gigabytes', Buffer.from('Q\u007f\u00ff\u00ff\u00ff', 'latin1')],
    ['a password that nobody asked for', message('p'.charCodeAt(0), 'x\0')],
  ])('%s ends it, and harms nobody else', async (_what, bytes) => {
    const { client } = await enter()
    client.send(bytes)
    expect(errorOf(await client.until('E'))).toMatchObject({ S: 'FATAL', C: '08P01' })
    await client.closed
    await serves()
  })

  test('who does not read a large result holds a little memory, and one backend until it leaves', async () => {
    const { client } = await enter()
    client.socket.pause()
    const before = process.memoryUsage()
    client.send(message('Q'.charCodeAt(0), `select repeat('x', 10000) from generate_series(1, 100000)\0`))
    const isLoud = ({ bytesRead }: Socket): boolean => bytesRead > 100_000
    await until('the server has begun', () => [...world.connections].some(isLoud))
    const loud = [...world.connections].find(isLoud)
    for (let round = 0; round < 20; round++) await serves()
    const after = process.memoryUsage()
    expect(after.arrayBuffers + after.external - before.arrayBuffers - before.external).toBeLessThan(50 * 2 ** 20)
    client.socket.destroy()
    await until('its backend is gone', () => ![...world.connections].some((one) => one === loud))
    expect(loud?.bytesRead).toBeLessThan(100 * 2 ** 20) // of a gigabyte
    await serves()
  })

  test('a client that is cut in the middle of a message leaves nothing undone that it finished before', async () => {
    const keeper = await world.direct()
    await keeper.query('create table cut (a int)')
    const { client } = await enter()
    client.send(message('Q'.charCodeAt(0), 'insert into cut values (1)\0'), 'Q\0\0\u0010\0insert into cut')
    client.socket.end()
    await until('it is done', async () => (await keeper.query('select from cut')).rowCount === 1)
    await client.closed
    await keeper.end()
  })

  test('rows of a client that rested in a transaction are rolled back when it is cut', async () => {
    const keeper = await world.direct()
    await keeper.query('create table torn (a int)')
    const { client } = await enter()
    await ask(client, 'begin')
    await ask(client, 'insert into torn values (1)')
    client.socket.destroy()
    await until(
      'its locks are gone',
      async () =>
        (await keeper.query(`select from pg_locks where relation = 'torn'::regclass and pid <> pg_backend_pid()`))
          .rowCount === 0,
    )
    expect((await keeper.query('select from torn')).rowCount).toBe(0)
    await keeper.end()
  })
})

test('a thousand sockets that say nothing, and some that speak a letter at a time, keep nobody out and are cut', async () => {
  const sockets = Array.from({ length: 1000 }, () => connect(world.port, '127.0.0.1').on('error', () => undefined))
  let closed = 0
  for (const socket of sockets) socket.once('close', () => closed++).resume()
  const packet = startup(whole)
  const speaking = setInterval(() => {
    for (const [at, socket] of sockets.slice(-50).entries())
      if (!socket.destroyed) socket.write(packet.subarray(at % packet.length, (at % packet.length) + 1))
  }, 300)
  await until('the oldest made way', () => closed >= 1000 - limits.postgresUnprovenPerAddress)
  await serves()
  await until('all are cut', () => closed === 1000, (limits.postgresLoginSeconds + 5) * 1000)
  clearInterval(speaking)
  await serves()
}, 40_000)
