/** A trigger that is made, or changed. */
import type { ReactNode } from 'react'
import { PinnedVersion } from '../automation/start.tsx'
import {
  CreateTriggerDocument,
  UpdateTriggerDocument,
  type AuthorAssociation,
  type CreateTrigger,
  type CreateTriggerInput,
  type TriggerDetails,
  type TriggerEvent,
} from '../generated/documents.ts'
import { Check, Checks, Field, TextArea } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import type { Given } from '../parts/given.ts'
import { offers } from '../offers/offers.ts'
import { Picker } from '../offers/picker.tsx'
import { plain } from '../parts/plain.ts'
import { wordOf } from '../parts/state.tsx'

/** A name without an action is all actions. */
const events: readonly TriggerEvent[] = [
  'PUSH',
  'PULL_REQUEST',
  'PULL_REQUEST_OPENED',
  'PULL_REQUEST_SYNCHRONIZE',
  'PULL_REQUEST_REOPENED',
  'PULL_REQUEST_READY_FOR_REVIEW',
  'PULL_REQUEST_LABELED',
  'PULL_REQUEST_CLOSED',
  'PULL_REQUEST_REVIEW',
  'PULL_REQUEST_REVIEW_SUBMITTED',
  'PULL_REQUEST_REVIEW_COMMENT',
  'PULL_REQUEST_REVIEW_COMMENT_CREATED',
  'ISSUES',
  'ISSUES_OPENED',
  'ISSUES_LABELED',
  'ISSUES_ASSIGNED',
  'ISSUE_COMMENT',
  'ISSUE_COMMENT_CREATED',
  'RELEASE',
  'RELEASE_PUBLISHED',
  'WORKFLOW_RUN',
  'WORKFLOW_RUN_COMPLETED',
  'CHECK_SUITE',
  'CHECK_SUITE_COMPLETED',
]
const associations: readonly AuthorAssociation[] = [
  'OWNER',
  'MEMBER',
  'COLLABORATOR',
  'CONTRIBUTOR',
  'FIRST_TIME_CONTRIBUTOR',
  'FIRST_TIMER',
  'MANNEQUIN',
  'NONE',
]
const trusted = ['OWNER', 'MEMBER', 'COLLABORATOR']

/** A new one. @param deployment with the agent, where it is clear which. */
export function NewTrigger({
  deployment,
  agent,
  onDone,
  onClose,
}: {
  deployment?: string
  agent?: string
  onDone: (made: CreateTrigger) => void
  onClose: () => void
}): ReactNode {
  return (
    <FormDialog
      title="New trigger"
      mutation={CreateTriggerDocument}
      input={(given) => triggerIn(given)}
      submit="Create"
      onDone={onDone}
      onClose={onClose}
    >
      <TriggerFields agentId={agent} deploymentId={deployment} />
    </FormDialog>
  )
}

/** Changes one. */
export function ChangeTrigger({ trigger, onClose }: { trigger: TriggerDetails; onClose: () => void }): ReactNode {
  return (
    <FormDialog
      title={`Change the trigger of ${plain(trigger.repo)}`}
      mutation={UpdateTriggerDocument}
      input={(given) => ({ id: trigger.id, ...triggerIn(given, true) })}
      submit="Change"
      onDone={onClose}
      onClose={onClose}
    >
      <TriggerFields trigger={trigger} agentId={trigger.agentId} deploymentId={trigger.deploymentId} />
    </FormDialog>
  )
}

function TriggerFields({
  trigger,
  agentId,
  deploymentId,
}: {
  trigger?: TriggerDetails
  agentId: string | undefined
  deploymentId: string | null | undefined
}): ReactNode {
  return (
    <>
      <Field
        name="repo"
        label="Repository"
        placeholder="owner/name"
        pattern="[^\/\s]+\/[^\/\s]+"
        defaultValue={trigger?.repo}
        required
        autoFocus
      />
      <Checks
        name="events"
        label="Events"
        hint="A name without an action is all of its actions."
        options={events.map((event) => [event, wordOf(event)] as const)}
        chosen={trigger?.events ?? []}
      />
      <Picker name="agent" label="Agent" of={offers.agents} chosen={agentId} />
      <Picker
        name="deployment"
        label="Deployment"
        of={offers.deployments}
        chosen={deploymentId}
        none="None: no machine, no vaults"
        hint="It says where the sessions work, with which vaults, and what they are told before the event."
      />
      <Filters filters={trigger?.filters} />
      <PinnedVersion version={trigger?.agentReference.version ?? null} />
    </>
  )
}

function Filters({ filters }: { filters: TriggerDetails['filters'] | undefined }): ReactNode {
  return (
    <details className="more">
      <summary>Which of them</summary>
      <TextArea
        name="branches"
        label="Branches"
        placeholder="main"
        hint="One a line; * is anything but a slash, ** any number of folders. Empty: all."
        defaultValue={filters?.branches?.join('\n') ?? ''}
      />
      <TextArea
        name="paths"
        label="Files that a push changed"
        hint="One a line. Empty: all."
        defaultValue={filters?.paths?.join('\n') ?? ''}
      />
      <TextArea
        name="labels"
        label="Labels"
        hint="One a line. Empty: all."
        defaultValue={filters?.labels?.join('\n') ?? ''}
      />
      <Field name="prefix" label="How a comment begins" defaultValue={filters?.commentPrefix ?? ''} />
      <Checks
        name="associations"
        label="Who wrote it"
        options={associations.map((one) => [one, wordOf(one)] as const)}
        chosen={filters?.authorAssociations ?? trusted}
      />
      <Check name="forks" label="Code of forks, too" defaultChecked={filters?.allowForks ?? false} />
      <Check name="bots" label="What bots did, too" defaultChecked={filters?.allowBots ?? false} />
    </details>
  )
}

/** What the fields give. @param isChange a deployment that is not chosen is then taken away. */
function triggerIn({ text, number, all, lines, has }: Given, isChange = false): CreateTriggerInput {
  const deployment = text('deployment')
  const some = (name: string): string[] | undefined => (lines(name).length > 0 ? lines(name) : undefined)
  return {
    repo: text('repo') ?? '',
    events: (all('events') ?? []) as TriggerEvent[], // its boxes are these
    agent: { agent: { id: text('agent') ?? '', version: number('version') } },
    deployment: deployment ? { id: deployment } : isChange ? null : undefined,
    filters: {
      branches: some('branches'),
      paths: some('paths'),
      labels: some('labels'),
      commentPrefix: text('prefix'),
      authorAssociations: (all('associations') ?? []) as AuthorAssociation[], // its boxes are these
      allowForks: has('forks'),
      allowBots: has('bots'),
    },
  }
}
