/**
 * Run as a process of its own: reads what a model, a tool server or a search engine answers, with the code by which a
 * worker does, and says how long its event loop was held. What holds it always is the answer: the shortest of a few counts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { askDirectory } from '#src/drivers/acme.ts'
import { askCodeHost } from '#src/drivers/code-host/requests.ts'
import { openDnsLookup } from '#src/drivers/dns.ts'
import { finishSignIn } from '#src/drivers/mcp/sign-in.ts'
import { findClient } from '#src/drivers/mcp/sign-in/clients.ts'
import { findSignInPlace } from '#src/drivers/mcp/sign-in/places.ts'
import { signInReach, type SignInReach } from '#src/drivers/mcp/sign-in/reach.ts'
import { askUpstream } from '#src/drivers/models/ask.ts'
import { askForEmbeddings } from '#src/drivers/models/embeddings.ts'
import type { UpstreamKind } from '#src/drivers/models/model.ts'
import { exchangeRefreshToken } from '#src/drivers/oauth-tokens.ts'
import { connectGuarded, createResolve, refusalOf } from '#src/drivers/outbound.ts'
import { outboundFetch } from '#src/drivers/outbound-fetch.ts'
import { createKeySets } from '#src/edge/databases/key-sets.ts'
import { readConfig } from '#src/platform/config.ts'
import { createMasker } from '#src/platform/masking.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { maskedValue } from '#src/platform/masking/values.ts'
import { mcpToolResult } from '#src/resources/agents/mcp-tools/results.ts'
import { askMcpServer, listServerTools } from '#src/resources/agents/mcp/servers.ts'
import type { RefreshServices } from '#src/resources/agents/mcp/refreshing.ts'
import { searchWeb } from '#src/resources/agents/tools/web.ts'
import { watchHolds } from '../support/stalls/watched-thread.ts'
import { requestOf, targetOf } from '../support/model-questions.ts'

const [, , server = '', ...names] = process.argv
let origin = server
const times = 8
const enoughMs = 50
const masker = createMasker(['a-secret-of-the-session'])
const services = {
  config: readConfig({ BERTH_PRIVATE_HOSTS: new URL(origin).host, BERTH_LOG_LEVEL: 'error' }),
} as RefreshServices // no credential is looked for

async function askModel(kind: UpstreamKind, name: string, stream: boolean): Promise<string> {
  const target = targetOf({ url: `${origin}/${name}` })
  let events = 0
  for await (const batch of await askUpstream(kind)(target, requestOf({ stream }), AbortSignal.timeout(60_000)))
    events += batch.length
  return `${events} events`
}

async function callTool(name: string): Promise<string> {
  const outcome = await askMcpServer(
    services,
    { url: `${origin}/${name}`, bearer: async () => null, limitMs: 60_000 },
    (connection) => connection.callTool('show', {}),
  )
  if (outcome.status !== 'ok') return outcome.error
  if ('error' in outcome.result) return outcome.result.error
  const result = await mcpToolResult(await maskedValue(masker, outcome.result.result, false))
  return `${result.text.slice(0, 100)} ${result.content?.length ?? 0}`
}

const outside = outboundFetch(services.config)
const self = {
  documentUrl: null,
  redirectUrl: 'https://berth.example/back',
  name: 'Berth',
  websiteUrl: 'https://berth.example',
}
const client = { clientId: 'a', clientSecret: null, clientAuth: 'none' } as const
const back = { code: 'a', iss: null, codeVerifier: 'a', redirectUrl: self.redirectUrl }

/** Everybody else whom Berth asks. Each shows what became of it. */
const others: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'sign-in-place': (url) => findSignInPlace(reach(), url, null),
  'sign-in-client': (url) => findClient(reach(), placeAt(url), self),
  'sign-in-token': (url) => finishSignIn(reach(), placeAt(url), client, back),
  'refreshed-token': (url) =>
    exchangeRefreshToken(outside, { ...client, tokenEndpoint: url, refreshToken: 'a', scope: null, resource: null }),
  'code-host': (url) => askCodeHost({ method: 'GET', url, authorization: null }),
  authority: (url) => askDirectory(url, null),
  keys: async (url) => createKeySets(services.config)(url)({ alg: 'RS256', kid: 'a' }, { payload: '', signature: '' }),
  embeddings: async (url) => {
    const inputs = Array.from({ length: url.includes('.full') ? vectorsInFull : 1 }, () => 'a')
    const request = { inputs, dimensions: 1536, isShortened: false, user: null }
    const target = targetOf({ url })
    return (await askForEmbeddings('openai-compatible', target, request, AbortSignal.timeout(60_000))).vectors.length
  },
}
/** What the DNS says of a name. */
async function lookUp(label: string): Promise<unknown> {
  const name = `${label}.example.com`
  const signal = AbortSignal.timeout(60_000)
  const lookup = openDnsLookup({ dnsServers, privateHosts: [] }, signal)
  const found = [await lookup.texts(name), await lookup.alias(name), await lookup.addresses(name, () => false)]
  const connected = await connectGuarded({ host: name, port: 1 }, { resolve, refuse, limitMs: 2000 }).catch(String)
  return [found.map((one) => ('state' in one ? one.state : one.answer.state)), connected]
}
const dnsServers = (process.env['BERTH_DNS_SERVERS'] ?? '').split(',')
const resolve = createResolve({ servers: dnsServers })
const refuse = (address: string) =>
  refusalOf(address) ?? (address === '8.8.8.8' || address.includes(':') ? 'own' : null)
