/** A VM's row, and how it is found. */
import { owned, type Scope } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { EndReason } from './usage.ts'

/** Steady: running, stopped, paused, deleted, error. The others are on their way to one of those. */
export type VmStatus = 'creating' | 'running' | 'stopping' | 'stopped' | 'starting' | 'pausing' | 'paused' | 'resuming' | 'deleting' | 'deleted' | 'error'

/** A VM as it is stored; moments are wire text, ids are uuids. */
export type Vm = {
  id: string; organizationId: string; userId: string | null; name: string
  status: VmStatus; desiredStatus: 'running' | 'stopped' | 'paused' | 'deleted'; statusReason: string | null; endReason: EndReason | null
  templateId: string; nodeId: string; ipAddress: string | null
  vcpuCount: number; memoryMb: number; diskMb: number
  externalRef: string | null; folderId: string | null; wantsFolder: boolean
  metadata: Record<string, unknown>; networkPolicy: NetworkPolicy; sealedGitRepos: Buffer | null; warnings: string[]
  bootFailures: number; envGeneration: number; eventPosition: number
  createdAt: string; updatedAt: string; startedAt: string | null; stoppedAt: string | null; expiresAt: string | null; deletedAt: string | null
}

/** Where a VM may connect to (decisions.md §5, `networking`). */
export type NetworkPolicy = { type: 'unrestricted' } | { type: 'none' } | { type: 'limited'; allowedHosts: string[]; allowPackageManagers: boolean }

/** What happened to a VM: positions grow by one and resume a subscription. */
export type VmEvent = { vmId: string; position: number; status: VmStatus; statusReason: string | null; createdAt: string }

/** The VM, whoever it belongs to: for workers. */
export async function findVmRow(db: Db, id: string): Promise<Vm | undefined> {
  return findOne<Vm>(db, sql`select * from vms where id = ${id}`)
}

/** The organization's VM, locked until the transaction ends. @throws BerthError not_found. */
export async function lockVm(tx: Tx, scope: Scope, publicId: string, mode: 'update' | 'share'): Promise<Vm> {
  const id = decodeId('vm', publicId)
  const vm = id && (await findOne<Vm>(tx, sql`select * from vms where id = ${id} and ${owned(scope)} and status <> 'deleted' ${mode === 'update' ? sql`for no key update` : sql`for share`}`))
  if (!vm) throw notFound('VM')
  return vm
}

