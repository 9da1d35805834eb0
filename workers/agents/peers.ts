/** `ask_peer` in a step of the session that asks, and what follows when another agent has answered. */
import { posix } from 'node:path'
import { Readable } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import { peerLimits } from '#src/platform/limits/peers.ts'
import { hasSecrets, type Masker } from '#src/platform/masking.ts'
import type { Background } from '#src/platform/services.ts'
import { receiveFileOf } from '#src/resources/agents/files/receiving.ts'
import { askPeer, findAnswer } from '#src/resources/agents/peers/asking.ts'
import { peerTopic } from '#src/resources/agents/peers/rows.ts'
import { lookAfterExchanges, notifyRequester } from '#src/resources/agents/peers/upkeep.ts'
import type { SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import { guestVm } from '#src/resources/agents/tools/guest-calls.ts'
import type { ToolInput } from '#src/resources/agents/tools/guest-shapes.ts'
import { failed, type ToolResult } from '#src/resources/agents/tools/results.ts'
import { turnIdOf } from '#src/resources/agents/turns.ts'
import { keepLookout } from './lookouts.ts'
import type { StepRun } from './step-runs.ts'
import { sessionVm } from './step-vms.ts'

/**
 * Asks, or finds what became of it when this step asked before.
 * @throws ClaimLost; the signal's reason.
 */
export async function askOther(
  run: StepRun,
  { id }: SessionEvent,
  input: ToolInput,
  masker: Masker,
): Promise<ToolResult | 'waits'> {
  const before = await findAnswer(run.services, id)
  if (before) return before
  let fileId: string | null = null
  const { path } = input
  if (typeof path === 'string') {
    const attached = await attach(run, path, masker)
    if ('text' in attached) return attached
    fileId = attached.id
  }
  const question = { id, named: String(input['session_id']), text: String(input['text']), fileId } // checked by the tool's schema
  return askPeer(run.services, run.claim, { ...question, turnId: turnIdOf(run.log) })
}

/** A file could not be read to its end: it changed meanwhile, or its VM is gone. */
class NotRead extends Error {}

/** Keeps a copy of a file of the session's VM, as a file of its owner's, which is forgotten unless an exchange begins. */
async function attach(run: StepRun, given: string, masker: Masker): Promise<{ id: string } | ToolResult> {
  const { environmentId, organizationId, ownerUserId: userId } = run.session
  if (environmentId === null)
    return failed('Nobody was asked: this session has no machine, so there is no file to send.')
  const path = posix.resolve('/home/user', given)
  try {
    const bytes = await readOut(run, environmentId, path)
    if (await hasSecrets(masker, bytes))
      return failed(`Nobody was asked: ${path} contains a secret of this session, which is not passed on.`)
    const facts = {
      filename: posix.basename(path),
      mediaType: null,
      expiresInSeconds: peerLimits.attachmentDraftSeconds,
    }
    return await receiveFileOf(run.services, { organizationId, userId }, bytes.length, async (store) => {
      await store(Readable.from([bytes], { objectMode: false }))
      return facts
    })
  } catch (error) {
    run.over.throwIfAborted()
    if (!(error instanceof BerthError || error instanceof NotRead)) throw error
    return failed(`Nobody was asked: ${path} could not be sent: ${error.message}`)
  }
}

/** The bytes of a file in the session's VM. @throws BerthError, NotRead */
async function readOut(run: StepRun, environmentId: string, path: string): Promise<Buffer> {
  const vm = await guestVm(run.services, await sessionVm(run, environmentId))
  const { answer, body } = await vm.node.openFile({
    vmId: vm.id,
    organizationId: run.session.organizationId,
    path,
    format: 'file',
    range: null,
    ifRange: null,
    ifNoneMatch: null,
    headOnly: false,
    progressOnly: false,
  })
  const stop = (): void => void body?.destroy(new Error('the session is stopped'))
  run.over.addEventListener('abort', stop, { once: true })
  try {
    if ((answer.facts?.sizeBytes ?? 0) > peerLimits.attachmentBytes)
      throw new BerthError(
        'request_too_large',
        `it has more than ${peerLimits.attachmentBytes / 1024 / 1024} MiB, which is the most.`,
      )
    const pieces: Buffer[] = []
    try {
      for await (const piece of body ?? []) pieces.push(piece as Buffer) // of a stream of bytes
    } catch (error) {
      if (error instanceof BerthError || !(error instanceof Error)) throw error
      throw new NotRead(`${error.message}.`)
    }
    return Buffer.concat(pieces)
  } finally {
    run.over.removeEventListener('abort', stop)
    body?.destroy()
  }
}

/** Gives sessions that asked their answers, and cancels what nobody waits for, until the services are closed. */
export function keepPeers(services: Background): void {
  keepLookout(services, {
    topic: peerTopic,
    everySeconds: peerLimits.lookSeconds,
    hear: (id) => notifyRequester(services, id),
    look: () => lookAfterExchanges(services),
    failure: 'an exchange between agents waits for the next look',
  })
}
