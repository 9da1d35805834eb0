/** Builds of repositories that are reached over SSH, and of servers that say nothing at all. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { finished, submit, type Job } from '../../support/builds.ts'
import { startGitServer, type GitServer } from '../../support/git/git-server.ts'
import { startGitSshServer, type GitSshServer } from '../../support/git/git-ssh-server.ts'

type Built = { job: Job; log: string }

const buildLimitMs = 120_000
const noKey =
  'The repository could not be cloned; the log says why. Builds have no SSH key: if it is private, use its https:// URL with a credential in it.'

let berth: Berth
let git: GitServer
let open: GitSshServer
let closed: GitSshServer
let silent: Server
let token: string
const silentConnections: Socket[] = []
/** Builds of the server that says nothing, over SSH and over HTTP: they wait for a minute beside the other tests. */
let waiting: Promise<[Built, Built]>

beforeAll(async () => {
  git = await startGitServer()
  git.addRepository('app', { 'README.md': 'over ssh\n' })
  open = await startGitSshServer(git.root)
  closed = await startGitSshServer(git.root, { keysOnly: true })
  silent = createServer((connection) => void silentConnections.push(connection.on('error', () => undefined)))
  await new Promise<void>((ready) => silent.listen(0, '127.0.0.1', ready))
  berth = await startBerth({
    worker: true,
    pool: 1,
    settings: { BERTH_VM_HOST_PORTS: [open.port, closed.port, silentPort()].join(','), BERTH_RATE_LIMIT_FACTOR: '100' },
  })
  token = await berth.token()
  waiting = Promise.all([build(overSsh(silentPort())), build(`http://host.berth.internal:${silentPort()}/app.git`)])
  waiting.catch(() => undefined) // its test reports it
}, 180_000)
afterAll(async () => {
  git?.stop()
  open?.stop()
  closed?.stop()
  for (const connection of silentConnections) connection.destroy()
  silent?.close()
  await berth?.stop()
})

const silentPort = (): number => (silent.address() as AddressInfo).port
const overSsh = (port: number, name = 'app.git'): string => `ssh://git@host.berth.internal:${port}/${name}`

async function build(repoUrl: string, source: Record<string, string> = {}): Promise<Built> {
  const made = await submit(
    berth,
    token,
    { commands: ['cat README.md'], cache: false },
    { repo_url: repoUrl, ...source },
  )
  return finished(berth, token, made, buildLimitMs)
}

test(
  'a repository whose SSH server lets anybody read is built: default branch and commit',
  async () => {
    const first = await build(overSsh(open.port))
    expect(first.job, first.log).toMatchObject({
      status: 'succeeded',
      repo_url: overSsh(open.port),
      commit_sha: expect.stringMatching(/^[0-9a-f]{40}$/),
    })
    expect(first.log).toContain('over ssh\n')
    expect((await build(overSsh(open.port), { commit_sha: first.job.commit_sha ?? '' })).job).toMatchObject({
      status: 'succeeded',
      commit_sha: first.job.commit_sha,
    })
  },
  2 * buildLimitMs,
)

test(
  'an SSH server that wants a key, or has no such repository, fails the build with what to do',
  async () => {
    const refused = await build(overSsh(closed.port))
    expect(refused.job).toMatchObject({ status: 'failed', exit_code: null, commit_sha: null, error: noKey })
    expect(refused.log).toContain('Permission denied')
    expect((await build(overSsh(open.port, 'missing.git'))).job).toMatchObject({ status: 'failed', error: noKey })
  },
  2 * buildLimitMs,
)

test(
  'a repository whose host the way out refuses fails the build with the reason, which the log has too',
  async () => {
    const reason = 'Private addresses may not be reached.'
    const { job, log } = await build('https://10.0.0.1/a/b.git')
    expect(job).toMatchObject({ status: 'failed', error: `The repository could not be cloned: ${reason}` })
    expect(log).toContain(reason)
  },
  buildLimitMs,
)

test(
  'a server that takes the connection and says nothing fails the build within two minutes, over SSH and over HTTP',
  async () => {
    const [ssh, http] = await waiting
    expect(ssh.job, ssh.log).toMatchObject({ status: 'failed', error: noKey })
    expect(http.job, http.log).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('could not be cloned'),
    })
    expect(silentConnections.length).toBeGreaterThanOrEqual(2)
  },
  2 * buildLimitMs,
)
