import { createServer } from 'node:net'
import { once } from 'node:events'
import { appendFileSync, chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isRunning, signal } from '#src/platform/locks/process-marks.ts'
import { processesIn } from '../src/start/processes.ts'
import { findRun, readRunFile, type RunFile } from '../src/start/run-file.ts'
import { pollUntil } from '../src/start/wait.ts'
import { startCommand, type Command } from './support/command.ts'
import { freePort } from './support/ports.ts'
import { until } from './support/until.ts'

// Stand-ins for web and worker: what is tested is who starts, stops and restarts them.
const web = `
import { createServer } from 'node:http'
const server = createServer((request, response) => response.end('ok')).listen(Number(process.env.PORT), '127.0.0.1')
process.on('SIGTERM', () => server.close(() => { console.log('web drained'); process.exit(0) }))`
const worker = `
setInterval(() => {}, 1000)
process.on('SIGTERM', () => { console.log('worker done'); process.exit(0) })`

let folder: string
let variables: Record<string, string>
const started: Command[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-start-'))
  chmodSync(folder, 0o711)
  writeFileSync(join(folder, 'web.mjs'), web)
  writeFileSync(join(folder, 'worker.mjs'), worker)
  writeFileSync(
    join(folder, 'Procfile'),
    `release: node src/platform/migrate.ts\nweb: node ${folder}/web.mjs\nworker: node ${folder}/worker.mjs\n`,
  )
  variables = {
    PORT: String(await freePort()),
    BERTH_DATA_DIR: join(folder, 'data'),
    BERTH_CACHE_DIR: join(folder, 'cache'),
  }
})

afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGTERM')
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

function start(more: Record<string, string> = {}): Command {
  const command = startCommand(['src/start.ts', '--without-vms', '--procfile', join(folder, 'Procfile')], {
    ...variables,
    ...more,
  })
  started.push(command)
  return command
}

const dataDir = () => join(folder, 'data')
const currentRun = (): RunFile => findRun(dataDir())!
const postgresProcesses = () => processesIn(join(dataDir(), 'postgres'), 'postgres')

test('a start ends with URLs and a ready line, and SIGTERM stops web, worker and Postgres in this order', async () => {
  const berth = start()
  await berth.line(/^Berth is ready at http:\/\/localhost:\d+/)
  expect(berth.lines.join('\n')).toContain(`http://localhost:${variables.PORT}/graphql`)
  expect(berth.lines.join('\n')).toContain('npm run -s token -- --user alice --org acme --role owner')
  expect(berth.lines.join('\n')).toMatch(/Sign in +http:\/\/localhost:\d+\/graphql\?code=[\w-]{32}\n/)
  expect(statSync(join(dataDir(), 'run.json')).mode & 0o777).toBe(0o600)
  const client = new pg.Client(currentRun().databaseUrl)
  await client.connect()
  expect((await client.query('show listen_addresses')).rows[0]).toEqual({ listen_addresses: '' })
  expect((await client.query('show fsync')).rows[0]).toEqual({ fsync: 'on' })
  expect((await client.query('show data_checksums')).rows[0]).toEqual({ data_checksums: 'on' })
  await client.end()
  berth.child.kill('SIGTERM')
  expect(await berth.ended).toBe(0)
  const at = (pattern: RegExp) => berth.lines.findIndex((line) => pattern.test(line))
  expect(at(/web drained/)).toBeGreaterThan(0)
  expect(at(/worker done/)).toBeGreaterThan(at(/web drained/))
  expect(at(/database system is shut down/)).toBeGreaterThan(at(/worker done/))
  expect(postgresProcesses()).toEqual([])
  expect(existsSync(join(dataDir(), 'run.json'))).toBe(false)
})

test('SIGTERM to the npm of `npm start`, and to nobody else, stops everything in order', async () => {
  const npm = startCommand(
    ['node_modules/npm/bin/npm-cli.js', 'start', '--', '--without-vms', '--procfile', join(folder, 'Procfile')],
    { ...variables, npm_config_update_notifier: 'false' },
  )
  started.push(npm)
  await npm.line(/Berth is ready/)
  const left = currentRun()
  npm.child.kill('SIGTERM')
  await npm.line(/database system is shut down/)
  await npm.ended
  expect(npm.lines.filter((line) => /web drained|worker done/.test(line))).toHaveLength(2)
  expect([left.starter, ...Object.values(left.processes)].filter(isRunning)).toEqual([])
  expect(postgresProcesses()).toEqual([])
})

