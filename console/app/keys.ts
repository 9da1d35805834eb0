/** Keys that act: single ones, with Control, or two in a row such as `g v`. They are off where somebody writes. */
import { useEffect, useRef } from 'react'

const rowMs = 1_000
/** The first of two keys: after it, the second means nothing alone. */
const prefix = 'g'

/** @param actions by key: `c`, `Control+k`, `g v`. */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions)
  useEffect(() => {
    latest.current = actions
  })
  useEffect(() => {
    let before = ''
    let beforeMs = 0
    const onKey = (event: KeyboardEvent): void => {
      const name = `${event.ctrlKey ? 'Control+' : ''}${event.metaKey ? 'Meta+' : ''}${event.key}`
      if (event.altKey || document.querySelector('[role="dialog"]')) return // a dialog has the keys
      if (isWriting(event.target) && !event.ctrlKey && !event.metaKey) return
      const isSecond = before === prefix && event.timeStamp - beforeMs < rowMs
      const action = latest.current[isSecond ? `${prefix} ${name}` : name]
      before = isSecond ? '' : name
      beforeMs = event.timeStamp
      if (!action) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}
