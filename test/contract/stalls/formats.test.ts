/**
 * No format holds the web process: whole bodies of JSON, forms and archives, each at its largest allowed size in the shapes
 * that take longest to read. The stalls of fields are in stalls.test.ts.
 */
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { skillLimits } from '#src/resources/agents/skills/limits.ts'
import { zipOf } from '../../agents/skills/zips.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { filled, jsonShapes, within } from '../../support/stalls/shapes.ts'
import { findHolds } from '../../support/stalls/watched-process.ts'
import { startAttackedWeb, type AttackedWeb } from '../attacked-web.ts'

const spareBytes = 4096
/** Of services that read bodies as chats do, which are tried at the full size; and of what has as many parts as may be. */
const smallerBytes = limits.agentsBodyBytes + 1

let berth: Berth
let web: AttackedWeb
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000000' } })
  token = await berth.token()
  web = await startAttackedWeb(berth)
}, 60_000)
afterAll(async () => {
  await web?.stop()
  await berth?.stop()
})

type Attack = { path: string; type?: string; body: string | Buffer }

/** Over Node's own client: `fetch` takes three times as long to send a small body, and ten times for a large one. */
const connections = new Agent({ keepAlive: true })
afterAll(() => connections.destroy())

/** Sends one; an answer must be one of the caller's own faults, or right. */
async function send({ path, type = 'application/json', body }: Attack): Promise<void> {
  const asked = request(web.url + path, {
    method: 'POST',
    agent: connections,
    headers: { authorization: `Bearer ${token}`, 'content-type': type, 'content-length': Buffer.byteLength(body) },
  })
  asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage] // as its documentation says
  const said = await text(answer)
  if ((answer.statusCode ?? 0) >= 500) throw new Error(`${answer.statusCode} ${said.slice(0, 200)}`)
}

async function findStalls(attacks: Readonly<Record<string, () => Attack>>): Promise<Record<string, string>> {
  const works = Object.entries(attacks).map(([name, make]) => {
    let made: Attack | null = null
    return [name, () => send((made ??= make()))] as const
  })
  return findHolds(web, Object.fromEntries(works))
}

/** Each shape of JSON between these texts: as large as it may be, and with as many parts. */
function inJson(path: string, bytes: number, before: string, after: string): Record<string, () => Attack> {
  const most = {
    parts: bytes > limits.agentsBodyBytes ? limits.conversationParts : limits.jsonParts,
    numbers: limits.unusualNumbers,
  }
  const room = bytes - spareBytes - before.length - after.length
  return Object.fromEntries(
    Object.entries(jsonShapes).flatMap(([name, shape]) => [
      [name, () => ({ path, body: before + shape(room) + after })],
      [
        `${name}, as many as may be`,
        () => ({ path, body: before + within(shape, Math.min(room, smallerBytes), most) + after }),
      ],
    ]),
  )
}

describe('no body of JSON holds the process', () => {
  test.each([
    [
      'variables of GraphQL',
      '/graphql',
      limits.graphqlBodyBytes,
      '{"query":"query ($f: VmFilter) { vms(filter: $f) { nodes { id } } }","variables":{"f":',
      '}}',
    ],
    ['operations of GraphQL together', '/graphql', limits.graphqlBodyBytes, '', ''],
    ['a VM', '/api/v1/vms', limits.infraBodyBytes, '{"metadata":', '}'],
    ['an agent', '/agents/v1/agents', limits.agentsBodyBytes, '{"name":"a","tools":', '}'],
    [
      'events of a session',
      '/agents/v1/sessions/sesn_01m8d8hcwweavrbgqqkwzps3en/events',
      smallerBytes,
      '{"events":',
      '}',
    ],
    ['a chat', '/llm/v1/chat/completions', limits.gatewayBodyBytes, '{"model":"berth/demo","messages":', '}'],
    ['a message', '/llm/v1/messages', smallerBytes, '{"model":"berth/demo","max_tokens":9,"messages":', '}'],
    ['a response', '/llm/v1/responses', smallerBytes, '{"model":"berth/demo","input":', '}'],
    ['texts to embed', '/llm/v1/embeddings', smallerBytes, '{"model":"berth/demo-embeddings","input":', '}'],
  ])(
    '%s',
    async (_, path, bytes, before, after) => {
      expect(await findStalls(inJson(path, bytes, before, after))).toEqual({})
    },
    180_000,
  )
})

const boundary = 'x'
const formOf = (parts: string): Buffer => Buffer.from(`${parts}--${boundary}--\r\n`, 'latin1')
const part = (headers: string, content: string): string => `--${boundary}\r\n${headers}\r\n\r\n${content}\r\n`
const named = (name: string, file = ''): string =>
  `Content-Disposition: form-data; name="${name}"${file === '' ? '' : `; filename="${file}"`}`
const fileBytes = 4 * 1024 * 1024

