/** Placeholders of secrets on the way out of a VM: replaced towards the right hosts, in the right places, and nowhere else. */
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, test } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { searchedBodyBytesMax, type SecretUse } from '#src/drivers/compute/egress/secrets.ts'
import { tell, vm, type EgressWorld, type Seen } from '../../support/egress-world.ts'
import { securedWorldForEach, type SecuredWorld } from '../../support/secured-world.ts'

let secured: SecuredWorld
let world: EgressWorld
let url: string
securedWorldForEach((fresh) => {
  secured = fresh
  world = fresh.world
})
beforeEach(() => {
  url = secured.url()
  world.handler = tell
})

const give = (use?: Partial<SecretUse>): string => world.give(use)
const send = (args: readonly string[], to = url, input = ''): Promise<Seen> => secured.send(args, to, input)

describe('in headers', () => {
  test('it is replaced wherever it is in a value, several times and beside others', async () => {
    const [one, other] = [give(), give({ secret: 'second' })]
    const { headers } = await send([
      '-H',
      `Authorization: Bearer ${one}`,
      '-H',
      `X-Both: a ${one}/${other};${one}`,
      '-H',
      'X-Plain: x',
    ])
    expect(headers).toMatchObject({
      authorization: 'Bearer the-secret',
      'x-both': 'a the-secret/second;the-secret',
      'x-plain': 'x',
    })
  })

  test('a password of basic authorization is replaced too', async () => {
    const { headers } = await send(['-u', `me:${give({ secret: 'pass:word' })}`])
    expect(Buffer.from(headers['authorization']!.slice('Basic '.length), 'base64').toString()).toBe('me:pass:word')
  })

  test('it stays as it is towards other hosts, in names and paths, where headers are not allowed, and for a VM that was not given it', async () => {
    const elsewhere = give({ hosts: ['api.test', '*.open.test'] })
    const inBody = give({ inHeaders: false, inBody: true })
    const unknown = `berth-secret-${newId('credential')}`
    const sent = await send(
      ['-H', `X-A: ${elsewhere}`, '-H', `X-B: ${inBody}`, '-H', `X-C: ${unknown}`, '-H', 'X-D: berth-secret-vcrd_x'],
      `${url}${give()}?a=${give()}`,
    )
    expect(sent.headers).toMatchObject({
      'x-a': elsewhere,
      'x-b': inBody,
      'x-c': unknown,
      'x-d': 'berth-secret-vcrd_x',
    })
    expect(sent.path).not.toContain('the-secret')
    expect(JSON.stringify(sent)).not.toContain('the-secret')
  })

  test('a star means every name below, and null every host', async () => {
    const [below, every] = [give({ hosts: ['*.open.test'] }), give({ hosts: null })]
    expect(
      (await send(['-H', `X-A: ${below}`, '-H', `X-B: ${every}`], secured.url('www.open.test'))).headers,
    ).toMatchObject({ 'x-a': 'the-secret', 'x-b': 'the-secret' })
  })
})

describe('in bodies', () => {
  test('it is replaced where that is asked for, and the length fits', async () => {
    const [inBody, inHeaders] = [
      give({ inBody: true, secret: 'ä longer secret than the placeholder was, by far: ö' }),
      give(),
    ]
    const { body, headers } = await send(['--data-binary', `{"key":"${inBody}","other":"${inHeaders}"}`])
    expect(body).toBe(`{"key":"ä longer secret than the placeholder was, by far: ö","other":"${inHeaders}"}`)
    expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
  })

  test('binary bytes beside it are unchanged', async () => {
    const bytes = Buffer.concat([
      Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
      Buffer.from(give({ inBody: true })),
    ])
    let seen = Buffer.alloc(0)
    secured.handler = (req, res) =>
      void req.toArray().then((chunks: Buffer[]) => {
        seen = Buffer.concat(chunks)
        res.end()
      })
    const inside = await secured.inside()
    inside.write(
      Buffer.concat([
        Buffer.from(
          `POST / HTTP/1.1\r\nHost: open.test:${secured.port}\r\nContent-Length: ${bytes.length}\r\nConnection: close\r\n\r\n`,
        ),
        bytes,
      ]),
    )
    await text(inside)
    expect(seen.equals(Buffer.concat([bytes.subarray(0, 256), Buffer.from('the-secret')]))).toBe(true)
  })

  test('large, compressed and chunked ones are forwarded unchanged', async () => {
    const placeholder = give({ inBody: true })
    const large = placeholder + 'x'.repeat(searchedBodyBytesMax)
    expect((await send(['--data-binary', '@-'], url, large)).body).toBe(large)
    expect((await send(['-H', 'Content-Encoding: gzip', '--data-binary', placeholder])).body).toBe(placeholder)
    expect((await send(['-H', 'Transfer-Encoding: chunked', '--data-binary', placeholder])).body).toBe(placeholder)
  })

  test('a guest that disconnects in the middle of one leaves nothing behind', async () => {
    give({ inBody: true })
    const inside = await secured.inside()
    inside.write(`POST / HTTP/1.1\r\nHost: open.test:${secured.port}\r\nContent-Length: 100\r\n\r\nhalf`)
    await expect.poll(() => world.egress.reached(vm)).toHaveLength(1)
    inside.destroy()
    expect((await send([])).body).toBe('') // the log of errors would have failed the test
  })
})

describe('what is not verified TLS', () => {
  test('over plain http the placeholder is sent unchanged, in headers, passwords and bodies, on every port', async () => {
    const [one, inBody] = [give(), give({ inBody: true })]
    const { code, body } = await world.curl([
      '-H',
      `X-Key: ${one}`,
      '-u',
      `me:${inBody}`,
      '-d',
      inBody,
      `http://open.test:${world.originPort}/`,
    ])
    expect(code).toBe(0)
    const sent = JSON.parse(body) as Seen
    expect(sent).toMatchObject({ headers: { 'x-key': one }, body: inBody })
    expect(Buffer.from(sent.headers['authorization']!.slice('Basic '.length), 'base64').toString()).toBe(`me:${inBody}`)
  })

  test('inside a tunnel without TLS nothing is replaced, and nothing of it is logged', async () => {
    const placeholder = give()
    const socket = await world.openTunnel(`open.test:${world.echoPort}`)
    socket.end(placeholder)
    expect(await text(socket)).toBe(placeholder)
    await send(['-H', `X-A: ${placeholder}`])
    expect(JSON.stringify(world.logged)).not.toMatch(/the-secret|berth-secret/)
  })
})
