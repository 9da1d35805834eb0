/**
 * JSON that the model gateway passes on has the same numbers at the other end, in all of its formats and both ways. Each
 * path is a line of a table: what is sent along it, and what arrives.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { MockAnswer } from '../../support/mock-upstream.ts'
import { startChatWorld, type ChatWorld } from '../../llm/chat-world.ts'
import { canonical, holds, sent } from './texts.ts'

let world: ChatWorld
beforeAll(async () => {
  world = await startChatWorld()
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

/** A text as it is written inside of another text of JSON. */
const quoted = JSON.stringify(sent)
const schema = `{"type":"object","examples":[${sent}]}`
const chatTools = `"tools":[{"type":"function","function":{"name":"order","parameters":${schema}}}]`
const messageTools = `"tools":[{"name":"order","input_schema":${schema}}]`
const responseTools = `"tools":[{"type":"function","name":"order","parameters":${schema}}]`

/** Asks, and answers with everything that came back. */
async function ask(path: string, body: string): Promise<string> {
  const answer = await world.post(path, body)
  const text = await answer.text()
  expect(answer.status, text).toBe(200)
  return text
}

const chat = (model: string, more: string): string =>
  `{"model":"${model}","stream":true,"messages":[{"role":"user","content":"hi"}],${more}}`
const message = (model: string, more: string): string =>
  `{"model":"${model}","max_tokens":2000,"messages":[{"role":"user","content":"hi"}],${more}}`
const response = (model: string, more: string): string => `{"model":"${model}","input":"hi",${more}}`
/** The same, with a call and its result behind it. */
const afterCall = {
  chat: (model: string): string =>
    `{"model":"${model}","stream":true,"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"order","arguments":${quoted}}}]},{"role":"tool","tool_call_id":"c1","content":${quoted}}]}`,
  ui: (model: string): string =>
    `{"model":"${model}","messages":[{"id":"a","role":"user","parts":[{"type":"text","text":"hi"}]},{"id":"b","role":"assistant","parts":[{"type":"tool-order","toolCallId":"c1","state":"output-available","input":${sent},"output":${sent}}]}]}`,
  message: (model: string): string =>
    `{"model":"${model}","max_tokens":2000,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"order","input":${sent}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}],${messageTools}}`,
  response: (model: string): string =>
    `{"model":"${model}","input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c1","name":"order","arguments":${quoted}},{"type":"function_call_output","call_id":"c1","output":"ok"}]}`,
}
const schemaFormat = `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`

/** To the upstream: the path, the body, and how often what was sent stands in what arrives; `texts` in texts. */
const there: readonly (readonly [
  path: string,
  name: string,
  body: string,
  arrives: { values?: number; texts?: number },
])[] = [
  ['/v1/chat/completions', 'tools in the same format', chat('test/plain', chatTools), { values: 1 }],
  ['/v1/chat/completions', 'tools to Anthropic', chat('test/signed', chatTools), { values: 1 }],
  ['/v1/chat/completions', 'tools to responses', chat('test/sealed', chatTools), { values: 1 }],
  [
    '/v1/chat/completions',
    'a schema of the answer in the same format',
    chat('test/plain', schemaFormat),
    { values: 1 },
  ],
  ['/v1/chat/completions', 'a schema of the answer to Anthropic', chat('test/signed', schemaFormat), { values: 1 }],
  ['/v1/chat/completions', 'a schema of the answer to responses', chat('test/sealed', schemaFormat), { values: 1 }],
  ['/v1/chat/completions', 'arguments and results in the same format', afterCall.chat('test/plain'), { texts: 2 }],
  ['/v1/chat/completions', 'arguments to Anthropic', afterCall.chat('test/signed'), { values: 1, texts: 1 }],
  ['/v1/chat/completions', 'arguments to responses', afterCall.chat('test/sealed'), { texts: 2 }],
  ['/v1/chat', 'input and output of a UI message', afterCall.ui('test/plain'), { texts: 2 }],
  ['/v1/chat', 'input and output of a UI message to Anthropic', afterCall.ui('test/signed'), { values: 1, texts: 1 }],
  ['/v1/messages', 'tools in the same format', message('test/signed', messageTools), { values: 1 }],
  ['/v1/messages', 'tools to chat completions', message('test/plain', messageTools), { values: 1 }],
  ['/v1/messages', 'input in the same format', afterCall.message('test/signed'), { values: 2 }],
  ['/v1/messages', 'input to chat completions', afterCall.message('test/plain'), { values: 1, texts: 1 }],
  ['/v1/messages', 'input to responses', afterCall.message('test/sealed'), { values: 1, texts: 1 }],
  ['/v1/responses', 'tools in the same format', response('test/sealed', responseTools), { values: 1 }],
  ['/v1/responses', 'tools to Anthropic', response('test/signed', responseTools), { values: 1 }],
  ['/v1/responses', 'arguments in the same format', afterCall.response('test/sealed'), { texts: 1 }],
  ['/v1/responses', 'arguments to Anthropic', afterCall.response('test/signed'), { values: 1 }],
  [
    '/v1/responses',
    'a schema of the answer',
    response('test/sealed', `"text":{"format":{"type":"json_schema","name":"n","schema":${schema}}}`),
    { values: 1 },
  ],
]

