/**
 * One request to a session's model: its answer is collected as it streams, previewed to subscribers, and truncated if
 * too long.
 */
import type {
  FinishReason,
  ModelEvent,
  ModelRequest,
  ReasoningBlock,
  ToolCall,
  Usage,
} from '#src/drivers/models/model.ts'
import { UsageCount } from '#src/drivers/models/usage-count.ts'
import { log } from '#src/platform/log.ts'
import type { Masker } from '#src/platform/masking.ts'
import type { Background } from '#src/platform/services.ts'
import { startCompletion } from '#src/resources/llm/chats/completions.ts'
import { noUsage } from '#src/resources/llm/billing.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import { addToPreview, startPreview, type PreviewType } from '#src/resources/agents/sessions/previews.ts'
import { stepMasker, type SecretSession } from '#src/resources/agents/sessions/secrets.ts'
import { streamAnswer } from './answer-streams.ts'
import { startOf } from '#src/platform/texts.ts'

/** Limits of an answer. */
export const answerLimits = {
  /** The length of text; longer text is truncated, and the answer ends there. */
  textCharacters: 256 * 1024,
  /** The length of the arguments of all calls together. */
  argumentCharacters: 1024 * 1024,
  /** The number of calls that are read; the loop runs fewer. */
  calls: 128,
} as const

/** A preview collects text for this long before it is sent; longer when a run's stream tells the same. */
const previewMs = 50
const previewMsBesideStream = 1_000

/** A model's answer. `cut`: it was too long, or the signal ended it. `messageId`: the id of the previewed event. */
export type ModelTurn = {
  text: string
  calls: ToolCall[]
  reasoning: ReasoningBlock[]
  hasThought: boolean
  finishReason: FinishReason | null
  usage: Usage
  cut: 'length' | 'signal' | null
  messageId: string | null
  thinkingId: string | null
}

/**
 * A request to a model for a session. `isPrivate`: the answer is not previewed. `stream`: where the
 * answer is told while it is written, if it is for a run.
 */
export type ModelOrder = {
  session: SecretSession
  model: Model
  request: ModelRequest
  isPrivate?: true
  stream?: { taskId: string | null; requestId: string }
}

/**
 * Sends the request and waits for the whole answer.
 * @param signal ends the request; what came until then is returned.
 * @throws BerthError as startCompletion, also in the middle.
 */
export async function askModel(
  services: Background,
  { session, model, request, isPrivate, stream }: ModelOrder,
  signal: AbortSignal,
): Promise<ModelTurn> {
  const answer = gather(request)
  const masker = await stepMasker(services, session)
  const taskId = stream?.taskId ?? null
  const preview = previewing(services, session.id, masker, taskId === null ? previewMs : previewMsBesideStream)
  const streamed = stream && taskId !== null ? streamAnswer(services.db, { ...stream, taskId }, masker, signal) : null
  try {
    const payer = { organizationId: session.organizationId, keyId: null, userId: session.ownerUserId }
    const { events } = await startCompletion(
      services,
      { payer, model, request, route: 'agent', sessionId: session.id },
      signal,
    )
    for await (const batch of events) {
      for (const event of batch) {
        if (event.type === 'text') streamed?.say(answer.shortened(event.text))
        if (!isPrivate && event.type === 'text') preview.text(event.text)
        else if (!isPrivate && event.type === 'reasoning') preview.thinking()
        answer.add(event)
      }
      if (answer.isTooLong()) {
        answer.turn.cut = 'length'
        break // leaving the loop ends the request, and accounts for what was received
      }
    }
  } catch (error) {
    if (!signal.aborted) {
      await streamed?.stop()
      throw error
    }
    answer.turn.cut = 'signal'
  } finally {
    await preview.end()
  }
  const whole = answer.whole()
  await (whole.cut === 'signal' ? streamed?.stop() : streamed?.finish(whole.text))
  return { ...whole, messageId: preview.ids['agent.message'], thinkingId: preview.ids['agent.thinking'] }
}

