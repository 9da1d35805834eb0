/** A whole installation, backed up while it works and while it is stopped, and restored on an empty folder. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readArchive } from '../src/backup/archive.ts'
import { openDatabase } from '../src/platform/postgres.ts'
import { loadSealer } from '../src/platform/secrets.ts'
import { openBuildSecrets } from '#src/resources/infra/builds/secrets.ts'
import { claim } from '../src/start/instance.ts'
import { findRun } from '../src/start/run-file.ts'
import { startCommand, type Command } from './support/command.ts'
import { idsOf } from './support/makers.ts'
import { freePort } from './support/ports.ts'
import { until } from './support/until.ts'

/** Several starts of all of Berth, on a machine that may be busy. */
const limitMs = 120_000
const canary = 'canary-b7f2e1c94d'
let folder: string
let port: number
let postgresPort: number
let token: string
let key: string
let download: string
let build: string
let agents: string[]
const place = (name: string): string => join(folder, name)

/** Runs a command of Berth on one of the data folders. */
function command(words: string[], dataDir: string, more: Record<string, string> = {}, uid?: number): Command {
  const settings = {
    PORT: String(port),
    BERTH_POSTGRES_PORT: String(postgresPort),
    BERTH_DATA_DIR: place(dataDir),
    BERTH_RATE_LIMIT_FACTOR: '1000',
    ...more,
  }
  return startCommand(words, settings, uid)
}

async function run(
  words: string[],
  dataDir: string,
  more: Record<string, string> = {},
  uid?: number,
): Promise<{ code: number | null; said: string }> {
  const started = command(words, dataDir, more, uid)
  return { code: await started.ended, said: started.lines.join('\n') }
}

async function start(dataDir: string): Promise<Command> {
  const berth = command(['src/start.ts', '--without-vms'], dataDir)
  try {
    await until('Berth is ready', () => berth.lines.some((line) => line.startsWith('Berth is ready')), limitMs / 2)
    return berth
  } catch (error) {
    await stop(berth)
    throw error
  }
}

async function stop(berth: Command): Promise<void> {
  berth.child.kill('SIGTERM')
  await berth.ended
}

async function call<Body>(method: string, path: string, body?: unknown, bearer = token): Promise<Body> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${bearer}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return (text ? JSON.parse(text) : null) as Body // the caller says what it asked for
}

/** What a backup holds: the digest of each entry, those of the moment left out. */
async function contents(file: string): Promise<Record<string, string>> {
  const unpacked = mkdtempSync(place('look-'))
  const names = await readArchive(place(file), unpacked, () => undefined)
  return Object.fromEntries(
    names
      .filter((name) => name !== 'manifest.json')
      .map((name) => [name, readFileSync(join(unpacked, name), 'latin1')]),
  )
}

async function fill(): Promise<void> {
  token = (
    await run(['src/identity/token.ts', '--user', 'alice', '--org', 'acme', '--role', 'owner'], 'first')
  ).said.trim()
  key = (await run(['src/identity/key.ts', '--org', 'acme', '--name', 'kept'], 'first')).said.trim()
  const organization = (
    await call<{ data: { viewer: { organization: { id: string } } } }>('POST', '/graphql', {
      query: '{ viewer { organization { id } } }',
    })
  ).data.viewer.organization.id
  await call('POST', '/graphql', {
    query: `mutation { setBuildSecret(input: { name: "TOKEN", value: "${canary}" }) { buildSecret { name } } }`,
  })
  const upload = await call<{ upload_url: string; binary_url: string }>('POST', '/api/v1/compute/uploads', {
    organization_id: organization,
  })
  expect(
    (
      await fetch(upload.upload_url, {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream' },
        body: 'the bytes of an upload',
      })
    ).status,
  ).toBe(200)
  download = upload.binary_url
  const spec = [...Buffer.from(JSON.stringify({ context: upload.binary_url, secrets: ['TOKEN'] }))]
  build = (await call<{ id: string }>('POST', '/api/v1/build/jobs', { org_id: organization, spec })).id
  const agent = await call<{ id: string }>('POST', '/agents/v1/agents', { name: 'kept', model: 'berth/demo' })
  agents = [agent.id]
  await call('POST', '/agents/v1/sessions', {
    agent: agent.id,
    initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'Hello!' }] }],
  })
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-backup-'))
  chmodSync(folder, 0o711) // Postgres runs as another user when we are root
  port = await freePort()
  postgresPort = await freePort()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test(
  'a backup that is taken while agents are made holds every one that was answered before it began, each whole',
  async () => {
    const berth = await start('first')
    try {
      await fill()
      let over = false
      const made: string[] = []
      const writing = (async () => {
        while (!over)
          made.push(
            (
              await call<{ id: string }>('POST', '/agents/v1/agents', {
                name: `agent ${made.length}`,
                model: 'berth/demo',
              })
            ).id,
          )
      })()
      while (made.length < 5) await call('GET', '/agents/v1/agents?limit=1')
      agents.push(...made)
      const { code, said } = await run(['src/backup.ts', place('live.tar.zst')], 'first')
      over = true
      await writing
      expect([code, said]).toEqual([0, expect.stringContaining('It contains the key to every secret in it')])
      expect(statSync(place('live.tar.zst')).mode & 0o777).toBe(0o600)
      expect(readdirSync(place('first')).filter((name) => name.startsWith('.backup'))).toEqual([])
      const last = JSON.parse(readFileSync(join(place('first'), 'last-backup.json'), 'utf8')) as { bytes: number }
      expect(last.bytes).toBe(statSync(place('live.tar.zst')).size)
    } finally {
      await stop(berth)
    }
  },
  limitMs,
)

