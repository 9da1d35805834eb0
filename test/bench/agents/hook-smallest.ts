/**
 * The smallest receiver of webhooks, a process of its own, to know what is left to win: node:http, octokit's check of the
 * signature, JSON.parse, and one row that is committed before the answer. No limits, and nothing is fired.
 * Words: port, secret, database's address.
 */
import { verify } from '@octokit/webhooks-methods'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import pg from 'pg'

const [port, secret = '', databaseUrl] = process.argv.slice(2)
const database = new pg.Pool({ connectionString: databaseUrl, max: 10 })
await database.query('create table if not exists bench_deliveries (delivery text primary key, body bytea not null)')

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer) // no encoding is set
  const body = Buffer.concat(chunks)
  const isSigned = await verify(secret, body.toString(), String(request.headers['x-hub-signature-256']))
  if (!isSigned) return void response.writeHead(401).end()
  JSON.parse(body.toString())
  await database.query({
    name: 'delivery',
    text: 'insert into bench_deliveries values ($1, $2) on conflict do nothing',
    values: [request.headers['x-github-delivery'], body],
  })
  response.writeHead(202, { 'content-type': 'application/json' }).end('{"received":true}')
}

createServer((request, response) => void answer(request, response)).listen(Number(port), '127.0.0.1', () =>
  process.stdout.write('the smallest receiver listens\n'),
)
