/** A skill of the owner's with two versions for the callers to try to reach. */
import { Readable } from 'node:stream'
import { objectStore } from '#src/drivers/objects.ts'
import { decodeId, encodeId, newId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { archiveKey } from '#src/resources/agents/skills/rows.ts'
import type { Berth } from '../../support/berth.ts'

/** Public ids. `skillVersion`: the older one. */
export type SkillsTarget = { skill: string; skillVersion: string }

/** Ids of the same kinds that nothing has. */
export const absentSkillsTarget = (): SkillsTarget => ({ skill: newId('skill'), skillVersion: newId('skillVersion') })
/** Texts that are no ids. */
export const malformedSkillsTarget: SkillsTarget = { skill: 'skill_x', skillVersion: 'skillver_x' }

/** Makes the skill. */
export async function makeSkillsTarget(
  { services }: Berth,
  organizationId: string,
  userId: string,
  canary: string,
): Promise<SkillsTarget> {
  const { db } = services
  const [skillId, first, second] = [newUuid(), newUuid(), newUuid()]
  await sql`
    insert into skills (id, organization_id, owner_user_id, name, display_name, latest_version_id)
    values (${skillId}, ${organizationId}, ${userId}, 'secret', ${canary}, ${second})`.execute(db)
  for (const id of [first, second]) {
    const key = archiveKey({ organizationId, id })
    const { sizeBytes } = await objectStore(services).put(key, Readable.from([Buffer.from(canary)]), 1000)
    await sql`insert into skill_archives (id, organization_id, size_bytes) values (${id}, ${organizationId}, ${sizeBytes})`.execute(
      db,
    )
    await sql`
      insert into skill_versions (id, skill_id, name, description, instructions, files, unpacked_bytes, archive_bytes)
      values (${id}, ${skillId}, 'secret', ${canary}, ${canary}, ${JSON.stringify([{ path: canary, size_bytes: 1 }])}, 1, ${sizeBytes})`.execute(
      db,
    )
  }
  return { skill: encodeId('skill', skillId), skillVersion: encodeId('skillVersion', first) }
}

/** Everything stored of it, as text. */
export async function skillsPicture({ services: { db } }: Berth, { skill }: SkillsTarget): Promise<string[]> {
  const id = decodeId('skill', skill)
  const { rows } = await sql<{ row: string }>`
    select 'skill ' || s::text as row from skills s where id = ${id}
    union all select 'version ' || v::text from skill_versions v where skill_id = ${id} order by 1`.execute(db)
  return rows.map(({ row }) => row)
}
