/** Builds that ask for what they must not get, or for more than there is. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { finished, submit, type Job } from '../../support/builds.ts'
import { startGitServer, type GitServer } from '../../support/git/git-server.ts'

const buildLimitMs = 120_000
let berth: Berth
let git: GitServer
let token: string

beforeAll(async () => {
  git = await startGitServer()
  git.addRepository('inner', { 'secret.txt': 'inner\n' })
  git.addRepository('outer', {
    'README.md': 'outer\n',
    '.gitmodules': `[submodule "inner"]\n\tpath = inner\n\turl = http://host.berth.internal:${git.port}/inner.git\n`,
  })
  berth = await startBerth({
    worker: true,
    pool: 1,
    settings: { BERTH_VM_HOST_PORTS: String(git.port), BERTH_RATE_LIMIT_FACTOR: '100' },
  })
  token = await berth.token()
}, 180_000)
afterAll(async () => {
  git?.stop()
  await berth?.stop()
})

async function build(
  spec: unknown,
  repoUrl = `http://host.berth.internal:${git.port}/outer.git`,
): Promise<{ job: Job; log: string }> {
  return finished(berth, token, await submit(berth, token, spec, { repo_url: repoUrl }), buildLimitMs)
}

test(
  'a submodule is not fetched',
  async () => {
    const { job, log } = await build({
      cache: false,
      commands: ['cat README.md; test ! -e inner/secret.txt && echo no submodule'],
    })
    expect(job).toMatchObject({ status: 'succeeded' })
    expect(log).toContain('outer\nno submodule\n')
  },
  buildLimitMs,
)

// The way out has tests with every such address; these two show that builds take that way.
test.concurrent.each(['https://169.254.169.254/a/b', 'https://[::ffff:127.0.0.1]/a/b.git'])(
  'a repository at %s is not reached, and the build says that it could not be cloned',
  async (repoUrl) => {
    const { job } = await build({ cache: false, commands: ['true'] }, repoUrl)
    expect(job).toMatchObject({
      status: 'failed',
      exit_code: null,
      commit_sha: null,
      error: expect.stringContaining('could not be cloned'),
    })
  },
  buildLimitMs,
)

test(
  'an artifact of 10 GB is refused at once with what to do',
  async () => {
    const { job } = await build({
      cache: false,
      commands: ['truncate -s 10G big'],
      output: { type: 'artifact', name: 'out', path: 'big' },
    })
    expect(job).toMatchObject({ status: 'failed', error: expect.stringContaining('Set output.path') })
  },
  buildLimitMs,
)

test(
  'a disk that a build fills fails its command and nothing else',
  async () => {
    const { job, log } = await build({
      cache: false,
      commands: [
        'fallocate -l 20G full || for size in 4G 1G 256M 32M 4M 256K 4K; do while fallocate -l $size full-$RANDOM-$RANDOM 2>/dev/null; do :; done; done; echo x > /home/user/more && sync && head -c 65536 /dev/zero > /home/user/more',
      ],
    })
    expect(job).toMatchObject({ status: 'failed', exit_code: 1 })
    expect(log).toContain('No space left on device')
    expect((await build({ cache: false, commands: ['echo next'] })).job).toMatchObject({ status: 'succeeded' })
  },
  2 * buildLimitMs,
)
