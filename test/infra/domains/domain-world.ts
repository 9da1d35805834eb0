/** A Berth with a real DNS server, and what tests of domains ask of it. */
import { decodeId } from '#src/platform/ids.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import type { Route } from '#src/resources/infra/routes.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { startDnsServer, type DnsServer } from '../../support/dns/knot.ts'

/** The address that A records must say. */
export const ingress = '203.0.113.7'

/** A domain as REST shows it. */
export type Shown = {
  id: string
  domain: string
  path: string
  verification_status: string
  verification_token: string
  verified_at: string | null
  vm_id: string | null
  vm_port: number | null
  function_id: string | null
  service_id: string | null
  target_type: string | null
  owner_org_id: string
  a_record_ip: string
}

/** Whatever an operation on domains answers. */
export type Answered = Shown & {
  error: string
  message: string
  current_target: string
  txt_record_name: string
  txt_record_value: string
  instructions: string
  external_url: string
  domains: Shown[]
}

/** The world. */
export type DomainWorld = {
  berth: Berth
  dns: DnsServer
  /** The token of acme's owner. */
  token: string
  /** A token of another organization's owner. */
  other: string
  call: (
    method: string,
    path: string,
    body?: unknown,
    as?: string | null,
  ) => Promise<{ status: number; body: Answered }>
  ask: (
    query: string,
    variables?: object,
    as?: string,
  ) => Promise<{ data: Record<string, never> | null; code: string | null }>
  /** A new name in the zone. */
  name: () => string
  /** Claims a name, and answers what must be set. */
  claim: (name: string, as?: string, more?: object) => Promise<Answered>
  /** Sets the records of a claim. */
  prove: (name: string, claimed: Answered) => Promise<void>
  /** Claims, proves and activates. */
  activate: (name: string, as?: string) => Promise<Answered>
  show: (name: string, as?: string) => Promise<Shown>
  route: (name: string) => Promise<Route | undefined>
  /** A VM's row, on a node that does not exist. */
  vm: (as?: string) => Promise<string>
  stop: () => Promise<void>
}

/** Starts one, with a worker that runs no VMs on request; the zones are example.test, elsewhere.test and evil.test. */
export async function startDomainWorld(
  settings: Record<string, string> = {},
  { worker = false } = {},
): Promise<DomainWorld> {
  const dns = await startDnsServer(['example.test', 'elsewhere.test', 'evil.test'])
  const berth = await startBerth({
    worker,
    settings: {
      BERTH_VMS: 'off',
      BERTH_DNS_SERVERS: dns.address,
      BERTH_INGRESS_IPV4: ingress,
      BERTH_DOMAIN: 'berth.test',
      BERTH_RATE_LIMIT_FACTOR: '100',
      ...settings,
    },
  })
  const { db } = berth.services
  const token = await berth.token()
  const other = await berth.token('eve', 'evil')
  const nodeId = await makeSilentNode(db)
  let names = 0
  const call: DomainWorld['call'] = async (method, path, body, as = token) =>
    berth.call<Answered>(method, `/api/v1/${path}`, {
      ...(as ? { token: as } : {}),
      ...(body === undefined ? {} : { body }),
    })
  const world: DomainWorld = {
    berth,
    dns,
    token,
    other,
    call,
    async ask(query, variables = {}, as = token) {
      const { body } = await berth.ask(query, { token: as, variables })
      return { data: (body.data ?? null) as never, code: body.errors?.[0]?.extensions.code ?? null } // the test says what it expects
    },
    name: () => `name${++names}.example.test`,
    async claim(name, as = token, more = {}) {
      const { status, body } = await call('POST', 'domains', { domain: name, ...more }, as)
      if (status !== 200) throw new Error(`no claim: ${body.message}`)
      return body
    },
    async prove(name, claimed) {
      await dns.set(name, 'A', claimed.a_record_ip)
      await dns.set(claimed.txt_record_name, 'TXT', `"${claimed.txt_record_value}"`)
    },
    async activate(name, as = token) {
      await world.prove(name, await world.claim(name, as))
      const { status, body } = await call('POST', 'domains/activate', { domain: name }, as)
      if (status !== 200) throw new Error(`not active: ${body.message}`)
      return body
    },
    show: async (name, as = token) => (await call('GET', `domains/${name}`, undefined, as)).body,
    route: async (name) => findOne<Route>(db, sql`select * from routes where host = ${name}`),
    vm: (as = token) => makeVmRow(db, as, nodeId),
    async stop() {
      await berth.stop()
      await dns.stop()
    },
  }
  return world
}

/** The stored id of a domain. */
export function storedId(domain: Pick<Shown, 'id'>): string {
  return decodeId('domain', domain.id) ?? ''
}
