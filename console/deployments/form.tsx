/** A deployment that is made, or changed. */
import { useState, type ReactNode } from 'react'
import { KickoffField, PinnedVersion } from '../automation/start.tsx'
import { MachineFields, machineIn } from '../environments/machine.tsx'
import {
  CreateDeploymentDocument,
  UpdateDeploymentDocument,
  type CreateDeployment,
  type CreateDeploymentInput,
  type DeploymentDetails,
  type StartEnvironmentInput,
} from '../generated/documents.ts'
import { Choice, Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import type { Given } from '../parts/given.ts'
import { offers } from '../offers/offers.ts'
import { Picker, PickMany } from '../offers/picker.tsx'
import { plain } from '../parts/plain.ts'
import { Moments } from '../schedules/moments.tsx'

/** A new one, with a schedule if one likes. */
export function NewDeployment({
  onDone,
  onClose,
}: {
  onDone: (made: CreateDeployment) => void
  onClose: () => void
}): ReactNode {
  return (
    <FormDialog
      title="New deployment"
      mutation={CreateDeploymentDocument}
      input={(given) => {
        const cron = given.text('cron')
        return {
          ...deploymentIn(given),
          ...(cron ? { schedule: { cron: { expression: cron, timezone: given.text('zone') ?? 'UTC' } } } : {}),
        }
      }}
      submit="Create"
      onDone={onDone}
      onClose={onClose}
    >
      <DeploymentFields />
      <details className="more">
        <summary>Start it by itself</summary>
        <Moments isOptional />
      </details>
    </FormDialog>
  )
}

/** Changes one; its schedules and triggers are changed at their own pages. */
export function ChangeDeployment({
  deployment,
  onClose,
}: {
  deployment: DeploymentDetails
  onClose: () => void
}): ReactNode {
  return (
    <FormDialog
      title={`Change ${plain(deployment.name)}`}
      mutation={UpdateDeploymentDocument}
      input={(given) => ({ id: deployment.id, ...deploymentIn(given, true) })}
      submit="Change"
      onDone={onClose}
      onClose={onClose}
    >
      <DeploymentFields deployment={deployment} />
    </FormDialog>
  )
}

function DeploymentFields({ deployment }: { deployment?: DeploymentDetails }): ReactNode {
  return (
    <>
      <Field name="name" label="Name" defaultValue={deployment?.name} required autoFocus />
      <Picker name="agent" label="Agent" of={offers.agents} chosen={deployment?.agentReference.id} />
      <KickoffField kickoff={deployment?.kickoff} />
      <Where environment={deployment?.environment} />
      <PickMany
        name="vaults"
        label="Vaults"
        hint="Whose credentials its sessions may use."
        of={offers.vaults}
        chosen={deployment?.vaultIds ?? []}
      />
      <details className="more">
        <summary>Purpose, budget, version</summary>
        <Field name="description" label="What for" defaultValue={deployment?.description ?? ''} />
        <Field
          name="budget"
          label="What a session may cost, USD"
          type="number"
          min={0}
          step="any"
          placeholder="No limit of its own"
          defaultValue={deployment?.budget?.maxListCost.amount ?? ''}
        />
        <PinnedVersion version={deployment?.agentReference.version ?? null} />
      </details>
    </>
  )
}

/** Where its sessions work. */
function Where({ environment }: { environment: DeploymentDetails['environment'] | undefined }): ReactNode {
  const existing = environment && 'environmentId' in environment ? environment : undefined
  const fresh = environment && 'config' in environment ? environment : undefined
  const [where, setWhere] = useState(existing ? 'existing' : fresh ? 'fresh' : 'none')
  return (
    <>
      <Choice
        name="where"
        label="Where its sessions work"
        value={where}
        options={[
          ['none', 'Nowhere: they only talk'],
          ['existing', 'In an environment, all in the same'],
          ['fresh', 'Each in a machine of its own'],
        ]}
        onChange={({ target }) => setWhere(target.value)}
      />
      {where === 'existing' && (
        <Picker name="environment" label="Environment" of={offers.environments} chosen={existing?.environmentId} />
      )}
      {where === 'fresh' && (
        <MachineFields config={fresh?.config && 'memoryMb' in fresh.config ? fresh.config : undefined} />
      )}
    </>
  )
}

/** What the fields give. @param isChange what is empty is then taken away, and not merely left out. */
function deploymentIn(given: Given, isChange = false): Omit<CreateDeploymentInput, 'status' | 'metadata' | 'schedule'> {
  const { text, number, ids } = given
  const kickoff = text('kickoff')
  const budget = text('budget')
  const none = isChange ? null : undefined
  const vaults = ids('vaults')
  return {
    name: text('name') ?? '',
    description: text('description') ?? none,
    agent: { agent: { id: text('agent') ?? '', version: number('version') } },
    ...(kickoff ? { kickoff: { text: kickoff } } : {}),
    environment: whereIn(given),
    budget: budget ? { limit: { maxListCost: { amount: budget, currency: 'USD' } } } : none,
    ...(vaults && (isChange || vaults.length > 0) ? { vaultIds: vaults } : {}),
  }
}

function whereIn(given: Given): StartEnvironmentInput {
  const where = given.text('where')
  if (where === 'existing') return { existing: { environmentId: given.text('environment') ?? '' } }
  return where === 'fresh' ? { ephemeral: { config: machineIn(given) } } : { none: true }
}
