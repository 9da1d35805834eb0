/** Putting the files of a session's skills into its VM: each as a folder, in the version that the session has. */
import { skillLimits } from '#src/platform/limits/skills.ts'
import { change, findOne, sql } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import {
  NotPlaced,
  reasonOf,
  runScript,
  sendObject,
  type Missing,
  type Placing,
} from '#src/resources/agents/session-resources/putting.ts'
import { refusedCode } from '#src/resources/agents/tools/guest-scripts.ts'
import { archiveKey } from './rows.ts'
import { findSessionSkills, skillsFolder, type SessionSkill } from './sessions.ts'

/**
 * Unpacks an archive beside the folder, and then puts its content in the folder's place, so that there is a whole one or
 * none. The archive was checked when it came, and packed anew: no path in it leaves the skill's folder. One session
 * after the other does this, since they may share the VM.
 */
const unpack = `archive=$1 name=$2 path=$3 next=$1.d
refuse() { printf '%s\\n' "$1" >&2; exit ${refusedCode}; }
remove() { [ ! -e "$1" ] && [ ! -L "$1" ] || rm -rf -- "$1" 2> /dev/null || sudo -n rm -rf -- "$1"; }
trap 'rm -rf -- "$archive" "$next"' EXIT
umask 022
remove "$next" || refuse "$next could not be replaced."
told=$(LC_ALL=C.UTF-8 unzip -qo "$archive" -d "$next" 2>&1 < /dev/null) || refuse "it could not be unpacked: $(grep -v '^\\[' <<< "$told" | head -n 1 | sed 's/^ *//')"
exec 9< "\${path%/*}" && flock 9 || refuse "its folder could not be locked."
remove "$path" && mv -T -- "$next/$name" "$path" || refuse "something else has its place, and could not be replaced."
sync -f -- "$path"`

/** The skills of a session that are not in its VM yet, or no longer: another session may have put another version there. */
export async function findMissingSkills(services: Background, placing: Placing): Promise<Missing[]> {
  const skills = await findSessionSkills(services.db, placing.session)
  return skills
    .filter(({ path, placedPath, placedVmId }) => placedPath !== path || placedVmId !== placing.vm.id)
    .map((skill) => ({
      key: `${placing.session.id} ${skill.id}`,
      path: skill.path,
      put: () => putSkill(services, placing, skill),
    }))
}

async function putSkill(
  services: Background,
  placing: Placing,
  { id, name, path, archiveBytes }: SessionSkill,
): Promise<null> {
  const { session, vm } = placing
  const begun = await findOne(
    services.db,
    sql`
    insert into session_skills (session_id, skill_version_id, vm_id, path)
    select ${session.id}::uuid, id, ${vm.id}::uuid, ${path}::text from skill_versions where id = ${id} for key share
    on conflict (session_id, skill_version_id) do update set vm_id = excluded.vm_id, path = excluded.path, placed_at = null
    returning session_id`,
  )
  if (!begun) throw new NotPlaced('this version of the skill was deleted.')
  // Sessions that share the VM may have the skill in another version: theirs is put there again before their next command.
  await change(
    services.db,
    sql`update session_skills set placed_at = null where vm_id = ${vm.id} and path = ${path} and skill_version_id <> ${id}`,
  )
  const archive = `${skillsFolder}/.berth-${session.id}-${id}`
  const key = archiveKey({ organizationId: session.organizationId, id })
  await sendObject(services, placing, { key, path: archive, sizeBytes: archiveBytes })
  const end = await runScript(
    placing,
    ['/bin/bash', '-c', unpack, 'unpack', archive, name, path],
    skillLimits.unpackSeconds,
  )
  if (end.timedOut) throw new NotPlaced(`unpacking it took longer than ${skillLimits.unpackSeconds} s.`)
  if (end.exitCode !== 0) throw new NotPlaced(reasonOf(end))
  await change(
    services.db,
    sql`update session_skills set placed_at = now() where session_id = ${session.id} and skill_version_id = ${id} and vm_id = ${vm.id}`,
  )
  return null
}
