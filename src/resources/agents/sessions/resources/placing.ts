/** Putting a session's resources into its VM: files, and clones of repositories. */
import { posix } from 'node:path'
import { refusalArguments } from '#src/drivers/compute/guest/refusals.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { fileKey, isThere, type StoredFile } from '#src/resources/agents/files/rows.ts'
import type { GuestVm } from '#src/resources/agents/tools/guest-calls.ts'
import { noteEnvChange } from '#src/resources/infra/vms/rows.ts'
import {
  NotPlaced,
  reasonOf,
  runScript,
  sendObject,
  type Missing,
  type Placing,
} from '#src/resources/agents/tools/guest-placing.ts'
import { sessionResourceLimits } from './limits.ts'
import type { SessionResource } from './rows.ts'
import { cloneScript, folderScript, keptCode } from './scripts.ts'

/** What the agent is told of its resources: a line for each. */
export async function describeResources(db: Db, sessionId: string): Promise<string | null> {
  const rows = await findAll<SessionResource & Pick<Row<'files'>, 'filename' | 'mimeType' | 'sizeBytes'>>(
    db,
    sql`
    select r.*, f.filename, f.mime_type, f.size_bytes from session_resources r left join files f on f.id = r.file_id and ${isThere}
    where r.session_id = ${sessionId} order by r.id`,
  )
  if (rows.length === 0) return null
  const lines = rows.map(({ type, mountPath, url, checkout, filename, mimeType, sizeBytes }) => {
    if (type === 'github_repository') return `- ${mountPath}: a clone of ${url}${inWords(checkout)}`
    if (filename === null) return `- ${mountPath}: a file, which may have been deleted before it got there`
    return `- ${mountPath}: the file ${filename} (${mimeType}, ${sizeBytes} bytes)`
  })
  return `The user has had this put into the machine; it is there before your first command:\n${lines.join('\n')}`
}

/** The resources of a session that are not in its VM yet. */
export async function findMissingResources(services: Background, placing: Placing): Promise<Missing[]> {
  const { session, vm } = placing
  const resources = await findAll<SessionResource>(
    services.db,
    sql`
    select * from session_resources where session_id = ${session.id} and (vm_id is distinct from ${vm.id} or placed_at is null)
    order by type desc, length(mount_path), id`, // clones first, since a file may be in one; and the outer ones first
  )
  return resources.map((resource) => ({
    key: `${resource.id} ${resource.updatedAt}`,
    path: resource.mountPath,
    put: () => place(services, placing, resource),
  }))
}

/** @returns what was there already, if anything was. @throws NotPlaced, BerthError. */
async function place(services: Background, placing: Placing, resource: SessionResource): Promise<string | null> {
  const vm = await grant(services.db, placing.vm, resource)
  const inVm = { ...placing, vm }
  const kept =
    resource.type === 'file' ? await putFile(services, inVm, resource) : await cloneRepository(inVm, resource)
  await change(
    services.db,
    sql`update session_resources set placed_at = now() where id = ${resource.id} and vm_id = ${vm.id}`,
  )
  return kept
}

/**
 * Records the VM, whose way out inserts the resource's token from then on. Its guest must trust that way before git uses
 * it: the next command brings that, as it brings new variables.
 */
async function grant(db: Db, vm: GuestVm, { id, sealedToken }: SessionResource): Promise<GuestVm> {
  return transaction(db, async (tx) => {
    await change(tx, sql`update session_resources set vm_id = ${vm.id}, placed_at = null where id = ${id}`)
    if (sealedToken === null) return vm
    const { count } = await getOne<{ count: number }>(
      tx,
      sql`select count(*) from session_resources where vm_id = ${vm.id} and sealed_token is not null`,
    )
    if (count > sessionResourceLimits.tokensPerVm)
      throw new NotPlaced(
        `the VM has ${sessionResourceLimits.tokensPerVm} repositories with tokens, which is the limit.`,
      )
    await noteEnvChange(tx, vm.id)
    const { envGeneration } = await getOne<Pick<Row<'vms'>, 'envGeneration'>>(
      tx,
      sql`select env_generation from vms where id = ${vm.id}`,
    )
    return { ...vm, envGeneration }
  })
}

async function putFile(services: Background, placing: Placing, { fileId, mountPath }: SessionResource): Promise<null> {
  const file = await findOne<StoredFile>(services.db, sql`select * from files where id = ${fileId} and ${isThere}`)
  if (!file) throw new NotPlaced('the file was deleted.')
  const end = await runScript(placing, folderScript(posix.dirname(mountPath)), sessionResourceLimits.prepareSeconds)
  if (end.exitCode !== 0) throw new NotPlaced(reasonOf(end))
  await sendObject(services, placing, { key: fileKey(file), path: mountPath, sizeBytes: file.sizeBytes })
  return null
}

async function cloneRepository(placing: Placing, resource: SessionResource): Promise<string | null> {
  const end = await runScript(placing, cloneScript(resource), sessionResourceLimits.cloneSeconds)
  if (end.exitCode === keptCode) return end.stdout.trim()
  if (end.timedOut) throw new NotPlaced(`cloning it took longer than ${sessionResourceLimits.cloneSeconds} s.`)
  if (end.exitCode === 0) return null
  const argv = refusalArguments(resource.url ?? '')
  const refusal = argv && (await runScript(placing, argv, sessionResourceLimits.prepareSeconds)).stdout.trim()
  throw new NotPlaced(refusal || reasonOf(end))
}

function inWords(checkout: SessionResource['checkout']): string {
  if (checkout === null) return ''
  return checkout.type === 'branch' ? `, branch ${checkout.name}` : `, at commit ${checkout.sha}`
}
