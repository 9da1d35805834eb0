/** What a trigger would do with an event. Nothing is started. */
import type { ReactNode } from 'react'
import { Kickoff } from '../automation/start.tsx'
import { TryTriggerDocument, type TryTrigger } from '../generated/documents.ts'
import { Field, JsonArea } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { plain } from '../parts/plain.ts'
import { wordOf } from '../parts/state.tsx'

type Outcome = NonNullable<TryTrigger['tryTrigger']>

const sentences: Readonly<Record<Outcome['outcome'], string>> = {
  START: 'It would begin a session, which is told:',
  SKIP: 'It would skip this event.',
  FAIL: 'It would fail.',
  NO_FIRE: 'It is not for such an event.',
}

/** What it would do. */
export function Trial({ trial: { outcome, reason, skipReason, kickoff } }: { trial: Outcome }): ReactNode {
  return (
    <section role="status" aria-label="Trial">
      <p>
        {sentences[outcome]} {skipReason && `${wordOf(skipReason)}.`} {reason && plain(reason)}
      </p>
      {kickoff && <Kickoff kickoff={kickoff} />}
    </section>
  )
}

/** An event that one writes, or copies from the recent deliveries of GitHub. */
export function TryEvent({
  id,
  onDone,
  onClose,
}: {
  id: string
  onDone: (tried: TryTrigger) => void
  onClose: () => void
}): ReactNode {
  return (
    <FormDialog
      title="Try an event"
      mutation={TryTriggerDocument}
      input={({ text, json }) => ({ id, event: text('event'), payload: json('payload') })}
      submit="Try"
      onDone={onDone}
      onClose={onClose}
    >
      <Field
        name="event"
        label="Event"
        placeholder="push"
        hint="As in X-GitHub-Event, such as pull_request."
        required
        autoFocus
      />
      <JsonArea
        name="payload"
        label="Payload"
        rows={10}
        hint="The body of a delivery. GitHub lists recent ones at its webhook."
      />
    </FormDialog>
  )
}