/** The texts inside of a text of JSON. */
const textsIn = (text: string): string[] =>
  [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([one]) => JSON.parse(one) as string) // JSON in quotes is text

const countIn = (text: string): { values: number; texts: number } => ({
  values: canonical(text).split(canonical(sent)).length - 1,
  texts: textsIn(text).filter((one) => one.startsWith('{') && holds(one)).length,
})

test.each(there)('%s passes on %s with the same numbers', async (path, _name, body, { values = 0, texts = 0 }) => {
  await ask(path, body)
  expect(countIn(world.mock.requests[0]?.bodyText ?? '')).toEqual({ values, texts })
})

/** The arguments in pieces: no number of them is a piece of its own. */
const pieces = Array.from({ length: Math.ceil(sent.length / 7) }, (_, at) => sent.slice(at * 7, at * 7 + 7))
const oneLine = sent.replaceAll(/[\n\t]/g, ' ')
const usage = '"usage":{"input_tokens":1,"output_tokens":1}'
const toolUse = (input: string): string => `{"type":"tool_use","id":"c1","name":"order","input":${input}}`
const message1 = `"id":"m","type":"message","role":"assistant","model":"m"`
const events = (...data: readonly string[]): MockAnswer => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  body: data.map((one) => `data: ${one}\n\n`).join(''),
})
const whole = (body: string): MockAnswer => ({ status: 200, headers: { 'content-type': 'application/json' }, body })
const called = (given: string): string =>
  `"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"order","arguments":${given}}}]`

/** What an upstream answers, by the model that it serves: whole, and streamed in each way in which servers do. */
const answers: Readonly<Record<string, { whole: Record<string, MockAnswer>; streamed: Record<string, MockAnswer> }>> = {
  'test/signed': {
    whole: {
      'Anthropic’s message': whole(`{${message1},"stop_reason":"tool_use","content":[${toolUse(sent)}],${usage}}`),
    },
    streamed: {
      'Anthropic’s pieces': { parts: [{ tool: 'order', id: 'c1', arguments: pieces }] },
      'Anthropic’s start of a block': events(
        `{"type":"message_start","message":{${message1},"content":[],${usage}}}`,
        `{"type":"content_block_start","index":0,"content_block":${toolUse(oneLine)}}`,
        `{"type":"content_block_stop","index":0}`,
        `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`,
        '{"type":"message_stop"}',
      ),
    },
  },
  'test/plain': {
    whole: {
      'a completion’s text': { parts: [{ tool: 'order', id: 'c1', arguments: sent }] },
      'a completion’s object': whole(
        `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"",${called(sent)}}}]}`,
      ),
    },
    streamed: {
      'a completion’s pieces': { parts: [{ tool: 'order', id: 'c1', arguments: pieces }] },
      'a completion’s object in one piece': events(
        `{"choices":[{"index":0,"delta":{${called(oneLine)}}}]}`,
        '{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
        '[DONE]',
      ),
    },
  },
  'test/sealed': {
    whole: { 'a response’s text': { parts: [{ tool: 'order', id: 'c1', arguments: sent }] } },
    streamed: { 'a response’s pieces': { parts: [{ tool: 'order', id: 'c1', arguments: pieces }] } },
  },
}
const joined = (answer: string, pattern: RegExp): string =>
  [...answer.matchAll(pattern)].map(([, one = '""']) => JSON.parse(one) as string).join('')
