/** A text that somebody else wrote, as long as it may be: its beginning, and the rest when one asks for it. */
import { useState, type ReactNode } from 'react'
import { plainOutput } from './plain.ts'

const charactersAtFirst = 20_000

/** @param text what a program or a model printed. */
export function LongText({ text }: { text: string }): ReactNode {
  const [isWhole, setIsWhole] = useState(false)
  const isCut = !isWhole && text.length > charactersAtFirst
  return (
    <>
      <pre tabIndex={0}>{plainOutput(isCut ? text.slice(0, charactersAtFirst) : text)}</pre>
      {isCut && (
        <button type="button" onClick={() => setIsWhole(true)}>
          Show all {text.length.toLocaleString('en')} characters
        </button>
      )}
    </>
  )
}
