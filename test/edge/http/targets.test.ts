/** Targets that answer more than they were asked for, too early, or in a way that could pass for the answer to somebody else. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTenants } from '#src/edge/http/tenants.ts'
import { until } from '../../support/until.ts'
import { ask, openWorld, textOf, type World } from './ingress-world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const poison = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison'

/** A target whose first request gets these bytes, and each further one on the same connection `second`. @returns how many connections it has had */
async function serveBytes(host: string, bytes: string): Promise<() => number> {
  let connections = 0
  await world.serveRaw(host, (socket) => {
    connections++
    socket.once('data', () => {
      socket.write(bytes)
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond'))
    })
  })
  return () => connections
}

describe('a connection to a target is not used again', () => {
  test.each([
    [
      'behind an answer to HEAD with a body',
      'HEAD',
      `HTTP/1.1 200 OK\r\nContent-Length: ${poison.length}\r\n\r\n${poison}`,
    ],
    ['behind a 204 with a body', 'GET', `HTTP/1.1 204 No\r\nContent-Length: ${poison.length}\r\n\r\n${poison}`],
    ['behind a 304 with a body', 'GET', `HTTP/1.1 304 No\r\nContent-Length: ${poison.length}\r\n\r\n${poison}`],
    ['behind more than its length', 'GET', `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok${poison}`],
    [
      'behind more than its chunks',
      'GET',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n${poison}`,
    ],
    ['behind a line end too many', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\r\n'],
    ['whose target wants to close it', 'GET', 'HTTP/1.1 200 OK\r\nConnection: x, close\r\nContent-Length: 2\r\n\r\nok'],
    ['of the old protocol', 'GET', 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok'],
  ])('%s', async (name, method, bytes) => {
    const host = `${name.replaceAll(/[^a-z0-9]/gi, '').toLowerCase()}.test`
    const connections = await serveBytes(host, bytes)
    for (let asked = 1; asked <= 2; asked++) {
      const { text } = await ask(world, host, '/', { method })
      expect(text).toMatch(/^(?:ok)?$/)
      expect(connections()).toBe(asked)
    }
  })

  test('where something comes while nobody asks', async () => {
    let say = (_text: string): void => undefined
    let connections = 0
    await world.serveRaw('late.test', (socket) => {
      connections++
      say = (text) => void socket.write(text)
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
    })
    expect((await ask(world, 'late.test')).text).toBe('ok')
    const before = world.ingress.counts().targetConnections
    say(poison)
    await until('it is closed', () => world.ingress.counts().targetConnections === before - 1)
    expect((await ask(world, 'late.test')).text).toBe('ok')
    expect(connections).toBe(2)
  })

  test('where the answer came before the request had ended', async () => {
    const sockets: Socket[] = []
    await world.serveRaw('early.test', (socket) => {
      sockets.push(socket)
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
    })
    const client = world.dial()
    client.write('POST / HTTP/1.1\r\nHost: early.test\r\nContent-Length: 1000\r\n\r\nbegin')
    expect(await textOf(client)).toMatch(/ok$/)
    client.destroy()
    expect((await ask(world, 'early.test')).text).toBe('ok')
    expect(sockets.length).toBe(2)
  })
})

describe('notices before an answer', () => {
  const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const continued = 'HTTP/1.1 100 Continue\r\n\r\n'

  test('do not reach a client that did not ask for them', async () => {
    await serveBytes(
      'notices.test',
      `${continued}HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Wait\r\n\r\n${continued}${ok}`,
    )
    const client = world.dial()
    client.write('GET / HTTP/1.1\r\nHost: notices.test\r\nConnection: close\r\n\r\n')
    expect(await textOf(client)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*ok$/)
  })

  test('reach one that did once', async () => {
    await world.serveRaw('twice.test', (socket) => {
      socket.once('data', () => {
        socket.write(continued.repeat(10))
        socket.once('data', () => socket.write(ok))
      })
    })
    const client = world.dial()
    client.write(
      'PUT / HTTP/1.1\r\nHost: twice.test\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n',
    )
    expect(String((await once(client, 'data'))[0])).toBe(continued)
    client.write('body')
    expect(await textOf(client)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  })

  test('are sixteen at most', async () => {
    await serveBytes('few.test', `HTTP/1.1 102 Wait\r\n\r\n`.repeat(16) + ok)
    await serveBytes('many.test', `HTTP/1.1 102 Wait\r\n\r\n`.repeat(17) + ok)
    expect((await ask(world, 'few.test')).status).toBe(200)
    expect((await ask(world, 'many.test')).status).toBe(502)
  })
})

describe('organizations', () => {
  const limits = {
    requestsMax: 16,
    requestsPerOrganization: 6,
    webSocketsMax: 16,
    webSocketsPerOrganization: 6,
    webSocketsPerTarget: 100,
  }
  const kinds = [
    ['requests', (of: string) => tenants.enter(of), (of: string) => tenants.leave(of)],
    ['web sockets', (of: string) => tenants.enterSocket(of, of), (of: string) => tenants.leaveSocket(of, of)],
  ] as const
  let tenants = createTenants(limits)

  test.each(kinds)('that take all %s they can leave some for the next one, and get them back', (_, enter, leave) => {
    tenants = createTenants(limits)
    const fill = (of: string): number => {
      let taken = 0
      while (taken < 100 && enter(of)) taken++
      return taken
    }
    expect(['a', 'b', 'c', 'd'].map(fill)).toEqual([6, 5, 3, 1])
    for (let left = 0; left < 6; left++) leave('a')
    expect(fill('e')).toBe(4)
    for (let left = 0; left < 5; left++) leave('b')
    expect(fill('b')).toBe(4)
  })
})
