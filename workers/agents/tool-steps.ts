/**
 * A round of tool calls: each result is logged as soon as it arrives; a call that started before a crash is not started
 * again.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log as processLog } from '#src/platform/log.ts'
import { transaction } from '#src/platform/postgres.ts'
import { giveVariables, openEnvironmentVariables } from '#src/resources/agents/vaults/credentials/use.ts'
import { callMcpTool } from '#src/resources/agents/turns/mcp-calls.ts'
import { memoryTools, runMemoryTool } from '#src/resources/agents/memories/tools.ts'
import { beginCall, readBegunCalls, type BegunCall } from '#src/resources/agents/sessions/calls.ts'
import { ClaimLost } from '#src/resources/agents/sessions/claims.ts'
import type { NewEvent } from '#src/resources/agents/sessions/log.ts'
import { errorEvent, resultEvent } from '#src/resources/agents/turns/step-events.ts'
import type { SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import type { PlacingNote } from '#src/resources/agents/tools/guest-placing.ts'
import { stepMasker } from '#src/resources/agents/sessions/secrets.ts'
import {
  forgetInGuest,
  guestVm,
  MachineLost,
  runInGuest,
  type GuestVm,
} from '#src/resources/agents/tools/guest-calls.ts'
import { deployPort } from '#src/resources/agents/tools/deploy.ts'
import type { GuestTool, ToolInput } from '#src/resources/agents/tools/guest-shapes.ts'
import { findGuestTool } from '#src/resources/agents/tools/guest-tools.ts'
import { failed, type ToolResult } from '#src/resources/agents/tools/results.ts'
import { fetchPage, searchWeb } from '#src/resources/agents/tools/web.ts'
import { turnIdOf, type NextStep } from '#src/resources/agents/turns.ts'
import { webRestrictions } from '#src/resources/agents/agents/web-restrictions.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import { askOther } from './peers.ts'
import { placeInVm } from './placing.ts'
import { finishStep, noteInStep, type StepRun } from './step-runs.ts'
import { sessionVm } from './step-vms.ts'

/** The maximum concurrent calls of a round, and how long interrupted calls may take to end by themselves. */
const callsAtOnce = 8
const interruptedMs = 1_000

type Round = { run: StepRun; begun: ReadonlyMap<string, BegunCall>; vms: Map<string, GuestVm> }
type Outcome = { result: ToolResult; errors: NewEvent[] }

/** Runs the tool calls of the model, and refuses denied ones. */
export async function stepTools(
  run: StepRun,
  { run: uses, refuse }: Extract<NextStep<SessionEvent>, { do: 'call' }>,
): Promise<void> {
  const round: Round = {
    run,
    begun: await readBegunCalls(
      run.services.db,
      uses.map(({ event }) => event.id),
    ),
    vms: new Map(),
  }
  const refused = refuse.map(({ event, denyMessage }) =>
    resultEvent(event, failed(`The user denied this call${denyMessage ? `: ${denyMessage}` : '.'}`)),
  )
  const waiting = uses.map(({ event }) => event)
  let left = waiting.length
  let last: { events: NewEvent[]; usage: ToolResult['usage'] } = { events: refused, usage: undefined }
  let writing: Promise<void> = Promise.resolve()
  const callers = Array.from({ length: Math.min(callsAtOnce, waiting.length) }, async () => {
    for (let use = waiting.shift(); use; use = waiting.shift()) {
      const outcome = await perform(round, use)
      left -= 1
      if (outcome === 'waits') continue
      const { result, errors } = outcome
      const events = [...errors, resultEvent(use, result)]
      if (left > 0) await (writing = writing.then(() => noteInStep(run, events, result.usage)))
      else last = { events: [...refused, ...events], usage: result.usage } // the last one goes with the step's end
    }
  })
  const outcomes = await settledOrInterrupted(callers, run.over)
  const broken = outcomes.find((outcome) => outcome.status === 'rejected')
  if (broken) throw run.over.aborted ? run.over.reason : broken.reason
  await finishStep(run, last)
  for (const vm of round.vms.values())
    forgetInGuest(
      vm,
      uses.map(({ event }) => event.id).filter((id) => !round.begun.get(id) || round.begun.get(id)?.vmId === vm.id),
    )
}

/**
 * Waits for the calls. An interrupt does not wait for a VM that does not answer.
 * @throws the signal's reason, a second after it fired.
 */
async function settledOrInterrupted(
  callers: readonly Promise<void>[],
  over: AbortSignal,
): Promise<PromiseSettledResult<void>[]> {
  const settled = new AbortController()
  const late = async (): Promise<never> => {
    if (!over.aborted) await new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }))
    await wait(interruptedMs, undefined, { signal: settled.signal })
    throw over.reason
  }
  try {
    return await Promise.race([Promise.allSettled(callers), late()])
  } finally {
    settled.abort()
  }
}

/**
 * Performs one call. Throws only when the step cannot continue.
 * @returns `waits` when its result comes later, from another agent.
 */
