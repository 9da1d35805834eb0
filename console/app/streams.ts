/**
 * Follows one object's stream from its beginning: resumed from the last cursor after each loss, a frame of the screen at a
 * time. It goes past the cache, which would keep each line of a log for good.
 */
import { useEffect, useState } from 'react'
import type { GraphQLError } from 'graphql'
import { CombinedError, stringifyDocument, type TypedDocumentNode } from 'urql'
import { isSignedOut } from './client.ts'
import { useDesk } from './desk.tsx'
import type { Keeping } from './keeping.ts'
import { usePerson } from './person.tsx'

const againMsFirst = 500
const againMsMax = 15_000
/** Values that one frame of the screen takes, so that none lasts; and how many may wait where nobody draws any. */
const frameMax = 400
const waitingMax = 20_000

type Answer<Data> = { data?: Data; errors?: GraphQLError[] }
type State<Kept> = { kept: Kept; isDone: boolean; error: CombinedError | undefined }

/**
 * What is kept of a stream so far, drawn again for each frame in which something came; `error` when it is refused, and not
 * merely cut.
 * @param keeping the same for as long as the page is open.
 */
export function useStream<Data, Value, Kept>(
  document: TypedDocumentNode<Data, { id: string; after?: string | null }>,
  id: string,
  keeping: Keeping<Data, Value, Kept>,
): State<Kept> {
  const { socket } = useDesk().berth
  const { onSignedOut } = usePerson()
  const query = stringifyDocument(document)
  const [state, setState] = useState<State<Kept>>(() => begun(keeping))
  useEffect(() => {
    const started = begun(keeping)
    const { kept } = started
    let after: string | undefined
    let againMs = againMsFirst
    const waiting: Value[] = []
    let frame = 0
    let timer = 0
    let isOver = false
    let leave: (() => void) | undefined
    const show = (): void => {
      const isHidden = waiting.length >= waitingMax
      const more = waiting.splice(0, isHidden ? waitingMax : frameMax)
      frame = waiting.length > 0 ? requestAnimationFrame(show) : 0
      keeping.add(kept, more)
      const isDone = more.some((value) => keeping.isLast?.(value))
      if (isDone) end()
      setState((before) => ({ ...before, kept, isDone: before.isDone || isDone }))
    }
    const end = (): void => {
      isOver = true
      leave?.()
      clearTimeout(timer)
    }
    const fail = (error: CombinedError): void => {
      if (isOver) return
      leave?.()
      clearTimeout(timer)
      if (isSignedOut(error)) onSignedOut()
      if (isRefusal(error)) return setState((before) => ({ ...before, error }))
      timer = window.setTimeout(begin, againMs)
      againMs = Math.min(againMs * 2, againMsMax)
    }
    const begin = (): void => {
      let isLeft = false // what is said after that counts for nothing
      keeping.cut?.(kept)
      const variables = { id, ...(after === undefined ? {} : { after }) }
      const unsubscribe = socket.subscribe(
        { query, variables },
        {
          next({ data, errors }: Answer<Data>) {
            if (isLeft) return
            if (errors) return fail(new CombinedError({ graphQLErrors: errors }))
            const found = data && keeping.read(data)
            if (!found) return
            after = found.cursor ?? after
            againMs = againMsFirst
            waiting.push(found.value)
            frame ||= requestAnimationFrame(show)
            if (waiting.length < waitingMax) return
            cancelAnimationFrame(frame) // nobody draws a tab that is hidden
            show()
          },
          error: (error: unknown) => !isLeft && fail(errorOf(error)),
          complete() {
            if (isLeft) return
            isOver = true
            setState((before) => ({ ...before, isDone: true }))
          },
        },
      )
      leave = () => {
        isLeft = true
        unsubscribe()
      }
    }
    setState(started)
    begin()
    return () => {
      end()
      cancelAnimationFrame(frame)
    }
  }, [socket, onSignedOut, query, id, keeping])
  return state
}

function begun<Kept>(keeping: { begin(): Kept }): State<Kept> {
  return { kept: keeping.begin(), isDone: false, error: undefined }
}

/** What is refused stays refused; what Berth has no room or time for now is asked again, as after a cut. */
const passing = [
  'RATE_LIMITED',
  'SERVICE_UNAVAILABLE',
  'VM_UNREACHABLE',
  'TIMEOUT',
  'INTERNAL_ERROR',
  'UNAUTHENTICATED',
]

/** What a socket says of a stream that ended: GraphQL’s errors, or that it was cut. */
function errorOf(error: unknown): CombinedError {
  if (Array.isArray(error)) return new CombinedError({ graphQLErrors: error as GraphQLError[] })
  return new CombinedError({ networkError: error instanceof Error ? error : new Error('The connection ended.') })
}

function isRefusal({ graphQLErrors }: CombinedError): boolean {
  const code = graphQLErrors[0]?.extensions['code']
  return typeof code === 'string' && !passing.includes(code)
}
