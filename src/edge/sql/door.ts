/**
 * `POST /sql`: statements over HTTP, for programs that cannot hold a connection. It listens on a socket in the run folder;
 * the web process passes requests on to it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { listenPrivately } from '#src/drivers/private-sockets.ts'
import { sqlDoorHeaders } from '#src/drivers/sql-door.ts'
import { BerthError, publicError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { databaseAway, isDatabaseAway } from '#src/platform/postgres.ts'
import { countFailedLogins } from '../postgres/logins/failed-logins.ts'
import type { PostgresProxy } from '../postgres/proxy.ts'
import { sqlStates } from '../postgres/refusals.ts'
import { shownResult, shownTexts } from './answers.ts'
import { logInForSql, type SqlLogin } from './login.ts'
import { readSqlCaller, readSqlRequest, type SqlRequest } from './request.ts'
import { countRequests, type SqlRequests } from './requests.ts'
import { runQueries, SqlFailed, tooLargeAnswer, type SqlResult } from './run.ts'

/** What the door needs. */
export type SqlDoorParts = Omit<SqlLogin, 'failedLogins'> & { proxy: Pick<PostgresProxy, 'serve'>; socketPath: string }

/** The open door. */
export type SqlDoor = { close(limitMs: number): Promise<void> }

const pieceLength = 128 * 1024 // characters that are written at once
/** States in which a statement may work a little later. */
const passingStates: ReadonlySet<string> = new Set([
  sqlStates.too_many_connections,
  sqlStates.cannot_connect_now,
  sqlStates.admin_shutdown,
  sqlStates.crash_shutdown,
])

/** Opens it. */
export async function openSqlDoor(parts: SqlDoorParts): Promise<SqlDoor> {
  const failedLogins = countFailedLogins()
  const requests = countRequests()
  const server = createServer((request, response) => {
    answer({ ...parts, failedLogins, requests }, request, response).catch((error: unknown) => refuse(response, error))
  })
  await listenPrivately(server, parts.socketPath)
  return {
    async close(limitMs) {
      const cut = setTimeout(() => server.closeAllConnections(), limitMs)
      await new Promise<void>((resolve) => server.close(() => resolve()))
      clearTimeout(cut)
    },
  }
}

async function answer(
  parts: SqlDoorParts & SqlLogin & { requests: SqlRequests },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const left = new AbortController()
  response.once('close', () => left.abort())
  const host = headerOf(request, sqlDoorHeaders.host)
  const address = headerOf(request, sqlDoorHeaders.address)
  const caller = readSqlCaller(request.headers, host)
  const asked = await readSqlRequest(await readBody(request), request.headers)
  const isOwner = headerOf(request, sqlDoorHeaders.isOwner) === '1'
  const admission = await logInForSql(parts, { ...caller, isOwner }, address)
  if (left.signal.aborted) return
  response.once('close', parts.requests.enter(admission))
  try {
    const results = await runQueries(() => parts.proxy.serve(admission), asked, {
      applicationName: caller.applicationName,
      signal: left.signal,
    })
    await send(response, 200, partsOf(asked, results))
  } catch (error) {
    if (!(error instanceof SqlFailed)) throw error
    const [status, parts] = shownFailure(error)
    await send(response, status, parts)
  }
}

async function send(response: ServerResponse, status: number, parts: Iterable<string>): Promise<void> {
  const pieces: Buffer[] = []
  let bytes = 0
  const take = (text: string): void => {
    const piece = Buffer.from(text)
    bytes += piece.length
    if (bytes > limits.sqlAnswerBytes) throw tooLargeAnswer()
    pieces.push(piece)
  }
  let text = ''
  for (const part of parts) {
    text += part
    if (text.length < pieceLength) continue
    take(text)
    text = ''
    await nextTurn() // clients of the proxy are waiting
  }
  take(text)
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes })
  for (const piece of pieces) response.write(piece)
  response.end()
}

function* partsOf(asked: SqlRequest, results: readonly SqlResult[]): Generator<string> {
  const [only] = results
  if (!asked.isBatch && only) return yield* shownResult(only, asked)
  yield '{"results":['
  for (const [at, result] of results.entries()) {
    if (at > 0) yield ','
    yield* shownResult(result, asked)
  }
  yield ']}'
}

/** What is no error of Postgres', in the form of every other path. */
function refuse(response: ServerResponse, thrown: unknown): void {
  if (response.headersSent) return void response.destroy()
  const [status, shown] = shownRefusal(thrown)
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(shown))
}

/** An error of Postgres' in the form that the driver reads. Whoever raises it chooses how large it is. */
function shownFailure({ failure }: SqlFailed): [status: number, parts: Iterable<string>] {
  const isPassing = passingStates.has(failure.code ?? '')
  const fields = [
    'code',
    'severity',
    'detail',
    'hint',
    'position',
    'internalPosition',
    'internalQuery',
    'where',
    'schema',
    'table',
    'column',
    'dataType',
    'constraint',
    'file',
    'line',
    'routine',
  ] as const
  return [
    isPassing ? 503 : 400,
    shownTexts({
      error: isPassing ? 'service_unavailable' : 'invalid_request',
      message: failure.message,
      ...Object.fromEntries(fields.map((name) => [name, failure[name] ?? null])),
    }),
  ]
}

function shownRefusal(thrown: unknown): [status: number, body: Record<string, unknown>] {
  const error = isDatabaseAway(thrown) ? databaseAway() : publicError(thrown)
  if (!(thrown instanceof BerthError)) log.error({ err: thrown }, 'POST /sql failed')
  const { code, status, message, details } = error
  const retry = details['retryAfterSeconds']
  return [status, { error: code, message, ...(typeof retry === 'number' ? { retry_after_seconds: retry } : {}) }]
}

function headerOf({ headers }: IncomingMessage, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > limits.infraBodyBytes)
      throw new BerthError(
        'request_too_large',
        `The body has more than ${limits.infraBodyBytes} bytes. Send less at once, or use the Postgres port.`,
      )
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