async function perform(round: Round, use: SessionEvent): Promise<Outcome | 'waits'> {
  const {
    run: { services, session, over },
  } = round
  const input = (use.data['input'] ?? {}) as ToolInput // in the form that the loop logs
  const name = String(use.data['name'])
  over.throwIfAborted()
  const masker = await stepMasker(services, session) // this records the secrets that are available now, before a tool can print them
  if (use.type === 'agent.mcp_tool_use') {
    if (round.begun.has(use.id))
      return plain(
        failed('The call was cut off by a fault on our side. It may have been made; check before you make it again.'),
      )
    await beginCall(services.db, round.run.claim, use.id, null)
    return callMcpTool(
      services,
      session,
      { serverName: String(use.data['mcp_server_name']), name, input },
      over,
      masker,
    )
  }
  if (name === 'web_fetch')
    return plain(
      await fetchPage(
        services.config,
        String(input['url']),
        webRestrictions(session.agentDefinition.tools, name),
        over,
        masker,
      ),
    )
  if (name === 'web_search')
    return plain(
      await searchWeb(
        services.config,
        String(input['query']),
        webRestrictions(session.agentDefinition.tools, name),
        over,
        masker,
      ),
    )
  if (name === 'ask_peer') {
    const answer = await askOther(round.run, use, input, masker)
    return answer === 'waits' ? answer : plain(answer)
  }
  if (memoryTools.includes(name))
    return plain(await runMemoryTool(services, session, { id: use.id, name, input }, masker, over))
  if (name === 'deploy' && session.environmentId !== null) return deploy(round, input, session.environmentId)
  const tool = findGuestTool(name)
  if (!tool || !session.environmentId)
    return plain(failed('There is no such tool. Use one of those that you were given.'))
  return performInGuest(round, use, tool, input, session.environmentId)
}

async function performInGuest(
  round: Round,
  use: SessionEvent,
  tool: GuestTool,
  input: ToolInput,
  environmentId: string,
): Promise<Outcome> {
  const { run } = round
  const order = tool.order(input, { folderFile: `/tmp/.berth-folder-${run.session.id}` })
  if ('text' in order) return plain(order)
  const begun = round.begun.get(use.id)
  const notes: PlacingNote[] = []
  const findVm = async (): Promise<GuestVm> => {
    const vm = await sessionVm(run, environmentId)
    await giveVaultVariables(round, vm)
    const found = await guestVm(run.services, vm)
    round.vms.set(vm.id, found)
    if (!begun) notes.push(...(await putIntoVm(round, found)))
    return found
  }
  try {
    const end = await runInGuest(
      {
        id: use.id,
        order,
        begunIn: begun ?? null,
        vm: findVm,
        masker: () => stepMasker(run.services, run.session),
        begin: (vm) => beginCall(run.services.db, run.claim, use.id, vm),
      },
      run.over,
    )
    return { result: withNotes(tool.result(end, input, order.timeoutMs), notes), errors: notes.flatMap(errorOf) }
  } catch (error) {
    run.over.throwIfAborted()
    if (error instanceof ClaimLost) throw error
    if (error instanceof MachineLost) {
      processLog.warn({ call: use.id, begun, reason: error.message }, 'the machine of a tool’s call was lost')
      return plain(failed('The machine was lost; the command may have run. Check before you run it again.'))
    }
    return notAvailable(error)
  }
}

/** Publishes a port of the session's VM, which is started for it. */
async function deploy({ run }: Round, input: ToolInput, environmentId: string): Promise<Outcome> {
  const port = { serviceName: String(input['service_name']), vmPort: Number(input['port']) } // checked by the tool's schema
  let vm: Vm
  try {
    vm = await sessionVm(run, environmentId)
  } catch (error) {
    run.over.throwIfAborted()
    return notAvailable(error)
  }
  return plain(await deployPort(run.services, run.session, vm.id, port))
}

function notAvailable(error: unknown): Outcome {
  if (!(error instanceof BerthError)) throw error
  processLog.debug({ reason: error.message }, 'a tool’s VM is not available')
  return {
    result: failed(`The session’s machine is not available: ${error.message}`),
    errors: [errorEvent('environment_failed_error', error.message, 'retrying')],
  }
}

/** Puts the skills and resources of the session into its VM. @returns what is to be said of it. */
async function putIntoVm({ run: { services, session, log, over } }: Round, vm: GuestVm): Promise<PlacingNote[]> {
  return placeInVm(services, {
    session,
    turnId: turnIdOf(log),
    vm,
    findMasker: () => stepMasker(services, session),
    signal: over,
  })
}

/** A result that begins with what is to be said of the machine. */
function withNotes(result: ToolResult, notes: readonly PlacingNote[]): ToolResult {
  if (notes.length === 0) return result
  return { ...result, text: [...notes.map(({ text }) => `[${text}]`), result.text].join('\n') }
}

function errorOf({ text, isThere }: PlacingNote): NewEvent[] {
  return isThere ? [] : [errorEvent('environment_failed_error', text, 'retrying')]
}

const given = createBoundedMap<string, true>({ entriesMax: 1_000 })

/**
 * Sets the current variables of the session's vaults in the VM, once in a turn, before its first tool. Another worker
 * sets them again.
 */
async function giveVaultVariables({ run: { services, session, log } }: Round, vm: Vm): Promise<void> {
  const occasion = `${session.id} ${turnIdOf(log)} ${vm.id} ${session.vaultIds.join(' ')}`
  if (session.vaultIds.length === 0 || given.peek(occasion)) return
  const variables = await openEnvironmentVariables(
    services,
    { organizationId: session.organizationId, userId: session.ownerUserId },
    session.vaultIds,
  )
  await transaction(services.db, (tx) => giveVariables(services, tx, vm.id, variables))
  given.set(occasion, true)
}

function plain(result: ToolResult): Outcome {
  return { result, errors: [] }
}
