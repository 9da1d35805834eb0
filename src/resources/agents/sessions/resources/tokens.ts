/** What the way out of a VM inserts for the repositories of sessions in it: each token in git's requests for its own repository. */
import type { MachineSecret } from '#src/drivers/compute/egress/secrets.ts'
import { encodeId } from '#src/platform/ids.ts'
import { findAll, sql, type Db } from '#src/platform/postgres.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import { openToken, type SessionResource } from './rows.ts'

const httpsPort = 443

/** The tokens that a VM may use, for the repositories that were put into it. */
export async function findRepositorySecrets(
  { db, sealer }: { db: Db; sealer: Sealer },
  vmId: string,
): Promise<MachineSecret[]> {
  return (await readOfVm(db, vmId)).flatMap((resource): MachineSecret[] => {
    const secret = openToken(sealer, resource)
    const url = URL.parse(resource.url ?? '')
    if (secret === null || url === null) return []
    const repository = url.pathname.slice(1).replace(/\.git$/, '')
    const git = { port: Number(url.port) || httpsPort, repository, mayPush: true }
    return [{ credentialId: resource.id, secret, hosts: [url.hostname], inHeaders: true, inBody: false, git }]
  })
}

/** The hosts of these, one entry for each. */
export async function findRepositoryHosts({ db }: { db: Db }, vmId: string): Promise<string[][]> {
  return (await readOfVm(db, vmId)).flatMap(({ url }) => {
    const host = URL.parse(url ?? '')?.hostname
    return host === undefined ? [] : [[host]]
  })
}

/** What git in the VM has instead of the token. */
export function placeholderOf({ id }: Pick<SessionResource, 'id'>): string {
  return `berth-secret-${encodeId('sessionResource', id)}`
}

/** Those with a token that were put into this VM, by sessions that go on, of people who still belong to their organization. */
async function readOfVm(db: Db, vmId: string): Promise<SessionResource[]> {
  return findAll<SessionResource>(
    db,
    sql`
    select r.* from session_resources r join sessions s on s.id = r.session_id
    join memberships m on m.organization_id = s.organization_id and m.user_id = s.owner_user_id and m.deactivated_at is null
    where r.vm_id = ${vmId} and r.sealed_token is not null and s.archived_at is null order by r.id`,
  )
}
