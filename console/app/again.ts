/** Reads a page again when the stream of its object says that something has happened, for what no list's event tells. */
import { useEffect } from 'react'
import type { TypedDocumentNode } from 'urql'
import type { Keeping } from './keeping.ts'
import { useStream } from './streams.ts'

/** @param document a subscription; each of its events has a cursor, and heartbeats have none. */
export function useReadAgain<Data extends object>(
  document: TypedDocumentNode<Data, { id: string; after?: string | null }>,
  id: string,
  again: () => void,
): void {
  const { kept } = useStream(document, id, lastCursor)
  const last = kept.cursor
  useEffect(() => {
    if (last !== undefined) again()
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- `again` is new each time, and asks the same
  }, [last])
}

type Last = { cursor: string | undefined }

const lastCursor: Keeping<object, string, Last> = {
  begin: () => ({ cursor: undefined }),
  read(data) {
    const cursor = cursorOf(data)
    return cursor === undefined ? undefined : { value: cursor, cursor }
  },
  add(kept, cursors) {
    kept.cursor = cursors.at(-1) ?? kept.cursor
  },
}

/** The cursor of the event that a subscription answers, whatever its field is called. */
function cursorOf(data: object): string | undefined {
  const event: unknown = Object.values(data).find((value) => typeof value === 'object')
  return typeof event === 'object' && event !== null && 'cursor' in event ? String(event.cursor) : undefined
}
