/** A chat with a model, as its tokens come. */
import { useEffect, useRef, useState, type ReactNode, type SyntheticEvent } from 'react'
import { useClient, type CombinedError } from 'urql'
import { useKeptQuery } from '../app/kept.ts'
import { AgentModelsDocument, ChatDocument } from '../generated/documents.ts'
import { Button } from '../parts/button.tsx'
import { useDraftText } from '../parts/draft.ts'
import { Choice } from '../parts/field.tsx'
import { plainOutput } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'

type Message = { who: 'user' | 'assistant'; text: string }

/** The tab. */
export function Playground(): ReactNode {
  const client = useClient()
  const [{ data }] = useKeptQuery({ query: AgentModelsDocument })
  const models = data?.models?.nodes ?? []
  const [model, setModel] = useState('')
  const [messages, setMessages] = useState<readonly Message[]>([])
  const [text, setText] = useDraftText('chat')
  const [error, setError] = useState<CombinedError>()
  const [isBusy, setIsBusy] = useState(false)
  const stop = useRef<() => void>(undefined)
  const chosen = model || models[0]?.id
  useEffect(() => () => stop.current?.(), [])

  function send(event: SyntheticEvent): void {
    event.preventDefault()
    if (!chosen || !text.trim() || isBusy) return
    const asked: readonly Message[] = [...messages, { who: 'user', text }]
    setText('')
    setError(undefined)
    setIsBusy(true)
    setMessages([...asked, { who: 'assistant', text: '' }])
    let answer = ''
    const input = {
      model: chosen,
      messages: asked.map((one) =>
        one.who === 'user' ? { user: { content: [{ text: one.text }] } } : { assistant: { text: one.text } },
      ),
    }
    const end = (): void => {
      stop.current?.()
      setIsBusy(false)
    }
    const { unsubscribe } = client.subscription(ChatDocument, { input }).subscribe((result) => {
      if (result.error) {
        setError(result.error)
        return end()
      }
      const piece = result.data?.chatCompletionEvents
      if (!piece || !('id' in piece)) return
      answer += piece.text ?? ''
      setMessages([...asked, { who: 'assistant', text: answer }])
      if (piece.finishReason) end()
    })
    stop.current = unsubscribe
  }

  return (
    <>
      <div className="row">
        <Choice
          label="Model"
          value={chosen ?? ''}
          options={models.map(({ id }) => [id, id] as const)}
          onChange={({ target }) => setModel(target.value)}
        />
        <button
          type="button"
          onClick={() => {
            stop.current?.()
            setIsBusy(false)
            setMessages([])
          }}
        >
          Begin anew
        </button>
      </div>
      <div className="transcript" role="log" aria-label="Chat">
        {messages.map((message, at) => (
          <article key={at} className={message.who === 'user' ? 'user' : 'agent'}>
            <pre tabIndex={0}>{plainOutput(message.text)}</pre>
          </article>
        ))}
      </div>
      {error && <Problem error={error} />}
      <form className="answer" onSubmit={send}>
        <textarea
          aria-label="Your message"
          rows={3}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send(event)
          }}
        />
        <div className="buttons">
          <Button type="submit" isPrimary why={text.trim() ? undefined : 'Write something first.'} isBusy={isBusy}>
            Send
          </Button>
          {isBusy && (
            <button
              type="button"
              onClick={() => {
                stop.current?.()
                setIsBusy(false)
              }}
            >
              Stop
            </button>
          )}
        </div>
      </form>
    </>
  )
}
