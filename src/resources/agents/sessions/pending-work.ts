/** What a session's log leaves to be done: a pure function, so that whoever goes on after a crash sees the same. */
import { encodeId } from '#src/platform/ids.ts'
import { answerTypes, resultTypes, toolUseTypes } from './event-types.ts'
import type { SessionEvent } from './rows.ts'

/** The part of an event that says what is to be done. */
export type LoggedEvent = Pick<SessionEvent, 'id' | 'type' | 'data' | 'answers' | 'processedAt'>

/**
 * A tool use without a result. `run`: the service runs it; `refuse`: it was denied, and its result says so;
 * `confirmation`, `result`: the client has to give that first.
 */
export type OpenToolUse<Event extends LoggedEvent> = {
  event: Event
  needs: 'run' | 'refuse' | 'confirmation' | 'result'
  denyMessage: string | null
}

/** What is to be done, each in the order of the log. */
export type Pending<Event extends LoggedEvent> = {
  /** Requests to stop that nobody has taken. They go before everything else. */
  interrupts: Event[]
  /** Messages and outcomes that nobody has taken. */
  messages: Event[]
  /** Confirmations and results that nobody has taken. */
  answers: Event[]
  /** Tool uses without a result. */
  toolUses: OpenToolUse<Event>[]
  /** The public ids of those that wait for the client: a `requires_action` names them. */
  waitingFor: string[]
}

/**
 * What a log leaves to be done.
 * @param log the events in the order of the log; a part of it will do that has all that is open and all that answers it.
 * @param toolsRunAtClient the environment is the client's own machine: it runs the built-in tools itself.
 */
export function pendingOf<Event extends LoggedEvent>(
  log: readonly Event[],
  { toolsRunAtClient = false }: { toolsRunAtClient?: boolean } = {},
): Pending<Event> {
  const answered = new Set(log.filter(({ type }) => resultTypes.includes(type)).map(({ answers }) => answers))
  const confirmations = new Map(
    log.filter(({ type }) => type === 'user.tool_confirmation').map((event) => [event.answers, event]),
  )
  const queued = log.filter(({ processedAt }) => processedAt === null)
  const toolUses = log
    .filter(({ id, type }) => toolUseTypes.includes(type) && !answered.has(id))
    .map((event) => openToolUse(event, confirmations.get(event.id), toolsRunAtClient))
  return {
    interrupts: queued.filter(({ type }) => type === 'user.interrupt'),
    messages: queued.filter(({ type }) => type !== 'user.interrupt' && !answerTypes.includes(type)),
    answers: queued.filter(({ type }) => answerTypes.includes(type)),
    toolUses,
    waitingFor: toolUses
      .filter(({ needs }) => needs === 'confirmation' || needs === 'result')
      .map(({ event }) => encodeId('sessionEvent', event.id)),
  }
}

function openToolUse<Event extends LoggedEvent>(
  event: Event,
  confirmation: Event | undefined,
  toolsRunAtClient: boolean,
): OpenToolUse<Event> {
  const open = (needs: OpenToolUse<Event>['needs'], denyMessage: string | null = null): OpenToolUse<Event> => ({
    event,
    needs,
    denyMessage,
  })
  if (event.type === 'agent.custom_tool_use') return open('result')
  const permission = event.data['evaluated_permission']
  if (permission === 'deny') return open('refuse')
  if (permission === 'ask' && !confirmation) return open('confirmation')
  if (confirmation?.data['result'] === 'deny')
    return open(
      'refuse',
      typeof confirmation.data['deny_message'] === 'string' ? confirmation.data['deny_message'] : null,
    )
  return open(toolsRunAtClient && event.type === 'agent.tool_use' ? 'result' : 'run')
}
