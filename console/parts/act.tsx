/** A button that sends a mutation; what is refused is said beside it. */
import { lazy, Suspense, useState, type ReactNode } from 'react'
import { useMutation } from 'urql'
import type { Role } from '../generated/documents.ts'
import { useMay } from '../app/desk.tsx'
import { Button } from './button.tsx'
import type { ConfirmOf, Mutation } from './form.tsx'
import { toldBy } from './problem.tsx'

const Confirm = lazy(async () => ({ default: (await import('./form.tsx')).Confirm as (of: ConfirmOf) => ReactNode }))

/**
 * @param ask a question with the object's name, asked before what cannot be undone. `submit`: what its button says, where that
 * is not what this button says.
 * @param least the role that it takes: whoever has less is told so.
 * @param why it cannot be used now, whoever asks.
 */
export function Act<Data, Input>({
  mutation,
  variables,
  least = 'MEMBER',
  isPrimary = false,
  why,
  ask,
  onDone,
  children,
}: {
  mutation: Mutation<Data, Input>
  variables: { input: Input }
  least?: Role
  isPrimary?: boolean
  why?: string | undefined
  ask?: { question: string; text: ReactNode; submit?: string }
  onDone?: (data: Data) => void
  children: ReactNode
}): ReactNode {
  const [{ fetching }, run] = useMutation(mutation)
  const [refusal, setRefusal] = useState<string>()
  const [isAsking, setIsAsking] = useState(false)
  const { why: whyNot } = useMay(least)
  async function act(): Promise<void> {
    const { data, error } = await run(variables)
    setRefusal(error && toldBy(error).message)
    if (data && !error) onDone?.(data)
  }
  return (
    <span className="act">
      <Button
        why={whyNot ?? why}
        isBusy={fetching}
        isPrimary={isPrimary}
        onClick={() => (ask ? setIsAsking(true) : void act())}
      >
        {children}
      </Button>
      {refusal && (
        <span role="alert" className="bad">
          {refusal}
        </span>
      )}
      {ask && isAsking && (
        <Suspense>
          <Confirm
            title={ask.question}
            text={ask.text}
            mutation={mutation as Mutation<unknown, unknown>}
            input={variables.input}
            submit={ask.submit ?? children}
            onDone={(data) => {
              setIsAsking(false)
              onDone?.(data as Data) // what this mutation answers
            }}
            onClose={() => setIsAsking(false)}
          />
        </Suspense>
      )}
    </span>
  )
}

/** A button that opens something, for those who may. */
export function Open({
  least = 'MEMBER',
  isPrimary = true,
  onClick,
  children,
}: {
  least?: Role
  isPrimary?: boolean
  onClick: () => void
  children: ReactNode
}): ReactNode {
  const { why } = useMay(least)
  return (
    <Button why={why} isPrimary={isPrimary} onClick={onClick}>
      {children}
    </Button>
  )
}
