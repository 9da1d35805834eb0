/**
 * A hostile day for builds: a whole `npm start`, four builds running, and their worker killed, stopped, ended and
 * replaced six times, the web process and Postgres once. Every build goes on at the same byte and succeeds.
 */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGitServer, type GitServer } from './support/git/git-server.ts'
import { startInstallation, type Installation } from './support/installation.ts'
import { until } from './support/until.ts'

const organizations = ['acme', 'bolt']
const buildCount = 4
const finalLimitMs = 60_000
const linesPrinted = 100
/** So many lines come between two kills. */
const linesBetween = 8
const over = ['succeeded', 'failed', 'cancelled']

let berth: Installation
let git: GitServer
const tokens: string[] = []

beforeAll(async () => {
  git = await startGitServer()
  // The secret comes in two pieces: the worker may die between them.
  git.addRepository('app', {
    'count.sh': `for i in $(seq 1 ${linesPrinted}); do printf "line $i canary-"; sleep 0.15; echo build-key; sleep 0.15; done\n`,
  })
  berth = await startInstallation({ BERTH_VM_HOST_PORTS: String(git.port), BERTH_VM_MEMORY_MB: '20000' })
  for (const organization of organizations) tokens.push(await berth.token(organization))
}, 400_000)
afterAll(async () => {
  await berth?.stop()
  git.stop()
}, 60_000)

type Job = { id: string; status: string; error: string | null; token: string }
type Entry = { id: string; output: string; done: boolean }

/** An answer, or undefined when the connection was refused or cut, or the answer is no success. */
async function call<Body>(method: string, path: string, token: string, body?: unknown): Promise<Body | undefined> {
  try {
    const answer = await fetch(berth.url + path, {
      method,
      signal: AbortSignal.timeout(30_000),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return answer.ok ? ((await answer.json()) as Body) : undefined
  } catch {
    return undefined // cut off: that is what this test does to the other side
  }
}

const read = (job: Job) => call<Job>('GET', `/api/v1/build/jobs/${job.id}`, job.token)
const logOf = async (job: Job): Promise<Entry[]> =>
  (await call<{ logs: Entry[] }>('GET', `/api/v1/build/jobs/${job.id}/logs?limit=5000`, job.token))?.logs ?? []
const textOf = (log: Entry[]): string => log.map(({ output }) => output).join('')
const linesOf = async (job: Job): Promise<number> => textOf(await logOf(job)).match(/^line \d+ /gm)?.length ?? 0

async function submit(token: string, commands: string[], more: Record<string, unknown> = {}): Promise<Job> {
  const spec = [...Buffer.from(JSON.stringify({ commands, ...more }))]
  const job = await call<Job>('POST', '/api/v1/build/jobs', token, {
    org_id: String(decodeJwt(token)['org_id']),
    spec,
    repo_url: `http://host.berth.internal:${git.port}/app.git`,
  })
  if (!job) throw new Error('a build was not taken')
  return { ...job, token }
}

test('builds continue at the same byte when their worker dies, and one whose machine dies fails as lost', async () => {
  for (const token of tokens)
    await call('POST', '/graphql', token, {
      query: 'mutation { setBuildSecret(input: { name: "KEY", value: "canary-build-key" }) { buildSecret { name } } }',
    })
  const jobs: Job[] = []
  for (let index = 0; index < buildCount; index++)
    jobs.push(
      await submit(tokens[index % tokens.length] ?? '', ['sh count.sh', 'echo made > out.txt'], {
        secrets: ['KEY'],
        cache: index % 2 === 0,
        output: { type: 'artifact', name: 'out', path: 'out.txt' },
      }),
    )
  await until(
    'a build is cloning',
    async () => (await Promise.all(jobs.map(logOf))).some((log) => textOf(log).includes('Cloning')),
    240_000,
  )
  expect(berth.kill('worker')).toBe(true)
  const allPrint = async () => (await Promise.all(jobs.map(linesOf))).every((count) => count > 0)
  await until('every build prints', allPrint, 240_000).catch(async (error: unknown) => {
    const texts = (await Promise.all(jobs.map(logOf))).map(textOf)
    throw new Error([...texts, ...berth.logged(/"level":[3456]0/)].join('\n'), { cause: error })
  })

  const printed = async (): Promise<number> =>
    (await Promise.all(jobs.map(linesOf))).reduce((sum, count) => sum + count, 0)
  const second: { worker?: ReturnType<Installation['startWorker']> } = {}
  for (const how of ['SIGKILL', 'web', 'SIGTERM', 'SIGKILL', 'postgres', 'SIGSTOP', 'SIGKILL'] as const) {
    const before = await printed()
    if (how === 'web' || how === 'postgres') expect(berth.kill(how)).toBe(true)
    else expect(berth.kill('worker', how), `there is a worker to get ${how}`).toBe(true)
    // One that stands still is replaced by another; npm start then replaces that one in its turn.
    if (how === 'SIGSTOP') second.worker = berth.startWorker()
    await until(`the builds go on after ${how}`, async () => (await printed()) >= before + linesBetween, finalLimitMs)
  }
  await second.worker?.ended // nothing of it may be left: it has been replaced

  for (const job of jobs)
    await until(`${job.id} is over`, async () => over.includes((await read(job))?.status ?? ''), 6 * finalLimitMs)
  const lines = Array.from({ length: linesPrinted }, (_, index) => `line ${index + 1} ***\n`).join('')
  for (const job of jobs) {
    const log = await logOf(job)
    const text = textOf(log)
    expect(await read(job), `${text}\n${berth.logged(/"level":[456]0/).join('\n')}`).toMatchObject({
      status: 'succeeded',
      error: null,
    })
    expect(
      text.replaceAll(/^Cloning .*\n(?:.*\n)*?(?=At commit)/gm, 'Cloning\n').replace(/[0-9a-f]{40}/, 'COMMIT'),
    ).toBe(
      `Waiting for a machine\nCloning\nAt commit COMMIT\n$ sh count.sh\n${lines}$ echo made > out.txt\nStoring out.txt as out\n`,
    )
    const positions = log.map(({ id }) => id.split('-').map(Number) as [number, number])
    expect(
      positions.every(
        ([ms, seq], index) =>
          index === 0 ||
          ms > positions[index - 1]![0] ||
          (ms === positions[index - 1]![0] && seq > positions[index - 1]![1]),
      ),
    ).toBe(true)
    expect(log.map(({ done }) => done)).toEqual(log.map((_, index) => index === log.length - 1))
  }
  for (const token of tokens) {
    const { sessions = [] } =
      (await call<{ sessions: { end_reason: string | null }[] }>('GET', '/api/v1/usage', token)) ?? {}
    expect(sessions.map((session) => session.end_reason)).toEqual(
      jobs.filter((job) => job.token === token).map(() => 'guest_exit'),
    )
  }

  const doomed = await submit(tokens[0] ?? '', ['echo started; sleep 600'], { cache: false })
  await until('the last build runs', async () => textOf(await logOf(doomed)).includes('started\n'), 120_000)
  expect(berth.kill('worker')).toBe(true)
  while (berth.kill('qemu')) await until('it is gone', () => true)
  await until('it is said to be lost', async () => (await read(doomed))?.error === 'builder_lost', finalLimitMs)
  await until('only the pool’s machines are left', () => berth.qemuPids().length <= 2, finalLimitMs)
}, 900_000)
