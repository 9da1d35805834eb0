/** A private repository of a connected account, cloned in a VM and built, with the token nowhere in a machine. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { encodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { codeHostSettings, startCodeHost, type CodeHost } from '../../support/code-host/code-host.ts'
import { idsOf, makeKey } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

const name = 'host.berth.internal'
const folder = mkdtempSync(join(tmpdir(), 'berth-authority-'))
const trusted = getCACertificates('default')
let berth: Berth
let host: CodeHost
let token: string
let secret: string
let vm: string
let warnings: string[]
const urlOf = (path: string): string => `https://${name}:${host.port}/octocat/${path}`
const connect = async (): Promise<string> => {
  const made = await berth.call('POST', '/api/v1/codehost/save-token', { token, body: { code: host.code('octocat') } })
  expect(made.status, JSON.stringify(made.body)).toBe(200)
  return host.tokensOf('octocat').at(-1) ?? ''
}

beforeAll(async () => {
  const authority = createAuthority(folder)
  setDefaultCACertificates([...trusted, await authority.certificate()])
  host = await startCodeHost({ secureContextOf: (server) => authority.contextFor(server), name })
  host.git.addRepository('private', { 'README.md': 'for octocat only\n' })
  host.git.addRepository('other', { 'README.md': 'another one\n' })
  berth = await startBerth({
    worker: true,
    pool: 1,
    settings: { ...codeHostSettings(host, `https://${name}`), BERTH_VM_HOST_PORTS: String(host.port) },
  })
  token = await berth.token()
  secret = await connect()
  const made = await berth.call<{ vm_id: string; warnings: string[] }>('POST', '/api/v1/vms', {
    token,
    body: { skip_folder_create: true, git_repos: [{ url: urlOf('private.git') }] },
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  vm = made.body.vm_id
  warnings = made.body.warnings
}, 180_000)
afterAll(async () => {
  await berth?.stop()
  host?.close()
  setDefaultCACertificates(trusted)
  rmSync(folder, { recursive: true })
})

type Command = { stdout: string; stderr: string; exit_code: number }
const exec = async (command: string): Promise<Command> =>
  (await berth.call<Command>('POST', `/api/v1/vms/${vm}/envd/exec`, { token, body: { command } })).body
const refresh = async (as = token): Promise<unknown> =>
  (await berth.call('POST', `/api/v1/vms/${vm}/env/refresh-system`, { token: as })).body
/** A clone of a repository that the VM does not have yet: whether it worked. */
const clones = async (repository = 'other.git'): Promise<boolean> =>
  (await exec(`rm -rf copy && GIT_TERMINAL_PROMPT=0 git clone -q ${urlOf(repository)} copy && cat copy/README.md`))
    .exit_code === 0

test('a VM clones private repositories of its person at creation and later, and pushes to them', async () => {
  expect(warnings).toEqual([])
  expect((await exec('cat private/README.md')).stdout).toBe('for octocat only\n')
  expect(await clones()).toBe(true)
  host.git.allowPushes('other')
  const pushed = await exec(
    'cd copy && echo more >> README.md && git -c user.name=a -c user.email=a@example.com commit -qam more && git push -q origin HEAD:refs/heads/more',
  )
  expect(pushed).toMatchObject({ exit_code: 0 })
  expect(host.cloned.filter(({ path }) => path.endsWith('git-receive-pack'))).toMatchObject([{ login: 'octocat' }])
}, 120_000)

test('the token is nowhere in the VM: not in the environment of a process, on a command line, in a file, or in what the code host repeats', async () => {
  const { stdout } = await exec(
    'env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null; sudo grep -raEl "gh[o]_" /home /tmp /run /etc /root 2>/dev/null; git config --list; cat private/.git/config',
  )
  expect(stdout).not.toContain(secret)
  expect(stdout).not.toContain('gho_')
  expect(stdout).toMatch(/CODEHOST_TOKEN=berth-secret-chl_[0-9a-z]{26}/)
  expect(stdout).toContain('CODEHOST_USERNAME=octocat')
})

test('outside of git’s own requests the token is not used: not for the API, another path, another host, or plain HTTP', async () => {
  host.asked.length = 0
  for (const path of ['/api/v3/user', '/octocat/private.git/settings', '/octocat/private.git/info/refs?service=x'])
    await exec(`curl -s -u "x-access-token:$CODEHOST_TOKEN" "https://${name}:${host.port}${path}"`)
  await exec(`curl -s -H "Authorization: Bearer $CODEHOST_TOKEN" https://${name}:${host.port}/api/v3/user`)
  expect(host.asked.map(({ path }) => path)).toEqual(['/api/v3/user', '/api/v3/user'])
  for (const { authorization = '' } of host.asked)
    expect(Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString() + authorization).not.toContain(secret)
  expect(host.cloned.slice(-2)).toEqual([
    { path: '/octocat/private.git/settings', login: null },
    { path: '/octocat/private.git/info/refs', login: null },
  ])
})

