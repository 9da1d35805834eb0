/** VMs that really run: created, used, changed and deleted through REST and GraphQL. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'
import { until } from '../support/until.ts'
import { describePaths } from './vm-files/paths.ts'

type Vm = { vm_id: string; name: string; status: string; ip_address: string; warnings: string[] }
type Exec = {
  stdout: string
  stderr: string
  exit_code: number
  duration: string
  timeout: boolean
  background: boolean
  process_id: string | null
  error: string | null
}

let berth: Berth
let token: string
let vm: Vm
const host = createServer((_request, response) => response.end('hello from the host'))

beforeAll(async () => {
  await new Promise<void>((ready) => host.listen(0, '127.0.0.1', ready))
  berth = await startBerth({
    worker: true,
    pool: 1,
    settings: { BERTH_VM_HOST_PORTS: String((host.address() as AddressInfo).port) },
  })
  token = await berth.token()
  const made = await berth.call<Vm>('POST', '/api/v1/vms', {
    token,
    body: { name: 'first', env: { GREETING: "it's $HOME" }, external_ref: 'mine' },
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  vm = made.body
}, 180_000)
afterAll(async () => {
  host.close()
  await berth.stop()
})

const exec = async (command: string, options: Record<string, unknown> = {}, vmId = vm.vm_id): Promise<Exec> => {
  const answer = await berth.call<Exec>('POST', `/api/v1/vms/${vmId}/envd/exec`, {
    token,
    body: { command, ...options },
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}

test('a create returns a running VM with its documented fields', () => {
  expect(vm).toEqual({
    vm_id: expect.stringMatching(/^vm_/),
    name: 'first',
    status: 'running',
    ip_address: expect.stringMatching(/^127\./),
    node_id: expect.stringMatching(/^node_/),
    user_id: expect.stringMatching(/^usr_/),
    memory_mb: 2048,
    vcpu_count: 2,
    warnings: [],
  })
})

test('it is read, listed and found by its external reference', async () => {
  const short = { vm_id: vm.vm_id, status: 'running', ip_address: vm.ip_address }
  expect((await berth.call('GET', `/api/v1/vms/${vm.vm_id}`, { token })).body).toEqual(short)
  expect((await berth.call('GET', '/api/v1/vms', { token })).body).toEqual([short])
  expect((await berth.call('GET', '/api/v1/vms/external/mine', { token })).body).toEqual({
    vm_id: vm.vm_id,
    status: 'running',
    external_ref: 'mine',
  })
})

test('a command returns its output, its exit code and its duration, whatever the exit code', async () => {
  expect(await exec('echo out; echo err >&2; exit 3')).toEqual({
    stdout: 'out\n',
    stderr: 'err\n',
    exit_code: 3,
    duration: expect.stringMatching(/^\d+\.\d{3}s$/),
    timeout: false,
    background: false,
    process_id: null,
    error: null,
  })
})

test('arguments reach a program as they are, without a shell', async () => {
  expect((await exec('printf', { args: ['%s|', 'a b', '$HOME', "it's", '*', ''] })).stdout).toBe("a b|$HOME|it's|*||")
})

test('it runs as user in /home/user, elsewhere when asked, with git and curl at hand', async () => {
  expect((await exec('id -un; pwd')).stdout).toBe('user\n/home/user\n')
  expect((await exec('pwd', { working_dir: '/tmp' })).stdout).toBe('/tmp\n')
  expect((await exec('git --version && curl --version | head -1')).stdout).toMatch(/^git version.*\ncurl /)
})

test('variables given at creation are there, and never shown; a change reaches the next command', async () => {
  expect((await exec('printf %s "$GREETING"')).stdout).toBe("it's $HOME")
  expect((await berth.call('GET', `/api/v1/vms/${vm.vm_id}/env`, { token })).body).toEqual({ env: {} })
  await berth.call('PATCH', `/api/v1/vms/${vm.vm_id}/env`, { token, body: { LATER: 'line 1\nline 2' } })
  expect((await exec('printf %s "$LATER"')).stdout).toBe('line 1\nline 2')
  await berth.call('DELETE', `/api/v1/vms/${vm.vm_id}/env/LATER`, { token })
  expect((await exec('printf %s "${LATER-gone}"')).stdout).toBe('gone')
})

test('a timeout kills the whole group, answers 124 and what was printed until then', async () => {
  const result = await exec('echo before; sleep 300 & sleep 300', { timeout: 2 })
  expect(result).toMatchObject({
    stdout: 'before\n',
    exit_code: 124,
    timeout: true,
    error: expect.stringContaining('2 s'),
  })
  // What was killed may be seen for a moment more, until its parent has taken note of it.
  await until('nothing of it is left', async () => (await exec('pgrep -c sleep || true')).stdout.trim() === '0', 10_000)
})

test('output beyond a MiB keeps its tail and says how much is gone', async () => {
  const { stdout } = await exec('head -c 3000000 /dev/zero | tr "\\0" x; echo end')
  expect(stdout).toMatch(/^\[… \d+ bytes dropped …\]\n/)
  expect(stdout.endsWith('xend\n')).toBe(true)
  expect(Buffer.byteLength(stdout)).toBeLessThan(1024 * 1024 + 100)
})

test('a background process is started without waiting, read, followed and killed', async () => {
  const started = await exec('for i in 1 2 3; do echo line $i; done; sleep 600', { background: true })
  expect(started).toMatchObject({
    background: true,
    exit_code: 0,
    stdout: '',
    process_id: expect.stringMatching(/^prc_/),
  })
  const path = `/api/v1/vms/${vm.vm_id}/envd/processes/${started.process_id}`
  const read = async () =>
    (
      await berth.call<{
        process: { status: string; exit_code: number | null; finished_at: string | null }
        stdout: string
      }>('GET', path, { token })
    ).body
  await until('its output is there', async () => (await read()).stdout === 'line 1\nline 2\nline 3\n')
  expect((await read()).process.status).toBe('running')
  expect(await berth.call('POST', `${path}/kill`, { token, body: { signal: 'HUP' } })).toMatchObject({ status: 400 })
  await berth.call('POST', `${path}/kill`, { token, body: { signal: 'KILL' } })
  await until('it is killed, and when is told with it', async () => {
    const { process } = await read()
    expect(process.finished_at === null).toBe(process.status === 'running')
    return process.status === 'killed'
  })
  const listed = await berth.call<{ processes: { process_id: string }[] }>(
    'GET',
    `/api/v1/vms/${vm.vm_id}/envd/processes`,
    { token },
  )
  expect(listed.body.processes.map((one) => one.process_id)).toContain(started.process_id)
})

test('the stream of a process gives every piece once, also over a reconnect by its cursor', async () => {
  const started = await exec('for i in $(seq 1 20); do echo $i; sleep 0.05; done; exit 7', { background: true })
  const path = `${berth.url}/api/v1/vms/${vm.vm_id}/envd/processes/${started.process_id}/stream`
  let cursor = ''
  let text = ''
  let exitCode: unknown
  for (let connection = 0; exitCode === undefined && connection < 40; connection++) {
    const left = new AbortController()
    const response = await fetch(path, {
      headers: { authorization: `Bearer ${token}`, ...(cursor ? { 'last-event-id': cursor } : {}) },
      signal: left.signal,
    })
    let seen = 0
    for await (const frame of frames(response)) {
      if (!frame.data) continue
      cursor = frame.id ?? cursor
      const event = JSON.parse(frame.data) as { output: string; done: boolean; exit_code: number | null }
      text += event.output
      if (event.done) exitCode = event.exit_code
      if (++seen === 3) break
    }
    left.abort()
  }
  expect(text).toBe(Array.from({ length: 20 }, (_, i) => `${i + 1}\n`).join(''))
  expect(exitCode).toBe(7)
})

test('files are written, read, listed and deleted', async () => {
  const at = (name: string, body: unknown) =>
    berth.call('POST', `/api/v1/vms/${vm.vm_id}/envd/${name}`, { token, body })
  const content = Buffer.from([0, 1, 2, 255, 10]).toString('base64')
  expect((await at('write', { path: '/home/user/a dir/b.bin', content })).body).toEqual({
    path: '/home/user/a dir/b.bin',
    size_bytes: 5,
  })
  expect((await at('read', { path: '/home/user/a dir/b.bin' })).body).toEqual({
    path: '/home/user/a dir/b.bin',
    content,
    size_bytes: 5,
  })
  expect((await at('list', { path: '/home/user/a dir' })).body).toMatchObject({
    entries: [{ name: 'b.bin', type: 'file', size_bytes: 5 }],
  })
  expect((await at('delete', { path: '/home/user/a dir' })).status).toBe(400)
  expect((await at('delete', { path: '/home/user/a dir', recursive: true })).body).toEqual({
    vm_id: vm.vm_id,
    path: '/home/user/a dir',
    success: true,
  })
  expect((await at('delete', { path: '/home/user/a dir', recursive: true })).body).toMatchObject({ success: false })
  expect((await at('read', { path: '/home/user/nothing' })).status).toBe(400)
})

test.each([
  '/',
  '/proc',
  '/sys/kernel',
  '/dev',
  '/home',
  '/home/user/workspace',
  '/home/user/..',
  '/home/user/../..',
  '/home//user/./../../proc/',
  '/run',
])('deleting %s is refused, and nothing is gone', async (path) => {
  const refused = await berth.call('POST', `/api/v1/vms/${vm.vm_id}/envd/delete`, {
    token,
    body: { path, recursive: true },
  })
  expect(refused.status, JSON.stringify(refused.body)).toBe(400)
  expect((await exec('test -d /home/user/workspace && test -r /proc/self/stat && echo there')).stdout).toBe('there\n')
})

test('a symbolic link is deleted itself, not what it points to', async () => {
  await exec('mkdir -p d && echo x > d/keep && ln -s /home/user/d link && ln -s / root-link')
  const gone = await berth.call('POST', `/api/v1/vms/${vm.vm_id}/envd/delete`, {
    token,
    body: { path: '/home/user/link', recursive: true },
  })
  expect(gone.body).toMatchObject({ success: true })
  expect((await exec('cat d/keep')).stdout).toBe('x\n')
  const through = await berth.call('POST', `/api/v1/vms/${vm.vm_id}/envd/delete`, {
    token,
    body: { path: '/home/user/root-link/proc', recursive: true },
  })
  expect(through.status).toBe(400)
})

describePaths(() => ({ berth, token, vmId: vm.vm_id, exec }))

test('the host is reached as host.berth.internal on the named port only, and its loopback, private ranges and other VMs are not', async () => {
  const { port } = host.address() as AddressInfo
  expect((await exec(`curl -s http://host.berth.internal:${port}/`)).stdout).toBe('hello from the host')
  const other = port === 4000 ? 4001 : 4000
  for (const address of [
    `http://host.berth.internal:${other}/`,
    `http://127.0.0.1:${port}/`,
    `http://10.0.2.2:${port}/`,
    'http://169.254.169.254/',
    'http://192.168.1.1/',
    `http://${vm.ip_address}:22/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    `http://localhost:${port}/`,
  ]) {
    const direct = await exec(`curl -s -m 5 --noproxy '*' -o /dev/null -w '%{http_code}' '${address}' || true`)
    const proxied = await exec(
      `curl -s -m 5 --proxy "$http_proxy" --noproxy '' -o /dev/null -w '%{http_code}' '${address}' || true`,
    )
    expect([direct.stdout, address]).toEqual(['000', address])
    expect([['403', '000', '502'].includes(proxied.stdout), address, proxied.stdout]).toEqual([
      true,
      address,
      proxied.stdout,
    ])
  }
})

test('a network policy changes while the VM runs', async () => {
  const { port } = host.address() as AddressInfo
  const set = (policy: unknown) =>
    berth.ask(
      'mutation ($id: ID!, $policy: NetworkPolicyInput) { updateVm(input: { id: $id, networkPolicy: $policy }) { vm { networkPolicy { type } } } }',
      { token, variables: { id: vm.vm_id, policy } },
    )
  const reach = async () =>
    (await exec(`curl -s -m 5 -o /dev/null -w '%{http_code}' http://host.berth.internal:${port}/ || true`)).stdout
  await set({ none: true })
  await until('nothing is reached any more', async () => (await reach()) !== '200')
  await set({ unrestricted: true })
  await until('the host is reached again', async () => (await reach()) === '200')
})

test('the session is written for the user alone, in memory, and removed', async () => {
  const path = `/api/v1/vms/${vm.vm_id}/env/sync-session`
  expect((await berth.call('POST', path, { token })).body).toEqual({ status: 'synced', warning: null })
  expect((await exec('stat -c %a /run/berth/session.json; findmnt -no FSTYPE -T /run/berth/session.json')).stdout).toBe(
    '600\ntmpfs\n',
  )
  const session = JSON.parse((await exec('cat /run/berth/session.json')).stdout) as { access_token: string }
  expect((await berth.call('GET', `/api/v1/vms/${vm.vm_id}`, { token: session.access_token })).status).toBe(200)
  expect((await berth.call('DELETE', path, { token })).body).toEqual({ status: 'removed', warning: null })
  expect((await berth.call('DELETE', path, { token })).body).toEqual({ status: 'not_present', warning: null })
  expect((await berth.call('POST', `/api/v1/vms/${vm.vm_id}/env/refresh-system`, { token })).body).toMatchObject({
    status: 'unchanged',
  })
})

test('a command has variables, an input and a user of its own, in the background too', async () => {
  const setting = { env: { GREETING: 'mine', PATH: '/usr/bin:/bin' }, stdin: 'typed\n', user: 'root' }
  const command = 'id -un; printf "%s\\n" "$GREETING"; cat'
  expect((await exec(command, setting)).stdout).toBe('root\nmine\ntyped\n')
  const { process_id } = await exec(command, { ...setting, background: true })
  const path = `/api/v1/vms/${vm.vm_id}/envd/processes/${process_id}`
  await until('it has ended', async () => {
    const { body } = await berth.call<{ process: { status: string }; stdout: string }>('GET', path, { token })
    return body.process.status === 'exited' && body.stdout === 'root\nmine\ntyped\n'
  })
  expect((await exec('printf %s "$GREETING"; id -un; cat')).stdout).toBe("it's $HOMEuser\n")
})

test('a sandbox runs code in every language, answers a failing one as a result, and is gone after its ttl', async () => {
  const run = (body: unknown) =>
    berth.call<{ vm: Vm; command: { exit_code: number; stdout: string; stderr: string }; ttl: number }>(
      'POST',
      '/api/v1/vms/sandbox',
      { token, body },
    )
  const python = await run({
    language: 'python',
    code: 'import sys; print(sys.argv[1:]); sys.exit(4)',
    args: ['a b'],
    ttl: 10,
  })
  expect(python).toMatchObject({
    status: 201,
    body: {
      vm: { vm_id: expect.stringMatching(/^vm_/), status: 'running' },
      command: { exit_code: 4, stdout: "['a b']\n", stderr: '' },
      ttl: 10,
    },
  })
  for (const [language, code] of [
    ['js', 'console.log(6*7)'],
    ['ts', 'const x: number = 42; console.log(x)'],
    ['sh', 'echo $((6*7))'],
    ['ruby', 'puts ENV["N"].to_i * gets.to_i'],
  ]) {
    const ran = await run({ language, code, ttl: 60, env: { N: '6' }, stdin: '7\n' })
    expect([language, ran.body.command?.stdout]).toEqual([language, '42\n'])
    await berth.call('DELETE', `/api/v1/vms/${ran.body.vm.vm_id}`, { token })
  }
  await until(
    'the sandbox is gone',
    async () => (await berth.call('GET', `/api/v1/vms/${python.body.vm.vm_id}`, { token })).status === 404,
    40_000,
  )
  for (const wrong of [
    {},
    { code: 'x' },
    { code: 'x', language: 'cobol' },
    { code: 'x', language: 'py', command: 'ls' },
    { command: 'ls', ttl: 9 },
    { command: 'ls', ttl: 86_401 },
    { command: 'ls', timeout: 3601 },
    { command: '' },
  ]) {
    expect([wrong, (await run(wrong)).status]).toEqual([wrong, 400])
  }
}, 180_000)

test('stopped, started, paused and resumed: the disk is kept, and with a pause the memory too', async () => {
  const act = async (name: string) =>
    (
      await berth.ask(`mutation ($id: ID!) { ${name}(input: { id: $id }) { vm { status } } }`, {
        token,
        variables: { id: vm.vm_id },
      })
    ).body
  const status = async () => (await berth.call<Vm>('GET', `/api/v1/vms/${vm.vm_id}`, { token })).body.status
  await exec('echo kept > on-disk')
  const { process_id } = await exec('sleep 1000', { background: true })
  expect((await act('pauseVm')).data).toEqual({ pauseVm: { vm: { status: 'PAUSING' } } })
  await until('it is paused', async () => (await status()) === 'paused')
  expect(
    await berth.call('POST', `/api/v1/vms/${vm.vm_id}/envd/exec`, { token, body: { command: 'true' } }),
  ).toMatchObject({ status: 400, body: { message: expect.stringContaining('paused') } })
  await act('resumeVm')
  await until('it runs again', async () => (await status()) === 'running')
  expect((await exec('pgrep -c sleep')).stdout.trim()).toBe('1')
  expect(
    (
      await berth.call<{ process: { status: string } }>('GET', `/api/v1/vms/${vm.vm_id}/envd/processes/${process_id}`, {
        token,
      })
    ).body.process.status,
  ).toBe('running')
  await act('stopVm')
  await until('it is stopped', async () => (await status()) === 'stopped', 40_000)
  expect((await act('pauseVm')).errors?.[0]?.extensions.code).toBe('INVALID_TRANSITION')
  await act('startVm')
  await until('it runs', async () => (await status()) === 'running', 60_000)
  expect((await exec('cat on-disk; printf %s "$GREETING"')).stdout).toBe("kept\nit's $HOME")
}, 180_000)

test('usage has a closed session for each period and an open one, with cost', async () => {
  const usage = await berth.call<{ sessions: Record<string, unknown>[]; limit: number; offset: number }>(
    'GET',
    '/api/v1/usage',
    { token },
  )
  const own = usage.body.sessions.filter((one) => one['vm_id'] === vm.vm_id)
  expect(own.length).toBeGreaterThanOrEqual(3)
  expect(own[0]).toMatchObject({
    ended_at: null,
    end_reason: null,
    vcpu_count: 2,
    memory_mb: 2048,
    cost_per_hour: 0.09,
    id: expect.any(Number),
  })
  expect(own[1]).toMatchObject({
    end_reason: 'request',
    duration_minutes: expect.any(Number),
    total_cost_billed: expect.any(Number),
  })
})

test('the folder outlives its VM, and a second VM mounts it again; two at once are refused', async () => {
  await exec('echo folder > workspace/note')
  const { data } = (
    await berth.ask('query ($id: ID!) { vm(id: $id) { folderId } }', { token, variables: { id: vm.vm_id } })
  ).body as { data: { vm: { folderId: string } } }
  const body = { folder_id: data.vm.folderId, name: 'second' }
  expect(await berth.call('POST', '/api/v1/vms', { token, body })).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('mounted') },
  })
  await exec('sync')
  expect((await berth.call('DELETE', `/api/v1/vms/${vm.vm_id}`, { token })).status).toBe(204)
  await until(
    'the first is gone',
    async () => (await berth.call('GET', `/api/v1/vms/${vm.vm_id}`, { token })).status === 404,
  )
  const second = await berth.call<Vm>('POST', '/api/v1/vms', { token, body })
  expect(second.status, JSON.stringify(second.body)).toBe(201)
  expect((await exec('cat workspace/note', {}, second.body.vm_id)).stdout).toBe('folder\n')
  await berth.call('DELETE', `/api/v1/vms/${second.body.vm_id}`, { token })
  expect((await berth.call('GET', '/api/v1/vms', { token })).status).toBe(200)
}, 90_000)

test('no machine is left when its VM is deleted', async () => {
  const compute = berth.worker?.compute
  await until('no machine is left', async () => (await compute?.residents())?.length === 0, 30_000)
})

/** The frames of an event stream as they come. */
async function* frames(response: Response): AsyncIterableIterator<{ id?: string; data?: string }> {
  if (!response.body) return
  let rest = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    rest += piece
    const parts = rest.split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const fields = Object.fromEntries(
        part
          .split('\n')
          .filter((line) => !line.startsWith(':'))
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      )
      yield fields
    }
  }
}
