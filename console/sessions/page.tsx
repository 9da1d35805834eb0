/** One session: its transcript as it grows, and what a person can do in it: approve, answer, interrupt. */
import type { ReactNode } from 'react'
import {
  SendSessionEventsDocument,
  SessionDocument,
  SetSessionSharingDocument,
  type Session,
} from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Copy } from '../parts/copy.tsx'
import { Facts, ObjectPage, ReadObject, type Tab } from '../parts/object.tsx'
import { State } from '../parts/state.tsx'
import { Terminals } from '../terminals/tab.tsx'
import { Goals, Peers } from './exchanges.tsx'
import { Transcript } from './transcript.tsx'

type Known = NonNullable<Session['session']>

/** The page. */
export function SessionPage(): ReactNode {
  return (
    <ReadObject document={SessionDocument} read={({ session }) => session} what="session">
      {(session) => <Shown session={session} />}
    </ReadObject>
  )
}

function Shown({ session }: { session: Known }): ReactNode {
  const { id } = session
  return (
    <ObjectPage
      folder="sessions"
      kind="Sessions"
      name={session.title ?? session.definition.name}
      id={session.id}
      state={
        session.activity.isActionRequired ? (
          <span className="state wait">waits for you</span>
        ) : (
          <State status={session.sessionStatus} />
        )
      }
      actions={
        <span className="buttons">
          <Sharing session={session} />
          {session.sessionStatus === 'RUNNING' && (
            <Act
              mutation={SendSessionEventsDocument}
              variables={{ input: { sessionId: id, events: [{ userInterrupt: true }] } }}
            >
              Interrupt
            </Act>
          )}
        </span>
      }
      tabs={[
        [
          'transcript',
          'Transcript',
          () => <Transcript key={session.id} id={session.id} modelId={session.definition.model.id} />,
        ],
        ...terminalOf(session),
        ...othersOf(session),
        ['facts', 'Usage', () => <Usage session={session} />],
      ]}
    />
  )
}

/** Whether anybody who has its address may read it. */
function Sharing({ session: { id, isShared } }: { session: Known }): ReactNode {
  if (isShared)
    return (
      <Act mutation={SetSessionSharingDocument} variables={{ input: { id, shared: false } }}>
        Share no longer
      </Act>
    )
  return (
    <Act
      mutation={SetSessionSharingDocument}
      variables={{ input: { id, shared: true } }}
      ask={{
        question: 'Share this session?',
        text: 'Whoever has its address can read its messages and the names of its tools, without signing in.',
        submit: 'Share it',
      }}
    >
      Share
    </Act>
  )
}

/** Where its tools work, a person may take over. */
function terminalOf({ environment }: Known): Tab[] {
  const vmId = environment?.vmId
  return vmId ? [['terminal', 'Terminal', () => <Terminals key={vmId} vmId={vmId} />]] : []
}

/** What it was to reach, and which other sessions it spoke with: where there is any. */
function othersOf(session: Known): Tab[] {
  const { outcomeEvaluations: goals, askedPeerExchanges: asked, answeredPeerExchanges: answered } = session
  const exchanges = [...(asked?.nodes ?? []), ...(answered?.nodes ?? [])]
  return [
    ...(goals.length > 0 ? [['goals', 'Goals', () => <Goals goals={goals} />] as const] : []),
    ...(exchanges.length > 0
      ? [['peers', 'Other sessions', () => <Peers id={session.id} exchanges={exchanges} />] as const]
      : []),
  ]
}

function Usage({ session }: { session: Known }): ReactNode {
  const { usage } = session
  return (
    <Facts
      facts={[
        ['Tokens in', usage.inputTokens],
        ['Tokens out', usage.outputTokens],
        ['Cost', `${usage.listCost.amount} ${usage.listCost.currency}`],
        ['Begun', <Age key="begun" at={session.createdAt} />],
        [
          'Shared',
          session.isShared ? (
            <Copy key="shared" text={`${location.origin}/s/${session.id}`} label="address" />
          ) : (
            'with nobody'
          ),
        ],
      ]}
    />
  )
}
