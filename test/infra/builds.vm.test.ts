/** Builds in real VMs, of real repositories, as a caller sees them. */
import { gunzipSync } from 'node:zlib'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findQemus } from '#src/drivers/compute/qemu/processes.ts'
import { machinesFolder } from '#src/drivers/compute/places.ts'
import { readConfig } from '#src/platform/config.ts'
import { encodeId } from '#src/platform/ids.ts'
import { openServices } from '#src/platform/services.ts'
import { startWorker } from '#workers/worker.ts'
import { bash } from '../support/compute.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { startGitServer, type GitServer } from '../support/git/git-server.ts'
import { idsOf } from '../support/makers.ts'
import { keptBytes } from '../support/stalls/memory.ts'
import { until } from '../support/until.ts'

type Job = {
  id: string
  status: string
  error: string | null
  exit_code: number | null
  commit_sha: string | null
  cancel_requested: boolean
  repo_url: string
}
type Output = {
  type: string
  name: string
  url: string | null
  templateId: string | null
  sizeBytes: number
  sha256: string | null
}

let berth: Berth
let git: GitServer
let closed: GitServer
let token: string
let organization: string
const password = 'canary-git-password'
const buildLimitMs = 90_000
const logLimitMs = 300_000
const betweenLooksMs = 1000 // a look at what is kept collects all garbage
const over = ['succeeded', 'failed', 'cancelled']

beforeAll(async () => {
  git = await startGitServer()
  closed = await startGitServer({ password })
  git.addRepository(
    'app',
    {
      'README.md': 'main\n',
      'build.sh': 'mkdir -p dist && echo built on $(git log -1 --format=%s) > dist/out.txt\n',
    },
    { feature: { 'README.md': 'feature\n' } },
  )
  closed.addRepository('private', { 'secret.txt': 'private\n' })
  berth = await startBerth({
    worker: true,
    pool: 1,
    settings: { BERTH_VM_HOST_PORTS: `${git.port},${closed.port}`, BERTH_RATE_LIMIT_FACTOR: '100' },
  })
  token = await berth.token()
  organization = encodeId('organization', idsOf(token).organizationId)
}, 180_000)
afterAll(async () => {
  git?.stop()
  closed?.stop()
  await berth?.stop()
})
afterEach(async () => {
  await until(
    'no machine of a build is left',
    async () => (await berth.worker?.compute?.residents())?.length === 0,
    30_000,
  )
})

const repository = (name: string, port = git.port): string => `http://host.berth.internal:${port}/${name}.git`

