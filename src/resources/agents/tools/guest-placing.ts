/**
 * Putting something into a session's VM, once, before its agent runs something there. What could not be put there is said,
 * and tried again in the next turn.
 */
import { objectStore } from '#src/drivers/objects.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import type { Masker } from '#src/platform/masking.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'
import type { AgentDefinition } from '#src/resources/agents/agents/rows.ts'
import { killInGuest, MachineLost, runInGuest, type GuestVm } from './guest-calls.ts'
import type { GuestEnd } from './guest-shapes.ts'
import { refusedCode } from './guest-scripts.ts'
import { startOf } from '#src/platform/texts.ts'

/** Where to put things: a session's VM. `turnId` tells one turn from the next; `findMasker` makes the session's masker. */
export type Placing = {
  session: Pick<
    Row<'sessions', { agentDefinition: AgentDefinition }>,
    'id' | 'organizationId' | 'ownerUserId' | 'agentDefinition' | 'environmentId' | 'usedByVm'
  >
  turnId: string
  vm: GuestVm
  findMasker: () => Promise<Masker>
  signal: AbortSignal
}

/** What is to be said of something; `isThere`: it is in its place, as it was before. */
export type PlacingNote = { text: string; isThere: boolean }

/**
 * What is not in the VM yet. `key` names it as it is now: once its attempt has failed it is not tried again in the turn.
 * `put` answers with what was there already, if anything was, and throws NotPlaced or a BerthError.
 */
export type Missing = { key: string; path: string; put: () => Promise<string | null> }

/** Why something is not in its place: a sentence for the agent and its owner. */
export class NotPlaced extends Error {}

const shownLength = 300
const tried = createBoundedMap<string, true>({ entriesMax: 10_000 })

/** Puts these into the VM, in their order. @returns what is to be said of them. @throws the signal's reason. */
export async function putEach({ vm, turnId, signal }: Placing, missing: readonly Missing[]): Promise<PlacingNote[]> {
  const notes: PlacingNote[] = []
  for (const { key, path, put } of missing) {
    signal.throwIfAborted()
    const attempt = `${key} ${vm.id} ${turnId}`
    if (tried.peek(attempt)) continue
    try {
      const kept = await put()
      if (kept !== null) notes.push({ text: kept, isThere: true })
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof MachineLost) throw error
      if (!(error instanceof NotPlaced) && !(error instanceof BerthError)) throw error
      log.debug({ reason: error.message }, 'something of a session could not be put into its VM')
      tried.set(attempt, true)
      notes.push({ text: `${path} is not there: ${error.message}`, isThere: false })
    }
  }
  return notes
}

/** Sends an object of the store into the VM, as a file. @throws BerthError; the signal's reason. */
export async function sendObject(
  services: Background,
  { session, vm, signal }: Placing,
  { key, path, sizeBytes }: { key: string; path: string; sizeBytes: number },
): Promise<void> {
  const body = await objectStore(services).read(key)
  const stop = (): void => void body.destroy(new Error('the session is stopped'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    await vm.node.sendFile(
      {
        vmId: vm.id,
        organizationId: session.organizationId,
        path,
        format: 'file',
        offset: 0,
        lengthBytes: sizeBytes,
        totalBytes: sizeBytes,
        isLast: true,
      },
      body,
    )
  } finally {
    signal.removeEventListener('abort', stop)
    body.destroy()
  }
}

/** Runs a script to its end; whoever stops waiting for it ends it. */
export async function runScript(
  { vm, findMasker, signal }: Placing,
  argv: readonly string[],
  seconds: number,
): Promise<GuestEnd> {
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
export function reasonOf({ exitCode, stderr }: GuestEnd): string {
  const lines = stderr.trim().split('\n')
  const words = lines.findLast((line) => line.startsWith('fatal:') || line.startsWith('error:')) ?? lines.at(-1) ?? ''
  const reason = exitCode === refusedCode ? words : words.replace(/^(?:fatal|error): /, '')
  return reason === '' ? 'it could not be put there.' : startOf(reason, shownLength)
}
