/** A session that is shared, for whoever has its address: nobody signs in, and nothing can be done here. */
import { useParams } from '@tanstack/react-router'
import { useEffect, useMemo, useState, type ReactNode } from 'react'
import type { CombinedError } from 'urql'
import { openBerth } from '../app/client.ts'
import { SharedSessionDocument, type SharedSession } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { plain } from '../parts/plain.ts'
import { Problem, toldBy } from '../parts/problem.tsx'
import { wordOf } from '../parts/state.tsx'
import { LongText } from '../parts/text.tsx'
import { classOf, textOf } from './transcript.tsx'

type Known = NonNullable<SharedSession['sharedSession']>
type Entry = Known['transcript']['nodes'][number]

/** The page. */
export function SharedSessionPage(): ReactNode {
  const { id } = useParams({ strict: false }) as { id: string } // its route has it
  const { client } = useMemo(() => openBerth(null, () => undefined), [])
  const [known, setKnown] = useState<Known>()
  const [entries, setEntries] = useState<readonly Entry[]>([])
  const [error, setError] = useState<CombinedError>()
  async function read(after: string | null): Promise<void> {
    const answer = await client
      .query(SharedSessionDocument, { id, after }, { requestPolicy: 'network-only' })
      .toPromise()
    setError(answer.error)
    const session = answer.data?.sharedSession
    if (!session) return
    setKnown(session)
    setEntries((before) => (after === null ? session.transcript.nodes : [...before, ...session.transcript.nodes]))
  }
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each session
  useEffect(() => void read(null), [id])
  if (error && !known)
    return (
      <main className="alone">
        <h1>{toldBy(error).code === 'NOT_FOUND' ? 'This session is not shared' : 'A shared session'}</h1>
        <Problem error={error} onRetry={() => void read(null)} />
      </main>
    )
  if (!known) return null
  const { hasNextPage, endCursor } = known.transcript.pageInfo
  return (
    <main className="shared">
      <h1>{plain(known.title ?? known.agent.name)}</h1>
      <p className="soft">
        A session of {plain(known.agent.name)}, shared <Age at={known.sharedAt} />. Who has this address can read it.
      </p>
      <div className="transcript">
        {entries.map((entry, at) => (
          <Shown key={entry.id ?? `tool ${at}`} entry={entry} />
        ))}
      </div>
      {error && <Problem error={error} />}
      {hasNextPage && (
        <button type="button" onClick={() => void read(endCursor ?? null)}>
          Show more
        </button>
      )}
    </main>
  )
}

function Shown({ entry: { id, type, toolName, processedAt, content } }: { entry: Entry }): ReactNode {
  const title = type === 'USER_MESSAGE' ? 'asked' : type === 'AGENT_MESSAGE' ? 'answered' : wordOf(type)
  return (
    <article id={id ?? undefined} className={classOf(type)}>
      <header>
        <span className="soft">{toolName ? `uses ${plain(toolName)}` : title}</span>{' '}
        {processedAt && (
          <small>
            <Age at={processedAt} />
          </small>
        )}
      </header>
      {content && <LongText text={textOf(content)} />}
    </article>
  )
}
