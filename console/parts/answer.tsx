/** What an agent asks and waits for: the answers that it offers, or one that somebody writes. */
import { useState, type ReactNode } from 'react'
import { Act } from './act.tsx'
import { TextArea } from './field.tsx'
import type { Mutation } from './form.tsx'
import { plainOutput } from './plain.ts'

/**
 * The question, and how one answers it.
 * @param options the answers that it offers.
 * @param input what is sent for an answer.
 * @param label of the text that one writes.
 * @param children what else one says with it.
 */
export function Answer<Data, Input>({
  asked,
  options,
  mutation,
  input,
  label = 'Your answer',
  hint,
  children,
}: {
  asked: string
  options: readonly string[]
  mutation: Mutation<Data, Input>
  input: (said: string) => Input
  label?: string
  hint?: string | undefined
  children?: ReactNode
}): ReactNode {
  const [text, setText] = useState('')
  return (
    <div className="toolanswer">
      <p>{plainOutput(asked)}</p>
      {options.length > 0 && (
        <p className="buttons">
          {options.map((option) => (
            <Act key={option} mutation={mutation} variables={{ input: input(option) }}>
              {plainOutput(option)}
            </Act>
          ))}
        </p>
      )}
      <TextArea label={label} hint={hint} rows={3} value={text} onChange={({ target }) => setText(target.value)} />
      <span className="buttons">
        <Act mutation={mutation} variables={{ input: input(text) }} isPrimary>
          Answer
        </Act>
        {children}
      </span>
    </div>
  )
}
