/** A state as a dot and a word, so that nobody needs the colour. */
import type { ReactNode } from 'react'

type Tone = 'ok' | 'busy' | 'bad' | 'off' | 'wait'

const tones: Readonly<Record<string, Tone>> = {
  RUNNING: 'ok',
  ACTIVE: 'ok',
  SUCCEEDED: 'ok',
  COMPLETED: 'ok',
  VERIFIED: 'ok',
  READY: 'ok',
  IDLE: 'off',
  PAUSED: 'off',
  STOPPED: 'off',
  DELETED: 'off',
  CANCELLED: 'off',
  TERMINATED: 'off',
  EXITED: 'off',
  CLOSED: 'off',
  ARCHIVED: 'off',
  CUT_BY_CLIENT: 'off',
  ERROR: 'bad',
  FAILED: 'bad',
  KILLED: 'bad',
  CUT_BY_UPSTREAM: 'bad',
  LOST: 'bad',
}

/** @param status a value of one of the graph's enums. */
export function State({ status, isAsleep = false }: { status: string; isAsleep?: boolean }): ReactNode {
  const tone = isAsleep ? 'off' : (tones[status] ?? 'busy')
  return <span className={`state ${tone}`}>{isAsleep ? 'asleep' : wordOf(status)}</span>
}

/** A value of an enum as a word. */
export function wordOf(value: string): string {
  return value.toLowerCase().replaceAll('_', ' ')
}
