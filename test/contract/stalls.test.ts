/**
 * No single input holds a process. Every text field of every operation, found in the schema and in the descriptions, is
 * filled with each of some twenty-five shapes of text, through a web process of its own, whose metrics tell how long its
 * event loop was held; a field of REST that is handed on as an argument of GraphQL, and one that takes no text, with every
 * third shape; what has two names or two paths, by one of them. With 24 KiB,
 * because there everything that is not linear takes a quarter of a second already; and at the full size of the operation,
 * unless it refuses less at once, with one shape after the other, so that every surface sees all of them. What seems to
 * have held it is repeated alone, so that a loaded machine fails nothing by accident. Then the named attacks.
 */
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { attackPieces } from './attack-texts.ts'
import {
  documentFields,
  filled,
  graphqlFields,
  restFields,
  type Attack,
  type Described,
  type Field,
} from './attacked-fields.ts'
import { stallMsMax } from '../support/stalls/watched-process.ts'
import { startAttackedWeb, type AttackedWeb } from './attacked-web.ts'
import { makeCallers, makeRefusingNode, makeTarget, type Callers, type Target } from './callers.ts'

const usualBytes = 24 * 1024
/** Of a field of REST that is handed on as an argument of GraphQL, which had every shape, and of one that takes no text. */
const shapesThird = attackPieces.length / 3
const repeats = 5 // a collection of garbage, which may fall into several, is not the input's
const refusedBytes = 8 * 1024 * 1024
/** The full size takes as many times as long at most, unless it is not linear, which 24 KiB show. Unit: ms. */
const refusedMs = (stallMsMax * refusedBytes) / limits.gatewayBodyBytes
/** One text is made while another is read: both processors work. */
const atOnce = 2

let berth: Berth
let web: AttackedWeb
let callers: Callers
let target: Target
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000000' } })
  callers = await makeCallers(berth)
  target = await makeTarget(berth, callers.owner, await makeRefusingNode(berth))
  web = await startAttackedWeb(berth)
}, 60_000)
afterAll(async () => {
  await web?.stop()
  await berth?.stop()
})

/** Failures that are no bug: the VM's node refuses, has no room, or a tool server cannot be reached. */
const honest = /vm_unreachable|VM_UNREACHABLE|capacity_unavailable|CAPACITY_UNAVAILABLE|The VM’s node/

/** Over Node's own client: `fetch` takes three times as long to send a small body, and ten times for a large one. */
const connections = new Agent({ keepAlive: true })
afterAll(() => connections.destroy())

function send(
  { path, method, body = '' }: Attack,
  token: string | undefined = callers.owner,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(web.url + path, {
      method,
      agent: connections,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
    })
    asked.on('error', reject) // behind an answer nobody hears it
    asked.on('response', (answer) => {
      const status = answer.statusCode ?? 0
      if (answer.headers['content-type']?.startsWith('text/event-stream')) {
        asked.destroy()
        return resolve({ status, text: '' })
      }
      text(answer).then((all) => resolve({ status, text: all }), reject)
    })
    asked.end(body)
  })
}

/** What is wrong with an answer: a failure of ours, or an error that is none of the envelopes. */
function faultOf({ status, text }: { status: number; text: string }): string | null {
  if (status >= 500 && !honest.test(text)) return `${status} ${text.slice(0, 200)}`
  if (status < 400) return /"INTERNAL_ERROR"/.test(text) && !honest.test(text) ? text.slice(0, 300) : null
  if (status === 431 || status === 414) return null
  const body = JSON.parse(text) as { error?: unknown; errors?: unknown }
  return body.error === undefined && body.errors === undefined ? `no envelope: ${text.slice(0, 200)}` : null
}