type Gathered = Omit<ModelTurn, 'messageId' | 'thinkingId'>

function gather(request: ModelRequest): {
  turn: Gathered
  /** What of this text, which is not added yet, is within the limit. */
  shortened: (text: string) => string
  add: (event: ModelEvent) => void
  isTooLong: () => boolean
  whole: () => Gathered
} {
  const turn: Gathered = {
    text: '',
    calls: [],
    reasoning: [],
    hasThought: false,
    finishReason: null,
    usage: noUsage,
    cut: null,
  }
  let argumentCharacters = 0
  const count = new UsageCount(request)
  return {
    turn,
    shortened: (text) => startOf(text, Math.max(0, answerLimits.textCharacters - turn.text.length)),
    add(event) {
      count.add(event)
      switch (event.type) {
        case 'text':
          turn.text += event.text
          return
        case 'reasoning':
          turn.hasThought = true
          return
        case 'reasoning_end':
          turn.hasThought = true
          turn.reasoning.push(event.block)
          return
        case 'tool':
          turn.calls[event.index] = {
            id: event.id,
            name: event.name,
            arguments: '',
            ...(event.extra ? { extra: event.extra } : {}),
          }
          return
        case 'extra': {
          const call = turn.calls[event.index]
          if (call) call.extra = event.extra
          return
        }
        case 'arguments': {
          const call = turn.calls[event.index]
          argumentCharacters += event.text.length
          if (call) call.arguments += event.text
          return
        }
        case 'end':
          turn.finishReason = event.finishReason
          turn.usage = event.usage
      }
    },
    isTooLong: () =>
      turn.text.length > answerLimits.textCharacters ||
      argumentCharacters > answerLimits.argumentCharacters ||
      turn.calls.length > answerLimits.calls,
    whole() {
      if (turn.finishReason === null) turn.usage = count.soFar() // truncated, as the ledger counted it
      if (turn.text.length > answerLimits.textCharacters)
        turn.text = `${startOf(turn.text, answerLimits.textCharacters)}\n[Cut: an answer holds ${answerLimits.textCharacters} characters.]`
      if (turn.cut) turn.calls = [] // the last call may be incomplete
      return { ...turn, calls: turn.calls.filter(Boolean).slice(0, answerLimits.calls) }
    },
  }
}

/** Sends previews in the background: the answer does not wait for them, and a failed preview does not matter. */
function previewing(
  { db }: Background,
  sessionId: string,
  masker: Masker,
  everyMs: number,
): {
  ids: Record<PreviewType, string | null>
  text: (text: string) => void
  thinking: () => void
  end: () => Promise<void>
} {
  const ids: Record<PreviewType, string | null> = { 'agent.message': null, 'agent.thinking': null }
  const masking = masker.stream() // text that may be the beginning of a secret waits for the next piece
  let due = ''
  let wantsThinking = false
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()
  const write = async (): Promise<void> => {
    if (wantsThinking && ids['agent.thinking'] === null && due === '')
      ids['agent.thinking'] = await startPreview(db, sessionId, 'agent.thinking')
    if (due === '') return
    const text = masking.push(Buffer.from(due)).toString()
    due = ''
    if (text === '') return
    ids['agent.message'] ??= await startPreview(db, sessionId, 'agent.message')
    await addToPreview(db, sessionId, ids['agent.message'], text)
  }
  const soon = (): void => {
    timer ??= setTimeout(() => {
      timer = null
      writing = writing
        .then(write)
        .catch((error: Error) => log.debug({ reason: error.message }, 'a preview could not be shown'))
    }, everyMs)
  }
  return {
    ids,
    text(text) {
      due += text
      soon()
    },
    thinking() {
      wantsThinking = true
      soon()
    },
    async end() {
      if (timer) clearTimeout(timer)
      await writing
    },
  }
}
