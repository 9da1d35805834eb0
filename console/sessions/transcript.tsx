/** A session's events as a conversation. What others wrote is shown as text: nothing in it is fetched or run. */
import { memo, useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import { useStream } from '../app/streams.ts'
import { SessionEventsDocument, type TranscriptEvent } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { DemoHint } from '../parts/demo.tsx'
import { useFollow } from '../parts/follow.ts'
import { plainOutput } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { wordOf } from '../parts/state.tsx'
import { LongText } from '../parts/text.tsx'
import { Say, ToolAnswer, ToolDecision } from './answers.tsx'
import { sessionEvents } from './events.ts'

/** Events that are shown at first, and more at a time: the last ones. */
const eventsAtOnce = 50

type Blocks = readonly { __typename?: string; text?: string }[]

/** The tab. */
export function Transcript({ id, modelId }: { id: string; modelId: string }): ReactNode {
  const { kept: held, error } = useStream(SessionEventsDocument, id, sessionEvents)
  const [wanted, setWanted] = useState(() => /^#(sevt_\w+)$/.exec(location.hash)?.[1] ?? '')
  const [from, setFrom] = useState<number | null>(null) // null while it shows the last ones
  const { end, isAtEnd, toEnd, leaveEnd } = useFollow(wanted !== '')
  const seen = useRef(0)
  useLayoutEffect(() => {
    if (isAtEnd) seen.current = held.count
    const number = wanted ? held.numberOf(wanted) : undefined
    if (number === undefined) return
    if (from === null || from > number) return setFrom(number)
    document.getElementById(wanted)?.scrollIntoView() // the event that the address names, once it has come
    leaveEnd()
    setWanted('')
  })
  // By whole pieces, so that what somebody reads does not move with each event; and not while the end is out of sight.
  const last = Math.max(0, (Math.ceil(held.count / eventsAtOnce) - 2) * eventsAtOnce)
  if (isAtEnd && !wanted && from !== null) setFrom(null)
  if (!isAtEnd && from === null) setFrom(last)
  const start = Math.max(held.first, from ?? last)
  const fresh = isAtEnd ? 0 : held.count - seen.current
  return (
    <>
      {error && <Problem error={error} />}
      {start > held.first && (
        <button type="button" onClick={() => setFrom(start - eventsAtOnce)}>
          Show earlier events
        </button>
      )}
      {start === held.first && start > 0 && <p className="note">{start} earlier events are left out here.</p>}
      <div className="transcript" role="log" aria-label="Transcript">
        {held.read(start).map((event) => (
          <Event
            key={event.id}
            session={id}
            event={event}
            isDecided={held.isDecided(event.id)}
            isWaiting={held.isWaiting(event.id)}
          />
        ))}
        {held.preview && (
          <article className="agent">
            <pre>{plainOutput(held.preview)}</pre>
          </article>
        )}
      </div>
      <Say id={id} />
      <DemoHint modelId={modelId} />
      <div ref={end} />
      {fresh > 0 && (
        <button type="button" className="fresh" onClick={toEnd}>
          {fresh} new {fresh === 1 ? 'event' : 'events'}
        </button>
      )}
    </>
  )
}

/** Events that say nothing to a reader. */
const silent =
  /^(?:SPAN_MODEL|SPAN_OUTCOME_EVALUATION_START|SESSION_USAGE|SESSION_STATUS_RUNNING|SESSION_UPDATED|AGENT_THINKING)/

const Event = memo(function Event({
  session,
  event,
  isDecided,
  isWaiting,
}: {
  session: string
  event: TranscriptEvent
  isDecided: boolean
  isWaiting: boolean
}): ReactNode {
  const isAsked = 'evaluatedPermission' in event && event.evaluatedPermission === 'ASK'
  if (silent.test(event.type)) return null
  return (
    <article id={event.id} className={classOf(event.type)}>
      <header>
        <a href={`#${event.id}`}>{titleOf(event)}</a>{' '}
        <small>
          <Age at={event.createdAt} />
        </small>
      </header>
      <Body event={event} />
      {isAsked && !isDecided && <ToolDecision session={session} toolUseId={event.id} />}
      {isWaiting && !isAsked && 'input' in event && (
        <ToolAnswer
          {...{ session, toolUseId: event.id, input: event.input, isOwn: event.type === 'AGENT_CUSTOM_TOOL_USE' }}
        />
      )}
    </article>
  )
})

function Body({ event }: { event: TranscriptEvent }): ReactNode {
  if ('content' in event) return <LongText text={textOf(event.content as Blocks)} />
  if ('input' in event) return <LongText text={JSON.stringify(event.input, null, 2)} />
  if ('error' in event) return <p className="bad">{plainOutput(event.error.message)}</p>
  if ('rubric' in event) return <LongText text={`${event.description}\n\n${event.rubric.content}`} />
  if ('verdict' in event) return <p>{plainOutput(event.explanation)}</p>
  if ('denyMessage' in event && event.denyMessage) return <p>{plainOutput(event.denyMessage)}</p>
  return null
}

/** The text of a message; what is none is named. */
export function textOf(blocks: Blocks): string {
  return blocks
    .map(({ text, __typename }) => text ?? `[${__typename === 'ImageBlock' ? 'a picture' : 'a document'}]`)
    .join('\n')
}

/** Whose words an event is, as the style sheet calls it. */
export function classOf(type: string): string {
  if (type.startsWith('USER_')) return 'user'
  if (type === 'AGENT_MESSAGE') return 'agent'
  return 'tool'
}

function titleOf(event: TranscriptEvent): string {
  if ('name' in event) return `calls ${plainOutput(event.name)}`
  if ('isError' in event) return event.isError ? 'failed' : 'answered'
  if ('result' in event) return event.result === 'ALLOW' ? 'allowed' : 'denied'
  if ('rubric' in event) return 'the goal'
  if ('verdict' in event) return `the goal: ${wordOf(event.verdict)}`
  if ('stopReason' in event && event.stopReason) return `idle: ${wordOf(event.stopReason.type)}`
  if (event.type === 'AGENT_MESSAGE') return 'agent'
  if (event.type === 'USER_MESSAGE') return 'you'
  return wordOf(event.type)
}