test(
  'restored on an empty folder, the same tokens, keys, secrets, files, agents and waiting jobs are there',
  async () => {
    const { code, said } = await run(['src/restore.ts', place('live.tar.zst')], 'second')
    expect([code, said]).toEqual([0, expect.stringMatching(/Start it with: BERTH_DATA_DIR='\S+' npm start/)])
    const berth = await start('second')
    try {
      const listed: string[] = []
      for (let next: string | null = ''; next !== null; ) {
        const page: { data: { id: string }[]; next_page: string | null } = await call(
          'GET',
          `/agents/v1/agents?limit=100${next ? `&page=${next}` : ''}`,
        )
        listed.push(...page.data.map(({ id }) => id))
        next = page.next_page
      }
      expect(listed).toEqual(expect.arrayContaining(agents))
      expect(listed.length).toBe(new Set(listed).size)
      expect((await call<{ data: unknown[] }>('GET', '/llm/v1/models', undefined, key)).data.length).toBeGreaterThan(0)
      expect(await call('GET', `/api/v1/build/jobs/${build}`)).toMatchObject({ id: build, status: 'queued' })
      const database = openDatabase(findRun(place('second'))!.databaseUrl, {
        connections: 1,
        applicationName: 'berth-test',
      })
      try {
        const services = { db: database.db, sealer: loadSealer(null, place('second')) }
        expect(
          await openBuildSecrets(
            services,
            { organizationId: idsOf(token).organizationId, createdBy: idsOf(token).userId, submittedRole: null },
            ['TOKEN'],
          ),
        ).toEqual({ TOKEN: canary })
      } finally {
        await database.close()
      }
      expect(
        readFileSync(
          join(place('second'), 'objects', 'files', new URL(download).pathname.replace('/objects/', '')),
          'utf8',
        ),
      ).toBe('the bytes of an upload')
    } finally {
      await stop(berth)
    }
  },
  limitMs,
)

test(
  'a backup of a stopped installation, restored and backed up again, is the same to the last byte',
  async () => {
    mkdirSync(join(place('first'), 'compiled'))
    writeFileSync(join(place('first'), 'compiled', 'left'), 'by an earlier version, which Node makes again')
    expect((await run(['src/backup.ts', place('one.tar.zst')], 'first')).code).toBe(0)
    expect((await run(['src/restore.ts', place('one.tar.zst')], 'third')).code).toBe(0)
    expect((await run(['src/backup.ts', place('two.tar.zst')], 'third')).code).toBe(0)
    const [one, two] = [await contents('one.tar.zst'), await contents('two.tar.zst')]
    expect(Object.keys(one)).toEqual(
      expect.arrayContaining(['secret.key', 'node.id', 'database/agents.copy', 'database/jobs.copy']),
    )
    expect(Object.keys(one).filter((name) => name.startsWith('compiled/'))).toEqual([])
    expect(one['database/session_events.copy']).not.toBe('')
    expect(Object.keys(two)).toEqual(Object.keys(one))
    for (const name of Object.keys(one)) expect(two[name], name).toBe(one[name])
    expect(Object.values(one).some((content) => content.includes(canary))).toBe(false) // sealed, not in clear
  },
  limitMs,
)

