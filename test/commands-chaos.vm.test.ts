/**
 * A hostile day for whoever works in VMs: a whole `npm start`, commands and file requests in three VMs all the time, and
 * their node's worker killed and ended again and again. What was answered has had its effect once, and what was not at
 * most once; a request or a stream that had to be asked for again is counted, and is no failure.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from './support/installation.ts'
import { until } from './support/until.ts'

const vmCount = 3
const usersPerVm = 2
const roundsBetween = 1
const lineCount = 120
/** A worker that starts on a busy machine is away for longer than one stream waits for it. */
const streamsMax = 20
/** How many wrong answers a failure shows: the first have the cause. */
const wrongShown = 5
/** Each is followed by another before the worker has done much: in its start, in its adoption, and in its work. */
const kills = ['SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGTERM'] as const

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

type Output = { output: string; done: boolean; exit_code: number | null }

/** Follows a process as EventSource does: a stream that ends early, or is refused, is opened again after its last event. */
async function follow(url: string): Promise<{ events: Output[]; opened: number }> {
  const events: Output[] = []
  let last = ''
  for (let opened = 1; opened <= streamsMax; opened++) {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}`, 'last-event-id': last } })
    for (const [, id = '', data = ''] of (await answer.text()).matchAll(/^id: (.*)\ndata: (.*)$/gm)) {
      events.push(JSON.parse(data) as Output)
      last = id
    }
    if (events.at(-1)?.done) return { events, opened }
  }
  throw new Error(`${streamsMax} streams of a process have not come to its end`)
}

/** One request that had to be asked again, and for how long it was not served, ms. */
type Outage = { name: string; status: number; error: unknown; ms: number }

test('while the worker restarts no command and no file is lost or runs twice, and a followed process loses no output', async () => {
  const wrong: unknown[] = []
  const outages: Outage[] = []
  let going = true
  let asked = 0
  const done: number[] = []
  /** The rounds of each user whose command had no answer: it ran once, or not at all. */
  const unanswered = Array.from({ length: vmCount * usersPerVm }, () => new Set<number>())
  async function use(user: number): Promise<number> {
    const at = `/api/v1/vms/${vms[user % vmCount]}/envd`
    /** @returns whether it was answered; what is not served yet is asked again, if it may be. */
    const ask = async (
      name: string,
      body: unknown,
      expected: Record<string, unknown>,
      isRepeatable = true,
    ): Promise<boolean> => {
      for (const since = performance.now(); ; ) {
        asked++
        const answer = await call('POST', `${at}/${name}`, body)
        if (answer.status === 200) {
          const isSame = Object.entries(expected).every(
            ([key, value]) => JSON.stringify(answer.body[key]) === JSON.stringify(value),
          )
          if (!isSame) wrong.push({ name, asked: body, ...answer })
          return true
        }
        const isAway = / does not answer right now/.test(String(answer.body['message'])) // 502; for a deletion the documents list 500
        if (!isAway) wrong.push({ name, asked: body, ...answer })
        else outages.push({ name, ...answer, error: answer.body['message'], ms: performance.now() - since })
        if (!isAway || !isRepeatable) return false
      }
    }
    let round = 0
    for (; going; round++) {
      const path = `/home/user/file-${user}-${round}`
      const content = Buffer.from(`${user} ${round}`).toString('base64')
      const isAnswered = await ask(
        'exec',
        { command: `echo ${round} >> ran-${user}; ${round % 4 === 3 ? 'sleep 2; ' : ''}echo answer ${round}` },
        { stdout: `answer ${round}\n`, exit_code: 0 },
        false,
      )
      if (!isAnswered) unanswered[user]?.add(round)
      await ask('write', { path, content }, { size_bytes: Buffer.byteLength(`${user} ${round}`) })
      await ask('read', { path }, { content })
      await ask('delete', { path }, { success: true }, false)
      done[user] = round + 1
    }
    return round
  }

  const background = await call('POST', `/api/v1/vms/${vms[0]}/envd/exec`, {
    command: `for i in $(seq 1 ${lineCount}); do echo line $i; sleep 0.3; done; exit 7`,
    background: true,
  })
  const followed = follow(
    `${berth.url}/api/v1/vms/${vms[0]}/envd/processes/${String(background.body['process_id'])}/stream`,
  )
  followed.catch(() => undefined) // it is awaited below
  const users = Array.from({ length: vmCount * usersPerVm }, (_, user) => use(user))
  for (const how of kills) {
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

  const longest = Math.max(0, ...outages.map(({ ms }) => ms))
  console.log(`${outages.length} of ${asked} requests were not served; the longest for ${longest.toFixed(0)} ms`)
  expect(wrong.slice(0, wrongShown), berth.logged(/"level":[456]0/).join('\n')).toEqual([])
  for (const [user, count] of rounds.entries()) {
    const { body } = await call('POST', `/api/v1/vms/${vms[user % vmCount]}/envd/exec`, { command: `cat ran-${user}` })
    const ran = String(body['stdout']).trim().split('\n').map(Number)
    const all = Array.from({ length: count }, (_, round) => round)
    expect(ran).toEqual(all.filter((round) => !unanswered[user]?.has(round) || ran.includes(round)))
  }
  const { events, opened } = await followed
  console.log(`the process was followed over ${opened} connections`)
  expect(events.map(({ output }) => output).join('')).toBe(
    Array.from({ length: lineCount }, (_, index) => `line ${index + 1}\n`).join(''),
  )
  expect(events.at(-1)).toMatchObject({ done: true, exit_code: 7 })
}, 600_000)
