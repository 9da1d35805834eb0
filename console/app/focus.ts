/** Where the focus goes when the page changes: to its heading, which readers of screens then say. Tabs and what comes live do not move it. */
import type { AnyRouter } from '@tanstack/react-router'

/** What had the focus when the last page was left; undefined once the page's heading has taken it. */
let left: Element | null | undefined

/** Notices each change of page from now on. */
export function watchPages(router: AnyRouter): void {
  router.subscribe('onBeforeNavigate', ({ fromLocation, toLocation }) => {
    if (fromLocation && fromLocation.pathname !== toLocation.pathname) left = document.activeElement
  })
}

/** Gives the focus to the heading of a page that was gone to, unless the person has gone on to something else meanwhile. */
export function focusHeading(heading: HTMLElement): void {
  if (left === undefined) return
  const now = document.activeElement
  const isElsewhere = now !== null && now !== document.body && now !== left && left?.isConnected === true
  left = undefined
  if (!isElsewhere) heading.focus({ preventScroll: true })
}
