/** Skills: folders of instructions and files that a person keeps for agents, in versions that never change. */
import { buffer } from 'node:stream/consumers'
import type { Readable } from 'node:stream'
import { objectStore } from '#src/drivers/objects.ts'
import { allow, allowAnywhere, ownedByCaller } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { readsOf, type ParentId } from '#src/platform/nouns.ts'
import type { Direction, Page, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { change, findOne, getOne, sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Searched } from '#src/platform/shapes/text-filters.ts'
import { useFinishedUpload } from '#src/resources/infra/uploads.ts'
import { discardArchive } from './skills/archives.ts'
import { skillLimits } from './skills/limits.ts'
import { insertVersion, receiveVersion, type SentSkill } from './skills/receiving.ts'
import {
  archiveKey,
  ofTheirSkills,
  readSkill,
  readSkillVersion,
  skillRows,
  skillVersionRows,
  type Skill,
  type SkillVersion,
} from './skills/rows.ts'

/** Where skills come from: people made them, or Anthropic, of whose there are none here. */
export const skillSources = ['custom', 'anthropic'] as const

/** Which skills a list shows. */
export type SkillFilter = { source?: (typeof skillSources)[number] | null }

/** How skills are found. */
export const skillSearch: Searched = {
  type: 'Skill',
  may: 'skills:read',
  table: 'skills',
  title: sql`display_name`,
  texts: [sql`name`],
  whose: ownedByCaller,
}

/** How callers read skills; all are people's own. */
export const skillReads = readsOf<Skill, SkillFilter>(skillRows, {
  may: 'skills:read',
  whose: ownedByCaller,
  listed: ({ source }) => sql`${(source ?? 'custom') === 'custom'}`,
})

/** How a skill arrives: at most so many bytes, read by `receive`. It is looked for when the caller may bring it. */
export type Arrival = () => Promise<{ bytesMax: number; receive: () => Promise<SentSkill> }>

/**
 * Makes a skill with its first version.
 * @throws BerthError rate_limited when there may be no more; as receiveVersion.
 */
export async function createSkill(call: Call, arrive: Arrival): Promise<Skill> {
  const { organizationId, userId } = allow(call.caller, 'skills:write')
  const { bytesMax, receive } = await arrive()
  return receiveVersion(call, organizationId, bytesMax, receive, async (tx, version) => {
    await checkCount(tx, organizationId, { table: 'skills', most: skillLimits.skillsMax })
    const { name } = version.folder
    const skill = await getOne<Skill>(
      tx,
      sql`insert into skills (id, organization_id, owner_user_id, name, display_name, latest_version_id)
      values (${newUuid()}, ${organizationId}, ${userId}, ${name}, ${version.displayName ?? name}, ${version.archive.id}) returning *`,
    )
    await insertVersion(tx, skill.id, version)
    return skill
  })
}

/**
 * Adds a version to a skill, which becomes its latest.
 * @throws BerthError not_found; invalid_request for another name; rate_limited when there may be no more; as receiveVersion.
 */
export async function createSkillVersion(call: Call, publicId: string, arrive: Arrival): Promise<SkillVersion> {
  const scope = allow(call.caller, 'skills:write')
  await readSkill(call.db, scope, publicId)
  const { bytesMax, receive } = await arrive()
  return receiveVersion(call, scope.organizationId, bytesMax, receive, async (tx, version) => {
    const skill = await readSkill(tx, scope, publicId, sql`for no key update`)
    if (version.folder.name !== skill.name)
      throw new BerthError(
        'invalid_request',
        `name in SKILL.md must stay ${skill.name} in every version. Correct it, or create another skill.`,
        { field: 'files' },
      )
    const { count } = await getOne<{ count: number }>(
      tx,
      sql`select count(*) from skill_versions where skill_id = ${skill.id}`,
    )
    if (count >= skillLimits.versionsMax)
      throw new BerthError(
        'rate_limited',
        `A skill has at most ${skillLimits.versionsMax} versions. Delete those that nobody needs.`,
      )
    const made = await insertVersion(tx, skill.id, version)
    await change(tx, sql`update skills set latest_version_id = ${made.id}, updated_at = now() where id = ${skill.id}`)
    return made
  })
}

/** How a skill arrives that was uploaded as one zip; refuses with invalid_request, request_too_large. */
export function arrivalOfUpload(call: Call, binaryUrl: string, displayName: string | null = null): Arrival {
  return async () => {
    const { organizationId } = allow(call.caller, 'skills:write')
    const { key, sizeBytes } = await useFinishedUpload(call, organizationId, binaryUrl, 'a zip of the skill')
    if (sizeBytes > skillLimits.bytes) throw skillTooLarge()
    const receive = async (): Promise<SentSkill> => ({
      files: [{ path: 'skill.zip', bytes: await buffer(await objectStore(call).read(key)) }],
      displayName,
    })
    return { bytesMax: sizeBytes, receive }
  }
}

/** One version. @throws BerthError not_found. */
export async function getSkillVersion(call: Call, skillId: ParentId, publicId: string): Promise<SkillVersion> {
  return readSkillVersion(call.db, allow(call.caller, 'skills:read'), skillId, publicId)
}

/** The versions of these stored ids that are of the caller's skills. */
export async function findSkillVersions(call: Call, ids: readonly string[]): Promise<SkillVersion[]> {
  return skillVersionRows.find(call.db, ids, ofTheirSkills(allowAnywhere(call.caller, 'skills:read')))
}

/** A skill's versions, newest first. @throws BerthError not_found, invalid_request. */
export async function pageSkillVersions(
  call: Call,
  skillId: string,
  window: PageWindow,
  direction: Direction = 'desc',
): Promise<Page<SkillVersion>> {
  allow(call.caller, 'skills:read')
  const id = decodeId('skill', skillId)
  if (!id) throw notFound('skill')
  return (await pageSkillVersionsOfEach(call, [id], window, direction))(id)
}

/** The same page for each skill of these stored ids. @throws BerthError invalid_request. */
export async function pageSkillVersionsOfEach(
  call: Call,
  skillIds: readonly string[],
  window: PageWindow,
  direction?: Direction,
): Promise<PagesOf<SkillVersion>> {
  const reach = allowAnywhere(call.caller, 'skills:read')
  return skillVersionRows.pageOfEach(call.db, window, {
    parents: sql`select id from skills where id = any(${skillIds}::uuid[]) and ${ownedByCaller(reach)}`,
    parentName: 'skill',
    chosen: sql`skill_id = parent.id`,
    direction,
  })
}

/** A version and its files as a zip. @throws BerthError not_found. */
export async function openSkillVersion(
  call: Call,
  skillId: string,
  publicId: string,
  headOnly: boolean,
): Promise<{ version: SkillVersion; body: Readable | null }> {
  const scope = allow(call.caller, 'skills:read')
  const version = await readSkillVersion(call.db, scope, skillId, publicId)
  const { organizationId } = scope
  return {
    version,
    body: headOnly ? null : await objectStore(call).read(archiveKey({ organizationId, id: version.id })),
  }
}

/** Deletes a skill with its versions; their files are removed soon after. @throws BerthError not_found. */
export async function deleteSkill(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'skills:write')
  await transaction(call.db, async (tx) => {
    const { id } = await readSkill(tx, scope, publicId, sql`for update`)
    await change(tx, sql`delete from skills where id = ${id}`)
  })
}