/** What is wrong with filling a field with these pieces. Only what held the process, alone and each time, counts. */
async function attackField(field: Field, pieces: readonly string[], bytes: number): Promise<string[]> {
  const faults: string[] = []
  const attackOf = filled(field, bytes)
  const waiting = pieces.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const piece of waiting) {
        const fault = faultOf(await send(attackOf(piece)))
        if (fault) faults.push(`${field.name} of ${JSON.stringify(piece)}: ${fault}`)
      }
    }),
  )
  if ((await web.longestStallMs()) <= stallMsMax) return faults
  for (const piece of pieces) {
    const attack = attackOf(piece)
    let shortestMs = Infinity
    for (let time = 0; time < repeats && shortestMs > stallMsMax; time++) {
      await web.longestStallMs()
      await send(attack)
      shortestMs = Math.min(shortestMs, await web.longestStallMs())
    }
    if (shortestMs > stallMsMax)
      faults.push(`${field.name} of ${JSON.stringify(piece)} held the process for ${Math.round(shortestMs)} ms`)
  }
  return faults
}

let turn = 0
/** @param shapes how many of the shapes each field gets, in turn. */
async function attackAll(fields: readonly Field[], shapes: number = attackPieces.length): Promise<string[]> {
  const faults: string[] = []
  await web.longestStallMs() // what was before; each field asks at its end
  for (const [which, field] of fields.entries()) {
    const first = (which * shapes) % attackPieces.length
    faults.push(
      ...(await attackField(field, [...attackPieces, ...attackPieces].slice(first, first + shapes), usualBytes)),
    )
    const piece = attackPieces[turn++ % attackPieces.length] ?? ' '
    if (field.bytes > usualBytes && !(await refusesAtOnce(field, piece)))
      faults.push(...(await attackField(field, [piece], field.bytes)))
  }
  return faults
}

/**
 * Whether a field of more than 8 MiB refuses as many, and in so little time that it holds nobody with its full size either:
 * most fields of a chat are short words, and do not need 32 MiB each to show it.
 */
async function refusesAtOnce(field: Field, piece: string): Promise<boolean> {
  if (field.bytes <= refusedBytes) return false
  const { status } = await send(filled(field, refusedBytes)(piece))
  return status >= 400 && (await web.longestStallMs()) <= refusedMs
}

const described = async (path: string): Promise<Described> => (await berth.call<Described>('GET', path)).body
const spareBytes = 4096

describe('no text blocks the web process', () => {
  test('in a GraphQL document', async () => {
    expect(await attackAll(documentFields(limits.graphqlBodyBytes - spareBytes))).toEqual([])
  }, 120_000)

  test('in an argument of GraphQL', async () => {
    const fields = graphqlFields(target, limits.graphqlBodyBytes - spareBytes)
    expect(fields.length).toBeGreaterThan(150)
    const { texts = [], others = [] } = Object.groupBy(fields, ({ refusesText }) => (refusesText ? 'others' : 'texts'))
    expect(await attackAll(texts)).toEqual([])
    expect(await attackAll(others, shapesThird)).toEqual([])
  }, 900_000)

  test('in a field of the infrastructure service', async () => {
    const fields = restFields(
      await described('/api/v1/openapi.json'),
      '',
      () => limits.infraBodyBytes - spareBytes,
      target,
    )
    expect(fields.length).toBeGreaterThan(50)
    expect(await attackAll(fields, shapesThird)).toEqual([])
  }, 900_000)

  test('in a field of the agents service', async () => {
    const fields = restFields(
      await described('/agents/openapi.json'),
      '/agents',
      (key) => (key.endsWith('/events') ? limits.eventsBodyBytes : limits.agentsBodyBytes) - spareBytes,
      target,
    )
    expect(fields.length).toBeGreaterThan(80)
    expect(await attackAll(fields, shapesThird)).toEqual([])
  }, 900_000)

  test('in a field of the inference gateway', async () => {
    const fields = restFields(
      await described('/llm/openapi.json'),
      '/llm',
      () => limits.gatewayBodyBytes - spareBytes,
      target,
    )
    expect(fields.length).toBeGreaterThan(20)
    expect(await attackAll(fields)).toEqual([])
  }, 900_000)
})

/** The shortest of a few stalls, and the last answer: what is always held is held by the input. */
async function shortestStall(
  work: () => Promise<{ status: number; text: string }>,
): Promise<{ stallMs: number; status: number; text: string }> {
  let shortest = { stallMs: Infinity, status: 0, text: '' }
  for (let time = 0; time < repeats && shortest.stallMs > stallMsMax; time++) {
    await web.longestStallMs()
    const answer = await work()
    shortest = { ...answer, stallMs: Math.min(shortest.stallMs, await web.longestStallMs()) }
  }
  return shortest
}

