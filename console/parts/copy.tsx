/** A short text that can be copied; and one that is shown only once. */
import { Check, Copy as CopyIcon } from 'lucide-react'
import { useState, type ReactNode } from 'react'

const doneMs = 1_500

/** @param label what it is, for who cannot see it. */
export function Copy({ text, label }: { text: string; label: string }): ReactNode {
  const [isDone, setIsDone] = useState(false)
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text)
    setIsDone(true)
    setTimeout(() => setIsDone(false), doneMs)
  }
  return (
    <button type="button" className="copy" title={`Copy the ${label}`} onClick={() => void copy()}>
      <code>{text}</code> {isDone ? <Check size={14} aria-hidden /> : <CopyIcon size={14} aria-hidden />}
      <small aria-live="polite">{isDone ? ' copied' : ''}</small>
    </button>
  )
}

/** A secret that nobody shows again. */
export function Secret({
  text,
  label,
  what = 'keep it where you keep secrets',
  onDone,
}: {
  text: string
  label: string
  /** What is to be done with it. */
  what?: string
  onDone: () => void
}): ReactNode {
  return (
    <div className="secret">
      <p>
        This is the {label}. It is shown only now: {what}.
      </p>
      <p>
        <Copy text={text} label={label} />
      </p>
      <button type="button" onClick={onDone}>
        I have it
      </button>
    </div>
  )
}
