/** What is said in a group, who is at work on an answer, what they wait for, and what one says. */
import type { ReactNode } from 'react'
import { useMutation } from 'urql'
import {
  AnswerGroupApprovalDocument,
  AnswerGroupQuestionDocument,
  SendGroupMessageDocument,
  StopGroupRunDocument,
  type Group,
  type GroupMessageRow,
  type GroupRunRow,
} from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Answer } from '../parts/answer.tsx'
import { Composer } from '../parts/composer.tsx'
import { Decision } from '../parts/decision.tsx'
import { plainOutput } from '../parts/plain.ts'
import { State, wordOf } from '../parts/state.tsx'

type Known = NonNullable<Group['group']>

const working = /^(?:QUEUED|RUNNING|REQUIRES_ACTION)$/

/** The tab. */
export function Conversation({ group }: { group: Known }): ReactNode {
  const { messages, members, runs } = group
  const said = messages?.nodes ?? []
  const open = (runs?.nodes ?? []).filter(({ runStatus }) => working.test(runStatus))
  const handleOf = (sessionId: string): string =>
    members.find((one) => one.sessionId === sessionId)?.handle ?? sessionId
  return (
    <>
      {messages && messages.totalCount > said.length && (
        <p className="soft">
          The newest {said.length} of {messages.totalCount} messages.
        </p>
      )}
      <div className="transcript" role="log" aria-label="Conversation">
        {said.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </div>
      {open.map((run) => (
        <Run key={run.id} run={run} handle={handleOf(run.sessionId)} />
      ))}
      <Say id={group.id} handles={members.map(({ handle }) => handle)} />
    </>
  )
}

function Message({ message: { id, author, createdAt, text, undeliveredReason } }: { message: GroupMessageRow }) {
  return (
    <article id={id} className={author.type === 'USER' ? 'user' : 'agent'}>
      <header>
        <a href={`#${id}`}>{author.type === 'USER' ? 'you' : `@${plainOutput(author.handle)}`}</a>{' '}
        <small>
          <Age at={createdAt} />
        </small>
      </header>
      <pre tabIndex={0}>{plainOutput(text)}</pre>
      {undeliveredReason && (
        <p className="note">Somebody whom it mentions does not answer: {wordOf(undeliveredReason)}.</p>
      )}
    </article>
  )
}

function Run({ run, handle }: { run: GroupRunRow; handle: string }): ReactNode {
  const { id, groupId, runStatus, pendingApprovals, pendingQuestions } = run
  return (
    <section className="pending" aria-label={`Run of ${handle}`}>
      <p className="buttons">
        <code>@{plainOutput(handle)}</code> <State status={runStatus} />
        <Act mutation={StopGroupRunDocument} variables={{ input: { id, groupId } }}>
          Stop
        </Act>
      </p>
      {pendingApprovals.map((approval) => (
        <Approval key={approval.approvalId} runId={id} approval={approval} />
      ))}
      {pendingQuestions.map(({ toolCallId, question, options }) => (
        <Answer
          key={toolCallId}
          asked={`It asks: ${question}`}
          options={options ?? []}
          mutation={AnswerGroupQuestionDocument}
          input={(answer) => ({ runId: id, toolCallId, answer })}
        />
      ))}
    </section>
  )
}

function Approval({
  runId,
  approval: { approvalId, toolName, input },
}: {
  runId: string
  approval: GroupRunRow['pendingApprovals'][number]
}): ReactNode {
  return (
    <div>
      <p>It asks you before it calls {plainOutput(toolName)}:</p>
      <pre tabIndex={0}>{plainOutput(JSON.stringify(input, null, 2))}</pre>
      <Decision
        mutation={AnswerGroupApprovalDocument}
        input={(approved, reason) => ({ runId, approvalId, approved, ...(reason ? { reason } : {}) })}
      />
    </div>
  )
}

function Say({ id, handles }: { id: string; handles: readonly string[] }): ReactNode {
  const [, send] = useMutation(SendGroupMessageDocument)
  return (
    <Composer
      placeholder={`To all, or to ${handles.map((handle) => `@${plainOutput(handle)}`).join(', ')}`}
      send={async (text) => (await send({ input: { groupId: id, text } })).error}
    />
  )
}
