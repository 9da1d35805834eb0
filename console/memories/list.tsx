/** Memories: what outlives sessions, a person's own and what the organization shares. */
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useQuery } from 'urql'
import { useDesk } from '../app/desk.tsx'
import {
  MemoriesDocument,
  MemorySettingsDocument,
  UpdateMemorySettingsDocument,
  type MemoryRow,
} from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Check } from '../parts/field.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { wordOf } from '../parts/state.tsx'
import { NewMemory } from './form.tsx'

const shownCharacters = 120

const columns: readonly Column<MemoryRow>[] = [
  ['Memory', ({ body }) => plain(body.length > shownCharacters ? `${body.slice(0, shownCharacters)}…` : body)],
  ['Kind', ({ category }) => category && wordOf(category)],
  ['By', ({ actor }) => wordOf(actor.type)],
  ['Changed', ({ updatedAt }) => <Age at={updatedAt} />],
]

/** The list. */
export function Memories(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const { organization } = useDesk()
  const navigate = useNavigate()
  const [isShared, setIsShared] = useState(false)
  return (
    <>
      <List
        title="Memories"
        document={MemoriesDocument}
        variables={(text) => ({
          // Never without: only the server knows in which of both lists a memory is.
          filter: { organizationId: isShared ? organization.id : null, ...(text ? { search: text } : {}) },
        })}
        read={({ memories }) => memories}
        columns={columns}
        folder="memories"
        actions={
          <Check label="Shared by all" checked={isShared} onChange={({ target }) => setIsShared(target.checked)} />
        }
        create={{
          title: 'New memory',
          form: (close) => (
            <NewMemory
              onDone={({ createMemory }) =>
                createMemory && void navigate({ to: `/o/${org}/memories/${createMemory.memory.id}` })
              }
              onClose={close}
            />
          ),
        }}
        empty={<p>A memory is a short text that outlives a session. Agents keep and find them by two tools.</p>}
      />
      <Use />
    </>
  )
}

/** Whether the person's sessions use memories at all. */
function Use(): ReactNode {
  const [{ data }] = useQuery({ query: MemorySettingsDocument })
  const settings = data?.memorySettings
  if (!settings) return null
  return (
    <p className="buttons">
      Your sessions {settings.useMemories ? 'use memories.' : 'use no memories.'}
      <Act mutation={UpdateMemorySettingsDocument} variables={{ input: { useMemories: !settings.useMemories } }}>
        {settings.useMemories ? 'Use none' : 'Use them'}
      </Act>
    </p>
  )
}
