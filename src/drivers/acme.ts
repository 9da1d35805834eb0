/**
 * The client of an ACME authority (RFC 8555). Loaded at the first certificate: most installations never need it. Its own
 * retries are off, because attempts are counted and spaced in the table of certificates.
 */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { getCACertificates } from 'node:tls'
import type { Client } from 'acme-client'
import { AcmeRefusal, acmeAdapter } from './acme/requests.ts'

/** Where the authority is, and the account there. */
export type AcmeOptions = { directory: string; caFile: string | null; accountKey: string; accountUrl: string | null }

let prepared: Promise<typeof import('acme-client')> | undefined

/** The client of an account at an authority. @throws Error when the file of the authority's certificate cannot be read. */
export async function openAcme({ directory, caFile, accountKey, accountUrl }: AcmeOptions): Promise<Client> {
  const acme = await (prepared ??= prepare())
  acme.axios.defaults.adapter = acmeAdapter(trusted(caFile))
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
  acme.axios.defaults.adapter = acmeAdapter(ca)
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

/** Loads the library, and turns off what it does to requests and answers of itself: it repeats them after pauses of its own. */
async function prepare(): Promise<typeof import('acme-client')> {
  const acme = await import('acme-client')
  const { defaults, interceptors } = acme.axios
  interceptors.request.clear()
  interceptors.response.clear()
  defaults.transformResponse = []
  return acme
}
