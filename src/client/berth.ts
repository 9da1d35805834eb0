/**
 * The TypeScript client of Berth. It runs wherever there are `fetch` and web sockets: Node, Bun, Deno, browsers.
 *
 *     const berth = new Berth({ url: 'https://berth.example.com', token })
 *     const vm = await berth.vms.create({ name: 'web' })
 */
import type { Base } from './calls.ts'
import { Connection, type BerthOptions, type CallOptions } from './connection.ts'
import { textOf, type Document, type ParsedDocument } from './documents.ts'
import { agentsOf, sessionsOf } from './nouns/agents.ts'
import { deploymentsOf, environmentsOf, schedulesOf, triggersOf, vaultsOf } from './nouns/automation.ts'
import { buildsOf, domainsOf, functionsOf } from './nouns/builds.ts'
import { databasesOf } from './nouns/databases.ts'
import {
  askersOf,
  keysOf,
  membersOf,
  organizationEventsOf,
  organizationsOf,
  projectsOf,
  usageOf,
  type OrganizationEvent,
} from './nouns/organization.ts'
import { sandboxesOf, vmsOf } from './nouns/vms.ts'
import { Sockets } from './sockets.ts'
import { follow, type StreamOptions } from './streams.ts'
import type { NodeType } from './generated/documents.ts'

export { newKey } from './chance.ts'
export type { Page } from './calls.ts'
export type { BerthOptions, CallOptions, TokenSource } from './connection.ts'
export { documentOf, type Document, type ParsedDocument } from './documents.ts'
export { BerthError } from './errors.ts'
export type { SessionEmission } from './nouns/agents.ts'
export type { CommandResult, SandboxResult } from './nouns/vms.ts'
export type { StreamOptions } from './streams.ts'
export type { AttachedTerminal, Screen } from './terminals.ts'
export type { OpenTunnel, TunnelReceiver } from './tunnels.ts'

/** A document of another library, with its types. */
type TypedDocument<Data, Variables> = ParsedDocument & { __apiType?: (variables: Variables) => Data }

/** One Berth as one caller. Every call fails with a BerthError. */
export class Berth {
  readonly vms: ReturnType<typeof vmsOf>
  readonly sandboxes: ReturnType<typeof sandboxesOf>
  readonly databases: ReturnType<typeof databasesOf>
  readonly builds: ReturnType<typeof buildsOf>
  readonly functions: ReturnType<typeof functionsOf>
  readonly domains: ReturnType<typeof domainsOf>
  readonly agents: ReturnType<typeof agentsOf>
  readonly sessions: ReturnType<typeof sessionsOf>
  readonly schedules: ReturnType<typeof schedulesOf>
  readonly triggers: ReturnType<typeof triggersOf>
  readonly deployments: ReturnType<typeof deploymentsOf>
  readonly vaults: ReturnType<typeof vaultsOf>
  readonly environments: ReturnType<typeof environmentsOf>
  readonly keys: ReturnType<typeof keysOf>
  readonly members: ReturnType<typeof membersOf>
  readonly organizations: ReturnType<typeof organizationsOf>
  readonly projects: ReturnType<typeof projectsOf>
  readonly usage: ReturnType<typeof usageOf>
  readonly instance: ReturnType<typeof askersOf>['instance']
  readonly viewer: ReturnType<typeof askersOf>['viewer']
  readonly #base: Base

  /** @throws TypeError when the address is none of http or https. */
  constructor(options: BerthOptions) {
    const connection = new Connection(options)
    const base: Base = { connection, sockets: new Sockets(connection) }
    this.#base = base
    this.vms = vmsOf(base)
    this.sandboxes = sandboxesOf(base)
    this.databases = databasesOf(base)
    this.builds = buildsOf(base)
    this.functions = functionsOf(base)
    this.domains = domainsOf(base)
    this.agents = agentsOf(base)
    this.sessions = sessionsOf(base)
    this.schedules = schedulesOf(base)
    this.triggers = triggersOf(base)
    this.deployments = deploymentsOf(base)
    this.vaults = vaultsOf(base)
    this.environments = environmentsOf(base)
    this.keys = keysOf(base)
    this.members = membersOf(base)
    this.organizations = organizationsOf(base)
    this.projects = projectsOf(base)
    this.usage = usageOf(base)
    const { instance, viewer } = askersOf(base)
    this.instance = instance
    this.viewer = viewer
  }

  /**
   * Runs any query or mutation: a text, or a document with its types.
   * @throws BerthError for the first error of the answer, also where other fields have data.
   */
  query<Data, Variables>(
    document: Document<Data, Variables> | TypedDocument<Data, Variables>,
    variables?: Variables,
    options?: CallOptions,
  ): Promise<Data>
  query(document: string, variables?: Record<string, unknown>, options?: CallOptions): Promise<Record<string, unknown>>
  query(document: string | ParsedDocument, variables?: unknown, options?: CallOptions): Promise<unknown> {
    return this.#base.connection.query(document as ParsedDocument, variables, options)
  }

  /** Follows any subscription, to its end or until it is cut: what has no cursor that this client knows is not resumed. */
  async *subscribe(
    document: string | ParsedDocument,
    variables: Record<string, unknown> = {},
    { signal }: Pick<StreamOptions, 'signal'> = {},
  ): AsyncGenerator<Record<string, unknown>, void, undefined> {
    yield* follow(
      this.#base.sockets,
      {
        query: textOf(document),
        variables,
        read: (data) => ({ value: data as Record<string, unknown> }),
        isResumed: false,
      }, // GraphQL answers objects
      { signal },
    )
  }

  /** Everything that changes in the organization, from now on or after a cursor. */
  events(options?: StreamOptions & { nodeTypes?: NodeType[] }): AsyncGenerator<OrganizationEvent, void, undefined> {
    return organizationEventsOf(this.#base, options)
  }

  /** Closes the connection of its streams, which end. It may be used again. */
  close(): Promise<void> {
    return this.#base.sockets.close()
  }
}
