/** Every form: it sends one mutation, says what the server says, and shows itself as GraphQL and as a command. */
import { useCallback, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import type { ReactNode, RefObject, SyntheticEvent } from 'react'
import { print, type DocumentNode } from 'graphql'
import { useClient, type Client, type TypedDocumentNode } from 'urql'
import { Button } from './button.tsx'
import { Copy } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { putBack, valuesOf } from '../app/drafts.ts'
import { useDraft } from './draft.ts'
import { givenIn, type Given } from './given.ts'
import { Problem } from './problem.tsx'

/** A mutation with one input. */
export type Mutation<Data, Input> = TypedDocumentNode<Data, { input: Input }>

/** What a form in a dialog needs to know. */
export type FormOf<Data, Input> = {
  /** It also names the draft of what is written here. */
  title: string
  mutation: Mutation<Data, Input>
  input: (given: Given) => Input
  /** Does first what the input needs, such as an upload, and completes it. @throws an error whose message is shown. */
  prepare?: (input: Input, given: Given, client: Client) => Promise<Input>
  /** What its button says. */
  submit: ReactNode
  /** Whether it ends what cannot be brought back. */
  isDestructive?: boolean
  children: ReactNode
  onDone: (data: Data) => void
  onClose: () => void
}

/** A form in a dialog. What is written in it is kept until it is sent or given up. */
export function FormDialog<Data, Input>(form: FormOf<Data, Input>): ReactNode {
  const { title, mutation, input, prepare, submit, children, onDone } = form
  const element = useRef<HTMLFormElement>(null)
  const client = useClient()
  const [error, setError] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const { edits, edit, forget, putIn, isRestored } = useKept(title, element)
  const given = (isShown = false): Given => givenIn(element.current!, isShown) // it is there when one of its buttons is used
  function giveUp(): void {
    forget()
    form.onClose()
  }
  async function send(event: SyntheticEvent): Promise<void> {
    event.preventDefault()
    event.stopPropagation() // of a form in whose place this dialog is
    if (isBusy) return
    setIsBusy(true)
    try {
      const read = input(given())
      const whole = prepare ? await prepare(read, given(), client) : read
      const { data, error: refused } = await client.mutation(mutation, { input: whole }).toPromise()
      if (refused) throw refused
      forget()
      if (data) onDone(data)
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)))
    }
    setIsBusy(false)
  }
  return (
    <Dialog title={title} onClose={form.onClose}>
      <form ref={putIn} onSubmit={(event) => void send(event)} onInput={edit} onChange={edit}>
        {isRestored && (
          <p role="status" className="note">
            What you had begun to write is here again. Cancel forgets it.
          </p>
        )}
        {children}
        {error && <Problem error={error} />}
        <AsCode mutation={mutation} read={() => input(given(true))} edits={edits} />
        <div className="buttons">
          <button type="button" onClick={giveUp}>
            Cancel
          </button>
          <Button type="submit" isPrimary isDestructive={form.isDestructive ?? false} isBusy={isBusy}>
            {submit}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Keeps what is written in a form, and puts back what was: choices once their options have come. */
function useKept(
  title: string,
  element: RefObject<HTMLFormElement | null>,
): {
  edits: number
  edit: () => void
  forget: () => void
  putIn: (form: HTMLFormElement | null) => void
  isRestored: boolean
} {
  const draft = useDraft(title)
  const [edits, setEdits] = useState(0)
  const [found] = useState(draft.read)
  const waiting = useRef(found)
  const putIn = useCallback(
    (form: HTMLFormElement | null) => {
      element.current = form
      if (!waiting.current || !form) return
      const left = putBack(form, waiting.current)
      waiting.current = Object.keys(left).length > 0 ? left : undefined
    },
    [element],
  )
  useLayoutEffect(() => putIn(element.current))
  useEffect(() => {
    // After what depends on another field has followed it.
    if (edits > 0 && element.current) draft.keep({ ...waiting.current, ...valuesOf(element.current) })
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each edit
  }, [edits])
  return {
    edits,
    edit: () => setEdits((count) => count + 1),
    isRestored: found !== undefined,
    forget: draft.forget,
    putIn,
  }
}

/** The same as GraphQL, and as a command. */
function AsCode<Data, Input>({
  mutation,
  read,
  edits,
}: {
  mutation: Mutation<Data, Input>
  read: () => Input
  /** How often the form was changed: what is shown follows it. */
  edits: number
}): ReactNode {
  const [isOpen, setIsOpen] = useState(false)
  const [input, setInput] = useState<Input>()
  useEffect(() => {
    if (isOpen) setInput(read())
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- `read` is new each time, and reads the same form
  }, [isOpen, edits])
  const id = useId()
  const query = print(mutation as DocumentNode)
  const command = `curl -s ${location.origin}/graphql -H "authorization: Bearer $BERTH_TOKEN" \\
  -H 'content-type: application/json' -d @- <<'END'
${JSON.stringify({ query: query.replaceAll(/\s+/g, ' '), variables: { input } })}
END`
  return (
    <details className="code" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>As code</summary>
      <p id={`${id}-graphql`}>GraphQL, and its variables:</p>
      <pre tabIndex={0} aria-labelledby={`${id}-graphql`}>{`${query}\n\n${JSON.stringify({ input }, null, 2)}`}</pre>
      <p>As a command:</p>
      <Copy text={command} label="command" />
    </details>
  )
}

/** What a question needs to know before something is done that cannot be undone. */
export type ConfirmOf<Data = unknown, Input = unknown> = Pick<
  FormOf<Data, Input>,
  'title' | 'mutation' | 'submit' | 'onDone' | 'onClose'
> & { text: ReactNode; input: Input }

/** The question. */
export function Confirm<Data, Input>({ text, input, ...form }: ConfirmOf<Data, Input>): ReactNode {
  return (
    <FormDialog {...form} input={() => input} isDestructive>
      <p>{text}</p>
    </FormDialog>
  )
}
