/**
 * The pending work in a session's log: a pure function, so that the worker that continues after a crash sees the same.
 */
import { encodeId } from '#src/platform/ids.ts'
import { answerTypes, resultTypes, toolUseTypes } from './event-types.ts'
import type { SessionEvent } from './rows.ts'

/** The part of an event that decides what is pending. */
export type LoggedEvent = Pick<SessionEvent, 'id' | 'type' | 'data' | 'answers' | 'processedAt'>

/**
 * A tool use without a result. `run`: Berth runs it; `refuse`: it was denied, and its result says so; `confirmation`,
 * `result`: the client must send that first.
 */
export type OpenToolUse<Event extends LoggedEvent> = {
  event: Event
  needs: 'run' | 'refuse' | 'confirmation' | 'result'
  denyMessage: string | null
}

/** The pending work, each list in the order of the log. */
export type Pending<Event extends LoggedEvent> = {
  /** Interrupts that are not taken. They go before everything else. */
  interrupts: Event[]
  /** Messages and outcomes that are not taken. */
  messages: Event[]
  /** Confirmations and results that are not taken. */
  answers: Event[]
  /** Tool uses without a result. */
  toolUses: OpenToolUse<Event>[]
  /** The public ids of the tool uses that are waiting for the client: `requires_action` lists them. */
  waitingFor: string[]
}

/**
 * The pending work in a log.
 * @param log the events in the order of the log; a part is enough if it has everything that is open and everything that
 * answers it.
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
