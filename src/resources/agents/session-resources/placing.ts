/**
 * Putting a session's resources into its VM, before its agent runs something there. What could not be put there is tried
 * again in the next turn, and whenever the VM is another one.
 */
import { posix } from 'node:path'
import { objectStore } from '#src/drivers/objects.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { sessionResourceLimits } from '#src/platform/limits/session-resources.ts'
import { log } from '#src/platform/log.ts'
import type { Masker } from '#src/platform/masking.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { fileKey, isThere, type StoredFile } from '#src/resources/agents/files/rows.ts'
import { killInGuest, MachineLost, runInGuest, type GuestVm } from '#src/resources/agents/tools/guest-calls.ts'
import type { GuestEnd } from '#src/resources/agents/tools/guest-shapes.ts'
import { refusedCode } from '#src/resources/agents/tools/guest-scripts.ts'
import { noteEnvChange } from '#src/resources/infra/vms/rows.ts'
import type { SessionResource } from './rows.ts'
import { cloneScript, folderScript, keptCode } from './scripts.ts'

/** Where to put resources: a session's VM. `turnId` tells one turn from the next; `findMasker` makes the session's masker. */
export type Placing = {
  session: { id: string; organizationId: string }
  turnId: string
  vm: GuestVm
  findMasker: () => Promise<Masker>
  signal: AbortSignal
}

/** What is to be said of a resource; `isThere`: it is in its place, as it was before. */
export type PlacingNote = { text: string; isThere: boolean }

/** Why something is not in its place: a sentence for the agent and its owner. */
class NotPlaced extends Error {}

const shownLength = 300
const underWay = createBoundedMap<string, Promise<void>>({ entriesMax: 10_000 })
const tried = createBoundedMap<string, true>({ entriesMax: 10_000 })

/**
 * Puts what is not there yet into the VM. Calls of tools that come at once wait for the same work.
 * @returns what is to be said of it, to the first of them.
 * @throws the signal's reason.
 */
export async function placeResources(services: Background, placing: Placing): Promise<PlacingNote[]> {
  const key = `${placing.session.id} ${placing.vm.id}`
  for (let others = underWay.peek(key); others; others = underWay.peek(key)) await others
  const { promise, resolve } = Promise.withResolvers<void>()
  underWay.set(key, promise)
  try {
    return await placeEach(services, placing)
  } finally {
    underWay.delete(key)
    resolve()
  }
}

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

async function placeEach(services: Background, placing: Placing): Promise<PlacingNote[]> {
  const { session, vm, turnId, signal } = placing
  const missing = await findAll<SessionResource>(
    services.db,
    sql`
    select * from session_resources where session_id = ${session.id} and (vm_id is distinct from ${vm.id} or placed_at is null)
    order by type desc, length(mount_path), id`, // clones first, since a file may be in one; and the outer ones first
  )
  const notes: PlacingNote[] = []
  for (const resource of missing) {
    signal.throwIfAborted()
    const attempt = `${resource.id} ${vm.id} ${turnId} ${resource.updatedAt}`
    if (tried.peek(attempt)) continue
    try {
      const kept = await place(services, placing, resource)
      if (kept !== null) notes.push({ text: kept, isThere: true })
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof MachineLost) throw error
      if (!(error instanceof NotPlaced) && !(error instanceof BerthError)) throw error
      log.debug({ reason: error.message }, 'a resource of a session could not be put into its VM')
      tried.set(attempt, true)
      notes.push({ text: `${resource.mountPath} is not there: ${error.message}`, isThere: false })
    }
  }
  return notes
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
    await noteEnvChange(tx, vm.id)
    const { envGeneration } = await getOne<Pick<Row<'vms'>, 'envGeneration'>>(
      tx,
      sql`select env_generation from vms where id = ${vm.id}`,
    )
    return { ...vm, envGeneration }
  })
}

async function putFile(services: Background, placing: Placing, { fileId, mountPath }: SessionResource): Promise<null> {
  const { session, vm, signal } = placing
  const file = await findOne<StoredFile>(services.db, sql`select * from files where id = ${fileId} and ${isThere}`)
  if (!file) throw new NotPlaced('the file was deleted.')
  const end = await run(placing, folderScript(posix.dirname(mountPath)), sessionResourceLimits.prepareSeconds)
  if (end.exitCode !== 0) throw new NotPlaced(reasonOf(end))
  const body = await objectStore(services).read(fileKey(file))
  const stop = (): void => void body.destroy(new Error('the session is stopped'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    await vm.node.sendFile(
      {
        vmId: vm.id,
        organizationId: session.organizationId,
        path: mountPath,
        format: 'file',
        offset: 0,
        lengthBytes: file.sizeBytes,
        totalBytes: file.sizeBytes,
        isLast: true,
      },
      body,
    )
  } finally {
    signal.removeEventListener('abort', stop)
    body.destroy()
  }
  return null
}

async function cloneRepository(placing: Placing, resource: SessionResource): Promise<string | null> {
  const end = await run(placing, cloneScript(resource), sessionResourceLimits.cloneSeconds)
  if (end.exitCode === keptCode) return end.stdout.trim()
  if (end.timedOut) throw new NotPlaced(`cloning it took longer than ${sessionResourceLimits.cloneSeconds} s.`)
  if (end.exitCode !== 0) throw new NotPlaced(reasonOf(end))
  return null
}

/** Runs a script to its end; whoever stops waiting for it ends it. */
async function run({ vm, findMasker, signal }: Placing, argv: readonly string[], seconds: number): Promise<GuestEnd> {
  const id = newUuid()
  try {
    return await runInGuest(
      {
        id,
        order: { argv, timeoutMs: seconds * 1000 },
        begunIn: null,
        vm: () => Promise.resolve(vm),
        masker: findMasker,
        begin: () => Promise.resolve(),
      },
      signal,
    )
  } catch (error) {
    void killInGuest(vm, [id])
    throw error
  }
}

/** What git or the script says, its last words. */
function reasonOf({ exitCode, stderr }: GuestEnd): string {
  const lines = stderr.trim().split('\n')
  const words = lines.findLast((line) => line.startsWith('fatal:') || line.startsWith('error:')) ?? lines.at(-1) ?? ''
  const reason = exitCode === refusedCode ? words : words.replace(/^(?:fatal|error): /, '')
  return reason === '' ? 'it could not be put there.' : reason.slice(0, shownLength)
}

function inWords(checkout: SessionResource['checkout']): string {
  if (checkout === null) return ''
  return checkout.type === 'branch' ? `, branch ${checkout.name}` : `, at commit ${checkout.sha}`
}
