/** Idempotency keys: a command that is sent twice, because its answer was lost, is done once. */
import { randomBytes } from 'node:crypto'

/** A new one. */
export function newKey(): string {
  return randomBytes(16).toString('hex')
}
