/** Rows of skills and of their versions, and their queries: only their owner finds them. */
import type { RawBuilder } from 'kysely'
import { ownedByCaller, type Reach, type Scope } from '#src/platform/access.ts'
import { encodeId } from '#src/platform/ids.ts'
import { isParent, type ParentId, rowsOf } from '#src/platform/nouns.ts'
import { sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** A skill as it is stored; times are RFC 3339 text, ids are uuids. */
export type Skill = Row<'skills', { latestVersionId: string }>

/** A file of a version, by its path inside of the skill's folder. */
export type SkillFile = { path: string; size_bytes: number }

/** A version of a skill as it is stored, without what models are told of it. */
export type SkillVersion = Omit<Row<'skill_versions', { files: SkillFile[] }>, 'instructions'>

/** Skills as they are found. */
export const skillRows = rowsOf<Skill>('skill', 'skills', 'skill')

/** The columns of a version: not what models are told, which has up to a mebibyte. */
export const versionColumns = sql`id, skill_id, name, description, files, unpacked_bytes, archive_bytes, created_at`

/** Versions as they are found. */
export const skillVersionRows = rowsOf<SkillVersion>(
  'skillVersion',
  'skill_versions',
  'version of this skill',
  versionColumns,
  ['files'],
)

/** The condition for versions of the caller's skills. */
export function ofTheirSkills(scope: Scope | Reach): RawBuilder<boolean> {
  return sql<boolean>`skill_id in (select id from skills where ${ownedByCaller(scope)})`
}

/** The caller's skill. @throws BerthError not_found. */
export async function readSkill(db: Db, scope: Scope, publicId: string, lock = sql``): Promise<Skill> {
  return skillRows.read(db, publicId, ownedByCaller(scope), lock)
}

/** The version of the caller's skill. @param skillId when given, one of another skill is not found @throws BerthError not_found. */
export async function readSkillVersion(
  db: Db,
  scope: Scope,
  skillId: ParentId,
  publicId: string,
): Promise<SkillVersion> {
  return skillVersionRows.read(
    db,
    publicId,
    sql`${isParent('skill', skillId, sql`skill_id`)} and ${ofTheirSkills(scope)}`,
  )
}

/** A version's key in the object store. */
export function archiveKey({ organizationId, id }: { organizationId: string; id: string }): string {
  return `agents/${encodeId('organization', organizationId)}/${encodeId('skillVersion', id)}`
}
