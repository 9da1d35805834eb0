/**
 * The client of an ACME authority (RFC 8555). Loaded at the first certificate: most installations never need it. Its own
 * retries are off, because attempts are counted and spaced in the table of certificates.
 */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { getCACertificates } from 'node:tls'
import type { Client } from 'acme-client'
import { nowMs } from '#src/platform/clock.ts'
import { certificateLimits } from '#src/platform/limits/certificates.ts'

/** The authority answered, and refused. */
export class AcmeRefusal extends Error {
  readonly type: string
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  /** @param type the last word of the problem's type, such as `rateLimited`; empty when the answer had none. */
  constructor(type: string, detail: string, status: number, retryAfterSeconds?: number) {
    super(detail)
    this.type = type
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The authority gave no answer: its name, connection or certificate is the reason. */
export class AcmeUnreachable extends Error {}

/** Where the authority is, and the account there. */
export type AcmeOptions = { directory: string; caFile: string | null; accountKey: string; accountUrl: string | null }

const problemPrefix = 'urn:ietf:params:acme:error:'
type Problem = { type?: unknown; detail?: unknown; subproblems?: unknown }

let prepared: Promise<typeof import('acme-client')> | undefined

/** The client of an account at an authority. @throws Error when the file of the authority's certificate cannot be read. */
export async function openAcme({ directory, caFile, accountKey, accountUrl }: AcmeOptions): Promise<Client> {
  const acme = await (prepared ??= prepare())
  acme.axios.defaults.httpsAgent = new Agent({ ca: trusted(caFile), keepAlive: false })
  return new acme.Client({ directoryUrl: directory, accountKey, ...(accountUrl === null ? {} : { accountUrl }) })
}

/**
 * Registers the account, or finds it: an authority that knows the key answers with the account that is there.
 * @returns its address. @throws AcmeRefusal, AcmeUnreachable.
 */
export async function registerAccount(client: Client): Promise<string> {
  try {
    await client.createAccount({ termsOfServiceAgreed: true })
  } catch (error) {
    // The library then agrees to the terms once more, which some authorities refuse. It has the address by then.
    if (!(error instanceof AcmeRefusal) || !isRegistered(client)) throw error
  }
  return client.getAccountUrl()
}

function isRegistered(client: Client): boolean {
  try {
    return client.getAccountUrl() !== ''
  } catch {
    return false
  }
}

/** The certificates that an authority is known by: those of the system, and this one. @throws Error when it cannot be read. */
function trusted(caFile: string | null): string[] {
  return [...getCACertificates('default'), ...(caFile === null ? [] : [readFileSync(caFile, 'utf8')])]
}

/**
 * Asks an authority for its directory, and for nothing else.
 * @returns what is wrong with it, to be read after its address; null when it is a directory.
 */
export async function askDirectory(directory: string, caFile: string | null): Promise<string | null> {
  let ca: string[]
  try {
    ca = trusted(caFile)
  } catch {
    return `is known by a file that cannot be read: ${caFile}`
  }
  const acme = await (prepared ??= prepare())
  acme.axios.defaults.httpsAgent = new Agent({ ca, keepAlive: false })
  try {
    const { data } = await acme.axios.get<unknown>(directory)
    const isOne = typeof data === 'object' && data !== null && 'newOrder' in data
    return isOne ? null : 'answers, but with something else than a directory of ACME'
  } catch (error) {
    return `does not answer (${error instanceof Error ? error.message : 'for an unknown reason'})`
  }
}

/** A request for a certificate of this host name, with this key. */
export async function certificateRequest(host: string, keyPem: string): Promise<Buffer> {
  const acme = await (prepared ??= prepare())
  const [, request] = await acme.crypto.createCsr({ altNames: [host] }, keyPem)
  return request
}

/** A new private key in PEM: P-256, which every client of the last ten years knows. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** Loads the library, turns its retries off, and makes its answers errors that say what the authority said. */
async function prepare(): Promise<typeof import('acme-client')> {
  const acme = await import('acme-client')
  const { defaults, interceptors } = acme.axios
  Object.assign(defaults, {
    timeout: certificateLimits.requestSeconds * 1000,
    maxContentLength: certificateLimits.answerBytes,
    maxBodyLength: certificateLimits.answerBytes,
  })
  // What the library put there repeats requests after pauses of its own, and hides why there was no connection.
  interceptors.request.clear()
  interceptors.response.clear()
  interceptors.response.use(
    (response) => {
      const problem = problemOf(response.data)
      const type = typeof problem.type === 'string' ? problem.type.replace(problemPrefix, '') : ''
      if (response.status < 400 || type === 'badNonce') return response // the library asks again with another nonce
      const detail = typeof problem.detail === 'string' ? problem.detail : `HTTP status ${response.status}`
      throw new AcmeRefusal(type, detail, response.status, secondsOf(response.headers['retry-after']))
    },
    (error: Error & { code?: string }) => {
      throw new AcmeUnreachable(error.code ?? 'no answer')
    },
  )
  return acme
}

function problemOf(data: unknown): Problem {
  return typeof data === 'object' && data !== null ? data : {}
}

/** The seconds of a Retry-After header, which may also be a date. */
function secondsOf(header: unknown): number | undefined {
  if (typeof header !== 'string') return undefined
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : (Date.parse(header) - nowMs()) / 1000
  return seconds > 0 ? Math.min(Math.ceil(seconds), certificateLimits.retryAfterSecondsMax) : undefined
}
