/**
 * No single input holds a process. Every text field of every operation, found in the schema and in the descriptions, is
 * filled with each of some twenty-five shapes of text, through a web process of its own, whose metrics tell how long its
 * event loop was held; a field of REST that is handed on as an argument of GraphQL, and one that takes no text, with every
 * third shape; what has two names or two paths, by one of them. With 24 KiB,
 * because there everything that is not linear takes a quarter of a second already; and at the full size of the operation,
 * unless it refuses a quarter at once, or another one did in the same sentence, with one shape after the other, so that
 * every surface sees all of them. Operations of GraphQL come several in a request, each with its own shape. What seems to
 * have held it is repeated alone, so that a loaded machine fails nothing by accident. Then the named attacks.
 */
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { faultOfAll, type AttackAnswer } from './stalls/attack-answers.ts'
import { attackPieces } from './attack-texts.ts'
import {
  documentFields,
  filled,
  graphqlFields,
  restFields,
  together,
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
/** So much of the full size shows what a refusal of it takes, unless that is not linear, which 24 KiB show. */
const refusedShare = 1 / 4
/** How many fields are attacked between two looks at how long the process was held. */
const fieldsBetweenLooks = 8
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

/** Over Node's own client: `fetch` takes three times as long to send a small body, and ten times for a large one. */
const connections = new Agent({ keepAlive: true })
afterAll(() => connections.destroy())

function send({ path, method, body = '' }: Attack, token: string | undefined = callers.owner): Promise<AttackAnswer> {
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

type Wave = { field: Field; pieces: readonly string[]; bytes: number }

/** Requests of so many pieces each. */
function requestsOf({ field, pieces, bytes }: Wave): (() => Promise<string | null>)[] {
  const attackOf = filled(field, bytes)
  const requests: (() => Promise<string | null>)[] = []
  const { atOnce: most = 1 } = field
  for (let at = 0; at < pieces.length; at += most) {
    const [first = ' ', ...rest] = pieces.slice(at, at + most)
    requests.push(async () => {
      const answer = await send(together([attackOf(first), ...rest.map(attackOf)]))
      const fault = faultOfAll(answer, rest.length + 1)
      return fault && `${field.name} of ${JSON.stringify([first, ...rest])}: ${fault}`
    })
  }
  return requests
}

/** What is wrong with filling fields with pieces. Only what held the process, alone and each time, counts. */
async function attackWith(waves: readonly Wave[]): Promise<string[]> {
  const faults: string[] = []
  const waiting = waves.flatMap(requestsOf).values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const request of waiting) {
        const fault = await request()
        if (fault) faults.push(fault)
      }
    }),
  )
  if ((await web.longestStallMs()) > stallMsMax) for (const wave of waves) faults.push(...(await holdsOf(wave)))
  return faults
}

/** What holds the process, alone and each time. */
async function holdsOf({ field, pieces, bytes }: Wave): Promise<string[]> {
  const attackOf = filled(field, bytes)
  const faults: string[] = []
  for (const piece of pieces) {
    const heldMs = await web.heldMs(() => send(attackOf(piece)))
    if (heldMs > stallMsMax)
      faults.push(`${field.name} of ${JSON.stringify(piece)} held the process for ${Math.round(heldMs)} ms`)
  }
  return faults
}

let turn = 0
/** @param shapes how many of the shapes each field gets, in turn. */
async function attackAll(fields: readonly Field[], shapes: number = attackPieces.length): Promise<string[]> {
  const faults: string[] = []
  await web.longestStallMs() // what was before; each wave asks at its end
  const waves = fields.map((field, which): Wave => {
    const first = (which * shapes) % attackPieces.length
    return { field, pieces: [...attackPieces, ...attackPieces].slice(first, first + shapes), bytes: usualBytes }
  })
  for (let at = 0; at < waves.length; at += fieldsBetweenLooks)
    faults.push(...(await attackWith(waves.slice(at, at + fieldsBetweenLooks))))
  const refusals = new Set<string>()
  for (const field of fields) {
    const piece = attackPieces[turn++ % attackPieces.length] ?? ' '
    if (field.bytes > usualBytes && !(await refusesAtOnce(field, piece, refusals)))
      faults.push(...(await attackWith([{ field, pieces: [piece], bytes: field.bytes }])))
  }
  return faults
}

const requestId = /req_[0-9a-z]{26}/g

/** Whether it is refused, and what is said then, which is the same from the same check. */
async function refusalOf(attack: Attack): Promise<string | null> {
  const { status, text } = await send(attack)
  return status >= 400 || text.startsWith('{"errors":') ? text.replaceAll(requestId, '') : null
}

/**
 * Whether a field refuses a quarter of its size, and in so little time that it holds nobody with all of it either: most
 * fields are short words, and do not need their full size each to show it. Of fields that are refused in the same
 * sentence, one shows it for all. @param refusals the sentences of such before
 */
async function refusesAtOnce(field: Field, piece: string, refusals: Set<string>): Promise<boolean> {
  const refusal = await refusalOf(filled(field, usualBytes)(piece))
  if (refusal !== null && refusals.has(refusal)) return true
  await web.longestStallMs() // what was before
  const later = await refusalOf(filled(field, Math.floor(field.bytes * refusedShare))(piece))
  if (refusal !== null) refusals.add(refusal)
  return later !== null && (await web.longestStallMs()) <= stallMsMax * refusedShare
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
async function shortestStall(work: () => Promise<AttackAnswer>): Promise<AttackAnswer & { stallMs: number }> {
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
