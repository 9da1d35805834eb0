/** Waiting for a notice, but not for ever: what it stands for may also have changed without one that we heard. */

/**
 * Makes the function that waits for the next notice, or so many milliseconds. A notice that comes while nobody waits
 * is not lost: the next wait ends at once.
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
