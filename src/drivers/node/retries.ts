/** How a request to a node waits for its worker, which may be restarting; and what its caller sees of a failure. */
import { setTimeout as pause } from 'node:timers/promises'
import { errors } from 'undici'
import { BerthError, errorStatuses, type ErrorCode } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'

/** The pause between two tries of a request whose node is unreachable. */
const againMs = 100
/** How often a request may be cut off and retried: one that crashes every worker that it reaches must end. */
const cutsMax = 20

/** The retries of one request. */
export type Waiting = {
  /** The node answers. */
  reached(): void
  /**
   * Waits a little before the next try.
   * @throws the error for the caller: the node stays unreachable, or waiting cannot help.
   */
  after(error: unknown): Promise<void>
}

/** Begins the tries of one request. @param waitSeconds for a node that is away; with 0 it is tried once more. */
export function createWaiting(signal?: AbortSignal, waitSeconds: number = limits.nodeWaitSeconds): Waiting {
  let awaySinceMs: number | undefined
  let cuts = 0
  return {
    reached() {
      awaySinceMs = undefined
      cuts = 0
    },
    async after(error) {
      const shown = asBerthError(error)
      if (!isAway(error) || (!isRefused(error) && ++cuts > cutsMax)) throw shown
      // A request that was running until now had reached its node.
      if (awaySinceMs === undefined || !(isRefused(error) || error instanceof Away)) awaySinceMs = performance.now()
      if (performance.now() - awaySinceMs > waitSeconds * 1000) throw shown
      await pause(againMs, undefined, signal ? { signal } : {}).catch(() => undefined) // the signal has the reason
    },
  }
}

/** The node's refusal as it threw it, from the body of its answer. */
export function refusalOf(text: string): BerthError {
  const body = JSON.parse(text) as { code?: string; message?: string; retryAfterSeconds?: number } // the worker's error body
  const code = body.code && body.code in errorStatuses ? (body.code as ErrorCode) : 'internal_error'
  const { retryAfterSeconds } = body
  return new BerthError(
    code,
    body.message ?? 'The node refused without a reason.',
    retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
  )
}

/** The node is shutting down, or temporarily cannot reach the machine. */
export class Away extends Error {}

/** The connection was refused: nothing was sent. */
function isRefused(error: unknown): boolean {
  return ['ECONNREFUSED', 'ENOENT', 'UND_ERR_CONNECT_TIMEOUT'].includes(codeOf(error))
}

/** Whether the node's worker is not running, or ended before it had answered. */
function isAway(error: unknown): boolean {
  return (
    isRefused(error) ||
    ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED'].includes(codeOf(error)) ||
    error instanceof errors.HTTPParserError ||
    error instanceof Away
  ) // a chunked answer that breaks off is invalid HTTP
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** The error for a node that stays unreachable. */
function away(): BerthError {
  return new BerthError('vm_unreachable', 'The VM’s node does not answer right now. Try again in a few seconds.', {
    retryAfterSeconds: 3,
  })
}

function asBerthError(error: unknown): unknown {
  if (error instanceof BerthError) return error
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new BerthError('timeout', 'The VM said nothing for longer than the command may take.')
  return isAway(error) || code.startsWith('UND_ERR') ? away() : error
}
