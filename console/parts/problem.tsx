/** What went wrong, in the server's words, with what one needs to ask about it. */
import type { ReactNode } from 'react'
import type { CombinedError } from 'urql'
import { plain } from './plain.ts'

type Told = { message: string; code?: string; requestId?: string }

/** What an error says. */
export function toldBy(error: Error | CombinedError): Told {
  const graphql = 'graphQLErrors' in error ? error.graphQLErrors[0] : undefined
  if (graphql) {
    const { code, requestId } = graphql.extensions
    return {
      message: plain(graphql.message),
      ...(typeof code === 'string' ? { code } : {}),
      ...(typeof requestId === 'string' ? { requestId } : {}),
    }
  }
  if ('networkError' in error && error.networkError)
    return { message: 'Berth does not answer. What you see may be old; try again in a moment.' }
  return { message: error.message }
}

/** Shows an error. */
export function Problem({ error, onRetry }: { error: Error; onRetry?: () => void }): ReactNode {
  const { message, code, requestId } = toldBy(error)
  return (
    <div role="alert" className="problem">
      <p>{message}</p>
      {code && (
        <small>
          <code>{code}</code> {requestId && <code>{requestId}</code>}
        </small>
      )}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}
