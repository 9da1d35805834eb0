/** Skills in sessions: a session keeps the versions that it started with, and its model is told what they are for. */
import type { Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { findAll, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { AgentDefinition, AgentSkill } from '#src/resources/agents/agents/rows.ts'
import { latestVersion } from '#src/resources/agents/agents/wire.ts'
import { isSelfHosted } from '#src/resources/agents/environments/rows.ts'
import { instructionsFile } from './folders.ts'
import { skillLimits } from './limits.ts'
import type { SkillVersion } from './rows.ts'

/** The folder of a VM in which each version of a skill has one of its own. */
export const skillsFolder = '/home/user/.skills'

/** Where the files of a skill are in a VM: the folder is called as the skill, as those who write skills expect. */
export function folderOf({ id, name }: Pick<SkillVersion, 'id' | 'name'>): string {
  return `${skillsFolder}/${encodeId('skillVersion', id)}/${name}`
}

type SkilledSession = Row<'sessions', { agentDefinition: AgentDefinition }>
type Owned = Pick<SkilledSession, 'organizationId' | 'ownerUserId' | 'agentDefinition' | 'usedByVm'>

/** A skill of a session, in the version that it has. */
export type SessionSkill = Pick<SkillVersion, 'id' | 'name' | 'description' | 'archiveBytes'>

/**
 * The skills of an agent, each in the version that a session which starts now has. Anthropic's own are left as they are:
 * there are none of them here.
 * @throws BerthError invalid_request for one that is not the person's, or not there any more.
 */
export async function pinSkills(
  tx: Tx,
  { organizationId, userId }: Pick<Scope, 'organizationId' | 'userId'>,
  skills: readonly AgentSkill[],
): Promise<AgentSkill[]> {
  if (skills.length === 0) return []
  const named = skills.flatMap(({ type, skill_id: id }) => (type === 'custom' ? (decodeId('skill', id) ?? []) : []))
  const versions = await findAll<{ skillId: string; id: string; isLatest: boolean }>(
    tx,
    sql`
    select v.skill_id, v.id, v.id = s.latest_version_id as is_latest from skills s join skill_versions v on v.skill_id = s.id
    where s.id = any(${named}::uuid[]) and s.organization_id = ${organizationId} and s.owner_user_id = ${userId}`,
  )
  return skills.map((skill) => {
    if (skill.type !== 'custom') return skill
    const wanted = skill.version ?? latestVersion
    const id = decodeId('skillVersion', wanted)
    const found = versions.find(
      (one) =>
        one.skillId === decodeId('skill', skill.skill_id) && (wanted === latestVersion ? one.isLatest : one.id === id),
    )
    if (!found)
      throw new BerthError(
        'invalid_request',
        `The agent has the skill ${skill.skill_id} in the version ${wanted}, which is not one of yours, or was deleted. Correct skills of the agent.`,
        { field: 'agent' },
      )
    return { ...skill, version: encodeId('skillVersion', found.id) }
  })
}

/**
 * The skills of a session, in the versions that it has. Versions that were deleted since are left out. A VM's token may
 * not read skills, so a session that it uses has none.
 */
export async function findSessionSkills(
  db: Db,
  { organizationId, ownerUserId, agentDefinition, usedByVm }: Owned,
): Promise<SessionSkill[]> {
  const ids = agentDefinition.skills.flatMap(({ version }) => decodeId('skillVersion', version ?? '') ?? [])
  if (usedByVm || ids.length === 0) return []
  return findAll<SessionSkill>(
    db,
    sql`
    select v.id, v.name, v.description, v.archive_bytes from skill_versions v join skills s on s.id = v.skill_id
    where v.id = any(${ids}::uuid[]) and s.organization_id = ${organizationId} and s.owner_user_id = ${ownerUserId}
    order by array_position(${ids}::uuid[], v.id)`,
  )
}

/**
 * What a session's model is told of its skills.
 * @param readsFiles whether it has tools that read files of its VM: then each skill is told with its description and its
 * folder there. Otherwise each is told with its instructions, as long as there is room.
 */
export async function describeSkills(
  db: Db,
  session: Owned & Pick<SkilledSession, 'environmentId'>,
  readsFiles: boolean,
): Promise<string | null> {
  const skills = await findSessionSkills(db, session)
  if (skills.length === 0) return null
  const isInVm = readsFiles && session.environmentId !== null && !(await isSelfHosted(db, session.environmentId))
  return isInVm ? describeFolders(skills) : describeInstructions(db, skills)
}

function describeFolders(skills: readonly SessionSkill[]): string {
  const parts = skills.map(
    (skill) => `<skill name="${skill.name}" folder="${folderOf(skill)}">\n${skill.description}\n</skill>`,
  )
  return `You have skills: folders in your machine with instructions for particular kinds of work, and the files that they need. They are there before your first command. When a task is what a skill is for, read the ${instructionsFile} in its folder before you begin, and follow it.\n\n${parts.join('\n\n')}`
}

async function describeInstructions(db: Db, skills: readonly SessionSkill[]): Promise<string> {
  const rows = await findAll<{ id: string; instructions: string }>(
    db,
    sql`
    select id, left(instructions, ${skillLimits.includedCharacters + 1}) as instructions
    from skill_versions where id = any(${skills.map(({ id }) => id)}::uuid[])`,
  )
  const texts = new Map(rows.map(({ id, instructions }) => [id, instructions]))
  let left: number = skillLimits.includedCharacters
  const parts = skills.map(({ id, name, description }) => {
    const instructions = texts.get(id) ?? ''
    const isIncluded = instructions.length <= left
    if (isIncluded) left -= instructions.length
    return `<skill name="${name}">\n${description}\n\n${isIncluded ? instructions : '(Its instructions are too long to be given here.)'}\n</skill>`
  })
  return `You have skills: instructions for particular kinds of work. When a task is what a skill is for, follow its instructions. Its other files are not in your reach.\n\n${parts.join('\n\n')}`
}
