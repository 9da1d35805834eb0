/** What a person may say in a session: allow or deny a tool, answer one, write a message, set a goal. */
import { useState, type ReactNode } from 'react'
import { useMutation } from 'urql'
import { SendSessionEventsDocument, type SessionEventInput } from '../generated/documents.ts'
import { Open } from '../parts/act.tsx'
import { Answer } from '../parts/answer.tsx'
import { Composer } from '../parts/composer.tsx'
import { Decision } from '../parts/decision.tsx'
import { Check, Field, TextArea } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'

/** A tool that a person must allow or deny. */
export function ToolDecision({ session, toolUseId }: { session: string; toolUseId: string }): ReactNode {
  return (
    <Decision
      mutation={SendSessionEventsDocument}
      input={(isAllowed, denyMessage) => ({
        sessionId: session,
        events: [
          {
            userToolConfirmation: {
              toolUseId,
              result: isAllowed ? ('ALLOW' as const) : ('DENY' as const),
              ...(denyMessage ? { denyMessage } : {}),
            },
          },
        ],
      })}
    >
      <p>The agent asks you before it does this.</p>
    </Decision>
  )
}

/** A tool that nobody but the reader's side runs: its result is what they write. `isOwn`: it is one of the agent's own tools. */
export function ToolAnswer({
  session,
  toolUseId,
  input,
  isOwn,
}: {
  session: string
  toolUseId: string
  input: unknown
  isOwn: boolean
}): ReactNode {
  const [isError, setIsError] = useState(false)
  const { question, options } = questionIn(input)
  function resultOf(said: string): SessionEventInput {
    const result = { content: [{ text: { text: said } }], isError }
    return isOwn
      ? { userCustomToolResult: { customToolUseId: toolUseId, ...result } }
      : { userToolResult: { toolUseId, ...result } }
  }
  return (
    <Answer
      asked={question ?? 'The agent waits for the result of this tool, which runs at your side.'}
      options={options}
      mutation={SendSessionEventsDocument}
      input={(said) => ({ sessionId: session, events: [resultOf(said)] })}
      label={question ? 'Your answer' : 'Result'}
      hint={question ? undefined : 'Text, or JSON as the tool would write it.'}
    >
      {!question && <Check label="It failed" checked={isError} onChange={({ target }) => setIsError(target.checked)} />}
    </Answer>
  )
}

/** A question that a tool's input asks, as ask_user's does, with the answers that it offers. */
function questionIn(input: unknown): { question?: string; options: string[] } {
  if (typeof input !== 'object' || input === null) return { options: [] }
  const question = 'question' in input ? input.question : undefined
  const options = 'options' in input ? input.options : undefined
  return {
    ...(typeof question === 'string' ? { question } : {}),
    options: Array.isArray(options) ? options.filter((one) => typeof one === 'string') : [],
  }
}

function NewGoal({ id, onClose }: { id: string; onClose: () => void }): ReactNode {
  return (
    <FormDialog
      title="Set a goal"
      mutation={SendSessionEventsDocument}
      input={({ text, number }) => ({
        sessionId: id,
        events: [
          {
            userDefineOutcome: {
              description: text('goal') ?? '',
              rubric: { text: { content: text('rubric') ?? '' } },
              maxIterations: number('tries'),
            },
          },
        ],
      })}
      submit="Set"
      onDone={onClose}
      onClose={onClose}
    >
      <TextArea name="goal" label="Goal" required autoFocus />
      <TextArea name="rubric" label="When it is reached" hint="The model is asked whenever it would stop." required />
      <Field name="tries" label="Tries at most" type="number" min={1} placeholder="3" />
    </FormDialog>
  )
}

/** What a person writes to the agent: a message, or a goal. */
export function Say({ id }: { id: string }): ReactNode {
  const [, send] = useMutation(SendSessionEventsDocument)
  const [isAiming, setIsAiming] = useState(false)
  return (
    <>
      <Composer
        placeholder="Write to the agent"
        send={async (text) => {
          const events = [{ userMessage: { content: [{ text: { text } }] } }]
          return (await send({ input: { sessionId: id, events } })).error
        }}
      >
        <Open isPrimary={false} onClick={() => setIsAiming(true)}>
          Set a goal
        </Open>
      </Composer>
      {isAiming && <NewGoal id={id} onClose={() => setIsAiming(false)} />}
    </>
  )
}
