import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '#src/platform/config.ts'
import { markProcess } from '#src/platform/locks/process-marks.ts'
import { recordBackup } from '#src/platform/metrics/last-backup.ts'
import { checkWebhooks } from '../src/start/webhook-checks.ts'
import { startCommand } from './support/command.ts'
import { startNameServer } from './support/name-server.ts'
import { freePort } from './support/ports.ts'
import { createDatabase, type TestDatabase } from './support/postgres.ts'

let folder: string
let database: TestDatabase
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-doctor-'))
  chmodSync(folder, 0o711)
  database = await createDatabase()
})
afterAll(async () => {
  await database?.drop()
  rmSync(folder, { recursive: true, force: true })
})

async function doctor(variables: Record<string, string> = {}): Promise<{ code: number | null; text: string }> {
  const command = startCommand(['src/doctor.ts'], {
    PORT: String(await freePort()),
    BERTH_DATA_DIR: join(folder, 'data'),
    DATABASE_URL: database.url,
    ...variables,
  })
  const code = await command.ended
  return { code, text: command.lines.join('\n') }
}

test('the doctor finds a database at its newest migration, and never shows its password', async () => {
  const { text } = await doctor()
  expect(text).toMatch(/^✓ Node 26/m)
  expect(text).toMatch(/^✓ Postgres 15\.\d+, the one of DATABASE_URL$/m)
  expect(text).toMatch(/^✓ migrations$/m)
  expect(text).toMatch(/^✓ port \d+ of 127\.0\.0\.1 is free$/m)
  expect(text).not.toContain(/:([^:@/]+)@/.exec(database.url)![1]!)
})

test('the doctor looks at the settings of the Berth that runs, not at those of its own shell', async () => {
  const dataDir = join(folder, 'running')
  mkdirSync(dataDir)
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    env: {
      GITHUB_WEBHOOK_SECRET: 'a-secret-of-the-one-that-runs',
      DATABASE_URL: database.url,
      BERTH_DATA_DIR: 'elsewhere',
    },
  })
  await once(other, 'spawn')
  const starter = markProcess(other.pid ?? 0)
  const port = await freePort()
  const ports = { port, webMetricsPort: port, workerMetricsPort: port, edgeMetricsPort: port, postgresPort: port }
  writeFileSync(join(dataDir, 'run.json'), JSON.stringify({ starter, processes: {}, ...ports }))
  const running = await doctor({ BERTH_DATA_DIR: dataDir })
  expect(running.text).toMatch(/^✓ settings, those of the Berth that runs$/m)
  expect(running.text).toMatch(/events of GitHub, which fire triggers: taken at/)
  expect(running.text).not.toContain('a-secret')
  other.kill()
  await once(other, 'exit')
  const ended = await doctor({ BERTH_DATA_DIR: dataDir })
  expect(ended.text).toMatch(/^✓ settings$/m)
  expect(ended.text).toMatch(/events of GitHub, which fire triggers: not set up/)
})

