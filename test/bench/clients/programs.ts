/** What the command line and the tool server add to the API's own time: a command in a VM, a list, a file. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startCommand } from '../../support/command.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import type { Benchmark, Effort, Findings, Goal } from '../benchmark.ts'
import { inRounds, median, quantile, ratioOf, shown, shownRatio } from '../rounds.ts'
import { startHost, withVms } from '../vm-host.ts'
import { openWorld, type World } from '../world.ts'
import { measureStarts, type Starts } from './starts.ts'

const listed = 1_000
const copiedBytes = 64 * 1024 * 1024
const callsPerRound = 5
const wanted = { execMs: 150, listMs: 300, copyRatio: 0.8, toolMs: 20, startMs: 150 }

/** The benchmark. */
export const programs: Benchmark = { name: 'programs', title: 'The command line and the tool server', measure }

async function measure({ quick, rounds }: Effort, say: (line: string) => void): Promise<Findings> {
  const starts = await measureStarts(quick)
  say(`start: Node ${shown(median(starts.node))} ms, until the request of vm ls ${shown(median(starts.list))} ms`)
  const world = await openWorld()
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-files-'))
  try {
    return await withVms(world, async () => {
      const host = await startHost(world, 0)
      const { id } = await host.create()
      await host.calm(1)
      const token = await world.token()
      const programsOf = await openPrograms(world, token, id, folder)
      const [api = [], tool = [], command = [], put = [], copy = []] = await inRounds(
        quick ? 1 : rounds,
        [programsOf.api, programsOf.tool, programsOf.command, programsOf.put, programsOf.copy],
        (run) => run(),
      )
      say(`exec: API ${shown(median(api))} ms, tool ${shown(median(tool))} ms, command ${shown(median(command))} ms`)
      const node = await makeSilentNode(world.database.db)
      for (let made = 0; made < listed; made++) await makeVmRow(world.database.db, token, node)
      const lists: number[] = []
      for (let round = 0; round < (quick ? 1 : rounds); round++) lists.push(await programsOf.list())
      say(`vm ls of ${listed}: ${shown(median(lists))} ms; cp ${shownRatio(ratioOf(put, copy))} of PUT`)
      await programsOf.close()
      return findings({ api, tool, command, put, copy, lists }, starts)
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await world.close()
  }
}

type Run = () => Promise<number>

/** The programs, each of which does the same once: how long it took. Unit: ms. */
async function openPrograms(
  world: World,
  token: string,
  vm: string,
  folder: string,
): Promise<{ api: Run; tool: Run; command: Run; put: Run; copy: Run; list: Run; close: () => Promise<void> }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const file = join(folder, 'copied.bin')
  const bytes = randomBytes(copiedBytes)
  writeFileSync(file, bytes)
  const client = new Client({ name: 'bench', version: '1.0.0' })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${world.url}/mcp`), { requestInit: { headers: { ...headers } } }),
  )
  const berth = async (...words: string[]): Promise<void> => {
    const run = startCommand(['cli/main.ts', ...words], {
      BERTH_URL: world.url,
      BERTH_TOKEN: token,
      XDG_CONFIG_HOME: folder,
      XDG_STATE_HOME: folder,
    })
    const code = await run.ended
    if (code !== 0) throw new Error(`berth ${words.join(' ')} ended with ${code}: ${run.lines.join(' ')}`)
  }
  const timed =
    (work: () => Promise<unknown>, times = 1): Run =>
    async () => {
      const startedAt = performance.now()
      for (let time = 0; time < times; time++) await work()
      return (performance.now() - startedAt) / times
    }
  const ask = async (method: string, path: string, body: BodyInit): Promise<void> => {
    const answer = await fetch(`${world.url}/api/v1/vms/${vm}${path}`, { method, headers, body })
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
    await answer.arrayBuffer()
  }
  return {
    api: timed(() => ask('POST', '/envd/exec', JSON.stringify({ command: 'true', args: [] })), callsPerRound),
    tool: timed(
      () => client.callTool({ name: 'exec', arguments: { vm_id: vm, command: 'true', args: [] } }),
      callsPerRound,
    ),
    command: timed(() => berth('vm', 'exec', vm, '--', 'true'), callsPerRound),
    put: timed(() => ask('PUT', '/files?path=/home/user/put.bin', bytes)),
    copy: timed(() => berth('vm', 'cp', file, `${vm}:/home/user/copied.bin`)),
    list: timed(() => berth('vm', 'ls', '--json')),
    close: () => client.close(),
  }
}

function findings(
  { api, tool, command, put, copy, lists }: Record<'api' | 'tool' | 'command' | 'put' | 'copy' | 'lists', number[]>,
  starts: Starts,
): Findings {
  const above = (times: number[]): number => median(times.map((ms, round) => ms - (api[round] ?? NaN)))
  const atMost = (what: string, value: number, most: number): Goal => ({
    what,
    wanted: `≤ ${most} ms`,
    measured: `${shown(value)} ms`,
    met: value <= most,
  })
  const row = (what: string, times: number[]): string[] => [
    what,
    String(times.length),
    shown(median(times)),
    shown(quantile(times, 0.99)),
  ]
  return {
    how: `One web process, one worker and one VM on this machine. The command line is a process for each command, started by Node itself; the tool server's client is the protocol's own. A file of ${copiedBytes / 1024 / 1024} MiB goes by PUT of the streaming route, and by \`berth vm cp\`, which is started for it.`,
    tables: [
      {
        title: 'The same, by three programs',
        columns: ['what', 'rounds', 'p50 ms', 'p99 ms'],
        rows: [
          row('exec of true by the API', api),
          row('exec of true by the tool server', tool),
          row('berth vm exec of true', command),
          row('a file by PUT', put),
          row('a file by berth vm cp', copy),
          row(`berth vm ls of ${listed.toLocaleString('en')}`, lists),
          row('node -e 0', starts.node),
          row('berth --version', starts.version),
          row('berth vm ls, until its request', starts.list),
        ],
      },
    ],
    goals: [
      atMost('the start of berth vm ls above bare Node', median(starts.list) - median(starts.node), wanted.startMs),
      atMost('berth vm exec above the API', above(command), wanted.execMs),
      atMost('exec by the tool server above the API', above(tool), wanted.toolMs),
      atMost(`berth vm ls of ${listed.toLocaleString('en')}, p50`, median(lists), wanted.listMs),
      {
        what: 'berth vm cp, of the speed of PUT',
        wanted: `≥ ${wanted.copyRatio}×`,
        measured: shownRatio(ratioOf(put, copy)),
        met: ratioOf(put, copy) >= wanted.copyRatio,
      },
    ],
  }
}
