/** Whether a webhook endpoint is told of anything. */
import type { ReactNode } from 'react'
import type { WebhookRow } from '../generated/documents.ts'
import { wordOf } from '../parts/state.tsx'

/** As a dot and words. */
export function WebhookState({
  endpoint: { isEnabled, disabledReason, failuresInARow },
}: {
  endpoint: WebhookRow
}): ReactNode {
  if (!isEnabled)
    return <span className="state off">disabled{disabledReason ? `: ${wordOf(disabledReason)}` : ''}</span>
  return failuresInARow > 0 ? (
    <span className="state bad">{failuresInARow} failures in a row</span>
  ) : (
    <span className="state ok">enabled</span>
  )
}
