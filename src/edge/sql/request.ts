/** Reads a request of `POST /sql`: what `@neondatabase/serverless` sends, and what anybody may send by hand. */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { readJson } from '#src/platform/json/body.ts'
import { limits } from '#src/platform/limits.ts'
import type { Asked } from '../postgres/directory.ts'

/** One statement and its values. */
export type SqlQuery = { query: string; params: unknown[] }

/** What is to be run, and how it is answered. */
export type SqlRequest = {
  queries: readonly SqlQuery[]
  /** Whether several were sent, even if there is one: then there are several results. */
  isBatch: boolean
  /** The statement that begins a transaction around them; null for a single statement without one. */
  begin: string | null
  /** Rows as lists of values, instead of objects. */
  arrayMode: boolean
  /** Values as Postgres writes them, instead of JSON's own numbers and truths. */
  rawText: boolean
}

/** Who asks, and for which database. */
export type SqlCaller = Asked & {
  /** A token: of the database, or a JWT; null for somebody without. */
  token: string | null
  applicationName: string | null
}

const query = z.strictObject({
  query: z.string().max(limits.sqlStatementLength),
  params: z.array(z.unknown()).max(limits.sqlParamsMax).default([]),
})
const body = z.union([z.strictObject({ queries: z.array(query).max(limits.sqlQueriesMax) }), query])

const isolations: Readonly<Record<string, string>> = {
  ReadUncommitted: 'read uncommitted',
  ReadCommitted: 'read committed',
  RepeatableRead: 'repeatable read',
  Serializable: 'serializable',
}

/** Reads body and headers. @throws BerthError invalid_request, request_too_large */
export async function readSqlRequest(bytes: Buffer, headers: IncomingHttpHeaders): Promise<SqlRequest> {
  const given = await readJson(bytes, { parts: limits.sqlParts, numbers: limits.sqlNumbers })
  const read = body.safeParse(given)
  if (!read.success)
    throw new BerthError(
      'invalid_request',
      `Send JSON: {"query": "select $1::int", "params": [1]}, or {"queries": […]} with up to ${limits.sqlQueriesMax} of those for one transaction; a query has up to ${limits.sqlParamsMax} params.`,
    )
  const isBatch = 'queries' in read.data
  const begin = beginOf(headers)
  return {
    queries: 'queries' in read.data ? read.data.queries : [read.data],
    isBatch,
    begin: isBatch || begin !== 'begin' ? begin : null,
    arrayMode: flag(headers, 'neon-array-mode') ?? false,
    rawText: flag(headers, 'neon-raw-text-output') ?? false,
  }
}

function beginOf(headers: IncomingHttpHeaders): string {
  const words = ['begin']
  const isolation = headers['neon-batch-isolation-level']
  if (isolation !== undefined) {
    const level = typeof isolation === 'string' && Object.hasOwn(isolations, isolation) ? isolations[isolation] : null
    if (!level)
      throw new BerthError(
        'invalid_request',
        `Neon-Batch-Isolation-Level must be one of ${Object.keys(isolations).join(', ')}.`,
      )
    words.push(`isolation level ${level}`)
  }
  const readOnly = flag(headers, 'neon-batch-read-only')
  if (readOnly !== null) words.push(readOnly ? 'read only' : 'read write')
  const deferrable = flag(headers, 'neon-batch-deferrable')
  if (deferrable !== null) words.push(deferrable ? 'deferrable' : 'not deferrable')
  return words.join(' ')
}

function flag(headers: IncomingHttpHeaders, name: string): boolean | null {
  const value = headers[name]
  if (value === undefined) return null
  if (value !== 'true' && value !== 'false')
    throw new BerthError('invalid_request', `The header ${name} must be true or false.`)
  return value === 'true'
}

const usualDatabase = 'app'

/**
 * Who asks: by `Neon-Connection-String`, as the driver sends it, or by the host name of the request. A token in
 * `Authorization: Bearer …` comes before a password in the connection string.
 * @throws BerthError invalid_request
 */
export function readSqlCaller(headers: IncomingHttpHeaders, host: string): SqlCaller {
  const given = headers['neon-connection-string']
  const url = typeof given === 'string' ? readUrl(given) : null
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization?.trim() ?? '')?.[1] ?? null
  if (headers.authorization !== undefined && bearer === null)
    throw new BerthError('unauthorized', 'Write the token as Authorization: Bearer <TOKEN>.')
  return {
    user: url?.user || 'anon',
    database: url?.database || usualDatabase,
    serverName: url ? url.host : host.replace(/:\d+$/, ''),
    token: bearer ?? (url?.password || null),
    applicationName: url?.applicationName ?? null,
  }
}

function readUrl(text: string): {
  user: string
  password: string
  host: string
  database: string
  applicationName: string | null
} {
  try {
    const { protocol, username, password, hostname, pathname, searchParams } = new URL(text)
    if (!/^postgres(?:ql)?:$/.test(protocol)) throw new Error('another protocol')
    return {
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      host: hostname,
      database: decodeURIComponent(pathname.slice(1)),
      applicationName: searchParams.get('application_name'),
    }
  } catch {
    throw new BerthError(
      'invalid_request',
      'Neon-Connection-String must be of the form postgresql://user:password@host/database.',
    )
  }
}
