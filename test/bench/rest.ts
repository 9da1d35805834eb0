/** REST reads: ours, with its caller, limits and tenant, beside bare Fastify routes with the same SQL. */
import { makeSilentNode, makeVmRow, idsOf } from '../support/makers.ts'
import { freePort } from '../support/ports.ts'
import type { Benchmark, Findings, Goal, Table } from './benchmark.ts'
import { cpuMsOf } from './processes.ts'
import { inRounds, median, ratioOf, shown, shownRatio } from './rounds.ts'
import { inWorld, startWeb, type World } from './world.ts'
import { runWrk, type Load } from './wrk.ts'

const vmCount = 100
const connections = 32
const wantedRatio = 0.8

type Server = { name: string; url: string; pid: number; headers: Record<string, string> }

/** GET of one VM and of a list of 100. */
export const rest: Benchmark = {
  name: 'rest',
  title: 'REST reads',
  measure: (effort, say) =>
    inWorld({}, async (world): Promise<Findings> => {
      const { servers, vmId } = await startServers(world)
      const tables: Table[] = []
      const goals: Goal[] = []
      for (const [what, path] of [
        ['one VM', `/api/v1/vms/${vmId}`],
        [`a list of ${vmCount}`, '/api/v1/vms'],
      ] as const) {
        await checkSameBody(servers, path)
        const warmSeconds = Math.max(2, effort.secondsPerRound)
        for (const server of servers)
          await runWrk(server.url + path, { seconds: warmSeconds, connections, headers: server.headers })
        const loads = await inRounds(effort.rounds, servers, (server) =>
          loadServer(server, path, effort.secondsPerRound),
        )
        const rates = loads.map((rounds) => rounds.map((load) => load.requestsPerSecond))
        tables.push({
          title: `GET ${what}`,
          columns: [
            'server',
            'requests/s',
            'ratio to bare Fastify',
            'p50 ms',
            'p99 ms',
            'its CPU µs/request',
            'failed',
          ],
          rows: servers.map(({ name }, at) => {
            const mine = loads[at] ?? []
            return [
              name,
              shown(median(rates[at] ?? [])),
              shownRatio(ratioOf(rates[at] ?? [], rates[1] ?? [])),
              shown(median(mine.map((one) => one.p50Ms))),
              shown(median(mine.map((one) => one.p99Ms))),
              shown(median(mine.map((one) => one.cpuUs))),
              String(mine.reduce((sum, one) => sum + one.failed, 0)),
            ]
          }),
        })
        const ratio = ratioOf(rates[0] ?? [], rates[1] ?? [])
        goals.push({
          what: `GET ${what}, of a bare Fastify route with the same SQL`,
          wanted: `≥ ${shownRatio(wantedRatio)}`,
          measured: shownRatio(ratio),
          met: ratio >= wantedRatio,
        })
        say(`${what}: ${shownRatio(ratio)}`)
      }
      return {
        how: `${vmCount} VMs in the table. Ours checks the token, the membership and the rate limit of every request and filters by tenant; the peers do not. ${connections} connections of wrk, ${effort.rounds} rounds of ${effort.secondsPerRound} s in rotated order, the web process and the peers each a process of its own with a pool of ${world.config.databaseConnections} connections.`,
        tables,
        goals,
      }
    }),
}

async function loadServer(
  { url, headers, pid }: Server,
  path: string,
  seconds: number,
): Promise<Load & { cpuUs: number }> {
  const cpuMsBefore = cpuMsOf(pid)
  const load = await runWrk(url + path, { seconds, connections, headers })
  return { ...load, cpuUs: ((cpuMsOf(pid) - cpuMsBefore) * 1000) / (load.requestsPerSecond * seconds) }
}

async function startServers(world: World): Promise<{ servers: readonly Server[]; vmId: string }> {
  const { db } = world.database
  const token = await world.token()
  const nodeId = await makeSilentNode(db)
  let vmId = ''
  for (let made = 0; made < vmCount; made++) vmId = await makeVmRow(db, token, nodeId)
  const web = await startWeb(world)
  const peer = async (name: string, statements: 'plain' | 'named'): Promise<Server> => {
    const port = String(await freePort())
    const { child } = await world.start(
      [
        'test/bench/rest-peer.ts',
        port,
        world.databaseUrl,
        idsOf(token).organizationId,
        String(world.config.databaseConnections),
        statements,
      ],
      /the peer listens/,
    )
    return { name, url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, headers: {} }
  }
  const ours: Server = {
    name: 'Berth',
    url: world.url,
    pid: web.child.pid ?? 0,
    headers: { authorization: `Bearer ${token}` },
  }
  return {
    servers: [ours, await peer('bare Fastify', 'plain'), await peer('bare Fastify, prepared statements', 'named')],
    vmId,
  }
}

/** A peer that answers something else would be no peer. */
async function checkSameBody(servers: readonly Server[], path: string): Promise<void> {
  const bodies = await Promise.all(
    servers.map(async ({ url, headers }) => {
      const answer = await fetch(url + path, { headers })
      return `${answer.status} ${await answer.text()}`
    }),
  )
  if (!bodies.every((body) => body === bodies[0] && body.startsWith('200 ')))
    throw new Error(`the servers do not answer ${path} alike: ${bodies.map((body) => body.slice(0, 200)).join(' | ')}`)
}
