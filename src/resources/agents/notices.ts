/** Waiting for a notice with a timeout, because a notice may be lost. */

/**
 * Makes a function that waits for the next notice, but at most so many milliseconds. A notice that arrives between two
 * waits is not lost: the next wait ends immediately.
 */
export function noticeOrLater(notices: AsyncIterator<void>, everyMs: number): () => Promise<void> {
  let next: Promise<unknown> | null = null
  return async () => {
    next ??= notices.next()
    let timer: NodeJS.Timeout | undefined
    const later = new Promise<'later'>((resolve) => (timer = setTimeout(() => resolve('later'), everyMs)))
    const first = await Promise.race([next, later])
    clearTimeout(timer)
    if (first !== 'later') next = null
  }
}
