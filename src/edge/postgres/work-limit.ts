/**
 * How long a client may work at a stretch. The server's own `statement_timeout` is no limit: every session may set it. So
 * the proxy looks at its clients every second, and ends what takes longer.
 */
import { limits } from '#src/platform/limits.ts'
import { PostgresRefusal } from './refusals.ts'

/** A client has worked for too long: what it is told, and whether it is ended. Otherwise its statement is to be cancelled. */
export type Late = { refusal: PostgresRefusal; ends: boolean }

/** Follows one client. */
export type WorkLimit = {
  /**
   * @param works whether it has not all its answers, or is in a transaction.
   * @param idleSinceMs when it was last idle (`performance.now()`).
   * @param isAsked whether the server works for it, or waits until it takes its answer: that can be cancelled.
   */
  look(works: boolean, idleSinceMs: number, isAsked: boolean): Late | null
}

/** Begins to follow a client, which is idle. @param workMs null for one that may work for as long as it likes */
export function limitWork(workMs: number | null): WorkLimit {
  let busySinceMs = performance.now()
  let cancelledMs: number | null = null
  return {
    look(works, idleSinceMs, isAsked) {
      const nowMs = performance.now()
      if (!works || idleSinceMs > busySinceMs) [busySinceMs, cancelledMs] = [works ? idleSinceMs : nowMs, null]
      if (workMs === null || nowMs - busySinceMs < workMs) return null
      const ends = !isAsked || cancelledMs !== null
      if (cancelledMs !== null && nowMs - cancelledMs < limits.postgresEndSeconds * 1000) return null // it may end its transaction itself
      cancelledMs ??= nowMs
      return { ends, refusal: tooLate(isAsked ? 'query_canceled' : 'idle_in_transaction_session_timeout', workMs) }
    },
  }
}

function tooLate(state: 'query_canceled' | 'idle_in_transaction_session_timeout', workMs: number): PostgresRefusal {
  return new PostgresRefusal(
    state,
    `a statement or transaction of a client without the database’s token takes at most ${Math.ceil(workMs / 1000)} s`,
    'Ask for less at once, or log in as the owner of the database.',
  )
}
