/**
 * The smallest service from POST to stream, a process of its own, to know what is left to win: node:http and pg; a POST
 * writes its body as one row with a notice, which goes out to every stream. Nobody is authenticated, and nothing is
 * read, checked or resumed. Words: port, database's address.
 */
import { createServer, type ServerResponse } from 'node:http'
import pg from 'pg'

const [port, databaseUrl] = process.argv.slice(2)
const [writer, listener] = [
  new pg.Client({ connectionString: databaseUrl }),
  new pg.Client({ connectionString: databaseUrl }),
]
await Promise.all([writer.connect(), listener.connect()])
await writer.query(
  'create table if not exists bench_posts (id bigint generated always as identity primary key, body jsonb)',
)
await listener.query('listen bench_posts')
const streams = new Set<ServerResponse>()
listener.on('notification', ({ payload }) => {
  for (const stream of streams) stream.write(`data: ${payload}\n\n`)
})

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    streams.add(response)
    response.on('close', () => streams.delete(response))
    return
  }
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    void writer
      .query({
        name: 'post',
        text: "with written as (insert into bench_posts (body) values ($1::jsonb)) select pg_notify('bench_posts', $1::text)",
        values: [Buffer.concat(parts).toString()],
      })
      .then(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
  })
})
server.keepAliveTimeout = 60_000
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('the smallest service listens\n'))
