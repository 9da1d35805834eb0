/** One memory. */
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { DeleteMemoryDocument, MemoryDocument, type MemoryRow } from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { wordOf } from '../parts/state.tsx'
import { ChangeMemory } from './form.tsx'

const titleCharacters = 60

type Known = NonNullable<import('../generated/documents.ts').Memory['memory']>

/** The page. */
export function MemoryPage(): ReactNode {
  return (
    <ReadObject document={MemoryDocument} read={({ memory }) => memory} what="memory">
      {(memory) => <Shown memory={memory} />}
    </ReadObject>
  )
}

function Shown({ memory }: { memory: Known }): ReactNode {
  const { id } = memory
  return (
    <ObjectPage
      folder="memories"
      kind="Memories"
      name={titleOf(memory)}
      id={id}
      actions={<Actions memory={memory} />}
      tabs={[['text', 'Text', () => <Text memory={memory} />]]}
    />
  )
}

function titleOf({ body }: MemoryRow): string {
  const line = body.split('\n')[0] ?? ''
  return line.length > titleCharacters ? `${line.slice(0, titleCharacters)}…` : line
}

function Actions({ memory }: { memory: MemoryRow }): ReactNode {
  const navigate = useNavigate()
  const [isChanging, setIsChanging] = useState(false)
  const { id, revision } = memory
  return (
    <span className="buttons">
      <Open isPrimary={false} onClick={() => setIsChanging(true)}>
        Change
      </Open>
      <Act
        mutation={DeleteMemoryDocument}
        variables={{ input: { id, revision } }}
        ask={{ question: `Forget “${plain(titleOf(memory))}”?`, text: 'No agent finds it any more.' }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      {isChanging && <ChangeMemory memory={memory} onClose={() => setIsChanging(false)} />}
    </span>
  )
}

function Text({ memory }: { memory: MemoryRow }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const { body, category, organizationId, actor, sourceSessionId, revision, updatedAt } = memory
  return (
    <>
      <pre tabIndex={0}>{plain(body)}</pre>
      <Facts
        facts={[
          ['Kind', category ? wordOf(category) : 'none'],
          ['Whose', organizationId ? 'shared by all of the organization' : 'your own'],
          ['Written by', wordOf(actor.type)],
          [
            'In',
            sourceSessionId && (
              <Link key="session" to={`/o/${org}/sessions/${sourceSessionId}`}>
                {sourceSessionId}
              </Link>
            ),
          ],
          ['Revision', revision],
          ['Changed', <Age key="changed" at={updatedAt} />],
        ]}
      />
    </>
  )
}
