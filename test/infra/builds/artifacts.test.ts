/** How long what builds leave behind is kept. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { objectStore } from '#src/drivers/objects.ts'
import { readConfig } from '#src/platform/config.ts'
import { encodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { forgetOldArtifacts } from '#src/resources/infra/builds/artifacts.ts'
import { finishBuild } from '#src/resources/infra/builds/states.ts'
import type { Berth } from '../../support/berth.ts'
import { clearBuilds, startWithoutBuilder, submitRunning, uuidOf } from '../../support/builds.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  ;({ berth, token } = await startWithoutBuilder())
})
afterEach(() => clearBuilds(berth))
afterAll(() => berth.stop())

const keyOf = (id: string): string => `builds/tests/${id}/out.tar.gz`

/** A build that ended so many days ago and left a file behind; its public id. */
async function makeBuild(days: number, { stored = true }: { stored?: boolean } = {}): Promise<string> {
  const job = await submitRunning(berth, token)
  const id = uuidOf(job)
  if (stored) await objectStore(berth.services).put(keyOf(id), Readable.from([Buffer.from('kept')]), 1024)
  await finishBuild(berth.services, id, {
    status: 'succeeded',
    exitCode: 0,
    output: { type: 'artifact', name: 'out', key: keyOf(id), templateId: null, sizeBytes: 4, sha256: 'ab' },
  })
  await sql`update build_jobs set finished_at = now() - ${days} * interval '1 day' where id = ${id}`.execute(
    berth.services.db,
  )
  return job.id
}
async function outputOf(id: string): Promise<{ url: string | null; sizeBytes: number; name: string }> {
  const { body } = await berth.ask('query ($id: ID!) { build(id: $id) { output { url sizeBytes name } } }', {
    token,
    variables: { id },
  })
  return (body.data as { build: { output: { url: string | null; sizeBytes: number; name: string } } }).build.output
}

test('an artifact is deleted after 30 days and its build still describes it; younger ones stay, and those that a function runs from', async () => {
  const [old, young, deployed] = [await makeBuild(31), await makeBuild(29), await makeBuild(400)]
  const url = (await outputOf(old)).url ?? ''
  const { body } = await berth.ask(
    'mutation ($input: CreateFunctionInput!) { createFunction(input: $input) { function { id } } }',
    { token, variables: { input: { buildId: deployed } } },
  )
  expect((await fetch(url)).status).toBe(200)
  await forgetOldArtifacts(berth.services)
  await forgetOldArtifacts(berth.services)
  expect((await fetch(url)).status).toBe(404)
  expect(await outputOf(old)).toEqual({ url: null, sizeBytes: 4, name: 'out' })
  for (const id of [young, deployed]) expect((await fetch((await outputOf(id)).url ?? '')).status).toBe(200)
  const { id } = (body.data as { createFunction: { function: { id: string } } }).createFunction.function
  await berth.ask(`mutation { deleteFunction(input: {id: "${id}"}) { deletedId } }`, { token })
  await forgetOldArtifacts(berth.services)
  expect(await outputOf(deployed)).toMatchObject({ url: null })
})

test('BERTH_ARTIFACT_DAYS sets how long artifacts are kept, and 0 keeps them permanently', async () => {
  const id = await makeBuild(5)
  const withDays = (days: string) => ({
    ...berth.services,
    config: { ...berth.services.config, artifactDays: readConfig({ BERTH_ARTIFACT_DAYS: days }).artifactDays },
  })
  await forgetOldArtifacts(withDays('0'))
  await forgetOldArtifacts(withDays('6'))
  expect((await outputOf(id)).url).not.toBeNull()
  await forgetOldArtifacts(withDays('4'))
  expect((await outputOf(id)).url).toBeNull()
})

test('one that cannot be deleted does not stop the others, however many they are', async () => {
  const first = await makeBuild(90, { stored: false })
  const { db, config } = berth.services
  mkdirSync(join(config.dataDir, 'objects/files', keyOf(uuidOf({ id: first })), 'in-the-way'), { recursive: true })
  await sql`
    insert into build_jobs (id, organization_id, status, sealed_spec, template_id, vcpu_count, memory_mb, timeout_seconds, output_type, output_name, finished_at, log_end_ms, log_end_seq, output)
    select made, organization_id, status, sealed_spec, template_id, vcpu_count, memory_mb, timeout_seconds, output_type, output_name, finished_at, 0, 0, jsonb_build_object('type', 'artifact', 'name', 'out', 'key', 'builds/tests/' || made || '/out.tar.gz', 'sizeBytes', 4)
    from build_jobs, lateral (select gen_random_uuid() as made from generate_series(1, 250)) many`.execute(db)
  await forgetOldArtifacts(berth.services)
  const { rows } = await sql<{ id: string }>`select id from build_jobs where output ->> 'key' is not null`.execute(db)
  expect(rows.map(({ id }) => encodeId('build', id))).toEqual([first])
})
