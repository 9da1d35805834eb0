/**
 * The smallest gateway that does what the ledger asks for, a process of its own, to know what is left to win: node:http and
 * undici's dispatch; one key, hashed and compared; JSON read and written both ways; one row for each request, gathered
 * into a statement while the one before is on its way, and no answer before its row is committed. No limits, no
 * credits, no message is looked at, one model, no faults. Words: port, upstream's address, database's address.
 */
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import pg from 'pg'
import { Pool } from 'undici'

type Answer = {
  choices: { message: { content: string }; finish_reason: string }[]
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}
type Waiting = { response: ServerResponse; id: string; body: string; usage: Answer['usage'] }

const [port, upstream, databaseUrl] = process.argv.slice(2)
const upstreams = new Pool(upstream ?? '', { connections: 256, pipelining: 1 })
const database = new pg.Client({ connectionString: databaseUrl })
await database.connect()
await database.query(
  'create table if not exists bench_ledger (id uuid primary key, model text not null, input_tokens bigint not null, output_tokens bigint not null, started_at timestamptz not null default now())',
)
const expected = createHash('sha256').update('secret').digest()

let waiting: Waiting[] = []
let writing = false

async function writeDown(): Promise<void> {
  writing = true
  while (waiting.length > 0) {
    const batch = waiting
    waiting = []
    await database.query({
      name: 'ledger',
      text: 'insert into bench_ledger (id, model, input_tokens, output_tokens) select * from unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[])',
      values: [
        `{${batch.map(({ id }) => id).join()}}`,
        `{${batch.map(() => 'mock').join()}}`,
        `{${batch.map(({ usage }) => usage.prompt_tokens).join()}}`,
        `{${batch.map(({ usage }) => usage.completion_tokens).join()}}`,
      ],
    })
    for (const { response, body } of batch)
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        .end(body)
  }
  writing = false
}

function answered(response: ServerResponse, text: string): void {
  const {
    choices: [choice],
    usage,
  } = JSON.parse(text) as Answer // the upstream's
  const id = randomUUID()
  const body = JSON.stringify({
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: 'mock',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: choice?.message.content },
        finish_reason: choice?.finish_reason,
        logprobs: null,
      },
    ],
    usage,
  })
  waiting.push({ response, id, body, usage })
  if (!writing) setImmediate(() => writing || void writeDown())
}

const server = createServer((request, response) => {
  const secret = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
  if (!timingSafeEqual(createHash('sha256').update(secret).digest(), expected))
    return void response.writeHead(401).end()
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const asked = JSON.parse(Buffer.concat(parts).toString()) as { model: string; messages: unknown[] } // what the benchmark sends
    const got: Buffer[] = []
    upstreams.dispatch(
      {
        path: '/v1/chat/completions',
        method: 'POST',
        body: JSON.stringify({ model: asked.model, messages: asked.messages }),
        headers: { 'content-type': 'application/json', authorization: 'Bearer upstream' },
      },
      {
        onRequestStart() {},
        onResponseStart() {},
        onResponseData: (_controller, data) => void got.push(data),
        onResponseEnd: () => answered(response, Buffer.concat(got).toString()),
        onResponseError: (_controller, error) => void response.writeHead(502).end(error.message),
      },
    )
  })
})
server.keepAliveTimeout = 60_000
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('the smallest gateway listens\n'))
