/** The pages of a list that are on the screen. Each begins where the one before ends now, so that no row between them is missing. */
import { useLayoutEffect, useRef, useState } from 'react'
import { useClient, type Client, type CombinedError, type RequestPolicy, type TypedDocumentNode } from 'urql'

const pageRows = 100

/** A connection of the graph. */
export type Connection<Row> = {
  totalCount: number
  nodes: readonly Row[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}
/** What is known of the pages so far, together. */
export type Shown<Row> = {
  /** Whether anything was answered yet. */
  isKnown: boolean
  rows: readonly Row[]
  totalCount: number
  hasMore: boolean
  /** Whether a page is on its way of which nothing is shown yet. */
  isAsking: boolean
  error: CombinedError | undefined
}
type Page<Row> = {
  after: string | null
  connection: Connection<Row> | undefined
  error: CombinedError | undefined
  isAsking: boolean
  leave: () => void
}
/** @property read the connection in an answer. */
type Asked<Row, Data> = {
  document: TypedDocumentNode<Data, Record<string, unknown>>
  variables: Record<string, unknown>
  read: (data: Data) => Connection<Row> | null | undefined
}

/** How many pages of each list were on the screen, for when one comes back to it. */
const opened = new WeakMap<Client, Map<string, number>>()

/** Follows the pages of a list for as long as it is on the screen. `shown` is undefined until something is known of it. */
export function usePages<Row extends { id: string }, Data>({
  document,
  variables,
  read,
}: Asked<Row, Data>): { shown: Shown<Row> | undefined; more: () => void; again: () => void } {
  const client = useClient()
  const key = JSON.stringify(variables)
  const [state, setState] = useState<{ key: string; shown: Shown<Row> }>()
  const follower = useRef<ReturnType<typeof follow>>(undefined)
  const latest = useRef({ variables, read })
  useLayoutEffect(() => {
    latest.current = { variables, read }
  })
  useLayoutEffect(() => {
    const counts = opened.get(client) ?? new Map<string, number>()
    opened.set(client, counts)
    const { definitions } = document
    const name = `${'name' in definitions[0]! ? definitions[0].name?.value : ''} ${key}` // a document has a definition
    const following = follow<Row, Data>(
      client,
      { document, variables: latest.current.variables, read: (data) => latest.current.read(data) },
      { count: counts.get(name) ?? 1, onCount: (count) => counts.set(name, count) },
      (shown) => setState({ key, shown }),
    )
    follower.current = following
    return following.end
  }, [client, document, key])
  return {
    shown: state?.key === key ? state.shown : undefined,
    more: () => follower.current?.more(),
    again: () => follower.current?.again(),
  }
}

function follow<Row extends { id: string }, Data>(
  client: Client,
  { document, variables, read }: Asked<Row, Data>,
  { count, onCount }: { count: number; onCount: (count: number) => void },
  show: (shown: Shown<Row>) => void,
): { more: () => void; again: () => void; end: () => void } {
  const pages: Page<Row>[] = []
  let wanted = count

  function drop(from: number): void {
    for (const page of pages.splice(from)) page.leave()
  }

  /** Asks for the page at this place, in place of the one that is there: what that one had stays until the answer. */
  function ask(at: number, after: string | null, requestPolicy: RequestPolicy = 'cache-and-network'): void {
    pages[at]?.leave()
    const { connection } = pages[at] ?? {}
    const page: Page<Row> = { after, connection, error: undefined, isAsking: true, leave: () => undefined }
    pages[at] = page
    const { unsubscribe } = client
      .query(document, { first: pageRows, after, ...variables }, { requestPolicy })
      .subscribe(({ data, error, stale }) => {
        if (pages[at] !== page) return
        page.connection = (data && read(data)) ?? page.connection
        page.error = error
        page.isAsking = stale
        goOn(at, requestPolicy)
        show(together(pages))
      })
    page.leave = unsubscribe
    if (pages[at] !== page) unsubscribe()
  }

  /** The next page follows where this one ends. */
  function goOn(at: number, requestPolicy?: RequestPolicy): void {
    const connection = pages[at]?.connection
    if (!connection?.pageInfo.hasNextPage || at + 1 >= wanted) return connection && drop(at + 1)
    const { endCursor } = connection.pageInfo
    if (pages[at + 1]?.after !== endCursor) ask(at + 1, endCursor, requestPolicy)
  }

  ask(0, null)
  return {
    more() {
      wanted = pages.length + 1
      onCount(wanted)
      goOn(pages.length - 1)
      show(together(pages))
    },
    again() {
      for (const [at, { after }] of [...pages].entries()) ask(at, after, 'network-only')
    },
    end: () => drop(0),
  }
}

/** A row that has moved to the next page meanwhile is there once. */
function together<Row extends { id: string }>(pages: readonly Page<Row>[]): Shown<Row> {
  const rows = new Map<string, Row>()
  for (const { connection } of pages)
    for (const row of connection?.nodes ?? []) if (!rows.has(row.id)) rows.set(row.id, row)
  const known = pages.filter(({ connection }) => connection)
  return {
    isKnown: known.length > 0,
    rows: [...rows.values()],
    totalCount: known[0]?.connection?.totalCount ?? 0,
    hasMore: known.at(-1)?.connection?.pageInfo.hasNextPage ?? false,
    isAsking: pages.some(({ isAsking, connection }) => isAsking && !connection),
    error: pages.find(({ error }) => error)?.error,
  }
}
