/** Files and repositories in the VMs of sessions, a published port, and fresh VMs that end with their run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import { findVmRow } from '#src/resources/infra/vms/rows.ts'
import { agentSessions, results, type AgentSessions, type Event } from '../../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../../support/berth.ts'
import { codeHostApp, startCodeHost, type CodeHost } from '../../../support/code-host/code-host.ts'
import { until } from '../../../support/until.ts'

const name = 'host.berth.internal'
const folder = mkdtempSync(join(tmpdir(), 'berth-authority-'))
const trusted = getCACertificates('default')
const vmLimitMs = 240_000
let berth: Berth
let host: CodeHost
let sessions: AgentSessions
let token: string
let agent: string
let environment: string
let file: string
const urlOf = (repository: string): string => `https://${name}:${host.port}/octocat/${repository}`

beforeAll(async () => {
  const authority = createAuthority(folder)
  setDefaultCACertificates([...trusted, await authority.certificate()])
  host = await startCodeHost({ secureContextOf: (server) => authority.contextFor(server), name })
  host.git.addRepository('private', { 'README.md': 'for octocat only\n' })
  host.git.addRepository('other', { 'README.md': 'another one\n' })
  host.git.allowPushes('private')
  berth = await startBerth({
    worker: true,
    pool: 0,
    settings: { BERTH_VM_HOST_PORTS: String(host.port), BERTH_RATE_LIMIT_FACTOR: '100' },
  })
  token = await berth.token()
  sessions = agentSessions(berth, token)
  agent = await sessions.agent({ tools: [{ type: 'agent_toolset_20260401' }, { type: 'berth_toolset_v1' }] })
  environment = (await call<{ id: string }>('POST', '/environments', { name: 'work', config: { memory_mb: 1024 } })).id
  const form = new FormData()
  form.set('file', new Blob(['a,b\n1,2\n']), 'table.csv')
  const headers = { authorization: `Bearer ${token}` }
  const uploaded = await fetch(`${berth.url}/agents/v1/files`, { method: 'POST', headers, body: form })
  file = ((await uploaded.json()) as { id: string }).id
}, 300_000)
afterAll(async () => {
  await berth?.stop()
  host?.close()
  setDefaultCACertificates(trusted)
  rmSync(folder, { recursive: true })
})

async function call<Body = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await berth.call<Body>(method, `/agents/v1${path}`, { token, ...(body === undefined ? {} : { body }) })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}
/** A token of octocat's, as the code host makes one. */
async function secretOf(): Promise<string> {
  const body = JSON.stringify({
    client_id: codeHostApp.id,
    client_secret: codeHostApp.secret,
    code: host.code('octocat'),
  })
  const options = {
    host: '127.0.0.1',
    servername: name,
    port: host.port,
    path: '/login/oauth/access_token',
    method: 'POST',
  }
  return new Promise((resolve, reject) => {
    request(options, (response) => {
      json(response).then((said) => resolve((said as { access_token: string }).access_token), reject)
    })
      .once('error', reject)
      .end(body)
  })
}
/** A vault with one environment variable; its id. */
async function vaultWith(secret_name: string, secret_value: string): Promise<string> {
  const { id } = await call<{ id: string }>('POST', '/vaults', { display_name: secret_name })
  await call('POST', `/vaults/${id}/credentials`, { auth: { type: 'environment_variable', secret_name, secret_value } })
  return id
}
const bash = (command: string): string => `!tool bash ${JSON.stringify({ command })}`
const errorsOf = (log: readonly Event[]): string[] =>
  log.filter(({ type }) => type === 'session.error').map(({ error }) => (error as { message: string }).message)
async function say(id: string, text: string): Promise<string> {
  const before = results(await sessions.log(id)).length
  await sessions.say(id, text)
  await until('it was answered', async () => results(await sessions.log(id)).length > before, vmLimitMs)
  return results(await sessions.rested(id, vmLimitMs)).at(-1)?.text ?? ''
}

