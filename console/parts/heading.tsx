/** The heading of a page: it has the focus when one has just come here. */
import { useEffect, useRef, type ReactNode } from 'react'
import { focusHeading } from '../app/focus.ts'

/** One on each page. */
export function Heading({ children }: { children: ReactNode }): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (heading.current) focusHeading(heading.current)
  }, [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}
