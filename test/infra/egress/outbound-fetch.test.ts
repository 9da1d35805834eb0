/** The fetch for addresses that users name: what it reaches, and where it stops. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { OutboundError } from '#src/drivers/outbound.ts'
import { normalServerUrl, outboundFetch, readBeginning } from '#src/drivers/outbound-fetch.ts'

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections()
})

async function serve(host: string, handler: RequestListener = (_req, res) => void res.end('hello')): Promise<string> {
  const server = createServer(handler).listen(0, host)
  servers.push(server)
  await once(server, 'listening')
  return `${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`
}
const whyNot = async (fetching: Promise<unknown>): Promise<unknown> => {
  const error = await fetching.then(
    () => null,
    (thrown: Error) => thrown,
  )
  return error instanceof OutboundError ? error.problem : (error?.cause as OutboundError | undefined)?.problem
}

test.each(['127.0.0.1', '::1'])(
  'reaches a private host at %s only when the operator has listed it with its port',
  async (host) => {
    const [open, other] = [await serve(host), await serve(host)]
    const fetch = outboundFetch({ privateHosts: [open] })
    expect(await (await fetch(`http://${open}/`)).text()).toBe('hello')
    expect(await whyNot(fetch(`http://${other}/`))).toBe('refused') // http is not for others
    expect(await whyNot(fetch(`https://${other}/`))).toBe('refused') // nor is the address
    expect(await whyNot(outboundFetch({ privateHosts: [] })(`https://${open}/`))).toBe('refused')
  },
)

test('follows no redirect to where it may not go', async () => {
  let asked = 0
  const inner = await serve('127.0.0.1', (_req, res) => {
    asked++
    res.end('inner')
  })
  const open = await serve('127.0.0.1', (_req, res) => void res.writeHead(302, { location: `https://${inner}/` }).end())
  expect(await whyNot(outboundFetch({ privateHosts: [open] })(`http://${open}/`))).toBe('refused')
  expect(asked).toBe(0)
})

test('a body that does not end is cut, and only the beginning is read where that is enough', async () => {
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  const open = await serve('127.0.0.1', (_req, res) => {
    const pump = (): void => {
      while (!res.destroyed && res.write(chunk)) continue
    }
    res.on('drain', pump)
    pump()
  })
  const fetch = outboundFetch({ privateHosts: [open] })
  expect(await readBeginning(await fetch(`http://${open}/`), 100)).toEqual({ text: 'x'.repeat(100), truncated: true })
  await expect((await fetch(`http://${open}/`)).arrayBuffer()).rejects.toThrow('more than 32 MiB')
})

test('two spellings of an address are the same server', () => {
  for (const text of ['https://a.test/x', 'HTTPS://A.test:443/x/', 'https://a.test/y/../x'])
    expect(normalServerUrl(text)).toBe('https://a.test/x')
  expect(normalServerUrl('no address')).toBe('')
})