test('a Ctrl-C, which comes from the terminal and once more from npm, stops everything in order', async () => {
  const berth = start()
  await berth.line(/Berth is ready/)
  berth.child.kill('SIGINT')
  await berth.line(/press Ctrl-C again to stop immediately/)
  berth.child.kill('SIGINT')
  expect(await berth.ended).toBe(0)
  expect(berth.lines.filter((line) => /web drained|worker done|database system is shut down/.test(line))).toHaveLength(
    3,
  )
})

test('several web processes share the port: each answers, and while one is dead the others do', async () => {
  writeFileSync(
    join(folder, 'web.mjs'),
    web
      .replace("response.end('ok')", 'response.end(String(process.pid))')
      .replace(
        "Number(process.env.PORT), '127.0.0.1'",
        "{ port: Number(process.env.PORT), host: '127.0.0.1', reusePort: true }",
      ),
  )
  const berth = start({ BERTH_WEB_PROCESSES: '3' })
  await berth.line(/Berth is ready/)
  const pids = (): number[] => ['web.1', 'web.2', 'web.3'].map((name) => currentRun().processes[name]!.pid)
  const whoAnswers = async (): Promise<number> =>
    Number(await (await fetch(`http://127.0.0.1:${variables.PORT}/`, { headers: { connection: 'close' } })).text())
  const answered = new Set<number>()
  await until('each of them has answered', async () => answered.add(await whoAnswers()).size === 3)
  expect(answered).toEqual(new Set(pids()))
  const [dead] = pids()
  signal(dead!, 'SIGKILL')
  for (let asked = 0; asked < 30; asked++) expect(await whoAnswers().catch(whoAnswers)).not.toBe(dead) // a connection that was its own breaks once
  await until(
    'it was started again, and answers',
    async () => !pids().includes(dead!) && (await whoAnswers()) === pids()[0],
  )
  berth.child.kill('SIGTERM')
  expect(await berth.ended).toBe(0)
  expect(berth.lines.filter((line) => /web drained/.test(line))).toHaveLength(3)
})

test('web and Postgres come back when they are killed', async () => {
  const berth = start()
  await berth.line(/Berth is ready/)
  const before = currentRun()
  signal(before.processes.web!.pid, 'SIGKILL')
  await until('web runs again', () => currentRun().processes.web!.pid !== before.processes.web!.pid)
  signal(before.processes.postgres!.pid, 'SIGKILL')
  const answers = async () => {
    const client = new pg.Client(before.databaseUrl)
    client.on('error', () => {
      /* the killed server cuts it */
    })
    try {
      await client.connect()
      return (
        (await client.query('select 1')).rowCount === 1 &&
        currentRun().processes.postgres!.pid !== before.processes.postgres!.pid
      )
    } catch {
      return false
    } finally {
      await client.end().catch(() => {
        /* it never opened */
      })
    }
  }
  await until('Postgres answers again', answers)
  expect(isRunning(before.processes.worker!)).toBe(true)
})

test('a start that is killed takes its processes with it, and the next one finds everything as it was', async () => {
  const first = start()
  await first.line(/Berth is ready/)
  const left = readRunFile(dataDir())!
  first.child.kill('SIGKILL')
  await first.ended
  const allGone = () => !Object.values(left.processes).some(isRunning) && postgresProcesses().length === 0
  expect(await pollUntil(allGone, { limitMs: 10_000, everyMs: 20 })).toBe(true)
  const next = start()
  await next.line(/Berth is ready/)
  expect(currentRun().databaseUrl).toBe(left.databaseUrl)
})

test('a start right after a killed one, whose processes still run, is not held up by them', async () => {
  const first = start()
  await first.line(/Berth is ready/)
  const left = readRunFile(dataDir())!
  first.child.kill('SIGKILL')
  const next = start() // no waiting: the leftovers are ended by it, or by themselves meanwhile
  await next.line(/Berth is ready/)
  expect(Object.values(left.processes).filter(isRunning)).toEqual([])
})

test('a second start on the same data folder, or on a port that is taken, says so and exits with 1', async () => {
  const first = start()
  await first.line(/Berth is ready/)
  const second = start({ PORT: String(await freePort()) })
  expect(await second.ended).toBe(1)
  expect(second.lines).toEqual([
    `Berth already runs on ${dataDir()}. Stop it first, or give this one a BERTH_DATA_DIR and a PORT of its own.`,
  ])
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const third = start({ PORT: String(port), BERTH_DATA_DIR: join(folder, 'other') })
  expect(await third.ended).toBe(1)
  expect(third.lines).toEqual([
    `Cannot listen on 127.0.0.1 port ${port}: another program does. Stop it, or set PORT to a free port.`,
  ])
  server.close()
  expect(isRunning(currentRun().starter)).toBe(true)
})