const vectorsInFull = 341 // of 1,536 numbers, which is as many as are asked for at once

const placeAt = (url: string) => ({
  issuer: url,
  metadata: {
    issuer: url,
    authorization_endpoint: url,
    token_endpoint: url,
    registration_endpoint: url,
    response_types_supported: ['code'],
  },
  resource: null,
  scope: null,
})

function reach(): SignInReach {
  return signInReach(services.config, AbortSignal.timeout(connectorLimits.signInSeconds * 1000), () => undefined)
}

async function work(name: string): Promise<string> {
  const [who = '', how = ''] = name.split('.')
  if (who === 'search')
    return (
      await searchWeb({ searchUrl: `${origin}/${name}` }, 'x', {}, AbortSignal.timeout(60_000), masker)
    ).text.slice(0, 100)
  if (who === 'dns') return JSON.stringify(await lookUp(how))
  const other = others[who]
  if (other) return (JSON.stringify(await other(`${origin}/${name}`)) ?? '').slice(0, 100)
  if (who === 'tool') return callTool(name)
  if (who === 'tools') {
    const outcome = await listServerTools(services, { url: `${origin}/${name}`, bearer: async () => null })
    return outcome.status === 'ok' ? `${outcome.result.tools.length} tools` : outcome.error
  }
  return askModel(who as UpstreamKind, name, how.startsWith('stream'))
}

/** Bytes that are kept for an answer whose last byte has not come: objects, and what is in buffers. */
async function keptBytes(name: string): Promise<number> {
  const now = async (): Promise<number> => {
    for (let turn = 0; turn < turnsToRead; turn++) await nextTurn()
    globalThis.gc?.()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  origin = `${server}/small`
  await work(name) // what is loaded and compiled once
  const before = await now()
  origin = `${server}/held`
  const working = work(name)
  await (await fetch(`${server}/sent`)).text()
  const kept = (await now()) - before
  await (await fetch(`${server}/go`)).text()
  await working
  return kept
}
const turnsToRead = 2000

const held = names.filter((name) => name.startsWith('held/')).map((name) => name.slice('held/'.length))
for (const name of held) process.stdout.write(`kept ${await keptBytes(name)}\n`)
const longestMs = watchHolds()
for (const name of names.filter((one) => !one.startsWith('held/'))) {
  let shortestMs = Infinity
  let said = ''
  for (let time = 0; time < times && !(shortestMs <= enoughMs); time++) {
    await nextTurn()
    longestMs() // what was before
    said = await work(name).catch((error: unknown) => String(error))
    await nextTurn()
    shortestMs = Math.min(shortestMs, longestMs())
  }
  process.stdout.write(`told ${JSON.stringify({ name, stallMs: Math.round(shortestMs), said })}\n`)
}
process.stdout.write('over\n')
process.exit(0)
