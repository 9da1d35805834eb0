/** A VM of a project, its real database, and a VM outside: who reaches the database by its network name. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from '../../support/installation.ts'
import { until } from '../../support/until.ts'

const limitMs = 180_000
/** Logs in as psql does, and prints who it is; with a third argument it then stays until it is told to leave. */
const login = `
import base64, hashlib, hmac, os, socket, ssl, struct, sys
host, user, token, stay = (sys.argv[1:] + [''])[:4]
s = socket.create_connection((host, 5432), 60)
s.sendall(struct.pack('!ii', 8, 80877103))
assert s.recv(1) == b'S'
tls = ssl.create_default_context()
tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
s = tls.wrap_socket(s, server_hostname=host)
def send(kind, body): s.sendall(kind + struct.pack('!i', len(body) + 4) + body)
def exactly(size):
  got = b''
  while len(got) < size:
    more = s.recv(size - len(got))
    if not more: sys.exit('closed')
    got += more
  return got
def read():
  kind = exactly(1)
  body = exactly(struct.unpack('!i', exactly(4))[0] - 4)
  if kind == b'E': sys.exit(body.replace(b'\\0', b' ').decode())
  return kind, body
send(b'', struct.pack('!i', 196608) + b'user\\0%s\\0database\\0app\\0\\0' % user.encode())
read()
bare = b'n=,r=' + base64.b64encode(os.urandom(18))
first = b'n,,' + bare
send(b'p', b'SCRAM-SHA-256\\0' + struct.pack('!i', len(first)) + first)
challenge = read()[1][4:]
parts = dict(part.split(b'=', 1) for part in challenge.split(b','))
salted = hashlib.pbkdf2_hmac('sha256', token.encode(), base64.b64decode(parts[b's']), int(parts[b'i']))
key = hmac.digest(salted, b'Client Key', 'sha256')
final = b'c=biws,r=' + parts[b'r']
signature = hmac.digest(hashlib.sha256(key).digest(), bare + b',' + challenge + b',' + final, 'sha256')
send(b'p', final + b',p=' + base64.b64encode(bytes(a ^ b for a, b in zip(key, signature))))
while read()[0] != b'Z': pass
send(b'Q', b"select current_user || ' in ' || current_database()\\0")
kind = b''
while kind != b'Z':
  kind, body = read()
  if kind == b'D': print(body[6:].decode(), flush=True)
if stay:
  open(stay, 'w').close()
  read()
`
type Created = { id: string; token: string; status: string }
type Ran = { stdout: string; stderr: string; exit_code: number }
let berth: Installation
let token: string
let project: string
let database: Created
let pgUser: string
let inside: string
let outside: string

const call = async <Body>(method: string, path: string, body?: unknown): Promise<Body> => {
  const answer = await fetch(berth.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answered: unknown = await answer.json()
  expect(answer.status, JSON.stringify(answered)).toBeLessThan(300)
  return answered as Body
}
const graphql = async <Data>(query: string): Promise<Data> =>
  (await call<{ data: Data }>('POST', '/graphql', { query })).data
const run = (vm: string, command: string, args?: readonly string[]): Promise<Ran> =>
  call('POST', `/api/v1/vms/${vm}/envd/exec`, { command, ...(args ? { args } : {}) })
const logIn = (vm: string, host = 'backend', ...more: string[]): Promise<Ran> =>
  run(vm, '/usr/bin/python3', ['-c', login, host, pgUser, database.token, ...more])
const move = (body: unknown): Promise<unknown> => call('PATCH', `/api/v1/databases/${database.id}`, body)
const resolves = async (vm: string, name: string): Promise<boolean> =>
  (await run(vm, `getent hosts ${name}`)).exit_code === 0
const makeVm = async (input: string): Promise<string> =>
  (
    await graphql<{ createVm: { vm: { id: string } } }>(
      `mutation { createVm(input: {name: "app", networkPolicy: {none: true}, ${input}}) { vm { id } } }`,
    )
  ).createVm.vm.id

beforeAll(async () => {
  berth = await startInstallation({ BERTH_VM_POOL: '0' })
  token = await berth.token()
  const { viewer } = await graphql<{ viewer: { organization: { id: string } } }>('{ viewer { organization { id } } }')
  const made = await graphql<{ createProject: { project: { id: string } } }>(
    'mutation { createProject(input: {name: "shop"}) { project { id } } }',
  )
  project = made.createProject.project.id
  const order = { organization_id: viewer.organization.id, name: 'shop' }
  database = await call<Created>('POST', '/api/v1/databases', order)
  pgUser = `app_${database.id.slice(-6)}`
  ;[inside, outside] = await Promise.all([makeVm(`projectId: "${project}"`), makeVm('')])
  for (const [path, status] of [
    [`/api/v1/databases/${database.id}`, 'active'],
    [`/api/v1/vms/${inside}`, 'running'],
    [`/api/v1/vms/${outside}`, 'running'],
  ] as const)
    await until(`${path} is ${status}`, async () => (await call<Created>('GET', path)).status === status, limitMs)
  await move({ project_id: project, network_name: 'backend' })
  await until('the VM knows the name', () => resolves(inside, 'backend'), limitMs)
}, 3 * limitMs)
afterAll(() => berth.stop(), limitMs)

test(
  'a VM of the project logs in by the network name, whatever its network policy; another VM does not even know it',
  async () => {
    expect(await logIn(inside)).toMatchObject({ stdout: `${pgUser} in app\n`, exit_code: 0 })
    expect(await resolves(outside, 'backend')).toBe(false)
    expect((await logIn(outside, '127.0.0.1')).stderr).toContain('Connection refused')
  },
  limitMs,
)

test(
  'it goes on after the end of the worker, and the names follow those of the databases',
  async () => {
    expect(berth.kill('worker')).toBe(true)
    await until(
      'a new worker leads there',
      async () => (await logIn(inside).catch(() => null))?.exit_code === 0,
      limitMs,
    )
    await move({ project_id: project, network_name: 'orders' })
    await until('the new name is known', () => resolves(inside, 'orders'), limitMs)
    expect(await resolves(inside, 'backend')).toBe(false)
    expect((await logIn(inside, 'orders')).stdout).toBe(`${pgUser} in app\n`)
  },
  2 * limitMs,
)

test(
  'a database that leaves the project ends the sessions from there, and its name with them',
  async () => {
    const staying = logIn(inside, 'orders', '/tmp/connected')
    await until('it is connected', async () => (await run(inside, 'test -f /tmp/connected')).exit_code === 0, limitMs)
    await move({ project_id: null })
    const { stderr, exit_code: exitCode } = await staying
    expect(stderr).toMatch(/57P01 .*left the project/)
    expect(exitCode).toBe(1)
    await until('the name is gone', async () => !(await resolves(inside, 'orders')), limitMs)
    expect((await logIn(inside, '127.0.0.1')).stderr).toContain('28P01')
  },
  limitMs,
)