const argumentsIn = (answer: string): string => joined(answer, /"arguments":("(?:[^"\\]|\\.)*")/g)

/** How an answer is asked for, whether its upstream streams then, and where in it the call is. */
const asked: Readonly<
  Record<
    string,
    { path: string; body: (model: string) => string; isStreamed: boolean; callIn: (answer: string) => string }
  >
> = {
  'a stream of chat completions': {
    path: '/v1/chat/completions',
    body: (model) => chat(model, chatTools),
    isStreamed: true,
    callIn: argumentsIn,
  },
  'a UI message stream': {
    path: '/v1/chat',
    body: (model) => afterCall.ui(model).replace('{', `{${chatTools},`),
    isStreamed: true,
    callIn: (answer) => answer,
  },
  'a message': {
    path: '/v1/messages',
    body: (model) => message(model, messageTools),
    isStreamed: false,
    callIn: (answer) => answer,
  },
  'a stream of a message': {
    path: '/v1/messages',
    body: (model) => message(model, `"stream":true,${messageTools}`),
    isStreamed: true,
    callIn: (answer) => joined(answer, /"partial_json":("(?:[^"\\]|\\.)*")/g),
  },
  'a response': {
    path: '/v1/responses',
    body: (model) => response(model, responseTools),
    isStreamed: false,
    callIn: argumentsIn,
  },
  'a stream of a response': {
    path: '/v1/responses',
    body: (model) => response(model, `"stream":true,${responseTools}`),
    isStreamed: true,
    callIn: (answer) =>
      joined(answer, /"type":"response.function_call_arguments.done"[^}]*?"arguments":("(?:[^"\\]|\\.)*")/g),
  },
}
const back = Object.entries(asked).flatMap(([form, { isStreamed }]) =>
  Object.entries(answers).flatMap(([model, of]) =>
    Object.keys(isStreamed ? of.streamed : of.whole).map((from) => [form, from, model] as const),
  ),
)

test.each(back)('%s brings back %s with the same numbers', async (form, from, model) => {
  const { path, body, isStreamed, callIn } = asked[form]! // of its own keys, as the two below
  world.mock.script(answers[model]![isStreamed ? 'streamed' : 'whole'][from]!)
  const answer = await ask(path, body(model))
  expect(holds(callIn(answer)), answer.slice(0, 500)).toBe(true)
})