describe('the attacks of the audit', () => {
  const nobody = ''
  const chat = (content: unknown, more: object = {}): Attack => ({
    method: 'POST',
    path: '/llm/v1/chat/completions',
    body: JSON.stringify({
      model: 'berth/demo',
      stream: true,
      max_tokens: 10,
      messages: [{ role: 'user', content }],
      ...more,
    }),
  })
  const combined = (megabytes: number): string => 'e\u0301'.repeat((megabytes * 1024 * 1024) / 3)
  const calling = (description: string, schema: object): object => ({
    tool_choice: 'required',
    tools: [
      {
        type: 'function',
        function: {
          name: 'a',
          description,
          parameters: { type: 'object', required: ['a'], properties: { a: schema } },
        },
      },
    ],
  })
  test.each<[string, () => Attack, string | undefined, number[]]>([
    [
      'a literal of 400 kB of spaces, without a token',
      () => ({
        method: 'POST',
        path: '/graphql',
        body: JSON.stringify({ query: `{ vms(first: "${' '.repeat(400_000)}") { nodes { id } } }` }),
      }),
      nobody,
      [200, 400, 401],
    ],
    [
      'the same with a token',
      () => ({
        method: 'POST',
        path: '/graphql',
        body: JSON.stringify({ query: `{ vms(first: "${' '.repeat(400_000)}") { nodes { id } } }` }),
      }),
      undefined,
      [200, 400],
    ],
    [
      '; at " 40,000 times where true or false belongs',
      () => ({
        method: 'POST',
        path: `/api/v1/vms/${target.vm}/envd/delete`,
        body: JSON.stringify({ path: '/home/user/x', recursive: '; at "'.repeat(40_000) }),
      }),
      undefined,
      [400],
    ],
    [
      'a million line ends before a hundred wrong fields',
      () => ({
        method: 'POST',
        path: '/graphql',
        body: JSON.stringify({
          query: `${'\n'.repeat(400_000)}{ ${Array.from({ length: 100 }, (_, i) => `x${i}`).join(' ')} }`,
        }),
      }),
      undefined,
      [200, 400],
    ],
    [
      '27 MB of brackets',
      () => ({ method: 'POST', path: '/llm/v1/chat/completions', body: `[${'[],'.repeat(9_000_000)}0]` }),
      undefined,
      [413],
    ],
    [
      '27 MB of open brackets',
      () => ({ method: 'POST', path: '/llm/v1/chat/completions', body: '['.repeat(27_000_000) }),
      undefined,
      [400],
    ],
    [
      '31 MiB of line ends in a message',
      () => ({
        method: 'POST',
        path: '/llm/v1/chat/completions',
        body: JSON.stringify({ model: 'berth/demo', messages: [{ role: 'user', content: '\n'.repeat(15_500_000) }] }),
      }),
      undefined,
      [200, 400],
    ],
    [
      'an image whose address has 31 MiB',
      () => chat([{ type: 'image_url', image_url: { url: `https://${'a'.repeat(31_000_000)}` } }]),
      undefined,
      [400],
    ],
    // What V8 keeps in two bytes each takes longest to join and to search.
    ['31 MiB of combined characters', () => chat(combined(31)), undefined, [200]],
    [
      'the same in two parts of a message',
      () => chat([combined(15), combined(15)].map((text) => ({ type: 'text', text }))),
      undefined,
      [200],
    ],
    [
      'the same in Responses',
      () => ({
        method: 'POST',
        path: '/llm/v1/responses',
        body: JSON.stringify({ model: 'berth/demo', input: combined(31) }),
      }),
      undefined,
      [200],
    ],
    [
      'the same in Messages',
      () => ({
        method: 'POST',
        path: '/anthropic/v1/messages',
        body: JSON.stringify({
          model: 'berth/demo',
          max_tokens: 10,
          messages: [{ role: 'user', content: combined(31) }],
        }),
      }),
      undefined,
      [200],
    ],
    ['a script whose only line has 31 MiB', () => chat(`!say ${'x '.repeat(15_500_000)}`), undefined, [200]],
    [
      'a line of 31 MiB that is to be repeated',
      () => chat(`!repeat 100000 ${'x'.repeat(31_000_000)}`),
      undefined,
      [200],
    ],
    [
      'a call with arguments of 31 MiB',
      () => chat(`!tool a ${'x'.repeat(31_000_000)}`, calling('', {})),
      undefined,
      [200],
    ],
    ['a tool that is described in 31 MiB', () => chat('hi', calling('x'.repeat(31_000_000), {})), undefined, [200]],
    [
      'a tool whose argument has one choice of 31 MiB',
      () => chat('hi', calling('', { enum: ['x'.repeat(31_000_000)] })),
      undefined,
      [200],
    ],
    [
      '90,000 keys in one object',
      () => ({
        method: 'POST',
        path: `/agents/v1/sessions/${target.session}/events`,
        body: JSON.stringify({
          events: [
            {
              type: 'user.message',
              content: [],
              ...Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`k${at}`, 1])),
            },
          ],
        }),
      }),
      undefined,
      [413],
    ],
    [
      '31 MiB of text in an event',
      () => ({
        method: 'POST',
        path: `/agents/v1/sessions/${target.session}/events`,
        body: JSON.stringify({
          events: [{ type: 'user.message', content: [{ type: 'text', text: '"\n'.repeat(7_500_000) }] }],
        }),
      }),
      undefined,
      [200, 409],
    ],
    [
      '31 MiB of combined characters in an event',
      () => ({
        method: 'POST',
        path: `/agents/v1/sessions/${target.session}/events`,
        body: JSON.stringify({
          events: [{ type: 'user.message', content: [{ type: 'text', text: combined(31) }] }],
        }),
      }),
      undefined,
      [200, 409],
    ],
    [
      'reading these events in a page of the log',
      () => ({ method: 'GET', path: `/agents/v1/sessions/${target.session}/events?types[]=user.message` }),
      undefined,
      [200],
    ],
  ])(
    '%s holds nobody',
    async (_what, attack, token, statuses) => {
      const { stallMs, status, text } = await shortestStall(() => send(attack(), token))
      expect(statuses, text.slice(0, 300)).toContain(status)
      expect(stallMs).toBeLessThanOrEqual(stallMsMax)
    },
    120_000,
  )
})

