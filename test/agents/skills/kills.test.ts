/** A web process that is killed while skills and files arrive: what was answered is whole, and nothing else is kept. */
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { forgetFiles } from '#src/resources/agents/files/retention.ts'
import { forgetSkillArchives } from '#src/resources/agents/skills/archives.ts'
import { readZip } from '#src/resources/agents/skills/zip.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { startCommand, type Command } from '../../support/command.ts'
import { freePort } from '../../support/ports.ts'
import { instructionsOf } from './zips.ts'

const people = 2 // each sends one skill and one file at a time
const answeredBeforeKill = 12

let berth: Berth
let web: Command
let port: number
beforeAll(async () => {
  const shared = { BERTH_RATE_LIMIT_FACTOR: '100', BERTH_VMS: 'off' }
  berth = await startBerth({ settings: shared })
  port = await freePort()
  web = startCommand(['src/gateway/main.ts'], {
    ...shared,
    DATABASE_URL: berth.services.database.url,
    BERTH_PUBLIC_URL: berth.services.config.publicUrl,
    BERTH_DATA_DIR: berth.dataDir,
    PORT: String(port),
  })
  await web.line(/listens/)
})
afterAll(async () => {
  web?.child.kill('SIGKILL')
  await web?.ended
  await berth?.stop()
})

/** How many objects of skills and files are stored. */
function objects(): number {
  const path = join(berth.dataDir, 'objects', 'files', 'agents')
  if (!existsSync(path)) return 0
  return readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length
}

test('after kill -9 each skill and each file that was answered has all of its bytes, and the rest is removed', async () => {
  const bytes = randomBytes(2 * 1024 * 1024) // so large that some are cut off
  const mine = await Promise.all(
    Array.from({ length: people }, async (_, at) => {
      const authToken = await berth.token(`person${at}`, `org${at}`)
      const through = (url: string): Anthropic =>
        new Anthropic({ baseURL: `${url}/agents`, apiKey: null, authToken, maxRetries: 0 })
      return { doomed: through(`http://127.0.0.1:${port}`), other: through(berth.url) }
    }),
  )
  const answered: (() => Promise<Buffer | undefined>)[] = []
  let isDead = false
  const note = (download: () => Promise<Buffer | undefined>): void => {
    answered.push(download)
    if (answered.length === answeredBeforeKill) isDead = web.child.kill('SIGKILL')
  }
  await Promise.all(
    mine.flatMap(({ doomed, other }) => [
      (async () => {
        for (let at = 0; !isDead; at++) {
          const files = [
            await toFile(Buffer.from(instructionsOf(`skill-${at}`)), `skill-${at}/SKILL.md`),
            await toFile(bytes, `skill-${at}/data.bin`),
          ]
          const skill = await doomed.beta.skills.create({ files }).catch(() => undefined) // the process is dead
          if (!skill) continue
          note(async () => {
            const answer = await other.beta.skills.versions.download(skill.latest_version_id, { skill_id: skill.id })
            const all = await readZip(
              Buffer.from(await answer.arrayBuffer()),
              () => true,
              () => undefined,
            )
            return all.find(({ path }) => path.endsWith('data.bin'))?.bytes
          })
        }
      })(),
      (async () => {
        for (let at = 0; !isDead; at++) {
          const file = await doomed.beta.files.upload({ file: await toFile(bytes, `${at}.bin`) }).catch(() => undefined)
          if (!file) continue
          note(async () => Buffer.from(await (await other.beta.files.download(file.id)).arrayBuffer()))
        }
      })(),
    ]),
  )
  await web.ended
  expect(answered.length).toBeGreaterThanOrEqual(answeredBeforeKill)
  for (const download of answered) expect((await download())?.equals(bytes)).toBe(true)

  const { db } = berth.services
  await sql`update skill_archives set writing_until = now() - interval '1 day' where writing_until is not null`.execute(
    db,
  )
  await sql`update files set writing_until = now() - interval '1 day' where writing_until is not null`.execute(db)
  await Promise.all([forgetSkillArchives(berth.services), forgetFiles(berth.services)])
  const { rows } = await sql<{ seen: number; kept: number }>`
    select (select count(*) from skill_versions) + (select count(*) from files where stored_at is not null) as seen,
      (select count(*) from skill_archives) + (select count(*) from files) as kept`.execute(db)
  expect(rows[0]?.kept).toBe(rows[0]?.seen)
  expect(objects()).toBe(rows[0]?.seen)
  expect(rows[0]?.seen).toBeGreaterThanOrEqual(answered.length)
}, 60_000)
