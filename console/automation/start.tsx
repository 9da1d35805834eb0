/** What deployments, schedules and triggers have in common: which agent they begin a session with, and what it is told first. */
import type { ReactNode } from 'react'
import type { KickoffShown } from '../generated/documents.ts'
import { Field, TextArea } from '../parts/field.tsx'
import { plain } from '../parts/plain.ts'

/** A version of the agent, which it stays at. */
export function PinnedVersion({ version }: { version?: number | null }): ReactNode {
  return (
    <Field
      name="version"
      label="Version of the agent"
      type="number"
      min={1}
      placeholder="The newest"
      defaultValue={version ?? ''}
    />
  )
}

/** What each session is told first. Where it is more than a text, it stays as it is until one writes a text. */
export function KickoffField({ kickoff }: { kickoff?: KickoffShown | null | undefined }): ReactNode {
  const isMore = kickoff !== null && kickoff !== undefined && kickoff.text === null
  return (
    <TextArea
      name="kickoff"
      label="What it is told first"
      defaultValue={kickoff?.text ?? ''}
      required={!isMore}
      hint={
        isMore ? `It is told ${kickoff.events.length} events, made by the API. A text here replaces them.` : undefined
      }
    />
  )
}

/** How it reads. */
export function Kickoff({ kickoff }: { kickoff: KickoffShown }): ReactNode {
  return <pre tabIndex={0}>{plain(kickoff.text ?? kickoff.events.map(eventText).join('\n\n'))}</pre>
}

function eventText(event: KickoffShown['events'][number]): string {
  if ('rubric' in event) return `Goal: ${event.description}\n${event.rubric}`
  return event.content.map((block) => ('text' in block ? block.text : '[a picture or document]')).join('\n')
}