async function submit(spec: unknown, source: Record<string, string> = { repo_url: repository('app') }): Promise<Job> {
  const made = await berth.call<Job>('POST', '/api/v1/build/jobs', {
    token,
    body: { org_id: organization, spec: [...Buffer.from(JSON.stringify(spec))], ...source },
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body
}
const read = async (id: string): Promise<Job> =>
  (await berth.call<Job>('GET', `/api/v1/build/jobs/${id}`, { token })).body
async function logOf(id: string): Promise<string> {
  const { body } = await berth.call<{ logs: { output: string; done: boolean }[] }>(
    'GET',
    `/api/v1/build/jobs/${id}/logs?limit=5000`,
    { token },
  )
  return body.logs.map((one) => one.output).join('')
}
async function finished(id: string, limitMs = buildLimitMs): Promise<Job> {
  await until(`the build ${id} is over`, async () => over.includes((await read(id)).status), limitMs)
  return read(id)
}
async function build(spec: unknown, source?: Record<string, string>): Promise<{ job: Job; log: string }> {
  const { id } = await submit(spec, source)
  return { job: await finished(id), log: await logOf(id) }
}
async function outputOf(id: string): Promise<Output> {
  const { body } = await berth.ask(
    'query ($id: ID!) { build(id: $id) { output { type name url templateId sizeBytes sha256 } } }',
    { token, variables: { id } },
  )
  return (body.data as { build: { output: Output } }).build.output
}
/** The text of a file in an artifact; the list of its names without one. */
async function artifact(id: string, name?: string): Promise<string> {
  const { url } = await outputOf(id)
  const folder = mkdtempSync(join(tmpdir(), 'berth-artifact-'))
  try {
    writeFileSync(join(folder, 'a.tar'), gunzipSync(Buffer.from(await (await fetch(url ?? '')).arrayBuffer())))
    return execFileSync('tar', name ? ['-xOf', join(folder, 'a.tar'), name] : ['-tf', join(folder, 'a.tar')], {
      encoding: 'utf8',
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
const setSecret = (name: string, value: string) =>
  berth.ask(
    'mutation ($name: String!, $value: String!) { setBuildSecret(input: { name: $name, value: $value }) { buildSecret { name } } }',
    { token, variables: { name, value } },
  )

test(
  'a repository is built: commit, commands in order, environment, log, artifact',
  async () => {
    const { job, log } = await build({
      commands: ['sh build.sh', 'echo "$GREETING from $(pwd), $CI" >&2; cat dist/out.txt'],
      env: { GREETING: 'hello' },
      output: { type: 'artifact', name: 'site', path: 'dist' },
    })
    expect(job, log).toMatchObject({
      status: 'succeeded',
      exit_code: 0,
      error: null,
      commit_sha: expect.stringMatching(/^[0-9a-f]{40}$/),
    })
    expect(log).toMatch(
      /^Waiting for a machine\nCloning http:\/\/host\.berth\.internal:\d+\/app\.git\nAt commit [0-9a-f]{40}\n\$ sh build\.sh\n\$ echo /,
    )
    expect(log).toContain('hello from /home/user/build, true\nbuilt on files of main\n')
    expect(await outputOf(job.id)).toMatchObject({
      type: 'ARTIFACT',
      name: 'site',
      templateId: null,
      sizeBytes: expect.any(Number),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(await artifact(job.id, './out.txt')).toBe('built on files of main\n')
    const {
      body: {
        sessions: [session],
      },
    } = await berth.call<{ sessions: Record<string, unknown>[] }>('GET', '/api/v1/usage', { token })
    expect(session).toMatchObject({
      vm_id: job.id.replace('bld_', 'vm_'),
      ended_at: expect.any(String),
      end_reason: 'guest_exit',
      vcpu_count: 2,
      memory_mb: 2048,
    })
  },
  buildLimitMs * 2,
)

test(
  'a commit goes before a ref, a ref before the default branch, and an unknown one is said so',
  async () => {
    const spec = {
      commands: ['cat README.md'],
      cache: false,
      output: { type: 'artifact', name: 'readme', path: 'README.md' },
    }
    const feature = await build(spec, { repo_url: repository('app'), git_ref: 'feature' })
    expect(feature.log).toContain('feature\n')
    const sha = feature.job.commit_sha ?? ''
    const byCommit = await build(spec, { repo_url: repository('app'), git_ref: 'main', commit_sha: sha.slice(0, 10) })
    expect(byCommit.job, byCommit.log).toMatchObject({ status: 'succeeded', commit_sha: sha })
    const [noRef, noCommit, noRepository] = await Promise.all([
      build(spec, { repo_url: repository('app'), git_ref: 'nowhere' }),
      build(spec, { repo_url: repository('app'), commit_sha: '0123456789' }),
      build(spec, { repo_url: repository('missing') }),
    ])
    expect(noRef.job).toMatchObject({
      status: 'failed',
      error: 'The repository has no branch or tag named nowhere.',
      exit_code: null,
    })
    expect(noCommit.job).toMatchObject({ status: 'failed', error: expect.stringContaining('no commit 0123456789') })
    expect(noRepository.job).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('could not be cloned'),
    })
  },
  buildLimitMs * 5,
)

test(
  'a repository that needs a credential says so; with one it is built, and the credential is nowhere',
  async () => {
    const spec = { commands: ['cat secret.txt; git config --list; env; cat .git/* 2> /dev/null || true'] }
    expect((await build(spec, { repo_url: repository('private', closed.port) })).job).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('credential'),
    })
    const { job, log } = await build(spec, {
      repo_url: repository('private', closed.port).replace('//', `//git:${password}@`),
    })
    expect(job, log).toMatchObject({ status: 'succeeded' })
    expect(log).toContain('private\n')
    expect(JSON.stringify(job) + log + (await artifact(job.id))).not.toContain('canary')
    const files = await artifact(job.id, './.git/config')
    expect(files).not.toContain('canary')
  },
  buildLimitMs * 3,
)

// While one waits for the end of its time, the others run.
describe.concurrent('a build beside others', () => {
  test(
    'a build whose time is over fails as timed_out',
    async () => {
      const { id } = await submit({ cache: false, commands: ['echo begun; sleep 600'], timeout_seconds: 15 })
      expect(await finished(id)).toMatchObject({ status: 'failed', error: 'timed_out', exit_code: null })
    },
    buildLimitMs,
  )

  test(
    'secrets reach the commands and never the log, also in pieces',
    async () => {
      await setSecret('DEPLOY_KEY', 'canary-deploy-key')
      const { job, log } = await build({
        secrets: ['DEPLOY_KEY'],
        cache: false,
        commands: [
          'test "$DEPLOY_KEY" = canary-deploy-key && echo "it is $DEPLOY_KEY."; printf canary-dep; sleep 0.3; printf "loy-key!\\n"; echo canary-deploy',
        ],
      })
      expect(job, log).toMatchObject({ status: 'succeeded' })
      expect(log).toContain('it is ***.\n***!\ncanary-deploy\n')
      expect(log).not.toContain('canary-deploy-key')
    },
    buildLimitMs,
  )

  test(
    'the first command that fails ends the build with its exit code',
    async () => {
      const { job, log } = await build({ cache: false, commands: ['echo one', 'echo two; exit 7', 'echo three'] })
      expect(job).toMatchObject({ status: 'failed', exit_code: 7, error: 'Command 2 ended with exit code 7.' })
      expect(log).toContain('two\n')
      expect(log).not.toContain('three')
    },
    buildLimitMs,
  )
})

test(
  'an output or a context that leaves the checkout fails, also by a link',
  async () => {
    const buildTo = (path: string) =>
      build({ cache: false, commands: ['ln -s /etc link'], output: { type: 'artifact', name: 'out', path } })
    const [link, behindLink, absent] = await Promise.all(['link', 'link/passwd', 'absent'].map(buildTo))
    expect(link?.job).toMatchObject({
      status: 'failed',
      error: 'The output path link points outside the checkout.',
    })
    expect(behindLink?.job).toMatchObject({
      status: 'failed',
      error: 'The output path link/passwd points outside the checkout.',
    })
    expect(absent?.job).toMatchObject({
      status: 'failed',
      error: 'The output path absent is not in the checkout.',
    })
  },
  buildLimitMs * 3,
)

test(
  'a cancelled build ends, though its command ignores SIGTERM',
  async () => {
    const { id } = await submit({ cache: false, commands: ["trap '' TERM; echo started; while :; do sleep 1; done"] })
    await until('its command runs', async () => (await logOf(id)).includes('started\n'), buildLimitMs)
    expect((await berth.call<Job>('POST', `/api/v1/build/jobs/${id}/cancel`, { token })).body).toMatchObject({
      status: 'running',
      cancel_requested: true,
    })
    expect(await finished(id)).toMatchObject({ status: 'cancelled', exit_code: null, error: null })
    expect(await logOf(id)).toMatch(/Cancelled\.\n$/)
  },
  buildLimitMs * 2,
)

test(
  'a cache outlives its build, for the same repository only',
  async () => {
    const spec = { commands: ['ls $CACHE_DIR; echo kept >> $CACHE_DIR/note; wc -l < $CACHE_DIR/note'] }
    const from = { repo_url: repository('app'), git_ref: 'feature' }
    const before = Number(/\n(\d+)\n/.exec((await build(spec, from)).log)?.[1])
    const again = await build(spec, from)
    expect(again.log).toContain(`note\n${before + 1}\n`)
    expect(
      (await build(spec, { repo_url: repository('private', closed.port).replace('//', `//git:${password}@`) })).log,
    ).toMatch(/\n1\n/)
  },
  buildLimitMs * 3,
)

test(
  'a template is kept of a build, and a VM and a build start from it; the next one takes its name over',
  async () => {
    const spec = {
      cache: false,
      commands: ['echo made > /home/user/mark; sudo touch /opt/tool'],
      output: { type: 'template', name: 'tools' },
    }
    const first = await build(spec)
    expect(first.job, first.log).toMatchObject({ status: 'succeeded' })
    const { templateId } = await outputOf(first.job.id)
    const vm = await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: { template_id: 'tools' } })
    expect(vm.status, JSON.stringify(vm.body)).toBe(201)
    const ran = await berth.call<{ stdout: string }>('POST', `/api/v1/vms/${vm.body.vm_id}/envd/exec`, {
      token,
      body: { command: 'cat mark build/README.md; ls /opt; echo more > more' },
    })
    expect(ran.body.stdout).toBe('made\nmain\ntool\n')
    const second = await build(spec)
    expect((await outputOf(second.job.id)).templateId).not.toBe(templateId)
    expect((await berth.call('POST', '/api/v1/vms', { token, body: { template_id: templateId } })).status).toBe(400)
    expect(
      (
        await berth.call<{ stdout: string }>('POST', `/api/v1/vms/${vm.body.vm_id}/envd/exec`, {
          token,
          body: { command: 'cat more' },
        })
      ).body.stdout,
    ).toBe('more\n')
    await berth.call('DELETE', `/api/v1/vms/${vm.body.vm_id}`, { token })
    const onTop = await build(
      { template: 'tools', cache: false, commands: ['cat /home/user/mark README.md'] },
      { repo_url: repository('app'), git_ref: 'feature' },
    )
    expect(onTop.job, onTop.log).toMatchObject({ status: 'succeeded' })
    expect(onTop.log).toContain('made\nfeature\n')
  },
  buildLimitMs * 5,
)

test(
  '24 MB of output are stored whole, and neither the worker nor Postgres holds them in memory',
  async () => {
    const { id } = await submit({
      cache: false,
      commands: ['seq 100000000000001 100000001500000; echo last'], // 16 bytes each; a format would take it most of the time
      output: { type: 'artifact', name: 'out', path: 'README.md' },
    })
    let highestBytes = 0
    const before = await keptBytes()
    await until(
      'it is over',
      async () => {
        highestBytes = Math.max(highestBytes, await keptBytes())
        return over.includes((await read(id)).status)
      },
      logLimitMs,
      betweenLooksMs,
    )
    expect(await read(id)).toMatchObject({ status: 'succeeded' })
    const [stored] = (
      await berth.services.database.pool.query<{ bytes: string; broken: number }>(
        'select sum(octet_length(output)) as bytes, count(*) filter (where octet_length(output) > 16384) as broken from build_log_lines where job_id = (select id from build_jobs order by id desc limit 1)',
      )
    ).rows
    expect(Number(stored?.bytes)).toBeGreaterThan(1_500_000 * 16)
    expect(stored?.broken).toBe(0)
    expect(highestBytes - before).toBeLessThan(10 * 1024 * 1024)
  },
  logLimitMs + buildLimitMs,
)

test(
  'an upload is built',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-upload-'))
    writeFileSync(join(folder, 'hello.txt'), 'from an upload\n')
    const archive = execFileSync('tar', ['-C', folder, '-czf', '-', 'hello.txt'])
    rmSync(folder, { recursive: true })
    const room = await berth.call<{ upload_url: string; binary_url: string }>('POST', '/api/v1/compute/uploads', {
      token,
      body: { organization_id: organization },
    })
    expect((await fetch(room.body.upload_url, { method: 'PUT', body: archive })).status).toBe(200)
    const { job, log } = await build(
      {
        context: room.body.binary_url,
        commands: ['cat hello.txt'],
        output: { type: 'artifact', name: 'out', path: 'hello.txt' },
      },
      {},
    )
    expect(job, log).toMatchObject({ status: 'succeeded', commit_sha: null })
    expect(log).toContain('from an upload\n')
  },
  buildLimitMs,
)

test(
  'a build whose QEMU is killed fails as builder_lost',
  async () => {
    const { id } = await submit({ cache: false, commands: ['echo started; sleep 600'] })
    await until('its command runs', async () => (await logOf(id)).includes('started\n'), buildLimitMs)
    const machine = (await berth.worker?.compute?.residents())?.find((one) => id.endsWith(one.id))
    expect(machine).toBeDefined()
    const { readRecords } = await import('#src/drivers/compute/records.ts')
    const { config } = berth.services
    const uuid = readRecords(config).records.find((record) => record.id === machine?.id)?.machineUuid ?? ''
    const pid = (await findQemus(machinesFolder(berth.dataDir))).get(uuid)
    process.kill(pid ?? 0, 'SIGKILL')
    expect(await finished(id)).toMatchObject({ status: 'failed', error: 'builder_lost' })
    expect(
      (await berth.call<{ sessions: Record<string, unknown>[] }>('GET', '/api/v1/usage', { token })).body.sessions[0],
    ).toMatchObject({ vm_id: id.replace('bld_', 'vm_'), end_reason: 'orphaned' })
  },
  buildLimitMs * 2,
)

test(
  'a worker that stops lets go of its builds, and the next one goes on at the same byte',
  async () => {
    await setSecret('RELEASE_KEY', 'canary-release-key')
    const { id } = await submit(
      {
        secrets: ['RELEASE_KEY'],
        commands: [
          'printf "begun ${RELEASE_KEY:0:10}"; while [ ! -e go ]; do sleep 0.2; done; echo "${RELEASE_KEY:10}."; seq 1 200000',
          'echo "then $RELEASE_KEY"',
        ],
      },
      { repo_url: repository('app') },
    )
    await until('its command runs', async () => (await logOf(id)).endsWith('\nbegun '), buildLimitMs) // what may be a secret's beginning is held back
    await setSecret('RELEASE_KEY', 'canary-another-key') // what was given stays hidden
    await berth.worker?.stop()
    expect(await read(id)).toMatchObject({ status: 'running' })
    expect(await logOf(id)).not.toContain('canary')
    const services = await openServices(
      readConfig({
        PORT: String(new URL(berth.url).port),
        BERTH_LOG_LEVEL: 'error',
        BERTH_DATA_DIR: berth.dataDir,
        BERTH_VM_POOL: '1',
        BERTH_VM_HOST_PORTS: String(git.port),
      }),
      berth.services.database.url,
      'worker',
    )
    const next = await startWorker(services)
    try {
      const machine = next.compute?.find(id.replace('bld_', ''))
      expect(machine).toBeDefined()
      if (machine) await bash(machine, 'touch build/go')
      expect(await finished(id), await logOf(id)).toMatchObject({ status: 'succeeded' })
      const log = await logOf(id)
      expect(log).not.toContain('canary')
      expect(log.slice(log.indexOf('\nbegun ') + 1)).toBe(
        `begun ***.\n${Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join('')}$ echo "then $RELEASE_KEY"\nthen ***\nStoring the checkout as build\n`,
      )
      const {
        body: { sessions },
      } = await berth.call<{ sessions: Record<string, unknown>[] }>('GET', '/api/v1/usage', { token })
      expect(sessions.filter((session) => session['vm_id'] === id.replace('bld_', 'vm_'))).toMatchObject([
        { end_reason: 'guest_exit' },
      ])
      await until('nothing is left of it', async () => (await next.compute?.residents())?.length === 0)
      expect((await berth.services.database.pool.query('select 1 from build_runs')).rowCount).toBe(0)
    } finally {
      await next.stop()
      await services.close()
    }
  },
  buildLimitMs * 3,
)
