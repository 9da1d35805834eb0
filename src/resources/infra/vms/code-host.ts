/** Whose account at the code host git uses in a VM. */
import { change, findAll, sql, type Tx } from '#src/platform/postgres.ts'
import { dropSystemVariables } from './variables.ts'

/** Gives the VM this link, or none. */
export async function setCodeHostLink(tx: Tx, vmId: string, linkId: string | null): Promise<void> {
  await change(
    tx,
    sql`update vms set code_host_link_id = ${linkId} where id = ${vmId} and code_host_link_id is distinct from ${linkId}::uuid`,
  )
}

/** Takes a link from every VM that has it, and its variables with it. */
export async function leaveCodeHostLink(tx: Tx, linkId: string): Promise<void> {
  const vms = await findAll<{ id: string }>(
    tx,
    sql`
    with linked as (select id from vms where code_host_link_id = ${linkId} order by id for no key update)
    update vms set code_host_link_id = null, env_generation = env_generation + 1 from linked where vms.id = linked.id returning vms.id`,
  )
  await dropSystemVariables(
    tx,
    vms.map(({ id }) => id),
  )
}