describe('a message that is too large', () => {
  const unread = '{"a":'
  test.each<[string, string, string]>([
    ['/api/v1/vms', 'POST', '1 MiB'],
    ['/agents/v1/agents', 'POST', '4 MiB'],
    ['/llm/v1/chat/completions', 'POST', '32 MiB'],
    ['/graphql', 'POST', '1 MiB'],
  ])(
    '%s says in its 413 what the limit is',
    async (path, method, limit) => {
      const { status, text } = await send({ path, method, body: unread + ' '.repeat(33 * 1024 * 1024) })
      expect([status, text]).toEqual([413, expect.stringContaining(`larger than the ${limit}`)])
    },
    60_000,
  )

  test('a web socket says it in the reason with which it closes', async () => {
    for (const [message, reason] of [
      ['x'.repeat(limits.graphqlBodyBytes + 1), '1 MiB'],
      [`[${'[],'.repeat(limits.socketMessageParts)}0]`, `${limits.socketMessageParts} values`],
    ] as const) {
      const socket = new WebSocket(`${web.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
      const closed = new Promise<{ code: number; reason: string }>((resolve) =>
        socket.addEventListener('close', ({ code, reason }) => resolve({ code, reason })),
      )
      socket.addEventListener('open', () => socket.send(message))
      expect(await closed).toEqual({ code: 1009, reason: expect.stringContaining(reason) as string })
    }
  })
})

test('/healthz answered all the time meanwhile', () => {
  const { asked, wrong } = web.health()
  expect(asked).toBeGreaterThan(20)
  expect(wrong).toEqual([])
})
