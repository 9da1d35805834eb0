/** Orders of VMs: validated, checked against the organization's room, and inserted as rows. */
import { z } from 'zod'
import type { Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import { getOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { checkEnv } from '#src/platform/shapes/env.ts'
import { findOwnLink } from '#src/resources/infra/code-host/rows.ts'
import { linkVariables } from '#src/resources/infra/code-host/variables.ts'
import { folderSizeMb, readFolder, setFolderUse } from '#src/resources/infra/folders.ts'
import { readGitRepos } from '#src/resources/infra/git-repos.ts'
import { reserveRoom } from '#src/resources/infra/organization-room.ts'
import { readProject } from '#src/resources/infra/projects.ts'
import { readTemplate } from '#src/resources/infra/templates.ts'
import { reconcileVm } from './lifecycle.ts'
import { readNetworkPolicy } from './network-policies.ts'
import { isWithin, ownVm, reachesFurther } from './reach.ts'
import type { NetworkPolicy, Vm } from './rows.ts'
import { readSize, type GivenSize } from './sizes.ts'
import { neverIdle, readIdle, type GivenIdle } from './sleep.ts'
import { addEvent, notifyOfVm } from './states.ts'
import { setSystemVariables, writeVariables } from './variables.ts'

/** The input to create a VM; absent and null mean the default. Units are in the names. */
export type VmOrder = {
  /** False: the answer does not wait until it runs. */
  wait?: boolean | null
  name?: string | null
  templateId?: string | null
  vmId?: string | null
  env?: Readonly<Record<string, string>> | null
  folderId?: string | null
  skipFolderCreate?: boolean | null
  gitRepoUrl?: string | null
  gitBranch?: string | null
  gitRepos?: unknown
  externalRef?: string | null
  metadata?: unknown
  networkPolicy?: unknown
  ttlSeconds?: number | null
  projectId?: string | null
} & GivenIdle &
  GivenSize

const metadataShape = z
  .record(z.string().max(limits.metadataKeyLength), z.string().max(limits.metadataValueLength))
  .refine((map) => Object.keys(map).length <= limits.metadataPairs)

/**
 * Creates a VM in the caller's transaction, without waiting for it.
 * @param id the new stored uuid.
 * @param own makes it private to one person, with the network policy given here, and without a folder, because folders
 * are shared; null: every member may use it.
 * @throws BerthError as createVm, for the order and when no node has room.
 */
export async function insertVm(
  call: Background,
  tx: Tx,
  scope: Scope,
  id: string,
  order: VmOrder,
  own: { userId: string; networkPolicy: NetworkPolicy } | null = null,
): Promise<Vm> {
  const name = order.name ?? `vm-${encodeId('vm', id).slice(-6)}`
  checkName(name)
  const { vcpuCount, memoryMb, diskMb } = readSize(order)
  const repos = readGitRepos(order)
  const env = order.env ?? {}
  checkEnv(env, 'secret')
  const metadata = JSON.stringify(readMetadata(order.metadata))
  const maker = own ? null : await ownVm(tx, scope)
  const policy = own?.networkPolicy ?? policyOf(order, maker)
  const externalRef = readExternalRef(order.externalRef)
  if (typeof order.ttlSeconds === 'number')
    wholeNumber('ttl_seconds', order.ttlSeconds, limits.sandboxTtlSecondsMin, limits.sandboxTtlSecondsMax)
  const { idleSeconds, idleAction } = readIdle(order, neverIdle)
  const template = await readTemplate(tx, scope, order.templateId)
  const { projectId = null } = order
  const project = projectId === null ? null : await readProject(tx, scope, projectId)
  if (maker && (!isWithin(policy, maker.networkPolicy) || (project && project.id !== maker.projectId)))
    throw reachesFurther() // VMs of a project reach its databases
  const folder = order.folderId && !own ? await readFolder(tx, scope, order.folderId) : null
  const wantsFolder = !own && (folder !== null || !order.skipFolderCreate)
  const node = await reserveRoom(
    call,
    tx,
    scope.organizationId,
    { memoryMb, diskMb: diskMb + (wantsFolder ? folderSizeMb : 0), vms: 1, folders: wantsFolder && !folder ? 1 : 0 },
    nodeOf(folder, template),
  )
  if (folder) await setFolderUse(tx, folder.id, 0)
  // The VM's own person may use their account in it; what Berth makes for a session of an agent gets none.
  const link = own ? undefined : await findOwnLink(tx, call.config, scope, sql`for key share`)
  const sealedRepos = repos.length > 0 ? call.sealer.seal(JSON.stringify(repos), `vms.git_repos:${id}`) : null
  const vm = await getOne<Vm>(
    tx,
    sql`
    insert into vms (id, organization_id, user_id, owner_user_id, name, status, desired_status, template_id, node_id, vcpu_count, memory_mb, disk_mb,
      external_ref, folder_id, wants_folder, metadata, network_policy, sealed_git_repos, env_generation, event_position,
      expires_at, project_id, code_host_link_id, idle_seconds, idle_action)
    values (${id}, ${scope.organizationId}, ${scope.userId}, ${own?.userId ?? null}, ${name}, 'creating', 'running',
      ${template.id}, ${node.id}, ${vcpuCount}, ${memoryMb}, ${diskMb},
      ${externalRef}, ${folder?.id ?? null}, ${wantsFolder}, ${metadata}, ${JSON.stringify(policy)},
      ${sealedRepos}, ${Object.keys(env).length > 0 || link ? 1 : 0}, 1,
      now() + ${order.ttlSeconds ?? null}::int * interval '1 second', ${project?.id ?? null}, ${link?.id ?? null}, ${idleSeconds},
      ${idleAction})
    returning *`,
  )
  await writeVariables(call, tx, id, 'provision', env, 'secret')
  if (link) await setSystemVariables(call, tx, id, linkVariables(link))
  await addEvent(tx, vm)
  await notifyOfVm(tx, vm)
  await call.jobs.enqueue(tx, onNode(reconcileVm, node.id), { vmId: id })
  return vm
}

/** What a VM may reach; one that the token inside a VM makes, by default the same as that VM. */
function policyOf({ networkPolicy }: VmOrder, maker: Pick<Vm, 'networkPolicy'> | null): NetworkPolicy {
  return maker && !networkPolicy ? maker.networkPolicy : readNetworkPolicy(networkPolicy)
}

/** The node that has the disks this VM needs, or null when any will do. */
function nodeOf(folder: { nodeId: string } | null, template: { nodeId: string | null }): string | null {
  if (folder && template.nodeId && folder.nodeId !== template.nodeId)
    throw new BerthError(
      'invalid_template',
      'The folder and the template are on different nodes. Use another folder, or none.',
    )
  return folder?.nodeId ?? template.nodeId
}

/** @throws BerthError invalid_request for a name that a VM cannot have. */
export function checkName(name: string): void {
  if (name.length < 1 || name.length > limits.nameLength)
    throw new BerthError('invalid_request', `name must have 1 to ${limits.nameLength} characters.`)
}

function readExternalRef(given: string | null | undefined): string | null {
  if (given === null || given === undefined) return null
  if (given.trim() === '' || given.length > limits.externalRefLength)
    throw new BerthError('invalid_request', `external_ref must have 1 to ${limits.externalRefLength} characters.`)
  return given
}

/** The metadata of a VM; an empty object by default. @throws BerthError invalid_request. */
export function readMetadata(given: unknown): Record<string, string> {
  const outcome = metadataShape.safeParse(given ?? {})
  if (!outcome.success)
    throw new BerthError(
      'invalid_request',
      `metadata must be a flat object: at most ${limits.metadataPairs} keys of ${limits.metadataKeyLength} characters, values of ${limits.metadataValueLength}.`,
    )
  return outcome.data
}
