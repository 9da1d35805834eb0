/**
 * Rows of a table that a process keeps in memory, and goes on using while Postgres is away. Each notice leads to the rows that
 * changed; after the notices were interrupted everything is read again.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { log } from '#src/platform/log.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'

/** What is followed, and where it is kept. */
export type Following<Row> = {
  pubsub: Pick<Pubsub, 'listen'>
  /** The topic whose notices name changed rows. */
  topic: string
  /** What they are, for the log: `certificates`. */
  what: string
  /** The page after this id, in the order of ids; an empty one is the end. */
  readPage: (afterId: string | null) => Promise<Row[]>
  /** Those of these ids that are there. */
  readRows: (ids: readonly string[]) => Promise<Row[]>
  /** Everything that there is now. */
  replace: (rows: readonly Row[]) => void
  /** A row as it is now; undefined when it is gone. */
  put: (id: string, row: Row | undefined) => void
}

const againMs = 500
const changesAtOnce = 500

/** What is being followed. */
export type Followed = {
  /** Resolves when all have been read for the first time. */
  ready: Promise<void>
  /** Reads these now, although no notice has come of them yet. While they cannot be read it waits. */
  catchUp(ids: readonly string[]): Promise<void>
  close(): void
}

/** Follows them until `close`. */
export function followRows<Row extends { id: string }>(following: Following<Row>): Followed {
  const { pubsub, topic, what, readPage, readRows, replace, put } = following
  const first = Promise.withResolvers<void>()
  const changed = new Set<string>()
  let isAllDue = true
  let reading: Promise<void> | undefined
  let closed = false

  async function readAll(): Promise<void> {
    replace(await readPages(readPage))
    first.resolve()
  }

  async function readNext(): Promise<void> {
    if (isAllDue) {
      isAllDue = false
      changed.clear()
      await readAll().catch((error: unknown) => {
        isAllDue = true
        throw error
      })
      return
    }
    const ids = [...changed].slice(0, changesAtOnce)
    for (const id of ids) changed.delete(id)
    const rows = await readRows(ids).catch((error: unknown) => {
      for (const id of ids) changed.add(id)
      throw error
    })
    const found = new Map(rows.map((row) => [row.id, row]))
    for (const id of ids) if (!found.has(id)) put(id, undefined)
    for (const [id, row] of found) put(id, row)
  }

  /** One read at a time, so that the last one is the newest. */
  const read = (): Promise<void> =>
    (reading ??= readOn().finally(() => {
      reading = undefined
    }))
  async function readOn(): Promise<void> {
    while ((isAllDue || changed.size > 0) && !closed) {
      try {
        await readNext()
      } catch (error) {
        if (closed) break
        log.warn({ err: error }, `${what} cannot be read now: those known go on, and they are read again`)
        await pause(againMs)
      }
    }
  }

  pubsub.listen(topic, (id) => {
    if (closed) return
    if (id === null) isAllDue = true
    else changed.add(id)
    void read()
  })
  void read()
  return {
    ready: first.promise,
    catchUp(ids) {
      for (const id of ids) changed.add(id)
      return read()
    },
    close() {
      closed = true
    },
  }
}

async function readPages<Row extends { id: string }>(readPage: Following<Row>['readPage']): Promise<Row[]> {
  const rows: Row[] = []
  for (let page = await readPage(null); page.length > 0; page = await readPage(page.at(-1)?.id ?? null))
    rows.push(...page)
  return rows
}
