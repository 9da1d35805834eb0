/**
 * The floor of the chat benchmark, a process of its own: node:http and undici's dispatch, which hand every byte on as it
 * is. It checks nothing and counts nothing. Words: port, upstream's address.
 */
import { createServer } from 'node:http'
import { Pool } from 'undici'

const [port, upstream] = process.argv.slice(2)
const pool = new Pool(upstream ?? '', { connections: 256, pipelining: 1 })

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    pool.dispatch(
      {
        path: request.url ?? '/',
        method: 'POST',
        body: Buffer.concat(parts),
        headers: { 'content-type': 'application/json', authorization: 'Bearer upstream' },
      },
      {
        onRequestStart() {},
        onResponseStart(controller, status, headers) {
          const length = headers['content-length']
          response.writeHead(status, {
            'content-type': String(headers['content-type']),
            ...(length ? { 'content-length': String(length) } : {}),
          })
          response.on('close', () => {
            if (!response.writableFinished) controller.abort(new Error('the client left'))
          })
        },
        onResponseData(controller, data) {
          if (response.write(data)) return
          controller.pause()
          response.once('drain', () => controller.resume())
        },
        onResponseEnd() {
          response.end()
        },
        onResponseError(_controller, error) {
          if (response.headersSent) response.destroy()
          else response.writeHead(502).end(error.message)
        },
      },
    )
  })
})
server.keepAliveTimeout = 60_000
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('the pass-through listens\n'))