test('the doctor says how old the last whole backup of the installation is', async () => {
  const dataDir = join(folder, 'backed-up')
  mkdirSync(dataDir)
  const said = async (): Promise<string | undefined> =>
    (await doctor({ BERTH_DATA_DIR: dataDir })).text.split('\n').find((line) => line.includes('last backup'))
  expect(await said()).toBe('– the last backup of this installation: none was taken yet')
  recordBackup(dataDir, 4096)
  expect(await said()).toBe('✓ the last backup of this installation is 0 hours old')
  const at = new Date(Date.now() - 9 * 24 * 3_600_000).toISOString()
  writeFileSync(join(dataDir, 'last-backup.json'), JSON.stringify({ at, bytes: 4096 }))
  expect(await said()).toBe('– the last backup of this installation is 9 days old')
  writeFileSync(join(dataDir, 'last-backup.json'), '{')
  expect(await said()).toMatch(/^– the last backup of this installation: unknown \(/)
})

test('the doctor says whether the port for clients of Postgres is free', async () => {
  const port = String(await freePort())
  const free = await doctor({ BERTH_POSTGRES_PORT: port })
  expect(free.text).toMatch(new RegExp(`^✓ port ${port} of 127.0.0.1, for clients of Postgres, is free$`, 'm'))
  const other = createServer().listen(Number(port), '127.0.0.1')
  const { code, text } = await doctor({ BERTH_POSTGRES_PORT: port })
  other.close()
  expect(code).toBe(1)
  expect(text).toContain(
    `✗ port ${port} of 127.0.0.1, for clients of Postgres, is free: no\n    Another program listens on port ${port}. Stop it, or set BERTH_POSTGRES_PORT to a free port.`,
  )
})

test('the doctor says whether the ports for proxies and domains are free', async () => {
  const [http, https] = [String(await freePort()), String(await freePort())]
  const what = `ports ${http} (HTTP) and ${https} (HTTPS) of 127.0.0.1, for proxies and domains, are free`
  const variables = { BERTH_HTTP_PORT: http, BERTH_HTTPS_PORT: https }
  expect((await doctor(variables)).text).toContain(`✓ ${what}\n`)
  const other = createServer().listen(Number(https), '127.0.0.1')
  const { code, text } = await doctor(variables)
  other.close()
  expect(code).toBe(1)
  expect(text).toContain(
    `✗ ${what}: no\n    Another program listens on port ${https}. Stop it, or set BERTH_HTTPS_PORT to a free port.`,
  )
})

test('the doctor says whether names below the platform’s domain lead here', async () => {
  expect((await doctor()).text).toMatch(/^– names below berth\.localhost: they lead to this host, on this host only$/m)
  const names: Record<string, string[]> = { 'berth-doctor.apps.example.com': ['203.0.113.7'] }
  const server = await startNameServer(names)
  const variables = {
    BERTH_DOMAIN: 'apps.example.com',
    BERTH_INGRESS_IPV4: '203.0.113.7',
    BERTH_DNS_SERVERS: server.address,
  }
  const what = 'names below apps.example.com lead to 203.0.113.7'
  const remedy =
    '    Add an A record, name *.apps.example.com, value 203.0.113.7; or set BERTH_INGRESS_IPV4 to the public address of this host.'
  expect((await doctor(variables)).text).toContain(`✓ ${what}\n`)
  names['berth-doctor.apps.example.com'] = ['203.0.113.9']
  expect((await doctor(variables)).text).toContain(`✗ ${what}: they lead to 203.0.113.9\n${remedy}`)
  delete names['berth-doctor.apps.example.com']
  expect((await doctor(variables)).text).toContain(`✗ ${what}: the DNS says no address (ENOTFOUND)\n${remedy}`)
  server.close()
})

test('a database that does not answer is a failure with a remedy, again without the password', async () => {
  const { code, text } = await doctor({ DATABASE_URL: 'postgres://alice:hunter2@127.0.0.1:1/berth' })
  expect(code).toBe(1)
  expect(text).toMatch(
    /^✗ Postgres, the one of DATABASE_URL: does not answer \(.*ECONNREFUSED.*\)\n {4}Start it, or correct DATABASE_URL\.$/m,
  )
  expect(text).not.toContain('hunter2')
})

test('wrong settings are named, and are a failure', async () => {
  const { code, text } = await doctor({ PORT: 'x', BERTH_VM_POOL: 'y' })
  expect(code).toBe(1)
  expect(text).toMatch(
    /^✗ settings: PORT must be .*\n✗ settings: BERTH_VM_POOL must be .*\n2 things need your attention\.$/m,
  )
})

test('the doctor says which models are set up and reached, and shows no key', async () => {
  const answering = createServer((_request, response) => response.writeHead(401).end())
  await new Promise<void>((resolve) => answering.listen(0, '127.0.0.1', resolve))
  const { port } = answering.address() as AddressInfo // a TCP server has one
  const closed = await freePort()
  const models = join(folder, 'models.yaml')
  const entry = (upstream: string): string => `  ${upstream}/m: { context_window: 10, upstreams: [${upstream}] }\n`
  writeFileSync(
    models,
    `upstreams:\n  here: { kind: openai-compatible, base_url: "http://127.0.0.1:${port}/v1", api_key_env: MY_MODELS_KEY }\n  gone: { kind: openai-compatible, base_url: "http://127.0.0.1:${closed}/v1" }\nmodels:\n${entry('here')}${entry('gone')}`,
  )
  const variables = {
    BERTH_MODELS_FILE: models,
    MY_MODELS_KEY: 'sk-canary-0a1b2c',
    OPENAI_API_KEY: '',
    ANTHROPIC_API_KEY: '',
  }
  const { text } = await doctor(variables)
  expect(text).toMatch(/^✓ models of berth: 2, built in$/m)
  expect(text).toMatch(/^– memories: found by their words only$/m)
  expect(text).toMatch(/^– models of openai: not set up\n {4}Set OPENAI_API_KEY to use them\.$/m)
  expect(text).toMatch(new RegExp(`^✓ models of here: 1, at http://127\\.0\\.0\\.1:${port}/v1$`, 'm'))
  expect(text).toMatch(
    new RegExp(
      `^– models of gone: 1, at http://127\\.0\\.0\\.1:${closed}/v1, which does not answer \\(ECONNREFUSED\\)$`,
      'm',
    ),
  )
  expect(text).not.toContain('canary')
  writeFileSync(models, 'upstreams: { here: { kind: magic, base_url: sk-canary-3d4e } }')
  const wrong = await doctor(variables)
  expect(wrong.text).toMatch(/^✗ settings: BERTH_MODELS_FILE: upstreams\.here\.kind must be one of/m)
  expect([wrong.code, wrong.text.includes('canary')]).toEqual([1, false])
  answering.close()
})

test('the doctor says whether events of GitHub are taken, and where, and shows no secret', async () => {
  const { text } = await doctor({ GITHUB_WEBHOOK_SECRET: 'canary-webhook-secret' })
  expect(text).toMatch(
    /^– events of GitHub, .+\/agents\/v1\/hooks\/github, which GitHub does not reach\n {4}Set BERTH_/m,
  )
  expect(text).not.toContain('canary')
})

test.each([
  [{}, '– events of GitHub, which fire triggers: not set up', 'GITHUB_WEBHOOK_SECRET'],
  [{ secret: true }, '– nobody can have a trigger', 'BERTH_CODEHOST_CLIENT_ID'],
  [{ secret: true, GITHUB_WEBHOOK_ORGANIZATIONS: 'acme' }, '✓ https://berth.example/agents/v1/hooks/github', ''],
  [{ secret: true, previous: true, GITHUB_WEBHOOK_ORGANIZATIONS: 'acme' }, '✓ the secret of before', ''],
])('with %j its check of webhooks is “%s”', ({ secret, previous, ...more }: Record<string, unknown>, words, remedy) => {
  const check = checkWebhooks(
    readConfig({
      BERTH_PUBLIC_URL: 'https://berth.example',
      ...(secret ? { GITHUB_WEBHOOK_SECRET: 'canary-webhook-secret' } : {}),
      ...(previous ? { GITHUB_WEBHOOK_SECRET_PREVIOUS: 'canary-webhook-before' } : {}),
      ...(more as Record<string, string>),
    }),
  )
  expect(check.verdict).toBe(words.startsWith('✓') ? 'works' : 'neither')
  expect(check.what).toContain(words.slice(2))
  expect(check.remedy ?? '').toContain(remedy)
  expect(JSON.stringify(check)).not.toContain('canary')
})