test(
  'a restore that cannot be right is refused with what to do, and leaves nothing',
  async () => {
    const cut = place('cut.tar.zst')
    writeFileSync(cut, readFileSync(place('one.tar.zst')))
    truncateSync(cut, Math.floor(statSync(cut).size / 2))
    const changed = place('changed.tar.zst')
    const bytes = readFileSync(place('one.tar.zst'))
    bytes[Math.floor(bytes.length / 2)]! ^= 1
    writeFileSync(changed, bytes)
    writeFileSync(place('text.tar.zst'), 'not a backup at all')
    const otherKey = Buffer.alloc(32, 7).toString('base64')
    const one = place('one.tar.zst')
    const cases = [
      { words: [one], dataDir: 'first', says: /is not empty/ },
      { words: [cut], says: /is truncated/ },
      { words: [changed], says: /cannot be read|is damaged/ },
      { words: [place('text.tar.zst')], says: /not a backup/ },
      { words: [place('none.tar.zst')], says: /There is no file/ },
      { words: [one], more: { BERTH_SECRET_KEY: otherKey }, says: /BERTH_SECRET_KEY is not the key/ },
      { words: [], says: /Name the file of a backup\. The command is: npm run restore/, code: 2 },
      { words: ['--quickly', one], says: /Usage: npm run restore/, code: 2 },
    ]
    for (const { words, dataDir = 'refused', more, says, code = 1 } of cases) {
      const before = existsSync(place(dataDir)) ? readdirSync(place(dataDir)).sort() : ['run']
      const outcome = await run(['src/restore.ts', ...words], dataDir, more)
      expect(outcome.said).toMatch(says)
      expect(outcome.said).not.toContain('    at ') // a sentence, not a stack
      expect(outcome.code).toBe(code)
      if (code === 1 && !/There is no file/.test(outcome.said))
        expect(readdirSync(place(dataDir)).sort()).toEqual(before)
    }
    expect(await run(['src/restore.ts', '--help'], 'refused')).toEqual({
      code: 0,
      said: expect.stringContaining('must be empty'),
    })
    expect(await run(['src/backup.ts', '--help'], 'refused')).toEqual({
      code: 0,
      said: expect.stringContaining('into one file'),
    })
    expect(await run(['src/backup.ts', one], 'first')).toEqual({
      code: 1,
      said: expect.stringContaining('already exists'),
    })
    expect(await run(['src/backup.ts', place('nothing.tar.zst')], 'refused')).toEqual({
      code: 1,
      said: expect.stringContaining('no installation'),
    })
  },
  limitMs,
)

test(
  'while a backup is written another one is refused, and takes nothing from it',
  async () => {
    const other = await claim(place('first'), 'backup')
    const staging = join(place('first'), '.backup-other')
    mkdirSync(staging)
    try {
      expect(await run(['src/backup.ts', place('late.tar.zst')], 'first')).toEqual({
        code: 1,
        said: expect.stringMatching(/^Another backup of \S+ is being written\. Wait/),
      })
      expect(existsSync(staging)).toBe(true)
      expect(existsSync(place('late.tar.zst'))).toBe(false)
    } finally {
      other?.close()
      rmSync(staging, { recursive: true })
    }
  },
  limitMs,
)

test(
  'a backup in the folder that a restore empties is refused, and stays',
  async () => {
    const dataDir = place('inside')
    mkdirSync(dataDir, { mode: 0o711 })
    writeFileSync(join(dataDir, '.restore-unfinished'), '')
    const only = join(dataDir, 'only.tar.zst')
    writeFileSync(only, readFileSync(place('one.tar.zst')))
    symlinkSync(dataDir, place('linked'))
    for (const file of [only, join(place('linked'), 'only.tar.zst')]) {
      const { code, said } = await run(['src/restore.ts', file], 'inside')
      expect([code, said]).toEqual([1, expect.stringMatching(/Move the backup out of/)])
    }
    expect(statSync(only).size).toBe(statSync(place('one.tar.zst')).size)
  },
  limitMs,
)

test('a backup that cannot be unpacked here, on a full disk say, is not called truncated', async () => {
  const noFolder = place('text.tar.zst')
  await expect(readArchive(place('one.tar.zst'), noFolder, () => undefined)).rejects.toMatchObject({ code: 'EEXIST' })
})

test.skipIf(process.getuid?.() !== 0)(
  'another user is told whose installation it is, without a stack',
  async () => {
    writeFileSync(join(place('first'), 'run.json'), '{}', { mode: 0o600 })
    try {
      for (const words of [
        ['src/stop.ts'],
        ['src/backup.ts', '/tmp/never.tar.zst'],
        ['src/identity/token.ts', '--user=a', '--org=b'],
      ]) {
        const { code, said } = await run(words, 'first', {}, 65_534)
        expect(said).toMatch(/another user/)
        expect(said).not.toMatch(/EACCES|    at /)
        expect(code).toBe(1)
      }
    } finally {
      rmSync(join(place('first'), 'run.json'))
    }
  },
  limitMs,
)

test(
  'nothing starts on a restore that broke off, and the same command begins it anew',
  async () => {
    mkdirSync(place('broken'), { mode: 0o711 })
    writeFileSync(join(place('broken'), '.restore-unfinished'), '')
    mkdirSync(join(place('broken'), 'postgres')) // half a cluster
    const refused = await run(['src/start.ts', '--without-vms'], 'broken')
    expect(refused).toEqual({ code: 1, said: expect.stringContaining('Run npm run restore again') })
    expect((await run(['src/restore.ts', place('one.tar.zst')], 'broken')).code).toBe(0)
    expect(readdirSync(place('broken'))).not.toContain('.restore-unfinished')
    const berth = await start('broken')
    try {
      await expect(call('GET', '/agents/v1/agents')).resolves.toMatchObject({ data: expect.anything() })
      expect((await run(['src/restore.ts', place('one.tar.zst')], 'broken')).said).toMatch(/Berth runs on/)
    } finally {
      await stop(berth)
    }
  },
  limitMs,
)
