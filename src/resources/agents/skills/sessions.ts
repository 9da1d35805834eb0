/** Skills in sessions: a session keeps the versions that it started with, and its model is told what they say. */
import type { Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { skillLimits } from '#src/platform/limits/skills.ts'
import { findAll, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { AgentSkill } from '#src/resources/agents/agents/rows.ts'
import { latestVersion } from '#src/resources/agents/agents/wire.ts'
import type { Session } from '#src/resources/agents/sessions/rows.ts'
import type { SkillVersion } from './rows.ts'

type Told = Pick<SkillVersion, 'id' | 'name' | 'description'> & { instructions: string }

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
 * What a session's model is told of its skills: each with its description and instructions, as long as there is room.
 * Versions that were deleted since are left out. A VM's token may not read skills, so a session that it uses is told none.
 */
export async function describeSkills(
  db: Db,
  {
    organizationId,
    ownerUserId,
    agentDefinition,
    usedByVm,
  }: Pick<Session, 'organizationId' | 'ownerUserId' | 'agentDefinition' | 'usedByVm'>,
): Promise<string | null> {
  if (usedByVm) return null
  const ids = agentDefinition.skills.flatMap(({ version }) => decodeId('skillVersion', version ?? '') ?? [])
  if (ids.length === 0) return null
  const found = await findAll<Told>(
    db,
    sql`
    select v.id, v.name, v.description, left(v.instructions, ${skillLimits.toldCharacters + 1}) as instructions
    from skill_versions v join skills s on s.id = v.skill_id
    where v.id = any(${ids}::uuid[]) and s.organization_id = ${organizationId} and s.owner_user_id = ${ownerUserId}
    order by array_position(${ids}::uuid[], v.id)`,
  )
  if (found.length === 0) return null
  let left: number = skillLimits.toldCharacters
  const parts = found.map(({ name, description, instructions }) => {
    const isTold = instructions.length <= left
    if (isTold) left -= instructions.length
    return `<skill name="${name}">\n${description}\n\n${isTold ? instructions : '(Its instructions are too long to be given here.)'}\n</skill>`
  })
  return `You have skills: instructions for particular kinds of work. When a task is what a skill is for, follow its instructions. Its other files are not in your reach.\n\n${parts.join('\n\n')}`
}
