/** A schedule that is made, or changed. */
import { useState, type ReactNode } from 'react'
import { KickoffField, PinnedVersion } from '../automation/start.tsx'
import {
  CreateScheduleDocument,
  UpdateScheduleDocument,
  type CreateSchedule,
  type ScheduleDetails,
  type ScheduleOverlap,
} from '../generated/documents.ts'
import { Choice } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import type { Given } from '../parts/given.ts'
import { offers } from '../offers/offers.ts'
import { Picker } from '../offers/picker.tsx'
import { Moments } from './moments.tsx'

/** A new one, of a deployment or of an agent. @param deploymentId the deployment, where it is clear which. */
export function NewSchedule({
  deploymentId,
  onDone,
  onClose,
}: {
  deploymentId?: string
  onDone: (made: CreateSchedule) => void
  onClose: () => void
}): ReactNode {
  const [what, setWhat] = useState('deployment')
  return (
    <FormDialog
      title="New schedule"
      mutation={CreateScheduleDocument}
      input={(given) => {
        const { text, number } = given
        return {
          cron: text('cron') ?? '',
          timezone: text('zone'),
          overlap: overlapIn(given),
          ...(what === 'deployment'
            ? { deployment: { id: deploymentId ?? text('deployment') ?? '' } }
            : {
                agent: { agent: { id: text('agent') ?? '', version: number('version') } },
                kickoff: { text: text('kickoff') ?? '' },
              }),
        }
      }}
      submit="Create"
      onDone={onDone}
      onClose={onClose}
    >
      {!deploymentId && (
        <Choice
          label="It starts"
          value={what}
          options={[
            ['deployment', 'A deployment, with all that it has'],
            ['agent', 'An agent, without a machine'],
          ]}
          onChange={({ target }) => setWhat(target.value)}
        />
      )}
      {!deploymentId && what === 'deployment' && (
        <Picker name="deployment" label="Deployment" of={offers.deployments} />
      )}
      {what === 'agent' && (
        <>
          <Picker name="agent" label="Agent" of={offers.agents} />
          <KickoffField />
          <PinnedVersion />
        </>
      )}
      <Moments />
      <Overlap />
    </FormDialog>
  )
}

/** Other moments, another text; which agent or deployment it starts stays. */
export function ChangeSchedule({ schedule, onClose }: { schedule: ScheduleDetails; onClose: () => void }): ReactNode {
  const { id, cron, timezone, overlap, ownKickoff } = schedule
  return (
    <FormDialog
      title="Change the schedule"
      mutation={UpdateScheduleDocument}
      input={(given) => {
        const kickoff = given.text('kickoff')
        return {
          id,
          cron: given.text('cron'),
          timezone: given.text('zone'),
          overlap: overlapIn(given),
          ...(kickoff ? { kickoff: { text: kickoff } } : {}),
        }
      }}
      submit="Change"
      onDone={onClose}
      onClose={onClose}
    >
      <Moments cron={cron} zone={timezone} />
      {ownKickoff && <KickoffField kickoff={ownKickoff} />}
      <Overlap overlap={overlap} />
    </FormDialog>
  )
}

function Overlap({ overlap = 'SKIP' }: { overlap?: ScheduleOverlap }): ReactNode {
  return (
    <Choice
      name="overlap"
      label="While the session of the run before is at work"
      defaultValue={overlap}
      options={[
        ['SKIP', 'Skip the run'],
        ['ALLOW', 'Start another'],
      ]}
    />
  )
}

function overlapIn({ text }: Given): ScheduleOverlap {
  return text('overlap') === 'ALLOW' ? 'ALLOW' : 'SKIP'
}
