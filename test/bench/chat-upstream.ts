/**
 * The upstream of the chat benchmark, a process of its own that speaks OpenAI's format: a fixed answer of 40 words, or a
 * stream whose model name says how: `mock-<chunks>-<ms between them>`. Each chunk carries the moment it was written.
 * Words: port.
 */
import { createServer } from 'node:http'

const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'mock' }
const whole = Buffer.from(
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hello '.repeat(40) } }],
    usage: { prompt_tokens: 12, completion_tokens: 40, total_tokens: 52 },
  }),
)
const frame = (parts: object): string =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...parts })}\n\n`
const chunk = (delta: object, finishReason: string | null): string =>
  frame({ choices: [{ index: 0, delta, finish_reason: finishReason }] })

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const body = Buffer.concat(parts).toString('latin1')
    if (!/"stream":\s*true/.test(body))
      return void response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length })
        .end(whole)
    const [, chunks = '20', waitMs = '5'] = /mock-(\d+)-(\d+)/.exec(body) ?? []
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    response.flushHeaders()
    let left = Number(chunks)
    const next = (): void => {
      if (response.destroyed) return
      if (left-- > 0) {
        response.write(chunk({ content: `T${process.hrtime.bigint()} ` }, null))
        if (waitMs === '0') setImmediate(next)
        else setTimeout(next, Number(waitMs))
        return
      }
      response.write(chunk({}, 'stop'))
      response.write(
        frame({
          choices: [],
          usage: { prompt_tokens: 12, completion_tokens: Number(chunks), total_tokens: 12 + Number(chunks) },
        }),
      )
      response.end('data: [DONE]\n\n')
    }
    next()
  })
})
server.keepAliveTimeout = 60_000
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('the upstream listens\n'))
