/** A page that grows at its end: it follows the end for as long as that is in sight. */
import { useCallback, useLayoutEffect, useRef, useState } from 'react'

/** How far out of sight the end may be and still count as seen. */
const nearEnd = '0px 0px 80px 0px'

/**
 * Whether the end is in sight, and `end` for the element there.
 * @param isHeld whether it does not follow yet, because something else is awaited.
 */
export function useFollow(isHeld: boolean): {
  end: (element: HTMLElement | null) => (() => void) | undefined
  isAtEnd: boolean
  toEnd: () => void
  /** Shows something else: it follows again once the end comes into sight. */
  leaveEnd: () => void
} {
  const [isAtEnd, setIsAtEnd] = useState(!isHeld)
  const element = useRef<HTMLElement>(null)
  const follows = useRef(false)
  const toEnd = useCallback(() => element.current?.scrollIntoView({ block: 'end' }), [])
  const end = useCallback(
    (found: HTMLElement | null) => {
      element.current = found
      if (!found?.parentElement) return undefined
      const sight = new IntersectionObserver(([entry]) => setIsAtEnd(entry?.isIntersecting ?? false), {
        rootMargin: nearEnd,
      })
      const sizes = new ResizeObserver(() => follows.current && toEnd()) // what comes into sight gets its real height then
      sight.observe(found)
      sizes.observe(found.parentElement)
      return () => {
        sight.disconnect()
        sizes.disconnect()
      }
    },
    [toEnd],
  )
  useLayoutEffect(() => {
    follows.current = isAtEnd && !isHeld
    if (follows.current) toEnd()
  })
  const leaveEnd = useCallback(() => setIsAtEnd(false), [])
  return { end, isAtEnd, toEnd, leaveEnd }
}