test('a build of the person’s reads its own repository with the account, and no other; one of a key or of the token in a VM reads none', async () => {
  const organization = encodeId('organization', idsOf(token).organizationId)
  const spec = {
    commands: [
      'cat README.md',
      `git clone -q ${urlOf('other.git')} inner || echo closed`,
      'git fetch -q origin || echo over',
      'ls /tmp',
    ],
  }
  const build = async (as: string, repoUrl = urlOf('private')): Promise<string> => {
    const made = await berth.call<{ id: string }>('POST', '/api/v1/build/jobs', {
      token: as,
      body: { org_id: organization, repo_url: repoUrl, spec: [...Buffer.from(JSON.stringify(spec))] },
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    let status: unknown
    await until(
      'the build is over',
      async () => {
        status = (await berth.call('GET', `/api/v1/build/jobs/${made.body.id}`, { token })).body['status']
        return !['queued', 'running'].includes(String(status))
      },
      120_000,
    )
    const logs = await berth.call<{ logs: { output: string }[] }>('GET', `/api/v1/build/jobs/${made.body.id}/logs`, {
      token,
    })
    return `${String(status)}\n${logs.body.logs.map(({ output }) => output).join('')}`
  }
  const own = await build(token)
  expect(own).toMatch(/^succeeded/)
  expect(own).toContain('for octocat only')
  expect(own).toContain('closed')
  expect(own).toContain('over')
  expect(own).not.toContain('berth-authorities')
  expect(own).not.toContain(secret)
  await berth.call('POST', `/api/v1/vms/${vm}/env/sync-session`, { token })
  const inside = (JSON.parse((await exec('cat /run/berth/session.json')).stdout) as { access_token: string })
    .access_token
  const { key } = await makeKey(berth, token)
  for (const one of [await build(key), await build(inside)]) expect(one).toMatch(/^failed/)
}, 400_000)

test('a VM that is ordered by the token inside a VM, or by a key, has no account', async () => {
  await berth.call('POST', `/api/v1/vms/${vm}/env/sync-session`, { token })
  const inside = (JSON.parse((await exec('cat /run/berth/session.json')).stdout) as { access_token: string })
    .access_token
  const { key } = await makeKey(berth, token)
  for (const as of [inside, key]) {
    const made = await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', {
      token: as,
      body: { skip_folder_create: true, name: 'without' },
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const { body } = await berth.call('GET', `/api/v1/vms/${made.body.vm_id}/env?source=system`, { token })
    expect(body).toEqual({ env: {} })
    await berth.call('DELETE', `/api/v1/vms/${made.body.vm_id}`, { token })
  }
}, 180_000)

test('somebody who has left the organization takes their account along, and gets it back with it', async () => {
  const set = (value: ReturnType<typeof sql>) =>
    sql`update memberships set deactivated_at = ${value} where user_id = ${idsOf(token).userId}`.execute(
      berth.services.db,
    )
  const other = await berth.token('carol', 'acme', 'owner')
  const tries = async (): Promise<number> =>
    (
      await berth.call<Command>('POST', `/api/v1/vms/${vm}/envd/exec`, {
        token: other,
        body: { command: `rm -rf copy && GIT_TERMINAL_PROMPT=0 git clone -q ${urlOf('other.git')} copy` },
      })
    ).body.exit_code
  expect(await tries()).toBe(0)
  await set(sql`now()`)
  expect(await tries()).not.toBe(0)
  await set(sql`null`)
  expect(await tries()).toBe(0)
}, 60_000)

test('disconnecting takes the account away at once; refreshing gives a VM the new one, but only if its own person asks', async () => {
  expect(await refresh()).toEqual({ status: 'unchanged', warning: null })
  await berth.call('DELETE', '/api/v1/codehost/disconnect', { token })
  expect(await clones()).toBe(false)
  expect((await exec('env')).stdout).not.toContain('CODEHOST')
  expect(await refresh()).toMatchObject({
    status: 'unchanged',
    warning: expect.stringContaining('has connected no account'),
  })
  await connect()
  expect(await clones()).toBe(false)
  expect(await refresh(await berth.token('carol', 'acme', 'owner'))).toMatchObject({ status: 'unchanged' })
  expect(await clones()).toBe(false)
  expect(await refresh()).toEqual({ status: 'refreshed', warning: null })
  expect(await clones()).toBe(true)
}, 120_000)
