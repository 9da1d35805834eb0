/**
 * Run as a process of its own: reads what a model, a tool server or a search engine answers, with the code by which a
 * worker does, and says how long its event loop was held. What holds it always is the answer: the shortest of a few counts.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { register } from 'prom-client'
import { askUpstream } from '#src/drivers/models/ask.ts'
import type { UpstreamKind } from '#src/drivers/models/model.ts'
import { readConfig } from '#src/platform/config.ts'
import { createMasker } from '#src/platform/masking.ts'
import { watchStalls } from '#src/platform/metrics/stalls.ts'
import { maskedValue } from '#src/resources/agents/sessions/masked-values.ts'
import { mcpToolResult } from '#src/resources/agents/mcp/results.ts'
import { askMcpServer, listServerTools } from '#src/resources/agents/mcp/servers.ts'
import type { RefreshServices } from '#src/resources/agents/mcp/refreshing.ts'
import { searchWeb } from '#src/resources/agents/tools/web.ts'
import { requestOf, targetOf } from '../support/model-questions.ts'

const [, , origin = '', ...names] = process.argv
const times = 3
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

async function work(name: string): Promise<string> {
  const [who = '', how = ''] = name.split('.')
  if (who === 'search')
    return (
      await searchWeb({ searchUrl: `${origin}/${name}` }, 'x', {}, AbortSignal.timeout(60_000), masker)
    ).text.slice(0, 100)
  if (who === 'tool') return callTool(name)
  if (who === 'tools') {
    const outcome = await listServerTools(services, { url: `${origin}/${name}`, bearer: async () => null })
    return outcome.status === 'ok' ? `${outcome.result.tools.length} tools` : outcome.error
  }
  return askModel(who as UpstreamKind, name, how.startsWith('stream'))
}

async function longestStallMs(): Promise<number> {
  const gauge = await register.getSingleMetric('berth_event_loop_longest_stall_seconds')?.get()
  return (gauge?.values[0]?.value ?? NaN) * 1000
}

watchStalls()
for (const name of names) {
  let shortestMs = Infinity
  let said = ''
  for (let time = 0; time < times && !(shortestMs <= enoughMs); time++) {
    await pause(20) // the watch looks every 10 ms
    await longestStallMs()
    said = await work(name).catch((error: unknown) => String(error))
    await pause(20)
    shortestMs = Math.min(shortestMs, await longestStallMs())
  }
  process.stdout.write(`told ${JSON.stringify({ name, stallMs: Math.round(shortestMs), said })}\n`)
}
process.stdout.write('over\n')
process.exit(0)
