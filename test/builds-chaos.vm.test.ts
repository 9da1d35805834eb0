/**
 * A hostile day for builds: a whole `npm start`, ten builds running, and kill -9 of QEMU, web, Postgres and worker in
 * turn. Every build ends, no line of a log is doubled or missing up to the kill, and nothing is left over.
 */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGitServer, type GitServer } from './support/git-server.ts'
import { startInstallation, type Installation } from './support/installation.ts'
import { until } from './support/until.ts'

const organizations = ['acme', 'bolt', 'core']
const buildCount = 10
const finalLimitMs = 60_000
const linesPrinted = 600
const over = ['succeeded', 'failed', 'cancelled']

let berth: Installation
let git: GitServer
const tokens: string[] = []

beforeAll(async () => {
  git = await startGitServer()
  git.addRepository('app', { 'count.sh': `for i in $(seq 1 ${linesPrinted}); do echo line $i; sleep 0.2; done\n` })
  berth = await startInstallation({ BERTH_VM_HOST_PORTS: String(git.port) })
  for (const organization of organizations) tokens.push(await berth.token(organization))
}, 400_000)
afterAll(async () => {
  await berth?.stop()
  git.stop()
}, 60_000)

type Job = { id: string; status: string; error: string | null; token: string }

/** An answer, or undefined when the connection was refused or cut, or the answer is no success. */
async function call<Body>(method: string, path: string, token: string, body?: unknown): Promise<Body | undefined> {
  try {
    const answer = await fetch(berth.url + path, { method, signal: AbortSignal.timeout(30_000), headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    return answer.ok ? (await answer.json()) as Body : undefined
  } catch {
    return undefined // cut off: that is what this test does to the other side
  }
}

const read = (job: Job) => call<Job>('GET', `/api/v1/build/jobs/${job.id}`, job.token)
const logOf = async (job: Job) => (await call<{ logs: { id: string; output: string; done: boolean }[] }>('GET', `/api/v1/build/jobs/${job.id}/logs?limit=5000`, job.token))?.logs ?? []
const numbersOf = (log: { output: string }[]): number[] => [...log.map((one) => one.output).join('').matchAll(/^line (\d+)$/gm)].map((match) => Number(match[1]))

test('every acknowledged build ends within a minute of the last kill, its log whole up to then, and nothing leaks', async () => {
  const jobs: Job[] = []
  for (let index = 0; index < buildCount; index++) {
    const token = tokens[index % tokens.length] ?? ''
    const spec = [...Buffer.from(JSON.stringify({ commands: ['sh count.sh'], cache: index % 2 === 0, resources: { vcpu: 1, memory_mb: 512 } }))]
    const job = await call<Job>('POST', '/api/v1/build/jobs', token, { org_id: String(decodeJwt(token)['org_id']), spec, repo_url: `http://host.berth.internal:${git.port}/app.git` })
    expect(job).toBeDefined()
    if (job) jobs.push({ ...job, token })
  }
  await until('every build prints', async () => (await Promise.all(jobs.map(async (job) => numbersOf(await logOf(job)).length))).every((count) => count > 0), 240_000)
  const shown = new Map<string, number>()
  for (const victim of ['qemu', 'web', 'postgres', 'worker']) {
    expect(berth.kill(victim), `there is a ${victim}`).toBe(true)
    await until('Berth answers again', async () => (await fetch(`${berth.url}/readyz`).catch(() => undefined))?.status === 200, finalLimitMs)
    for (const job of jobs) shown.set(job.id, numbersOf(await logOf(job)).length)
  }
  const killed = performance.now()
  for (const job of jobs) await until(`${job.id} is over`, async () => over.includes((await read(job))?.status ?? ''), finalLimitMs)
  expect(performance.now() - killed).toBeLessThan(finalLimitMs)
  for (const job of jobs) {
    const log = await logOf(job)
    const numbers = numbersOf(log)
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
    expect(numbers.length).toBeGreaterThanOrEqual(shown.get(job.id) ?? 0)
    expect(new Set(log.map((entry) => entry.id)).size).toBe(log.length)
    expect(log.map((entry) => entry.done)).toEqual(log.map((_, index) => index === log.length - 1))
    expect((await read(job))?.error).toBe('builder_lost')
  }
  for (const token of tokens) {
    const { sessions = [] } = (await call<{ sessions: { end_reason: string | null }[] }>('GET', '/api/v1/usage', token)) ?? {}
    expect(sessions.map((session) => session.end_reason)).toEqual(jobs.filter((job) => job.token === token).map(() => 'orphaned'))
  }
  await until('only the pool’s machines are left', () => berth.qemuPids().length <= 1, finalLimitMs)
}, 600_000)
