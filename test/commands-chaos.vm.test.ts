/**
 * A hostile day for whoever works in VMs: a whole `npm start`, commands and file requests in three VMs all the time, and
 * their node's worker killed and ended again and again. Every request is answered, and has its effect once.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from './support/installation.ts'
import { until } from './support/until.ts'

const vmCount = 3
const usersPerVm = 2
const roundsBetween = 1
const lineCount = 120
/** How many wrong answers a failure shows: the first have the cause. */
const wrongShown = 5

let berth: Installation
let token: string
const vms: string[] = []

beforeAll(async () => {
  berth = await startInstallation({ BERTH_VM_MEMORY_MB: '20000' })
  token = await berth.token()
  await until(
    'the node takes VMs',
    async () => {
      const made = await call('POST', '/api/v1/vms', { name: 'first' })
      if (made.status === 201) vms.push(String(made.body['vm_id']))
      return made.status === 201
    },
    120_000,
  )
  while (vms.length < vmCount) vms.push(String((await call('POST', '/api/v1/vms', {})).body['vm_id']))
}, 400_000)
afterAll(() => berth?.stop(), 60_000)

async function call(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(berth.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: (text ? JSON.parse(text) : {}) as Record<string, unknown> }
}

test('no command and no file request fails while the worker restarts, each has its effect once, and a followed process loses no output', async () => {
  const wrong: unknown[] = []
  let going = true
  const done: number[] = []
  async function use(user: number): Promise<number> {
    const at = `/api/v1/vms/${vms[user % vmCount]}/envd`
    const ask = async (name: string, body: unknown, expected: Record<string, unknown>): Promise<void> => {
      const answer = await call('POST', `${at}/${name}`, body)
      const same =
        answer.status === 200 &&
        Object.entries(expected).every(([key, value]) => JSON.stringify(answer.body[key]) === JSON.stringify(value))
      if (!same) wrong.push({ name, asked: body, ...answer })
    }
    let round = 0
    for (; going; round++) {
      const path = `/home/user/file-${user}-${round}`
      const content = Buffer.from(`${user} ${round}`).toString('base64')
      await ask(
        'exec',
        { command: `echo ${round} >> ran-${user}; ${round % 4 === 3 ? 'sleep 2; ' : ''}echo answer ${round}` },
        { stdout: `answer ${round}\n`, exit_code: 0 },
      )
      await ask('write', { path, content }, { size_bytes: Buffer.byteLength(`${user} ${round}`) })
      await ask('read', { path }, { content })
      await ask('delete', { path }, { success: true })
      done[user] = round + 1
    }
    return round
  }

  const background = await call('POST', `/api/v1/vms/${vms[0]}/envd/exec`, {
    command: `for i in $(seq 1 ${lineCount}); do echo line $i; sleep 0.3; done; exit 7`,
    background: true,
  })
  const followed = fetch(
    `${berth.url}/api/v1/vms/${vms[0]}/envd/processes/${String(background.body['process_id'])}/stream`,
    { headers: { authorization: `Bearer ${token}` } },
  ).then((answer) => answer.text())
  const users = Array.from({ length: vmCount * usersPerVm }, (_, user) => use(user))
  for (const how of ['SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGTERM'] as const) {
    const before = [...done]
    await until(
      `everybody works before ${how}`,
      () => users.every((_, user) => (done[user] ?? 0) >= (before[user] ?? 0) + roundsBetween),
      120_000,
    )
    expect(berth.kill('worker', how), 'there is a worker').toBe(true)
  }
  const last = [...done]
  await until('everybody works on', () => users.every((_, user) => (done[user] ?? 0) > (last[user] ?? 0) + 1), 120_000)
  going = false
  const rounds = await Promise.all(users)

  expect(wrong.slice(0, wrongShown), berth.logged(/"level":[456]0/).join('\n')).toEqual([])
  for (const [user, count] of rounds.entries()) {
    const { body } = await call('POST', `/api/v1/vms/${vms[user % vmCount]}/envd/exec`, { command: `cat ran-${user}` })
    expect(body['stdout']).toBe(Array.from({ length: count }, (_, round) => `${round}\n`).join(''))
  }
  const events = [...(await followed).matchAll(/^data: (.*)$/gm)].map(
    ([, data]) => JSON.parse(data ?? '') as { output: string; done: boolean; exit_code: number | null },
  )
  expect(events.map(({ output }) => output).join('')).toBe(
    Array.from({ length: lineCount }, (_, index) => `line ${index + 1}\n`).join(''),
  )
  expect(events.at(-1)).toMatchObject({ done: true, exit_code: 7 })
}, 600_000)
