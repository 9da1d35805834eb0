/**
 * Reads statements as far as it takes to know what they may leave behind in the session. What can be found by asking
 * the server afterwards (settings, temporary tables, locks …) is not looked for here; see `session-state.ts`. Here is what
 * nobody could find: settings with a name of the user's own, functions that are not Postgres' own, `DO`, `LOAD`.
 *
 * When in doubt it answers more than is needed: that costs a client the sharing, and never its state.
 */
import { nextToken, tokens, type Cursor } from './sql-tokens.ts'
import { harmlessBeginnings, harmlessWords, keepingWords } from './statement-words.ts'

/**
 * What a text may leave behind in the session: nothing that could not be found; something that must stay its client's own
 * and can be cleared afterwards; something that cannot even be cleared.
 */
export const leaves = { nothing: 0, kept: 1, stuck: 2 } as const

/** What was read in a text. */
export type Reading = {
  /** One of `leaves`. */
  leaves: number
  /** Whether it may change the settings with which new sessions begin. */
  changesDefaults: boolean
}

/** A name behind one of these is declared or filled, and not called: `INSERT INTO t (a)`, `AS t(a)`, `DROP FUNCTION f(int)`. */
const beforeNames: ReadonlySet<string> = new Set(
  'aggregate as copy exists function into procedure recursive references routine table with'.split(' '),
)
/** Once it is made, a session may call it by an operator, a cast or a trigger of its own; so that one is not shared. */
const calledUnseen: ReadonlySet<string> = new Set(['cast', 'function', 'operator', 'procedure'])
const whoseDefaults: ReadonlySet<string> = new Set(['role', 'user', 'group', 'database', 'system'])

/** Goes from statement to statement. */
type Progress = {
  leaves: number
  changesDefaults: boolean
  /** Words that begin the statement. */
  first: string
  second: string
  /** The word before the current name. */
  before: string
  /** The name that a parenthesis would call; empty where there is none. */
  callee: string
  /** Behind a dot, and what stood before it. */
  qualifiedBy: string | null
  /** Behind the `=` or `TO` of a SET. */
  assigned: boolean
}

const fresh = (): Progress => ({
  leaves: leaves.nothing,
  changesDefaults: false,
  first: '',
  second: '',
  before: '',
  callee: '',
  qualifiedBy: null,
  assigned: false,
})

/**
 * Reads the statements between two positions. They must be in an encoding whose letters beyond ASCII have no bytes of
 * ASCII, and written with `standard_conforming_strings` on.
 */
export function readStatements(text: Buffer, from: number, to: number): Reading {
  const cursor: Cursor = { text, at: from, to, start: from }
  const progress = fresh()
  for (;;) {
    const token = nextToken(cursor)
    if (token === tokens.word) readWord(progress, text.toString('latin1', cursor.start, cursor.at).toLowerCase())
    else if (token === tokens.quotedName) readName(progress, text.toString('latin1', cursor.start + 1, cursor.at - 1))
    else if (token === tokens.opening) readCall(progress)
    else if (token === tokens.dot) readDot(progress)
    else {
      if (token === tokens.end || token === tokens.semicolon) endStatement(progress)
      else {
        progress.assigned ||= token === tokens.other
        progress.before = progress.callee = ''
        progress.qualifiedBy = null
      }
      if (token === tokens.end) return progress
    }
  }
}

function readWord(progress: Progress, word: string): void {
  if (progress.first === '') {
    progress.first = word
    if (!harmlessBeginnings.has(word)) progress.leaves = leaves.stuck
  } else if (progress.second === '') progress.second = word
  // Names with an escape character of their own, the state of random(), and what may be called without its name being seen.
  const { first } = progress
  if (word === 'uescape' || (word === 'seed' && first === 'set') || (first === 'create' && calledUnseen.has(word)))
    progress.leaves = leaves.stuck
  if (word === 'to') progress.assigned = true
  readName(progress, word)
}

function readName(progress: Progress, name: string): void {
  const { qualifiedBy } = progress
  if (qualifiedBy !== null)
    progress.callee = qualifiedBy === 'pg_catalog' ? name : qualifiedBy === 'auth' ? `auth.${name}` : '.'
  else {
    progress.before = progress.callee === '' ? progress.before : progress.callee
    progress.callee = name
  }
  progress.qualifiedBy = null
}

function readDot(progress: Progress): void {
  // A name with a dot in it is one of the user's own: it stays behind, if only as an empty text.
  if ((progress.first === 'set' || progress.first === 'reset') && !progress.assigned) progress.leaves = leaves.stuck
  progress.qualifiedBy = progress.callee
}

function readCall(progress: Progress): void {
  const { callee, before, first } = progress
  const declared = beforeNames.has(before) || (before === 'on' && first === 'create')
  if (callee !== '' && !declared && !harmlessWords.has(callee))
    progress.leaves = Math.max(progress.leaves, keepingWords.has(callee) ? leaves.kept : leaves.stuck)
  progress.before = progress.callee = ''
  progress.qualifiedBy = null
}

function endStatement(progress: Progress): void {
  const { first, second } = progress
  if (first === 'alter' && whoseDefaults.has(second)) progress.changesDefaults = true
  progress.first = progress.second = progress.before = progress.callee = ''
  progress.qualifiedBy = null
  progress.assigned = false
}