/**
 * Deletes a version. The newest that is left becomes the skill's latest.
 * @throws BerthError not_found; invalid_request for the only one.
 */
export async function deleteSkillVersion(call: Call, skillId: ParentId, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'skills:write')
  const id = await transaction(call.db, async (tx) => {
    const found = await readSkillVersion(tx, scope, skillId, publicId)
    await readSkill(tx, scope, encodeId('skill', found.skillId), sql`for no key update`)
    const version = await readSkillVersion(tx, scope, skillId, publicId)
    const left = await findOne<Pick<SkillVersion, 'id'>>(
      tx,
      sql`select id from skill_versions where skill_id = ${version.skillId} and id <> ${version.id} order by created_at desc, id desc limit 1`,
    )
    if (!left)
      throw new BerthError(
        'invalid_request',
        'This is the only version of the skill, and a skill has at least one. Delete the skill, or add a version first.',
      )
    await change(tx, sql`delete from skill_versions where id = ${version.id}`)
    await change(
      tx,
      sql`
        update skills
        set updated_at = now(),
          latest_version_id = case when latest_version_id = ${version.id} then ${left.id} else latest_version_id end
        where id = ${version.skillId}`,
    )
    return version.id
  })
  await discardArchive(call, { id, organizationId: scope.organizationId }).catch((error: Error) =>
    log.warn({ reason: error.message }, 'the archive of a deleted version is removed later'),
  )
}

/** The error for more than a skill may have. */
export function skillTooLarge(): BerthError {
  return new BerthError(
    'request_too_large',
    `A skill may have at most ${skillLimits.bytes / 1024 / 1024} MiB. Leave out what it does not need.`,
  )
}
