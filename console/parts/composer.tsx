/** What a person writes to agents: kept as a draft until it is sent, by a button or by Ctrl Enter. */
import { useLayoutEffect, useRef, useState, type ReactNode, type SyntheticEvent } from 'react'
import type { CombinedError } from 'urql'
import { useMay } from '../app/desk.tsx'
import { Button } from './button.tsx'
import { useDraftText } from './draft.ts'
import { toldBy } from './problem.tsx'

/**
 * The form.
 * @param send the error, when it is refused.
 * @param children further buttons.
 */
export function Composer({
  placeholder,
  send,
  children,
}: {
  placeholder: string
  send: (text: string) => Promise<CombinedError | undefined>
  children?: ReactNode
}): ReactNode {
  const { why } = useMay('MEMBER')
  const [text, setText] = useDraftText('message')
  const latest = useRef(text)
  useLayoutEffect(() => {
    latest.current = text
  })
  const [isBusy, setIsBusy] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  async function submit(event: SyntheticEvent): Promise<void> {
    event.preventDefault()
    if (!text.trim() || isBusy || why) return
    setIsBusy(true)
    const error = await send(text)
    setIsBusy(false)
    setRefusal(error && toldBy(error).message)
    if (!error && latest.current === text) setText('') // what was typed meanwhile stays
  }
  return (
    <form className="answer" onSubmit={(event) => void submit(event)}>
      <textarea
        aria-label="Your message"
        rows={3}
        placeholder={placeholder}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void submit(event)
        }}
      />
      <span className="buttons">
        <Button
          type="submit"
          isPrimary
          why={why ?? (text.trim() ? undefined : 'Write something first.')}
          isBusy={isBusy}
        >
          Send
        </Button>
        {children}
      </span>
      {refusal && (
        <p role="alert" className="bad">
          {refusal}
        </p>
      )}
    </form>
  )
}
