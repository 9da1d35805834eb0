/**
 * No tool server holds the web process, whichever operation asks it: validation of credentials, the tools of agents and those
 * of connectors, each with the largest answers in every shape of JSON, wherever in the protocol they come.
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { jsonShapes } from '../../support/stalls/shapes.ts'
import { stallMsMax } from '../../support/stalls/watched-process.ts'
import { startAttackedWeb, type AttackedWeb } from '../attacked-web.ts'

const repeats = 3
const spareBytes = 1024

const shapes: Readonly<Record<string, (bytes: number) => string>> = {
  ...jsonShapes,
  'what looks like tokens': (bytes) => `"${'bearer access_token:'.repeat(Math.floor(bytes / 20) - 1)}"`,
  'a token that never comes': (bytes) => `"access_token${' '.repeat(bytes - 14)}"`,
}

/** What a server says: in answer to this method, with this status; `value` is JSON of the largest size. */
type Place = { method: string; status: number; body: (value: string, id: string) => string }
const places: Readonly<Record<string, Place>> = {
  'of its beginning': { method: 'initialize', status: 200, body: (value, id) => answerTo(id, `"result":${value}`) },
  'of its tools': {
    method: 'tools/list',
    status: 200,
    body: (value, id) => answerTo(id, `"result":{"tools":${value}}`),
  },
  'of a tool’s schema': {
    method: 'tools/list',
    status: 200,
    body: (value, id) =>
      answerTo(id, `"result":{"tools":[{"name":"a","inputSchema":{"type":"object","properties":${value}}}]}`),
  },
  'of another page': {
    method: 'tools/list',
    status: 200,
    body: (value, id) => answerTo(id, `"result":{"tools":[],"nextCursor":${value}}`),
  },
  'of an error': {
    method: 'initialize',
    status: 400,
    body: (value, id) => answerTo(id, `"error":{"code":1,"message":${value}}`),
  },
  'of a failure': { method: 'tools/list', status: 500, body: (value) => value },
  'of a refusal': { method: 'initialize', status: 401, body: (value) => value },
}
const answerTo = (id: string, rest: string): string => `{"jsonrpc":"2.0","id":${id},${rest}}`
const ordinary: Readonly<Record<string, string>> = {
  initialize:
    '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}',
  'tools/list': '"result":{"tools":[]}',
}

/** What is said now. */
let said: { place: Place; value: string; times: number }

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const text = Buffer.concat((await req.toArray()) as Buffer[]).toString() // a request has no encoding, so it has buffers
  if (req.method !== 'POST' || req.url !== '/mcp') return void res.writeHead(req.method === 'GET' ? 404 : 405).end()
  const { id, method = '' } = JSON.parse(text) as { id?: number; method?: string }
  if (id === undefined) return void res.writeHead(202).end()
  const isIt = method === said.place.method
  if (isIt) said.times++
  const body = isIt ? said.place.body(said.value, String(id)) : answerTo(String(id), ordinary[method] ?? '"result":{}')
  res.writeHead(isIt ? said.place.status : 200, { 'content-type': 'application/json' }).end(body)
}

let tools: Server
let berth: Berth
let web: AttackedWeb
let token: string
let operations: Readonly<Record<string, [method: string, path: string]>>
beforeAll(async () => {
  tools = createServer((req, res) => void answer(req, res).catch(() => res.destroy())).listen(0, '127.0.0.1')
  await once(tools, 'listening')
  const host = `127.0.0.1:${(tools.address() as AddressInfo).port}` // it listens on a port
  const url = `http://${host}/mcp`
  const file = join(mkdtempSync(join(tmpdir(), 'connectors-')), 'connectors.yaml')
  writeFileSync(file, `services:\n  board: {name: Board, description: x, url: "${url}", auth: none}\n`)
  const settings = { BERTH_PRIVATE_HOSTS: host, BERTH_CONNECTORS_FILE: file, BERTH_RATE_LIMIT_FACTOR: '1000000' }
  berth = await startBerth({ settings })
  token = await berth.token()
  const make = async (path: string, body: object): Promise<string> => {
    const made = await berth.call<{ id: string }>('POST', path, { token, body })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return made.body.id
  }
  const vault = await make('/agents/v1/vaults', { display_name: 'keys' })
  const credential = await make(`/agents/v1/vaults/${vault}/credentials`, {
    auth: { type: 'mcp_oauth', mcp_server_url: url, access_token: 'a-secret-of-the-credential', refresh: null },
  })
  const agent = await make('/agents/v1/agents', {
    name: 'x',
    model: 'berth/demo',
    mcp_servers: [{ type: 'url', name: 'x', url }],
  })
  operations = {
    'a validation': ['POST', `/agents/v1/vaults/${vault}/credentials/${credential}/mcp_oauth_validate`],
    'the tools of an agent': ['GET', `/agents/v1/agents/${agent}/mcp-tools`],
    'the tools of a connector': ['GET', '/agents/v1/mcp-services/board/tools'],
  }
  web = await startAttackedWeb(berth, settings)
}, 60_000)
afterAll(async () => {
  await web?.stop()
  await berth?.stop()
  tools.closeAllConnections()
  tools.close()
})

/** How long the process was held each time. Unit: ms. */
async function heldMs(operation: string): Promise<number> {
  const [method, path] = operations[operation]! // of its names
  let shortestMs = Infinity
  for (let time = 0; time < repeats && shortestMs > stallMsMax; time++) {
    await web.longestStallMs() // what was before
    const answered = await fetch(web.url + path, { method, headers: { authorization: `Bearer ${token}` } })
    await answered.arrayBuffer()
    expect([200, 400, 503], operation).toContain(answered.status) // 400: it takes no credential
    shortestMs = Math.min(shortestMs, await web.longestStallMs())
  }
  return shortestMs
}

test.each(['a validation', 'the tools of an agent', 'the tools of a connector'])(
  'whatever a tool server answers to %s holds nobody',
  async (operation) => {
    const found: Record<string, number> = {}
    for (const [where, place] of Object.entries(places))
      for (const [shape, make] of Object.entries(shapes)) {
        said = { place, value: make(limits.mcpListingBytes - spareBytes), times: 0 }
        const ms = await heldMs(operation)
        expect(said.times, where).toBeGreaterThan(0)
        if (ms > stallMsMax) found[`${where}: ${shape}`] = Math.round(ms)
      }
    expect(found).toEqual({})
  },
  120_000,
)
