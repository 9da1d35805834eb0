/**
 * Turns that end before the model is done: running calls are ended, open ones get results, and the session becomes
 * idle.
 */
import { evaluationEnd } from '#src/resources/agents/turns/outcomes/evaluations.ts'
import { cancelExchangesOf } from '#src/resources/agents/peers/upkeep.ts'
import { readBegunCalls } from '#src/resources/agents/sessions/calls.ts'
import { pendingOf } from '#src/resources/agents/sessions/pending-work.ts'
import type { StopReason } from '#src/resources/agents/sessions/rows.ts'
import { guestVm, killInGuest } from '#src/resources/agents/tools/guest-calls.ts'
import { failed } from '#src/resources/agents/tools/results.ts'
import { endOfOpenSpan, errorEvent, resultEvent, spanEnd, usageAdded } from '#src/resources/agents/turns/step-events.ts'
import { openEvaluation, stoppedMessages } from '#src/resources/agents/turns.ts'
import { findRunningVmRow } from '#src/resources/infra/vms/rows.ts'
import { finishStep, type StepEnd, type StepRun } from './step-runs.ts'

/** After an interrupt: ends running calls, answers open ones as denied, and the session becomes idle. */
export function stopEverything(run: StepRun): Promise<void> {
  return endTurn(run, {
    rest: { type: 'end_turn' },
    take: stoppedMessages(run.log),
    alsoTake: 'all but messages',
    begun: 'The user interrupted; this call was stopped, and may have had some of its effect.',
    unbegun: 'The user interrupted; this call was denied.',
    events: [],
  })
}

/** After too many claims without progress: ends the turn, so that it is not retried forever. */
export function giveUp(run: StepRun): Promise<void> {
  const error = errorEvent('unknown_error', 'The session could not continue. Send a message to try again.', 'exhausted')
  return endTurn(run, {
    rest: { type: 'retries_exhausted' },
    take: [],
    alsoTake: 'all',
    begun: 'This call was given up after too many faults on our side; it may have run.',
    unbegun: 'This call could not be made, because of faults on our side.',
    events: [error],
  })
}

async function endTurn(
  run: StepRun,
  why: Required<Pick<StepEnd, 'rest' | 'take' | 'alsoTake' | 'events'>> & { begun: string; unbegun: string },
): Promise<void> {
  const { toolUses } = pendingOf(run.log, run)
  const begun = await readBegunCalls(
    run.services.db,
    toolUses.map(({ event }) => event.id),
  )
  for (const vmId of new Set([...begun.values()].flatMap((one) => one.vmId ?? []))) {
    const vm = await findRunningVmRow(run.services.db, vmId)
    if (vm)
      await killInGuest(
        await guestVm(run.services, vm),
        [...begun.values()].filter((one) => one.vmId === vmId).map(({ toolUseId }) => toolUseId),
      )
  }
  const answers = toolUses.map(({ event }) => resultEvent(event, failed(begun.has(event.id) ? why.begun : why.unbegun)))
  const { cut } = run
  const graded = endOfEvaluation(run, why.rest)
  const end = graded ? [graded.event] : cut ? [spanEnd(cut.spanId, true, cut.usage)] : endOfOpenSpan(run.log)
  await finishStep(run, {
    events: [...end, ...answers, ...why.events],
    usage: cut && usageAdded(cut.model, cut.usage),
    outcome: graded?.outcome,
    take: why.take,
    alsoTake: why.alsoTake,
    rest: why.rest,
  })
  await cancelExchangesOf(run.services, run.session.id) // those that a worker which dies here leaves are found later
}

/** The end of an abandoned grading; null when there is none. */
function endOfEvaluation({ session, log, cut }: StepRun, rest: StopReason): ReturnType<typeof evaluationEnd> | null {
  const left = openEvaluation(log)
  const outcome = session.outcomes.find(({ outcome_id }) => outcome_id === left?.data['outcome_id'])
  if (!left || !outcome) return null
  const verdict =
    rest.type === 'end_turn'
      ? ({ result: 'interrupted', explanation: 'The user interrupted while this was graded.' } as const)
      : ({ result: 'failed', explanation: 'It could not be graded, because of faults on our side.' } as const)
  return evaluationEnd(left.id, outcome, verdict, cut?.usage ?? null)
}
