/** What the nouns are made of: each call is a document, and what is read from its answer. */
import type { CallOptions, Connection } from './connection.ts'
import type { Document } from './documents.ts'
import { BerthError } from './errors.ts'
import type { Sockets } from './sockets.ts'
import { follow, type Found, type StreamOptions } from './streams.ts'

/** How many rows a page has, unless its caller says otherwise. */
export const pageSize = 100

/** What nouns are built on. */
export type Base = { connection: Connection; sockets: Sockets }

/** A page of a list. `endCursor` is `after` of the next one; null when this is the last. */
export type Page<Row> = { nodes: Row[]; endCursor: string | null }

type GraphPage<Row> = { nodes: Row[]; pageInfo: { hasNextPage: boolean; endCursor?: string | null } }
type PageVariables = { first: number; after?: string | null }

/** A list: one page of it, or all rows, whose pages are read as they are needed. */
export type List<Row, Variables> = {
  list(variables?: Partial<Variables>, options?: CallOptions): Promise<Page<Row>>
  all(variables?: Partial<Variables>, options?: CallOptions): AsyncGenerator<Row, void, undefined>
}

/** The list that a document gives. */
export function listOf<Data, Variables extends PageVariables, Row>(
  { connection }: Base,
  document: Document<Data, Variables>,
  read: (data: Data) => GraphPage<Row> | null | undefined,
): List<Row, Variables> {
  const list = async (variables: Partial<Variables> = {}, options?: CallOptions): Promise<Page<Row>> => {
    const data = await connection.query(document, { first: pageSize, ...variables } as Variables, options) // `first` is there
    const { nodes, pageInfo } = present(read(data))
    return { nodes, endCursor: pageInfo.hasNextPage ? (pageInfo.endCursor ?? null) : null }
  }
  return {
    list,
    async *all(variables: Partial<Variables> = {}, options?: CallOptions) {
      let after = variables.after ?? null
      do {
        const page: Page<Row> = await list({ ...variables, after } as Partial<Variables>, options)
        yield* page.nodes
        after = page.endCursor
      } while (after !== null)
    },
  }
}

/** A call of a query or a mutation by its variables. */
export function callOf<Data, Variables, Result>(
  { connection }: Base,
  document: Document<Data, Variables>,
  read: (data: Data) => Result | null | undefined,
): (variables: Variables, options?: CallOptions) => Promise<Result> {
  return async (variables, options) => present(read(await connection.query(document, variables, options)))
}

/** A call of a mutation by its input. */
export function mutationOf<Data, Input, Result>(
  base: Base,
  document: Document<Data, { input: Input }>,
  read: (data: Data) => Result | null | undefined,
): (input: Input, options?: CallOptions) => Promise<Result> {
  const call = callOf(base, document, read)
  return (input, options) => call({ input }, options)
}

/** A call by an id: of a query, or of a mutation whose input has no more. */
export function byId<Data, Result>(
  base: Base,
  document: Document<Data, { id: never }>,
  read: (data: Data) => Result | null | undefined,
): (id: string, options?: CallOptions) => Promise<Result> {
  const call = callOf(base, document as Document<Data, { id: string }>, read) // ids are texts
  return (id, options) => call({ id }, options)
}

/** A mutation of what has the id. */
export function actionOf<Data, Result>(
  base: Base,
  document: Document<Data, { input: { id: never } }>,
  read: (data: Data) => Result | null | undefined,
): (id: string, options?: CallOptions) => Promise<Result> {
  const call = callOf(base, document as Document<Data, { input: { id: string } }>, read) // ids are texts
  return (id, options) => call({ input: { id } }, options)
}

/** A stream of what has the id under this name. `read` gives undefined for what is a heartbeat. */
export function streamOf<Data, Value>(
  { sockets }: Base,
  document: Document<Data, never>,
  idName: string,
  read: (data: Data) => Found<Value> | undefined,
): (
  id: string,
  options?: StreamOptions & { variables?: Record<string, unknown> },
) => AsyncGenerator<Value, void, undefined> {
  return (id, { variables, ...options } = {}) =>
    follow(
      sockets,
      { query: document, variables: { ...variables, [idName]: id }, read: (data) => read(data as Data) }, // the document says so
      options,
    )
}

/** What has a cursor, unless it is a heartbeat. */
export function withCursor<Value extends { __typename?: string }>(
  value: Value,
): Found<Exclude<Value, { __typename: 'Heartbeat' }>> | undefined {
  if (value.__typename === 'Heartbeat') return undefined
  const { cursor } = value as { cursor?: string } // all of them have one
  return { value: value as Exclude<Value, { __typename: 'Heartbeat' }>, ...(cursor === undefined ? {} : { cursor }) } // it is none
}

/** @throws BerthError NOT_FOUND for what is not there. */
export function present<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined)
    throw new BerthError({ code: 'NOT_FOUND', status: 404, message: 'This does not exist, or is not yours.' })
  return value
}
