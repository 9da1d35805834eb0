/**
 * The loop of sessions: each job is one request to the model, or one round of tool calls, of one session. What to do is
 * read from the log, so any worker can continue where another one died.
 */
import { encodeId } from '#src/platform/ids.ts'
import { log as processLog } from '#src/platform/log.ts'
import { transaction, type Tx } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'
import {
  heartbeat,
  beatMs,
  ClaimLost,
  claimSession,
  releaseClaim,
  takeOverSessions,
  type Claim,
  type Claimed,
} from '#src/resources/agents/sessions/claims.ts'
import { isSelfHosted } from '#src/resources/agents/environments/rows.ts'
import { ownerLeft } from '#src/resources/agents/member-work.ts'
import { stepJob } from '#src/resources/agents/sessions/jobs.ts'
import { interruptTopic, takeEvents } from '#src/resources/agents/sessions/log.ts'
import { endOfOpenSpan } from '#src/resources/agents/turns/step-events.ts'
import type { SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import { moveSession } from '#src/resources/agents/sessions/states.ts'
import { breakOff } from '#src/resources/agents/turns/breaking-off.ts'
import { readTurnLog } from '#src/resources/agents/turns/logs.ts'
import { nextStep, type NextStep } from '#src/resources/agents/turns.ts'
import { beginAsking, stepModel, type Asking } from './model-steps.ts'
import { stepOutcome } from './outcome-steps.ts'
import { factsOf, finishStep, Interrupted, merged, type StepRun } from './step-runs.ts'
import { stepTools } from './tool-steps.ts'
import { giveUp, stopEverything } from './turn-ends.ts'

/** The maximum concurrent steps of this process: most of them wait for a model or a VM. */
const stepsAtOnce = 250
/** A session that was claimed so often without completing a step is given up. */
const triesMax = 50

/** Handles the steps of all sessions; first those that this node's previous worker left. */
export async function handleSessionSteps(services: Services, nodeId: string): Promise<void> {
  await takeOverSessions(services, nodeId)
  await services.jobs.handle(stepJob, { concurrency: stepsAtOnce }, ({ data, signal }) =>
    runStep(services, nodeId, data.sessionId, signal),
  )
}

type Opened = {
  run: Omit<StepRun, 'over' | 'services'>
  step: NextStep<SessionEvent>
  asking: Asking | null
  tries: number
}

/** Takes one step, if there is one and no other worker is taking it. */
export async function runStep(
  services: Services,
  nodeId: string,
  sessionId: string,
  stopping: AbortSignal,
): Promise<void> {
  const over = new AbortController()
  const notices = services.pubsub.subscribe(interruptTopic, sessionId, over.signal) // before the log is read, so that no notice is missed
  const stop = (): void => over.abort(stopping.reason)
  let opened: Opened | undefined
  let watching: (() => void) | null = null
  try {
    opened = await openStep(services, nodeId, sessionId)
    if (!opened) return
    stopping.addEventListener('abort', stop, { once: true })
    if (stopping.aborted) stop()
    watching = watch(services, opened.run.claim, notices, over)
    await takeStep({ ...opened.run, services, over: over.signal }, opened)
  } catch (error) {
    if (opened)
      await releaseClaim(services.db, opened.run.claim).catch((reason: Error) =>
        processLog.debug({ reason: reason.message }, 'the claim on a session could not be released'),
      )
    if (!(error instanceof ClaimLost)) throw error
    processLog.debug({ session: encodeId('session', sessionId) }, 'another worker has taken over a session')
  } finally {
    stopping.removeEventListener('abort', stop)
    watching?.()
    over.abort(new ClaimLost())
  }
}

async function takeStep(run: StepRun, { step, asking, tries }: Opened): Promise<void> {
  try {
    if (tries > triesMax) return await giveUp(run)
    switch (step.do) {
      case 'interrupt':
        return await stopEverything(run)
      case 'call':
        return await stepTools(run, step)
      case 'ask':
        return await stepModel(run, asking, step)
      case 'evaluate':
        return await stepOutcome(run)
      case 'wait':
      case 'rest':
        return await finishStep(run, { events: endOfOpenSpan(run.log), take: step.take })
    }
  } catch (error) {
    if (!(run.over.reason instanceof Interrupted)) throw error
    return stopEverything(run)
  }
}

/** Claims the session and starts the step, in one transaction if nothing has to be waited for. */
async function openStep(services: Services, nodeId: string, sessionId: string): Promise<Opened | undefined> {
  return transaction(services.db, async (tx) => {
    const claimed = await claimSession(tx, sessionId, nodeId)
    if (!claimed) return undefined
    const { claim, session, tries, taskId } = claimed
    if (claimed.ownerLeft) {
      // sessions that they started at the moment of their removal
      await breakOff(tx, sessionId, 'unknown_error', ownerLeft)
      return undefined
    }
    const log = await readTurnLog(tx, sessionId)
    const toolsRunAtClient = session.environmentId !== null && (await isSelfHosted(tx, session.environmentId))
    const step = nextStep(log, await factsOf(tx, services.config, { session, log, toolsRunAtClient }))
    const run = { claim, session, toolsRunAtClient, taskId, log: merged(log, await resume(tx, claimed, log, step)) }
    if (tries > triesMax || isWithoutWork(step)) return { run, step, asking: null, tries }
    if (step.do === 'call' || step.do === 'evaluate')
      return {
        run: {
          ...run,
          log: merged(
            run.log,
            await takeEvents(
              tx,
              sessionId,
              step.take.map(({ id }) => id),
            ),
          ),
        },
        step,
        asking: null,
        tries,
      }
    const asking = await beginAsking(services, tx, run, step)
    return { run: asking ? { ...run, log: asking.log } : run, step, asking, tries }
  })
}

/** Whether nothing is started, so that what this step takes is taken at its end. */
function isWithoutWork<Step extends NextStep<SessionEvent>>(
  step: Step,
): step is Extract<Step, { do: 'interrupt' | 'wait' | 'rest' }> {
  return step.do === 'interrupt' || step.do === 'wait' || step.do === 'rest'
}

/** The events of a session that is claimed again, because its worker was lost, or for a retry. */
async function resume(
  tx: Tx,
  { session: { id, status }, wasLost }: Claimed,
  log: readonly SessionEvent[],
  step: NextStep<SessionEvent>,
): Promise<SessionEvent[]> {
  const before = endOfOpenSpan(log)
  const events: SessionEvent[] = []
  if (isWithoutWork(step)) return events // open requests are closed at the step's end
  if (status === 'running' && (wasLost || before.length > 0))
    events.push(...((await moveSession(tx, id, { to: 'rescheduling', before }))?.events ?? []))
  if (status === 'rescheduling' || events.length > 0)
    events.push(...((await moveSession(tx, id, { to: 'running' }))?.events ?? []))
  return events
}

/** Sends heartbeats, and watches for a request to stop. The returned function ends both. */
function watch({ db }: Services, claim: Claim, notices: AsyncIterator<void>, over: AbortController): () => void {
  let looking = false
  const look = async (): Promise<void> => {
    looking = true
    try {
      if ((await heartbeat(db, claim)).isInterrupted) over.abort(new Interrupted())
    } catch (error) {
      if (error instanceof ClaimLost) over.abort(error)
      else
        processLog.warn(
          { reason: error instanceof Error ? error.message : String(error) },
          'the heartbeat of a session could not be written',
        )
    } finally {
      looking = false
    }
  }
  const timer = setInterval(() => void (looking || look()), beatMs)
  const hear = async (): Promise<void> => {
    while (!(await notices.next()).done) await look()
  }
  void hear()
  return () => clearInterval(timer)
}
