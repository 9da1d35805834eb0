/** Repositories cloned at creation, from a real git server on the host. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'
import { startGitServer, type GitServer } from '../support/git/git-server.ts'

let berth: Berth
let git: GitServer
let closed: GitServer
let token: string
beforeAll(async () => {
  git = await startGitServer()
  closed = await startGitServer({ password: 'canary-git-password' })
  git.addRepository('one', { 'README.md': 'one\n' }, { feature: { 'README.md': 'feature\n' } })
  git.addRepository('two', { 'src/a.txt': 'two\n' })
  closed.addRepository('private', { 'secret.txt': 'private\n' })
  berth = await startBerth({ worker: true, pool: 1, settings: { BERTH_VM_HOST_PORTS: `${git.port},${closed.port}` } })
  token = await berth.token()
}, 120_000)
afterAll(async () => {
  git.stop()
  closed.stop()
  await berth.stop()
})

test('repositories are cloned in order, each URL once, to the requested paths; a failed one is a warning without its credential', async () => {
  const url = (name: string, port = git.port) => `http://host.berth.internal:${port}/${name}`
  const made = await berth.call<{ vm_id: string; status: string; warnings: string[] }>('POST', '/api/v1/vms', {
    token,
    body: {
      git_repo_url: url('one.git'),
      git_branch: 'feature',
      git_repos: [
        { url: url('one') }, // the same as the first
        { url: url('two.git'), path: 'projects/two' },
        { url: url('two.git/'), path: '/home/user/again' }, // the same as the one before
        { url: url('missing.git') },
        { url: `http://git:wrong-canary@host.berth.internal:${closed.port}/private.git` },
        { url: `http://git:canary-git-password@host.berth.internal:${closed.port}/private.git`, path: 'twice' }, // the same address but for the credential
      ],
    },
  })
  expect(made).toMatchObject({ status: 201, body: { status: 'running' } })
  const exec = async (command: string) =>
    (
      await berth.call<{ stdout: string }>('POST', `/api/v1/vms/${made.body.vm_id}/envd/exec`, {
        token,
        body: { command },
      })
    ).body.stdout
  expect(
    await exec(
      'cat one/README.md; git -C one branch --show-current; cat projects/two/src/a.txt; ls; stat -c %U one projects/two',
    ),
  ).toBe('feature\nfeature\ntwo\none\nprojects\nworkspace\nuser\nuser\n')
  expect(made.body.warnings).toHaveLength(2)
  expect(made.body.warnings[0]).toContain('missing')
  expect(JSON.stringify(made.body)).not.toContain('canary')
}, 120_000)

test('a repository that the way out of the VM refuses is a warning with its reason', async () => {
  const urls = ['https://10.0.0.1/a/b.git', 'http://host.berth.internal:9/a/b.git', 'https://nowhere.invalid/a/b.git']
  const { body } = await berth.call<{ warnings: string[] }>('POST', '/api/v1/vms', {
    token,
    body: { git_repos: urls.map((url, at) => ({ url, path: `refused-${at}` })) },
  })
  expect(body.warnings).toEqual([
    'Repository 1 (10.0.0.1/a/b.git) was not cloned: Private addresses may not be reached.',
    'Repository 2 (host.berth.internal:9/a/b.git) was not cloned: Port 9 of the host is not open to VMs; the operator opens it with BERTH_VM_HOST_PORTS.',
    'Repository 3 (nowhere.invalid/a/b.git) was not cloned: The name does not resolve. Check the address, and the name servers of the host that runs Berth.',
  ])
}, 120_000)

test('a credential in a URL is used, and is nowhere in the row afterwards', async () => {
  const made = await berth.call<{ vm_id: string; warnings: string[] }>('POST', '/api/v1/vms', {
    token,
    body: { git_repos: [{ url: `http://git:canary-git-password@host.berth.internal:${closed.port}/private.git` }] },
  })
  expect(made).toMatchObject({ status: 201, body: { warnings: [] } })
  const read = await berth.call<{ stdout: string }>('POST', `/api/v1/vms/${made.body.vm_id}/envd/exec`, {
    token,
    body: { command: 'cat private/secret.txt' },
  })
  expect(read.body.stdout).toBe('private\n')
  const rows = await berth.services.database.pool.query(
    'select row_to_json(v)::text as row from vms v union all select row_to_json(j)::text from pgboss.job j',
  )
  expect(rows.rows.map((one: { row: string }) => one.row).join()).not.toContain('canary')
}, 120_000)
