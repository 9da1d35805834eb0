/**
 * A process of clients for the benchmark of strangers, told by its argument. `crowd`: strangers who try one thing after the other
 * until standard input ends. `measure`: owners who ask for a row every few milliseconds; prints what they saw as JSON.
 */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { tryAll } from '../../edge/strangers-crowd.ts'

/** Somebody who logs in by this host name. */
export type Login = { host: string; user: string; password: string }

/** What the process is to do, as JSON. */
export type Task = { port: number } & (
  | { does: 'crowd'; database: Login; clients: number; pauseMs: number; isHarmless: boolean }
  | { does: 'measure'; owners: Login[]; seconds: number }
)

/** What an owner saw. Unit of the latencies: ms. */
export type Seen = { latencies: number[]; failed: number; processes: number[] }

const everyMs = 5

const task = JSON.parse(process.argv[2] ?? '{}') as Task // the benchmark's own
if (task.does === 'crowd') await crowd(task)
else process.stdout.write(JSON.stringify(await Promise.all(task.owners.map((owner) => measure(task, owner)))))

async function enter(port: number, { host, ...login }: Login): Promise<pg.Client> {
  const ssl = { rejectUnauthorized: false, servername: host }
  const client = new pg.Client({ host: '127.0.0.1', port, database: 'app', ssl, ...login })
  client.on('error', () => undefined) // what waits for an answer gets it
  await client.connect()
  return client
}

async function crowd({
  port,
  database,
  clients,
  pauseMs,
  isHarmless,
}: Extract<Task, { does: 'crowd' }>): Promise<void> {
  let isOver = false
  let [rounds, failed] = [0, 0]
  const { host, user } = database
  const stranger = async (): Promise<void> => {
    await pause(Math.random() * pauseMs * 20) // not all at once
    while (!isOver) {
      const wait = (): Promise<void> => pause(pauseMs)
      const as = (options: { user: string; password: string }): Promise<pg.Client> => enter(port, { host, ...options })
      failed += isHarmless ? await askOften(as, wait) : await tryAll(as, user, wait)
      rounds++
    }
  }
  const strangers = Array.from({ length: clients }, stranger)
  process.stdin.resume()
  await once(process.stdin, 'end')
  isOver = true
  await Promise.race([Promise.all(strangers), pause(15_000)])
  process.stdout.write(JSON.stringify({ rounds, failed }))
  process.exit(0)
}

/** As many statements and logins as somebody who tries everything, and nothing in them. */
async function askOften(
  as: (options: { user: string; password: string }) => Promise<pg.Client>,
  wait: () => Promise<void>,
): Promise<number> {
  return tryAll(
    async () => {
      const client = await as({ user: 'anon', password: '' })
      const ask = client.query.bind(client) as (text: string) => Promise<unknown> // one of its forms
      client.query = (() => ask('select count(*) from shared')) as unknown as typeof client.query // whatever is asked
      return client
    },
    '',
    wait,
  )
}

async function measure({ port, seconds }: Extract<Task, { does: 'measure' }>, owner: Login): Promise<Seen> {
  const client = await enter(port, owner)
  const processOf = async (): Promise<number> =>
    (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0
  const seen: Seen = { latencies: [], failed: 0, processes: [await processOf()] }
  for (const endMs = performance.now() + seconds * 1000; performance.now() < endMs; ) {
    const startedMs = performance.now()
    await client.query('select word from shared').catch(() => seen.failed++)
    seen.latencies.push(performance.now() - startedMs)
    await pause(everyMs)
  }
  seen.processes.push(await processOf())
  await client.end()
  return seen
}
