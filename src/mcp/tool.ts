/** What a tool of Berth's tool server is, and what it works with. A tool asks the public graph as its caller, and nothing else. */
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { countFitting, shortened } from './bounds.ts'

/** The groups of tools, of which a client may choose with `features`. */
export const features = ['vms', 'builds', 'functions', 'databases', 'sessions', 'usage', 'docs', 'graphql'] as const
/** One of them. */
export type Feature = (typeof features)[number]

/** Objects on one page of a list; a cursor leads to the next. */
export const pageMax = 50

/**
 * Runs a GraphQL document as the caller.
 * @throws BerthError, or GraphQLError with a sentence for the caller, when any part of it failed.
 */
export type Ask = (document: string, variables?: Record<string, unknown>) => Promise<Record<string, unknown>>

/** What a tool works with. */
export type Work = {
  ask: Ask
  /** Puts bytes where the API takes files from. @returns their `binaryUrl` */
  store: (bytes: Buffer) => Promise<string>
  /** Counts a call that asks for nothing of the graph. @throws BerthError rate_limited */
  count: () => Promise<void>
  /** The one project to which the client has narrowed the server; null: none. */
  projectId: string | null
}

/** A tool. Its arguments are snake_case, as those of most tools are. */
export type Tool = {
  name: string
  title: string
  description: string
  feature: Feature
  /** What it does to what there is: a client may ask its person before anything but reading. */
  effect: 'reads' | 'changes' | 'destroys'
  /** Whether it keeps to a project. Those that cannot are not offered where a client has narrowed the server to one. */
  keepsToProject: boolean
  input: z.ZodObject
  run(args: never, work: Work): Promise<unknown>
}

/** Makes a tool, whose arguments have the types of its input. */
export function tool<Input extends z.ZodObject>(
  definition: Omit<Tool, 'input' | 'run'> & { input: Input; run(args: z.infer<Input>, work: Work): Promise<unknown> },
): Tool {
  return definition
}

/** Arguments of a list. */
export const page = {
  first: z.int().min(1).max(pageMax).default(20).describe('How many to return.'),
  after: z.string().optional().describe('The end_cursor of the page before.'),
}

/** What `listOf` reads of a connection, with these fields of its objects. */
export function listed(fields: string): string {
  return `edges { cursor node { ${fields} } } totalCount pageInfo { hasNextPage endCursor }`
}

/** A connection as tools answer it: with as many of its objects as fit, and the cursor of the last where there are more. */
export function listOf(name: string, connection: unknown): Record<string, unknown> {
  const { edges, totalCount, pageInfo } = connection as {
    edges: { cursor: string; node: unknown }[]
    totalCount?: number
    pageInfo: { hasNextPage: boolean; endCursor: string | null }
  }
  const nodes = edges.map(({ node }) => shortened(node))
  const count = countFitting(nodes)
  const endCursor = count < nodes.length ? edges[count - 1]?.cursor : pageInfo.endCursor
  return {
    [name]: nodes.slice(0, count),
    ...(totalCount === undefined ? {} : { total: totalCount }),
    ...(count < nodes.length || pageInfo.hasNextPage ? { end_cursor: endCursor } : {}),
  }
}

const ofProject = {
  vm: 'query ($id: ID!) { found: vm(id: $id) { projectId } }',
  database: 'query ($id: ID!) { found: database(id: $id) { projectId } }',
} as const

/**
 * Checks that an object is in the project to which the server is narrowed.
 * @throws BerthError not_found where it is not.
 */
export async function keepToProject({ ask, projectId }: Work, kind: keyof typeof ofProject, id: string): Promise<void> {
  if (projectId === null) return
  const { found } = await ask(ofProject[kind], { id })
  if ((found as { projectId: string | null } | null)?.projectId !== projectId)
    throw new BerthError('not_found', `There is no ${kind} ${id} in the project to which this server is narrowed.`)
}
