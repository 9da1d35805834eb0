/**
 * The built-in model, so that every route, agent and test works on a machine without internet and without keys. It does
 * not think: it follows the script in the conversation (demo-script.ts); otherwise it says what it is and repeats the
 * message. The same conversation gives the same bytes.
 */
import { BerthError } from '#src/platform/errors.ts'
import { sameDigest, sha256 } from '#src/platform/secrets.ts'
import { sampleOf } from './demo-json.ts'
import { signReasoning, streamPlan, wholeCharacters, type DemoPlan } from './demo-events.ts'
import { dueTurn, textForPeople, type DemoDue, type DemoStep } from './demo-script.ts'
import type { AskUpstream, ModelRequest, ToolCall, UpstreamTarget } from './model.ts'

const repeatedTextMax = 2_000
const repeatedResultMax = 500
/**
 * How much of a call's arguments its id is derived from; calls of one turn also differ by their positions. Unit:
 * characters.
 */
const identifyingLength = 64 * 1024

/**
 * Answers according to the conversation's script.
 * @throws BerthError invalid_messages for an invalid script or reasoning block.
 */
export const askDemo: AskUpstream = async (target, request, signal) => {
  checkReplayed(target, request)
  const plan = planAnswer(request, dueTurn(request.messages))
  signal.throwIfAborted()
  return streamPlan(target, request, plan, signal)
}

/** Like a real provider, refuses a block that was changed. */
function checkReplayed({ slug, model }: UpstreamTarget, { messages }: ModelRequest): void {
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const block of message.reasoning) {
      const fits =
        block.signature !== null &&
        sameDigest(Buffer.from(block.signature, 'base64url'), signReasoning(model, block.text))
      if (!fits)
        throw new BerthError(
          'invalid_messages',
          'A replayed reasoning block was changed: its signature does not match its text. Send blocks back exactly as they were received.',
          { upstream: slug },
        )
    }
  }
}

function planAnswer(request: ModelRequest, due: DemoDue): DemoPlan {
  const steps = (due.turn ?? [])
    .filter((step) => step.type !== 'tool')
    .filter(({ type }) => type !== 'reason' || request.reasoningEffort !== 'none')
  const scripted = (due.turn ?? []).filter((step) => step.type === 'tool')
  const calls = chooseCalls(request, scripted).map((call, place) => ({ ...call, id: callId(due, place, call) }))
  const reasons = request.reasoningEffort !== null && request.reasoningEffort !== 'none'
  if (reasons && !steps.some((step) => step.type === 'reason'))
    steps.unshift({ type: 'reason', text: reasoningAbout(request), paceMs: 0 })
  const nothingToSay = due.turn === null || scripted.length > 0 // a script's calls may not be allowed
  if (nothingToSay && calls.length === 0 && !steps.some((step) => step.type !== 'reason'))
    steps.push({ type: 'say', text: usualAnswer(request), paceMs: 0 })
  return { steps, calls, callPaceMs: scripted[0]?.paceMs ?? 0 }
}

/**
 * The script's calls, if the request allows them; a default call if the request requires one and the script has none.
 */
function chooseCalls(
  { tools, toolChoice, parallelToolCalls, messages }: ModelRequest,
  scripted: readonly Extract<DemoStep, { type: 'tool' }>[],
): Omit<ToolCall, 'id'>[] {
  if (tools.length === 0 || toolChoice === 'none') return []
  const named = typeof toolChoice === 'object' && toolChoice !== null ? toolChoice.name : null
  const allowed = scripted.filter(({ name }) => named === null || name === named)
  if (allowed.length > 0) return parallelToolCalls === false ? allowed.slice(0, 1) : allowed
  if (named === null && toolChoice !== 'required') return []
  const tool = tools.find(({ name }) => name === named) ?? tools[0]
  const text = textForPeople(
    messages.findLast(({ role }) => role === 'user'),
    repeatedTextMax,
  ).slice(0, repeatedTextMax)
  return tool
    ? [{ name: tool.name, arguments: JSON.stringify(sampleOf({ type: 'object', ...tool.parameters }, text)) }]
    : []
}

/** An id that is unique in a conversation, and the same each time the conversation is the same. */
function callId({ scriptAt, turnsDone }: DemoDue, place: number, call: Omit<ToolCall, 'id'>): string {
  return `call_${sha256(
    JSON.stringify([scriptAt, turnsDone, place, call.name, call.arguments.slice(0, identifyingLength)]),
  )
    .toString('hex')
    .slice(0, 24)}`
}

function reasoningAbout({ messages, tools, reasoningEffort }: ModelRequest): string {
  return `I was asked to reason with effort ${reasoningEffort}. The conversation has ${messages.length} ${messages.length === 1 ? 'message' : 'messages'} and I have ${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}. I follow the script, if there is one.`
}

/** The answer without a script: what the model is, and what it was sent. */
function usualAnswer({ messages, responseFormat }: ModelRequest): string {
  const user = messages.findLast((message) => message.role === 'user')
  const heard = shortened(textForPeople(user, repeatedTextMax), repeatedTextMax)
  const attached = user?.parts.filter(({ type }) => type !== 'text').length ?? 0
  const last = messages.at(-1)
  const sentences = [
    'I am the built-in demo model of Berth: I do not think, I follow scripts and repeat what I hear.',
    ...(heard === '' ? [] : [`You said: ${heard}`]),
    ...(attached === 0
      ? []
      : [`You attached ${attached} ${attached === 1 ? 'thing' : 'things'} that I do not look at.`]),
    ...(last?.role === 'tool'
      ? [`The last tool ${last.isError ? 'failed' : 'answered'}: ${shortened(last.text, repeatedResultMax)}`]
      : []),
  ]
  if (responseFormat?.['type'] === 'json_object')
    return JSON.stringify({ model: 'berth/demo', answer: sentences.join(' ') })
  if (responseFormat?.['type'] !== 'json_schema') return sentences.join(' ')
  const { schema } = Object(responseFormat['json_schema']) as { schema?: unknown } // OpenAI's form; anything else is not a schema
  return JSON.stringify(sampleOf({ type: 'object', ...(Object(schema) as object) }, heard))
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${wholeCharacters(text, most)}…`
}