test('a count of tokens, and a chat by GraphQL, pass on schemas with the same numbers', async () => {
  await ask(
    '/v1/messages/count_tokens',
    `{"model":"test/signed","messages":[{"role":"user","content":"hi"}],${messageTools}}`,
  )
  const input = `{"model":"test/plain","messages":[{"user":{"content":{"text":"hi"}}}],"tools":[{"name":"order","parameters":${schema}}],"responseFormat":{"jsonSchema":{"name":"n","schema":${schema}}}}`
  const query = `subscription ($input: ChatCompletionEventsInput!) { chatCompletionEvents(input: $input) { ... on ChatCompletionEvent { toolCall { arguments } } } }`
  world.mock.script({ parts: [{ tool: 'order', id: 'c1', arguments: pieces }] })
  const answer = await fetch(`${world.berth.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: `{"query":"${query}","variables":{"input":${input}}}`,
  })
  expect(holds(argumentsIn(await answer.text()))).toBe(true)
  expect(world.mock.requests.map(({ bodyText }) => countIn(bodyText).values)).toEqual([1, 2])
})

test('log probabilities are passed on with every digit', async () => {
  const token =
    '{"token":"a","logprob":-0.1000000000000000055,"bytes":[97],"top_logprobs":[{"token":"b","logprob":-1e400,"bytes":null}]}'
  const body = '{"model":"test/plain","logprobs":true,"messages":[{"role":"user","content":"hi"}]'
  world.mock.script(
    whole(
      `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"a"},"logprobs":{"content":[${token}]}}]}`,
    ),
    events(
      `{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[${token}]}}]}`,
      '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
      '[DONE]',
    ),
  )
  expect(holds(await ask('/v1/chat/completions', `${body}}`), token)).toBe(true)
  expect(holds(await ask('/v1/chat/completions', `${body},"stream":true}`), token)).toBe(true)
})

/** Fields that Berth reads itself: each says what it must be, and nothing is sent. */
const computed: readonly (readonly [path: string, body: string])[] = [
  ['/v1/chat/completions', '"max_tokens":9007199254740993'],
  ['/v1/chat/completions', '"top_p":1e400'],
  ['/v1/chat/completions', '"seed":9007199254740993'],
  ['/v1/chat/completions', '"logit_bias":{"1":1e400}'],
  ['/v1/chat/completions', '"tools":[9007199254740993]'],
  ['/v1/chat/completions', '"metadata":9007199254740993'],
  ['/v1/messages', '"max_tokens":1e400'],
  ['/v1/messages', '"tools":[{"name":"order","input_schema":9007199254740993}]'],
  ['/v1/responses', '"max_output_tokens":9007199254740993'],
  ['/v1/responses', '"top_p":1e400'],
  ['/v1/embeddings', '"dimensions":9007199254740993'],
]
test.each(computed)('%s refuses %s in words, and asks no model', async (path, field) => {
  const rest = path.endsWith('embeddings')
    ? '"input":"x"'
    : path.endsWith('responses')
      ? '"input":"hi"'
      : '"max_tokens":9,"messages":[{"role":"user","content":"hi"}]'
  const name = field.slice(1, field.indexOf('"', 1))
  const body = `{"model":"test/${path.endsWith('embeddings') ? 'packed' : 'plain'}",${rest.replace(`"${name}":9,`, '')},${field}}`
  const answer = await world.post(path, body)
  const text = await answer.text()
  expect(answer.status, text).toBe(400)
  expect(text).toContain(name)
  expect(text).not.toContain('function')
  expect(world.mock.requests).toEqual([])
})

test.each([
  ['/v1/chat/completions', '"messages":[{"role":"user","content":"hi"}]'],
  ['/v1/messages', '"max_tokens":9,"messages":[{"role":"user","content":"hi"}]'],
  ['/v1/responses', '"input":"hi"'],
])('%s takes a temperature with more digits than a double has, as many programs write it', async (path, rest) => {
  const answer = await world.post(path, `{"model":"test/plain",${rest},"temperature":0.69999999999999996}`)
  expect(answer.status, await answer.text()).toBe(200)
  expect(world.mock.requests.at(-1)?.body).toMatchObject({ temperature: 0.7 })
})

test('an embedding whose numbers have more digits than a double is read as the nearest ones', async () => {
  const vector = '[0.1000000000000000055,1e-400,-0,0.30000000000000000000000000000004]'
  world.mock.script({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: `{"data":[{"index":0,"embedding":${vector}}],"usage":{"prompt_tokens":1}}`,
  })
  const answer = await world.post('/v1/embeddings', '{"model":"test/vectors","input":"x"}')
  expect(await answer.json()).toMatchObject({ data: [{ embedding: [0.100000001, 0, 0, 0.300000012] }] }) // 32-bit floats
})
