/** An environment that is made, or changed. */
import { useState, type ReactNode } from 'react'
import {
  CreateEnvironmentDocument,
  UpdateEnvironmentDocument,
  type CreateEnvironment,
  type EnvironmentDetails,
} from '../generated/documents.ts'
import { Choice, Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { plain } from '../parts/plain.ts'
import { MachineFields, machineIn } from './machine.tsx'

/** A new one. */
export function NewEnvironment({
  onDone,
  onClose,
}: {
  onDone: (made: CreateEnvironment) => void
  onClose: () => void
}): ReactNode {
  const [type, setType] = useState<'VM' | 'SELF_HOSTED'>('VM')
  return (
    <FormDialog
      title="New environment"
      mutation={CreateEnvironmentDocument}
      input={(given) => ({
        name: given.text('name') ?? '',
        description: given.text('description'),
        config: type === 'VM' ? machineIn(given) : { type },
      })}
      submit="Create"
      onDone={onDone}
      onClose={onClose}
    >
      <Field name="name" label="Name" required autoFocus />
      <Field name="description" label="What for" />
      <Choice
        label="Where tools run"
        value={type}
        options={[
          ['VM', 'In a machine of Berth’s'],
          ['SELF_HOSTED', 'At your own client, which answers each call'],
        ]}
        onChange={({ target }) => setType(target.value === 'VM' ? 'VM' : 'SELF_HOSTED')}
      />
      {type === 'VM' && <MachineFields />}
    </FormDialog>
  )
}

/** Another name, purpose or configuration. */
export function ChangeEnvironment({
  environment: { id, name, description, config },
  onClose,
}: {
  environment: EnvironmentDetails
  onClose: () => void
}): ReactNode {
  const machine = 'memoryMb' in config ? config : undefined
  return (
    <FormDialog
      title={`Change ${plain(name)}`}
      mutation={UpdateEnvironmentDocument}
      input={(given) => ({
        id,
        name: given.text('name'),
        description: given.text('description') ?? null,
        ...(machine ? { config: machineIn(given, true) } : {}),
      })}
      submit="Change"
      onDone={onClose}
      onClose={onClose}
    >
      <Field name="name" label="Name" defaultValue={name} required autoFocus />
      <Field name="description" label="What for" defaultValue={description ?? ''} />
      {machine && <MachineFields config={machine} />}
      {machine && <p className="soft">What it may connect to changes at once, the rest with its next machine.</p>}
    </FormDialog>
  )
}