/** Shapes of forms. */
const forms: Readonly<Record<string, () => Buffer>> = {
  'many small fields': () => formOf(filled(fileBytes, (at) => part(named(`f${at}`), '1'))),
  'many small files': () => formOf(filled(fileBytes, (at) => part(named('file', `a${at}`), '1'))),
  'one field again and again': () => formOf(filled(fileBytes, () => part(named('purpose'), ''))),
  'a long header': () => formOf(part(`${named('file', 'a')}\r\nX: ${'x'.repeat(fileBytes)}`, '1')),
  'many headers': () =>
    formOf(part(`${named('file', 'a')}\r\n${filled(fileBytes, (at) => `X${at}: y\r\n`).trimEnd()}`, '1')),
  'a name of quotation marks': () => formOf(part(named('\\"'.repeat(fileBytes / 4)), '1')),
  'a file name of semicolons': () => formOf(part(named('file', ';='.repeat(fileBytes / 4)), '1')),
  'a file of almost boundaries': () => formOf(part(named('file', 'a'), `\r\n--`.repeat(fileBytes / 4))),
  'a file of line ends': () => formOf(part(named('file', 'a'), '\r\n'.repeat(fileBytes / 2))),
  'a field that is too long': () => formOf(part(named('purpose'), 'x'.repeat(fileBytes))),
  hyphens: () => Buffer.alloc(fileBytes, '-'),
  'nothing but boundaries': () => Buffer.from(`--${boundary}\r\n`.repeat(fileBytes / 5)),
  'what is never closed': () => Buffer.from(part(named('file', 'a'), 'x'.repeat(fileBytes)).slice(0, -2)),
  'no part at all': () => Buffer.alloc(fileBytes),
}

const skill = '---\nname: a\ndescription: b\n---\nx'
/** Shapes of archives. */
const archives: Readonly<Record<string, () => Buffer>> = {
  'as many entries as may be': () =>
    zipOf([
      { path: 'a/SKILL.md', content: skill },
      ...Array.from({ length: 1990 }, (_, at) => ({ path: `a/f${at}`, content: '1' })),
    ]),
  'more entries than may be': () => zipOf(Array.from({ length: 65_000 }, (_, at) => ({ path: `a/f${at}` }))),
  'folders in folders': () => zipOf(Array.from({ length: 1990 }, (_, at) => ({ path: `${'a/'.repeat(at % 120)}x` }))),
  'one path again and again': () => zipOf(Array.from({ length: 1990 }, () => ({ path: 'a/SKILL.md', content: skill }))),
  'long paths': () => zipOf(Array.from({ length: 400 }, (_, at) => ({ path: `a/${at}${'x'.repeat(60_000)}` }))),
  'what unpacks to much': () => zipOf([{ path: 'a/SKILL.md', content: Buffer.alloc(25 * 1024 * 1024, 'x') }]),
  'instructions of spaces': () =>
    zipOf([{ path: 'a/SKILL.md', content: skill + ' '.repeat(skillLimits.instructionsBytes - 100) }]),
  'instructions of line ends': () =>
    zipOf([{ path: 'a/SKILL.md', content: skill + '\n'.repeat(skillLimits.instructionsBytes - 100) }]),
  'almost an end, everywhere': () => Buffer.from('PK\x05\x06'.repeat(1024 * 1024), 'latin1'),
  'almost entries, everywhere': () => Buffer.from('PK\x01\x02'.repeat(1024 * 1024), 'latin1'),
  'a long comment': () => zipOf([{ path: 'a/SKILL.md', content: skill }], { comment: 'x'.repeat(65_000) }),
  'a count that is not true': () => zipOf([{ path: 'a/SKILL.md', content: skill }], { count: 65_535 }),
}

const asForm = (path: string, make: () => Buffer) => (): Attack => ({
  path,
  type: `multipart/form-data; boundary=${boundary}`,
  body: make(),
})
const ofAll = (path: string, shapes: Readonly<Record<string, () => Buffer>>): Record<string, () => Attack> =>
  Object.fromEntries(Object.entries(shapes).map(([name, make]) => [name, asForm(path, make)]))
const inForm = (archive: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--${boundary}\r\n${named('files[]', 'a.zip')}\r\nContent-Type: application/zip\r\n\r\n`, 'latin1'),
    archive,
    Buffer.from(`\r\n--${boundary}--\r\n`, 'latin1'),
  ])

describe('no form and no archive holds the process', () => {
  test('a file of agents', async () => {
    expect(await findStalls(ofAll('/agents/v1/files', forms))).toEqual({})
  }, 120_000)

  test('a skill', async () => {
    expect(await findStalls(ofAll('/agents/v1/skills', forms))).toEqual({})
  }, 120_000)

  test('an archive with a skill', async () => {
    const shapes = Object.fromEntries(Object.entries(archives).map(([name, make]) => [name, () => inForm(make())]))
    expect(await findStalls(ofAll('/agents/v1/skills', shapes))).toEqual({})
  }, 120_000)
})
