/** Workspace folders: disks mounted at /home/user/workspace that outlive their VM. */
import type { RawBuilder } from 'kysely'
import { allow, owned, type Reach, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { job, onNode } from '#src/platform/jobs.ts'
import { readsOf, rowsOf } from '#src/platform/nouns.ts'
import { change, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** The size of every folder's disk; only what is written takes real space. */
export const folderSizeMb = 10 * 1024

/** A folder, and the VM that has it mounted. */
export type Folder = Pick<
  Row<'folders'>,
  'id' | 'organizationId' | 'userId' | 'name' | 'nodeId' | 'sizeMb' | 'createdAt'
> & { vmId: string | null }

/** Removes a deleted folder's disk from its node. */
export const removeFolderDisk = job<{ folderId: string }>('folders-remove-disk')

/** The condition for an organization's folders that callers see: the data of databases are none. */
function theirFolders(scope: Scope | Reach): RawBuilder<boolean> {
  return sql<boolean>`${owned(scope)} and deleted_at is null and purpose is null`
}

const columns = sql`id, organization_id, user_id, name, node_id, size_mb, created_at,
  (select v.id from vms v where v.folder_id = folders.id and v.status <> 'deleted') as vm_id`

const folders = rowsOf<Folder>('folder', 'folders', 'folder', columns)

/** How callers read folders. */
export const folderReads = readsOf(folders, { may: 'folders:read', whose: theirFolders })

/** Deletes a folder and its disk. @throws BerthError not_found; invalid_transition while a VM uses it. */
export async function deleteFolder(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'folders:write')
  await transaction(call.db, async (tx) => {
    const folder = await folders.read(tx, publicId, theirFolders(scope), sql`for update`)
    if (folder.vmId)
      throw new BerthError('invalid_transition', 'A VM has this folder mounted. Delete the VM first; the folder stays.')
    await change(tx, sql`update folders set deleted_at = now() where id = ${folder.id}`)
    await call.jobs.enqueue(tx, onNode(removeFolderDisk, folder.nodeId), { folderId: folder.id })
  })
}

/**
 * The folder for a new VM, locked.
 * @throws BerthError invalid_request when it is not the organization's, or another VM uses it: a disk has one writer.
 */
export async function readFolder(tx: Tx, scope: Scope, publicId: string): Promise<Folder> {
  const id = decodeId('folder', publicId)
  const folder =
    id &&
    (await findOne<Folder>(
      tx,
      sql`select ${columns} from folders where id = ${id} and ${theirFolders(scope)} for update`,
    ))
  if (!folder) throw new BerthError('invalid_request', 'folder_id names no folder of yours.')
  if (folder.vmId)
    throw new BerthError(
      'invalid_request',
      'Another VM has this folder mounted. Delete that VM first, or leave folder_id out for a new folder.',
    )
  return folder
}

/** Whether a disk belongs to a folder, deleted or not. */
export async function isFolder(db: Db, id: string): Promise<boolean> {
  return (await findOne(db, sql`select 1 from folders where id = ${id}`)) !== undefined
}

/** Records a VM's new workspace disk as a folder named after the VM. */
export async function addFolder(
  tx: Db,
  folder: Pick<Row<'folders'>, 'id' | 'organizationId' | 'userId' | 'name' | 'nodeId' | 'purpose'>,
): Promise<void> {
  await change(
    tx,
    sql`
    insert into folders (id, organization_id, user_id, name, node_id, size_mb, purpose)
    values (${folder.id}, ${folder.organizationId}, ${folder.userId}, ${folder.name}, ${folder.nodeId}, ${folderSizeMb},
      ${folder.purpose})
    on conflict (id) do nothing`,
  )
}

/** Records how much a folder's disk takes while no VM uses it; 0 while one does. */
export async function setFolderUse(tx: Tx, id: string, usedMb: number): Promise<void> {
  await change(tx, sql`update folders set used_mb = ${usedMb} where id = ${id}`)
}

/** Deletes the disk of a database's data. The VM that used it must be deleted. */
export async function removeDataFolder({ jobs }: Pick<Background, 'jobs'>, tx: Tx, id: string): Promise<void> {
  const folder = await findOne<Pick<Folder, 'nodeId'>>(
    tx,
    sql`update folders set deleted_at = now() where id = ${id} and deleted_at is null returning node_id`,
  )
  if (folder) await jobs.enqueue(tx, onNode(removeFolderDisk, folder.nodeId), { folderId: id })
}
