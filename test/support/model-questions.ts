/** Questions to upstreams, for tests of the wire formats. */
import { askUpstream } from '#src/drivers/models/ask.ts'
import type {
  Message,
  ModelEvent,
  ModelRequest,
  ReasoningBlock,
  Tool,
  UpstreamKind,
  UpstreamTarget,
} from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { MockUpstream } from './mock-upstream.ts'

/** The operator's key of the tests; it must never appear in an error. */
export const secretKey = 'sk-operator-secret-0123456789'

/** The kinds that have a wire format. */
export const wireKinds = ['openai-compatible', 'anthropic', 'openai'] as const satisfies readonly UpstreamKind[]

/** The mock as an upstream of a model that is called `test/model`. */
export function targetOf(mock: { url: string }, changes: Partial<UpstreamTarget> = {}): UpstreamTarget {
  return {
    slug: 'mock',
    baseUrl: `${mock.url}/v1`,
    apiKey: secretKey,
    upstreamModel: 'mock',
    model: 'test/model',
    maxOutputTokens: 32_000,
    reasoningReplay: 'none',
    ...changes,
  }
}

/** A user's message of one text. */
export function userSays(text: string): Message {
  return { role: 'user', parts: [{ type: 'text', text }], name: null }
}

/** A tool that looks up the weather. */
export const weatherTool: Tool = {
  name: 'weather',
  description: 'The weather of a place.',
  parameters: { type: 'object', properties: { place: { type: 'string' } } },
  strict: null,
}

/** A question, streamed unless it says otherwise. */
export function requestOf(changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: [userSays('Hello there')],
    tools: [],
    toolChoice: null,
    parallelToolCalls: null,
    reasoningEffort: null,
    maxTokens: null,
    temperature: null,
    topP: null,
    stop: [],
    responseFormat: null,
    seed: null,
    user: null,
    stream: true,
    ...changes,
  }
}

/** A block of reasoning of `test/model`. */
export function blockOf(changes: Partial<ReasoningBlock>): ReasoningBlock {
  return {
    id: null,
    text: '',
    model: 'test/model',
    signature: null,
    encryptedContent: null,
    redacted: false,
    ...changes,
  }
}

/** Asks, and reads to the end. */
export async function askAll(
  kind: UpstreamKind,
  target: UpstreamTarget,
  request = requestOf(),
  signal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const batch of await askUpstream(kind)(target, request, signal)) events.push(...batch)
  return events
}

/** Asks, and reads until it fails: what came before, and the error. */
export async function askUntilError(
  kind: UpstreamKind,
  target: UpstreamTarget,
  request = requestOf(),
): Promise<{ events: ModelEvent[]; error: BerthError }> {
  const events: ModelEvent[] = []
  try {
    for await (const batch of await askUpstream(kind)(target, request, new AbortController().signal))
      events.push(...batch)
  } catch (error) {
    if (error instanceof BerthError) return { events, error }
    throw error
  }
  throw new Error(`no error, but ${JSON.stringify(events)}`)
}

/** The events of an answer without interim usage; texts are joined, so that chunks do not matter. */
export function summary(events: readonly ModelEvent[]): ModelEvent[] {
  const joined: ModelEvent[] = []
  for (const event of events) {
    const last = joined.at(-1)
    if (event.type === 'usage') continue
    if (last && 'text' in last && 'text' in event && last.type === event.type)
      joined[joined.length - 1] = { ...last, text: last.text + event.text }
    else joined.push(event)
  }
  return joined
}

/** The body of the last request. */
export function lastBody(mock: MockUpstream): Readonly<Record<string, unknown>> {
  return mock.requests.at(-1)?.body ?? {}
}
