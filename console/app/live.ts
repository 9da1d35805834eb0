/** What an organization's lists show follows its events: from the cursor of the first answer, without gap, for as long as the page is seen. */
import type { Berth } from './client.ts'
import { OrganizationEventsDocument } from '../generated/documents.ts'

/** The server beats more often; after so long without anything the connection is lost. */
const silentMs = 25_000
const againMsFirst = 500
const againMsMax = 15_000
/** A page that nobody sees stops following. */
const hiddenMs = 60_000
const lookMs = 1_000

/** `since`: when the connection was lost, in ms of the epoch; null while it holds. */
export type Connection = { since: number | null }

/**
 * Follows an organization.
 * @param onChange the connection was lost, or is there again.
 * @param onTooOld the events since the cursor are not kept any more: everything must be read again.
 * @returns a function that ends it.
 */
export function followOrganization(
  { client, socket }: Berth,
  from: string,
  onChange: (connection: Connection) => void,
  onTooOld: () => void,
): () => void {
  let after = from
  let isOver = false
  let heardMs = performance.now()
  let hiddenSinceMs: number | null = null
  let lostSince: number | null = null
  let againMs = againMsFirst
  let leave: (() => void) | undefined
  let again: number | undefined

  function begin(): void {
    if (isOver || hiddenSinceMs !== null) return
    end()
    heardMs = performance.now()
    const { unsubscribe } = client.subscription(OrganizationEventsDocument, { after }).subscribe(({ data, error }) => {
      if (error) {
        if (error.graphQLErrors.some(({ extensions }) => extensions['code'] === 'CURSOR_EXPIRED')) return onTooOld()
        return lose()
      }
      heardMs = performance.now()
      if (!data) return
      if (lostSince !== null) onChange({ since: (lostSince = null) })
      againMs = againMsFirst
      if ('cursor' in data.organizationEvents) after = data.organizationEvents.cursor
    })
    leave = unsubscribe
  }

  function end(): void {
    leave?.()
    leave = undefined
    clearTimeout(again)
  }

  function lose(): void {
    end()
    if (isOver) return
    if (lostSince === null) onChange({ since: (lostSince = Date.now()) })
    again = window.setTimeout(begin, againMs * (0.5 + Math.random()))
    againMs = Math.min(againMs * 2, againMsMax)
  }

  const onVisibility = (): void => {
    if (document.hidden) return
    if (hiddenSinceMs === null || leave) hiddenSinceMs = null
    else {
      hiddenSinceMs = null
      begin()
    }
  }
  document.addEventListener('visibilitychange', onVisibility)
  const looking = window.setInterval(() => {
    const nowMs = performance.now()
    if (document.hidden) {
      hiddenSinceMs ??= nowMs
      if (leave && nowMs - hiddenSinceMs > hiddenMs) end()
    } else if (leave && nowMs - heardMs > silentMs) {
      socket.terminate()
      lose()
    }
  }, lookMs)
  begin()
  return () => {
    isOver = true
    clearInterval(looking)
    document.removeEventListener('visibilitychange', onVisibility)
    end()
  }
}
