/** `POST /sql`: passed on to the edge process, which has the connections to databases. */
import type { FastifyInstance } from 'fastify'
import { sqlDoorClient } from '#src/drivers/sql-door.ts'
import type { Config } from '#src/platform/config.ts'
import { limits } from '#src/platform/limits.ts'

/** Adds the path, unless it is switched off. */
export async function serveSql(app: FastifyInstance, { opensSqlDoor, runDir }: Config): Promise<void> {
  if (!opensSqlDoor) return
  const passOn = sqlDoorClient(runDir)
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // Drivers say text/plain, or nothing: the edge process reads it as JSON.
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    scope.post('/sql', { bodyLimit: limits.infraBodyBytes }, async (request, reply) => {
      const left = new AbortController()
      reply.raw.once('close', () => left.abort())
      const asked = passOn({
        headers: request.headers,
        body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
        host: request.hostname,
        address: request.clientAddress,
        signal: left.signal,
      })
      const answer = await asked.catch((error: unknown) => {
        if (left.signal.aborted) return null // nobody waits for it
        throw error
      })
      if (answer === null) return reply.hijack()
      reply.code(answer.statusCode).header('content-type', answer.headers['content-type'])
      return reply.send(answer.body)
    })
  })
}