test('a file and a private repository are there before the first command; the token is nowhere in the VM; what fails is said', async () => {
  const secret = await secretOf()
  const id = await sessions.begin(
    agent,
    [
      bash(
        `cat /mnt/session/uploads/${file}; cd /workspace/private && cat README.md && git branch --show-current; ls -A /data`,
      ),
      bash(
        'cd /workspace/private && echo more >> README.md && git -c user.name=a -c user.email=a@example.com commit -qam more && git push -q origin HEAD:refs/heads/agent && echo pushed',
      ),
      bash(
        `GIT_TERMINAL_PROMPT=0 git -c credential.helper="$(git -C /workspace/private config --get-regexp 'helper$' | cut -d' ' -f2-)" clone -q ${urlOf('other')} /tmp/other || echo refused`,
      ),
      bash(
        'env; cat /workspace/private/.git/config; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\\0" " "; sudo grep -rIl "gh[o]_" /home /tmp /workspace 2>/dev/null',
      ),
      '!tool deploy {"service_name": "shop", "port": 8000}',
    ].join('\n'),
    {
      environment_id: environment,
      resources: [
        { type: 'file', file_id: file },
        { type: 'github_repository', url: urlOf('private'), authorization_token: secret },
        {
          type: 'github_repository',
          url: urlOf('private.git'),
          authorization_token: secret,
          checkout: { type: 'branch', name: 'nope' },
          mount_path: '/data/none',
        },
      ],
    },
  )
  const log = await sessions.rested(id, vmLimitMs)
  const [read, pushed, other, looked, deployed] = results(log).map(({ text }) => text)
  expect(read).toMatch(/^\[\/data\/none is not there: Remote branch nope not found/)
  expect(read).toContain('a,b\n1,2\nfor octocat only\nmain')
  expect(pushed).toContain('pushed')
  expect(other).toContain('refused')
  expect(looked).toContain('berth-secret-sesrsc_')
  expect(looked).not.toContain('gho_')
  expect(looked).not.toContain('***')
  expect(deployed).toMatch(/^Port 8000 is published at https:\/\/shop-[0-9a-z]{8}\./)
  expect(errorsOf(log), 'once').toEqual([expect.stringMatching(/^\/data\/none is not there/)])
  expect(host.cloned.filter(({ path }) => path.endsWith('git-receive-pack'))).toMatchObject([{ login: 'octocat' }])
  const { data } = await call<{ data: { id: string }[] }>('GET', `/sessions/${id}/resources`)

  // What is there already stays as the agent left it; what is added comes before the next command.
  await call('POST', `/sessions/${id}/resources`, { type: 'file', file_id: file, mount_path: '/data/deep/added.csv' })
  await call('DELETE', `/sessions/${id}/resources/${data[2]?.id}`)
  const again = await say(
    id,
    bash(
      'cat /data/deep/added.csv; tail -1 /workspace/private/README.md; stat -c %U /data/deep/added.csv /workspace/private',
    ),
  )
  expect(again).toBe('a,b\n1,2\nmore\nuser\nuser')
  await call('POST', `/sessions/${id}/resources/${data[1]?.id}`, { authorization_token: 'not-a-token' })
  expect(
    await say(id, bash('cd /workspace/private; GIT_TERMINAL_PROMPT=0 git fetch -q 2>&1 || echo refused')),
  ).toContain('refused')

  // Another session in the same VM finds the clone, and has a token of its own.
  const next = await sessions.begin(agent, bash('cd /workspace/private && git fetch -q && tail -1 README.md'), {
    environment_id: environment,
    resources: [{ type: 'github_repository', url: urlOf('private'), authorization_token: await secretOf() }],
  })
  const [found] = results(await sessions.rested(next, vmLimitMs)).map(({ text }) => text)
  expect(found).toMatch(/^\[A clone of \S+ from before was at \/workspace\/private already/)
  expect(found).toMatch(/more$/)
}, 500_000)

test('a file of an agent’s VM goes along with what it asks another one, into that one’s VM; a secret does not', async () => {
  const asked = await sessions.begin(agent, null, { environment_id: environment, title: 'Counts' })
  const ask = (path: string, text: string): string =>
    `!tool ask_peer ${JSON.stringify({ session_id: asked, text, path })}`
  const count = bash('cat ~/peer/*/*; stat -c "%U %n" ~/peer/*/*')
  const asker = await sessions.begin(
    agent,
    [
      bash(
        'printf "3 rows\\n" > ~/"a b.csv"; head -c 11000000 /dev/zero > ~/large; mkdir -p ~/folder; echo $PEER_SECRET > ~/secret',
      ),
      ask('a b.csv', `Count.\n${count}\n!say Three.`),
      ask('/home/user/large', 'x'),
      ask('folder', 'x'),
      ask('/nowhere', 'x'),
      ask('secret', 'x'),
      '!say done',
    ].join('\n'),
    { environment_id: environment, vault_ids: [await vaultWith('PEER_SECRET', 'very-secret-value-4711')] },
  )
  const [, answer, large, folder, nowhere, secret] = results(await sessions.rested(asker, vmLimitMs))
  expect(answer).toEqual({ text: 'Three.', isError: false })
  expect(large).toMatchObject({ isError: true, text: expect.stringContaining('more than 10 MiB') })
  expect(folder).toMatchObject({ isError: true, text: expect.stringContaining('could not be sent') })
  expect(nowhere).toMatchObject({ isError: true, text: expect.stringContaining('could not be sent') })
  expect(secret).toMatchObject({ isError: true, text: expect.stringContaining('contains a secret') })
  const log = await sessions.log(asked)
  const use = (await sessions.log(asker)).find(({ name: called }) => called === 'ask_peer')
  const exchange = String(use?.['peer_exchange_id'])
  const path = `/home/user/peer/${exchange}/a b.csv`
  expect(JSON.stringify(log[0])).toContain(path)
  expect(results(log)[0]?.text).toBe(`3 rows\nuser ${path}`)
  expect(await call('GET', `/peer-exchanges/${exchange}`)).toMatchObject({
    state: 'completed',
    attachment: { filename: 'a b.csv', size_bytes: 7, media_type: 'text/csv' },
  })
}, 500_000)

test('the fresh VM of a deployment’s run is deleted when the run is over; a later message gets another one', async () => {
  const made = await call<{ id: string }>('POST', '/deployments', {
    name: 'fresh',
    agent,
    environment: { type: 'ephemeral', config: { memory_mb: 1024 } },
    kickoff: bash('echo first > ~/mark; cat ~/mark'),
  })
  const { id } = await call<{ id: string }>('POST', `/deployments/${made.id}/run`)
  const vmOf = async (): Promise<string | null> =>
    (
      await findOne<{ vmId: string | null }>(
        berth.services.db,
        sql`select e.vm_id from sessions s join environments e on e.id = s.environment_id where s.id = ${decodeId('session', id)}`,
      )
    )?.vmId ?? null
  await until('it has a VM', async () => (await vmOf()) !== null, vmLimitMs)
  const first = await vmOf()
  expect(results(await sessions.rested(id, vmLimitMs))).toEqual([{ text: 'first', isError: false }])
  await until(
    'the VM is gone',
    async () => (await findVmRow(berth.services.db, first ?? ''))?.status === 'deleted',
    vmLimitMs,
  )
  expect(await vmOf()).toBeNull()
  expect(await say(id, bash('cat ~/mark 2>/dev/null || echo fresh'))).toBe('fresh')
  const second = await vmOf()
  expect(second).not.toBe(first)
  await call('DELETE', `/sessions/${id}`)
  await until(
    'that one is gone too',
    async () => (await findVmRow(berth.services.db, second ?? ''))?.status === 'deleted',
    vmLimitMs,
  )
}, 500_000)
