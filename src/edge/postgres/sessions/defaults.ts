/**
 * Whether a client has changed the settings with which new sessions begin. Its statements say that they may; the server's
 * answers, whether they did: what failed or was rolled back has changed nothing.
 */

/** What is known of that. */
export type Defaults = {
  /** A statement was sent that may change them. Until then, answers are not looked at. */
  suspected: boolean
  /** One has succeeded, in a transaction that has not ended. */
  pending: boolean
  /** One has, and its transaction too; whoever acts on it sets this back. */
  changed: boolean
  /** How the cycle went that is not answered to its end. */
  failed: boolean
  rolledBack: boolean
}

/** Nothing is known yet. */
export function newDefaults(): Defaults {
  return { suspected: false, pending: false, changed: false, failed: false, rolledBack: false }
}

/** CommandComplete says no more than the kind of statement and a number of rows. Unit: bytes. */
export const tagBytesMax = 64

const changing: ReadonlySet<string> = new Set(['ALTER ROLE', 'ALTER DATABASE', 'ALTER SYSTEM'])

/** A statement has succeeded. @param tag what its CommandComplete says */
export function noteTag(defaults: Defaults, tag: string): void {
  defaults.rolledBack = tag === 'ROLLBACK'
  if (changing.has(tag)) defaults.pending = true
  if (tag === 'COMMIT') settle(defaults, true)
}

/** The server has answered everything up to here. @param isOver whether no transaction is open */
export function noteCycle(defaults: Defaults, isOver: boolean): void {
  if (isOver) settle(defaults, !defaults.failed && !defaults.rolledBack)
  defaults.failed = defaults.rolledBack = false
}

function settle(defaults: Defaults, lasts: boolean): void {
  defaults.changed ||= defaults.pending && lasts
  defaults.pending = false
}
