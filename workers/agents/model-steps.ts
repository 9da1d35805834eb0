/** A request to a session's model: how it is made, and how its answer is logged. */
import type { ModelRequest, ReasoningLevel } from '#src/drivers/models/model.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { log as processLog } from '#src/platform/log.ts'
import { transaction, type Tx } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'
import { canCompact, conversationOf, needsCompaction } from '#src/resources/agents/turns/conversations.ts'
import { readMemoryFacts } from '#src/resources/agents/memories/tools.ts'
import { listedMcpTools, listSessionTools, type McpListing } from '#src/resources/agents/turns/mcp-calls.ts'
import { askModel, type ModelTurn } from '#src/resources/agents/turns/model-turns.ts'
import { readNamedFiles } from '#src/resources/agents/files/contents.ts'
import { holdSession } from '#src/resources/agents/sessions/claims.ts'
import { definedBy } from '#src/resources/agents/sessions/outcomes/rows.ts'
import { appendEvents, takeEvents, type NewEvent } from '#src/resources/agents/sessions/log.ts'
import { changeOutcome } from '#src/resources/agents/sessions/outcomes.ts'
import { describeResources } from '#src/resources/agents/sessions/resources/placing.ts'
import { describeSkills } from '#src/resources/agents/skills/sessions.ts'
import { stepMasker } from '#src/resources/agents/sessions/secrets.ts'
import { readReasoning, replayedOf } from '#src/resources/agents/sessions/reasoning.ts'
import {
  errorEvent,
  readModelFault,
  resultEvent,
  spanEnd,
  usageAdded,
} from '#src/resources/agents/turns/step-events.ts'
import { storableText } from '#src/platform/texts.ts'
import { storable } from '#src/resources/agents/storable.ts'
import type { SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import { mcpToolName } from '#src/resources/agents/tools/mcp-names.ts'
import { offersOf, readArguments, type Offer } from '#src/resources/agents/tools/offers.ts'
import { failed } from '#src/resources/agents/tools/results.ts'
import { readConversation } from '#src/resources/agents/turns/logs.ts'
import { turnIdOf, turnLimits, type NextStep, type TurnEvent } from '#src/resources/agents/turns.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import { findModel } from '#src/resources/llm/models.ts'
import { endOfFault, finishStep, merged, type StepRun } from './step-runs.ts'

/**
 * A request that is about to be sent: its start is in the log. `model` null: no longer available. `canCompact`: the
 * conversation can be made shorter.
 */
export type Asking = {
  log: SessionEvent[]
  spanId: string
  model: Model | null
  request: ModelRequest
  offers: readonly Offer[]
  canCompact: boolean
}

type AskStep = Extract<NextStep<SessionEvent>, { do: 'ask' }>
type Before = Pick<StepRun, 'session' | 'log' | 'toolsRunAtClient'>

const aboutTheVm =
  'You have a Linux machine of your own, a VM. Tools that run commands or handle files work inside it as the user `user`, who may use sudo; the home folder is /home/user. What you start in the background continues between calls.'

/**
 * Logs the start of a request.
 * @returns null when tool servers must be asked first, which must not be done in a transaction.
 */
export async function beginAsking(services: Services, tx: Tx, run: Before, step: AskStep): Promise<Asking | null> {
  const listing = listedMcpTools(run.session, turnIdOf(run.log))
  return listing ? begin(services, tx, run, step, listing) : null
}

/** Sends the request to the model, and logs the answer. */
export async function stepModel(run: StepRun, begun: Asking | null, step: AskStep): Promise<void> {
  const asking = begun ?? (await listAndBegin(run, step))
  run.log = asking.log
  const { model, request, spanId } = asking
  if (!model) {
    const message = `The model ${run.session.agentDefinition.model.id} is no longer available here. Give the agent another one.`
    return finishStep(run, {
      events: [spanEnd(spanId, true, null), errorEvent('model_request_failed_error', message, 'exhausted')],
      rest: { type: 'retries_exhausted' },
    })
  }
  let turn: ModelTurn
  try {
    const stream = { taskId: run.taskId, requestId: spanId }
    turn = await askModel(run.services, { session: run.session, model, request, stream }, run.over)
  } catch (error) {
    run.over.throwIfAborted()
    return fail(run, asking, error)
  }
  if (turn.cut === 'signal') {
    run.cut = { spanId, model, usage: turn.usage } // the partial answer is not logged, but it is charged
    throw run.over.reason
  }
  await finishStep(run, {
    events: await eventsOf(turn, asking),
    usage: usageAdded(model, turn.usage),
    reasoning: { spanId, blocks: replayedOf(model.id, turn) },
  })
}

async function listAndBegin(run: StepRun, step: AskStep): Promise<Asking> {
  const listing = await listSessionTools(run.services, run.session, turnIdOf(run.log), run.over)
  return transaction(run.services.db, async (tx) => {
    await holdSession(tx, run.claim, { release: false })
    return begin(run.services, tx, run, step, listing)
  })
}

async function begin(
  { config, sealer }: Services,
  tx: Tx,
  { session, log: before, toolsRunAtClient }: Before,
  step: AskStep,
  listing: McpListing,
): Promise<Asking> {
  const { model: wanted } = session.agentDefinition
  const taken = await takeEvents(
    tx,
    session.id,
    step.take.map(({ id }) => id),
  )
  for (const { outcome_id: id } of definedBy(taken))
    await changeOutcome(tx, session.id, { id, change: { result: 'running' } })
  let conversation = await readConversation(tx, session.id)
  const model = findModel(config, wanted.id) ?? null
  const memory = await readMemoryFacts(tx, session, () => stepMasker({ db: tx, sealer }, session))
  const offers =
    model?.capabilities.tools === false
      ? []
      : offersOf(session.agentDefinition, {
          hasEnvironment: session.environmentId !== null,
          canSearch: config.searchUrl !== null,
          usesMemories: memory.isUsed,
          usedByVm: session.usedByVm,
          toolsRunAtClient,
          mcpTools: listing.tools,
          askedFirst: listing.askedFirst,
        })
  const reasoning = await readReasoning(tx, session.id)
  const instructions = await instructionsOf(tx, session, offers, memory.instructions)
  const files = await readNamedFiles({ config, sealer }, tx, session, conversation)
  const converse = (): ModelRequest['messages'] =>
    conversationOf(conversation, {
      system: instructions,
      model: wanted.id,
      seesImages: model?.capabilities.vision ?? false,
      readsPdf: model?.capabilities.pdf ?? false,
      reasoning,
      nameOf,
      files,
    })
  let messages = converse()
  const marks =
    model && needsCompaction(conversation, messages, model.contextWindow)
      ? await appendEvents(tx, session.id, [compaction])
      : []
  if (marks.length > 0) {
    conversation = [...conversation, ...marks]
    messages = converse()
  }
  const spanId = newUuid()
  const stored = await appendEvents(tx, session.id, [
    ...listing.errors,
    { type: 'span.model_request_start', id: spanId },
  ])
  return {
    log: merged(before, [...taken, ...marks, ...stored]),
    spanId,
    model,
    offers,
    request: requestOf(messages, offers, model, wanted.effort),
    canCompact: canCompact(conversation),
  }
}

/** What the model is told first: the agent's own instructions, and what its tools need. */
async function instructionsOf(
  tx: Tx,
  session: StepRun['session'],
  offers: readonly Offer[],
  memories: string | null,
): Promise<string | null> {
  const { system } = session.agentDefinition
  const hasVm = offers.some(({ kind }) => kind === 'guest')
  const recalls = offers.some(({ name, kind }) => name === 'recall' && kind === 'service')
  const aboutVm = hasVm ? [aboutTheVm, await describeResources(tx, session.id)] : []
  const readsFiles = offers.some(({ name, kind }) => kind === 'guest' && (name === 'bash' || name === 'read'))
  const parts = [system, ...aboutVm, await describeSkills(tx, session, readsFiles), recalls ? memories : null]
  const text = parts.filter((part) => part !== null).join('\n\n')
  return text === '' ? null : text
}

const compaction: NewEvent = { type: 'agent.thread_context_compacted' }

/**
 * A request with these messages; everything else is the model's default.
 * @param effort null for the model's default.
 */
export function requestOf(
  messages: ModelRequest['messages'],
  offers: readonly Offer[],
  model: Model | null,
  effort: ReasoningLevel | null,
): ModelRequest {
  const level = effort ?? model?.defaultReasoningLevel ?? null
  return {
    messages,
    tools: offers.map(({ tool }) => tool),
    toolChoice: null,
    parallelToolCalls: null,
    reasoningEffort: level !== null && model?.reasoningLevels.includes(level) ? level : null,
    maxTokens: null,
    temperature: null,
    topP: null,
    stop: [],
    responseFormat: null,
    seed: null,
    user: null,
    stream: true,
  }
}

/**
 * The events of an answer, in the order in which clients expect them. A call that cannot be made gets its result
 * immediately.
 */
async function eventsOf(turn: ModelTurn, { spanId, offers }: Asking): Promise<NewEvent[]> {
  const byName = new Map(offers.map((offer) => [offer.tool.name, offer]))
  const uses: NewEvent[] = []
  const results: NewEvent[] = []
  for (const [place, call] of turn.calls.entries()) {
    const offer = byName.get(call.name)
    const { input, problem } = await readArguments(call.arguments, offer)
    const wrong =
      place < turnLimits.toolCallsPerStep
        ? problem
        : `One answer may make at most ${turnLimits.toolCallsPerStep} tool calls; this one was dropped. Make it again.`
    const use = { ...useOf(offer, call.name, input, wrong === null), id: newUuid() }
    uses.push(use)
    if (wrong !== null) results.push(resultEvent(use, failed(wrong)))
  }
  const added: NewEvent[] = []
  if (turn.hasThought) added.push({ type: 'agent.thinking', ...(turn.thinkingId ? { id: turn.thinkingId } : {}) })
  if (turn.text.trim() !== '')
    added.push({
      type: 'agent.message',
      data: { content: [{ type: 'text', text: storableText(turn.text) }] },
      ...(turn.messageId ? { id: turn.messageId } : {}),
    })
  return [...added, spanEnd(spanId, false, turn.usage), ...uses, ...results]
}

function useOf(
  offer: Offer | undefined,
  calledName: string,
  input: Record<string, unknown>,
  isSound: boolean,
): NewEvent {
  if (offer?.kind === 'client' && isSound)
    return { type: 'agent.custom_tool_use', data: { name: offer.name, input: storable(input) } }
  const evaluated_permission = offer?.isAsked && isSound ? 'ask' : 'allow'
  if (offer?.kind === 'mcp')
    return {
      type: 'agent.mcp_tool_use',
      data: { mcp_server_name: offer.serverName, name: offer.name, input: storable(input), evaluated_permission },
    }
  return {
    type: 'agent.tool_use',
    data: {
      name: storableText(offer?.name ?? calledName.slice(0, limits.nameLength)),
      input: storable(input),
      evaluated_permission,
    },
  }
}

/** The tool's name as the model sees it. */
function nameOf({ type, data }: TurnEvent): string {
  return type === 'agent.mcp_tool_use'
    ? mcpToolName(String(data['mcp_server_name']), String(data['name']))
    : String(data['name'])
}

async function fail(run: StepRun, asking: Asking, error: unknown): Promise<void> {
  const fault = readModelFault(error)
  if (fault.type === 'unknown_error')
    processLog.error({ err: error }, 'a request to a session’s model failed on our side')
  const end = spanEnd(asking.spanId, true, null)
  if (fault.isTooLong && asking.canCompact) return finishStep(run, { events: [end, compaction] })
  const { event, ...next } = endOfFault(run, fault)
  return finishStep(run, { events: [end, event], ...next })
}
