/** Putting the files of a session's skills into its VM: each version as a folder, once for all sessions in the VM. */
import { encodeId } from '#src/platform/ids.ts'
import { change, findAll, sql } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import {
  NotPlaced,
  reasonOf,
  runScript,
  sendObject,
  type Missing,
  type Placing,
} from '#src/resources/agents/tools/guest-placing.ts'
import { refuseFunction } from '#src/resources/agents/tools/guest-scripts.ts'
import { skillLimits } from './limits.ts'
import { archiveKey } from './rows.ts'
import { findSessionSkills, folderOf, skillsFolder, type SessionSkill } from './sessions.ts'

/**
 * Unpacks an archive beside the version's folder, and then moves it there, so that there is a whole one or none: another
 * session may put the same one there at the same time. The archive was checked when it came, and packed anew: no path in
 * it leaves its folder.
 */
const unpack = `${refuseFunction}archive=$1 path=$2 next=$1.d
trap 'rm -rf -- "$archive" "$next"' EXIT
umask 022
[ ! -d "$path" ] || exit 0
output=$(LC_ALL=C.UTF-8 unzip -qo "$archive" -d "$next" 2>&1 < /dev/null) || refuse "it could not be unpacked: $(grep -v '^\\[' <<< "$output" | head -n 1 | sed 's/^ *//')"
mv -T -- "$next" "$path" 2> /dev/null || [ -d "$path" ] || refuse "something else has its place."
sync -f -- "$path"`

/** The skills of a session that are not in its VM yet. */
export async function findMissingSkills(services: Background, placing: Placing): Promise<Missing[]> {
  const skills = await findSessionSkills(services.db, placing.session)
  if (skills.length === 0) return []
  const placed = await findAll<{ id: string }>(
    services.db,
    sql`select skill_version_id as id from vm_skills where vm_id = ${placing.vm.id} and skill_version_id = any(${skills.map(({ id }) => id)}::uuid[])`,
  )
  return skills
    .filter((skill) => placed.every(({ id }) => id !== skill.id))
    .map((skill) => ({
      key: `${placing.session.id} ${skill.id}`,
      path: folderOf(skill),
      put: () => putSkill(services, placing, skill),
    }))
}

async function putSkill(services: Background, placing: Placing, { id, archiveBytes }: SessionSkill): Promise<null> {
  const { session, vm } = placing
  const path = `${skillsFolder}/${encodeId('skillVersion', id)}`
  const archive = `${skillsFolder}/.${session.id}-${id}`
  const key = archiveKey({ organizationId: session.organizationId, id })
  await sendObject(services, placing, { key, path: archive, sizeBytes: archiveBytes })
  const end = await runScript(placing, ['/bin/bash', '-c', unpack, 'unpack', archive, path], skillLimits.unpackSeconds)
  if (end.timedOut) throw new NotPlaced(`unpacking it took longer than ${skillLimits.unpackSeconds} s.`)
  if (end.exitCode !== 0) throw new NotPlaced(reasonOf(end))
  await change(
    services.db,
    sql`insert into vm_skills (vm_id, skill_version_id) select ${vm.id}::uuid, id from skill_versions where id = ${id} for key share on conflict do nothing`,
  )
  return null
}
