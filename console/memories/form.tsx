/** A memory that is made, or changed. */
import { useState, type ReactNode } from 'react'
import { useDesk } from '../app/desk.tsx'
import {
  CreateMemoryDocument,
  UpdateMemoryDocument,
  type CreateMemory,
  type MemoryCategory,
  type MemoryRow,
} from '../generated/documents.ts'
import { Check, Choice, TextArea } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'

const categories = [
  ['', 'None'],
  ['PREFERENCE', 'Preference'],
  ['INSTRUCTION', 'Instruction'],
  ['FACT', 'Fact'],
  ['PROJECT', 'Project'],
  ['OTHER', 'Other'],
] as const

/** A new one. */
export function NewMemory({
  onDone,
  onClose,
}: {
  onDone: (made: CreateMemory) => void
  onClose: () => void
}): ReactNode {
  const { organization } = useDesk()
  const [key] = useState(() => crypto.randomUUID()) // sent twice, it is made once
  return (
    <FormDialog
      title="New memory"
      mutation={CreateMemoryDocument}
      input={({ text, has }) => ({
        body: text('body') ?? '',
        category: text('category') as MemoryCategory | undefined, // its options are these
        idempotencyKey: key,
        ...(has('shared') ? { organizationId: organization.id } : {}),
      })}
      submit="Create"
      onDone={onDone}
      onClose={onClose}
    >
      <Fields />
      <Check name="shared" label="Shared by all of the organization" />
    </FormDialog>
  )
}

/** Another text or kind. What somebody else has changed meanwhile is not overwritten. */
export function ChangeMemory({ memory, onClose }: { memory: MemoryRow; onClose: () => void }): ReactNode {
  const [{ id, revision }] = useState(memory) // the revision that was read when the form was opened
  return (
    <FormDialog
      title="Change the memory"
      mutation={UpdateMemoryDocument}
      input={({ text }) => ({
        id,
        revision,
        body: text('body'),
        category: (text('category') as MemoryCategory | undefined) ?? null, // its options are these
      })}
      submit="Change"
      onDone={onClose}
      onClose={onClose}
    >
      <Fields memory={memory} />
    </FormDialog>
  )
}

function Fields({ memory }: { memory?: MemoryRow }): ReactNode {
  return (
    <>
      <TextArea name="body" label="Text" defaultValue={memory?.body} required autoFocus />
      <Choice name="category" label="Kind" options={categories} defaultValue={memory?.category ?? ''} />
    </>
  )
}