test('a start waits until the edge listens, and goes without it where another program has its ports', async () => {
  appendFileSync(join(folder, 'Procfile'), 'edge: node src/edge/main.ts\n')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? String(address.port) : ''
  const without = start({ BERTH_POSTGRES_PORT: port, BERTH_HTTPS_PORT: port })
  await without.line(/Berth is ready/)
  expect(without.lines.join('\n')).toMatch(
    new RegExp(
      `Databases +not reachable. Another program listens on port ${port}. Stop it, or set BERTH_POSTGRES_PORT`,
    ),
  )
  expect(without.lines.join('\n')).toMatch(
    new RegExp(
      `Proxies, domains +not reachable. Another program listens on port ${port}. Stop it, or set BERTH_HTTPS_PORT`,
    ),
  )
  without.child.kill('SIGTERM')
  expect(await without.ended).toBe(0)
  server.close()
  const httpsPort = String(await freePort())
  const berth = start({ BERTH_POSTGRES_PORT: port, BERTH_HTTPS_PORT: httpsPort })
  await berth.line(/Berth is ready/)
  expect(berth.lines.join('\n')).toMatch(new RegExp(`Databases +127.0.0.1 port ${port}, for psql`))
  expect(berth.lines.join('\n')).toMatch(
    new RegExp(`Proxies, domains +ports \\d+ .*${httpsPort} .*such as https://web-\\w+.berth.localhost:${httpsPort}/`),
  )
  for (const line of [/the ingress listens/, /the edge process listens/]) await berth.line(line)
}, 60_000)

test('a process that keeps dying is restarted with a growing backoff, and Berth still stops immediately', async () => {
  writeFileSync(join(folder, 'worker.mjs'), 'process.exit(0)')
  const berth = start()
  await berth.line(/worker +\| ended \(code 0\); starting it again in 0\.2 s/)
  await berth.line(/worker +\| ended \(code 0\); starting it again in 0\.8 s/)
  berth.child.kill('SIGINT')
  expect(await berth.ended).toBe(0)
})

test('after a second signal, a start that waits for a slow process ends everything immediately', async () => {
  writeFileSync(
    join(folder, 'web.mjs'),
    web.replace(
      "server.close(() => { console.log('web drained'); process.exit(0) })",
      "console.log('draining for ever')",
    ),
  ) // never finishes draining
  const berth = start()
  await berth.line(/Berth is ready/)
  const left = currentRun()
  berth.child.kill('SIGINT')
  await berth.line(/press Ctrl-C again to stop immediately/)
  await until('it has ended, because it was asked again', () => {
    berth.child.kill('SIGINT')
    return berth.child.exitCode !== null
  })
  expect(await berth.ended).toBe(1)
  const allGone = () => !Object.values(left.processes).some(isRunning) && postgresProcesses().length === 0
  expect(await pollUntil(allGone, { limitMs: 5_000, everyMs: 20 })).toBe(true)
})

test('failed migrations stop everything, with exit code 1', async () => {
  writeFileSync(join(folder, 'Procfile'), 'release: exit 3\nweb: node nowhere.mjs\n')
  const berth = start()
  expect(await berth.ended).toBe(1)
  expect(berth.lines.at(-1)).toBe('The database could not be migrated; the lines above say why.')
  expect(postgresProcesses()).toEqual([])
})

test('wrong settings are all named at once, with exit code 2', async () => {
  const berth = start({ PORT: 'http', BERTH_VM_POOL: 'many', DATABASE_URL: 'mysql://x' })
  expect(await berth.ended).toBe(2)
  expect(berth.lines.join('\n')).toMatch(/PORT must be[^]*DATABASE_URL must be[^]*BERTH_VM_POOL must be/)
})

test("a DATABASE_URL with a database of one's own starts no Postgres here", async () => {
  const { createDatabase } = await import('./support/postgres.ts')
  const database = await createDatabase()
  const berth = start({ DATABASE_URL: database.url })
  await berth.line(/Berth is ready/)
  expect(existsSync(join(dataDir(), 'postgres'))).toBe(false)
  expect(Object.keys(currentRun().processes).sort()).toEqual(['web', 'worker'])
  berth.child.kill('SIGTERM')
  expect(await berth.ended).toBe(0)
  await database.drop()
})
