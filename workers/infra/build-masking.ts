/**
 * Takes secrets out of a stream of bytes, also when one comes in two pieces: what may be the beginning of one waits for
 * the rest. Every byte is looked at once, whatever the secrets are (Aho and Corasick's automaton): a pattern made of
 * them took seconds for some, and there were too many for one.
 */

/** What a secret becomes; secrets that overlap become one. */
const mask = Buffer.from('***')
/** A line of a secret of several lines is masked by itself when it is at least this long. Unit: characters. */
const lineCharactersMin = 8

/** A stream's masking. */
export type Masking = {
  /** What may be shown now. */
  push(bytes: Buffer): Buffer
  /** The stream is over: what waited may be shown. */
  end(): Buffer
}

/** Makes the masking of one stream. Secrets are texts. */
export function createMasking(secrets: readonly string[]): Masking {
  const hidden = [...new Set(secrets.flatMap(withLines))].filter(Boolean).map((secret) => Buffer.from(secret))
  if (hidden.length === 0) return { push: (bytes) => bytes, end: () => Buffer.alloc(0) }
  const automaton = createAutomaton(hidden)
  let state = 0
  let held: Buffer = Buffer.alloc(0)
  /** Places of secrets in what is held, in order; none overlaps the next. A beginning below zero is in what was masked already. */
  let found: { start: number; end: number }[] = []

  /** Shows everything before this place, and of a secret that begins before it the mask. */
  const showTo = (place: number): Buffer => {
    const shown: Buffer[] = []
    let at = 0
    for (const { start, end } of found) {
      if (start >= place) break
      if (start > at) shown.push(held.subarray(at, start))
      if (start >= at) shown.push(mask)
      at = end
    }
    if (place > at) shown.push(held.subarray(at, place))
    const gone = Math.max(at, place)
    held = held.subarray(gone)
    found = found.filter(({ start }) => start >= place).map(({ start, end }) => ({ start: start - gone, end: end - gone }))
    return Buffer.concat(shown)
  }
  return {
    push(bytes) {
      const first = held.length
      held = Buffer.concat([held, bytes])
      for (let at = first; at < held.length; at++) {
        state = automaton.next(state, held[at]!) // inside: at is below length
        const length = automaton.longest[state]!
        if (length === 0) continue
        const place = { start: at + 1 - length, end: at + 1 }
        for (let last = found.at(-1); last && last.end > place.start; last = found.at(-1)) place.start = Math.min(place.start, found.pop()!.start)
        found.push(place)
      }
      return showTo(held.length - automaton.waiting[state]!)
    },
    end: () => showTo(held.length),
  }
}

/** The same for a text that is whole. */
export function masked(text: string, secrets: readonly string[]): string {
  const masking = createMasking(secrets)
  return Buffer.concat([masking.push(Buffer.from(text)), masking.end()]).toString('utf8')
}

/** A secret, and its long lines: a tool may indent them. */
function withLines(secret: string): string[] {
  return [secret, ...secret.split(/\r?\n/).map((line) => line.trim()).filter((line) => line.length >= lineCharactersMin)]
}

/**
 * Finds any of many byte strings. A state is the longest end of what was read that some string begins with; 0 is none.
 * `longest` is how many bytes the longest string has that ends in the state, `waiting` how many of the last bytes may
 * still become more of one.
 */
type Automaton = { next(state: number, byte: number): number; longest: Int32Array; waiting: Int32Array }

function createAutomaton(strings: readonly Buffer[]): Automaton {
  const most = strings.reduce((sum, { length }) => sum + length, 1)
  // Each state has its children in a list, so that megabytes of secrets take a few numbers for each byte.
  const [firstChild, sibling, fallback, longest, waiting, depth] = Array.from({ length: 6 }, () => new Int32Array(most)) as [Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array] // six are made
  const byteOf = new Uint8Array(most)
  const childOf = (state: number, byte: number): number => {
    let child = firstChild[state]!
    while (child !== 0 && byteOf[child] !== byte) child = sibling[child]!
    return child
  }
  const next = (from: number, byte: number): number => {
    for (let state = from; ; state = fallback[state]!) {
      const child = childOf(state, byte)
      if (child !== 0 || state === 0) return child
    }
  }
  let count = 1
  for (const string of strings) {
    let state = 0
    for (const byte of string) {
      let child = childOf(state, byte)
      if (child === 0) {
        child = count++
        byteOf[child] = byte
        depth[child] = depth[state]! + 1
        sibling[child] = firstChild[state]!
        firstChild[state] = child
      }
      state = child
    }
    longest[state] = string.length
  }
  const queue = new Int32Array(count) // parents before their children
  for (let taken = 0, queued = 1; taken < queued; taken++) {
    const state = queue[taken]!
    for (let child = firstChild[state]!; child !== 0; child = sibling[child]!) {
      if (state !== 0) fallback[child] = next(fallback[state]!, byteOf[child]!)
      longest[child] ||= longest[fallback[child]!]!
      waiting[child] = firstChild[child] !== 0 ? depth[child]! : waiting[fallback[child]!]!
      queue[queued++] = child
    }
  }
  return { next, longest, waiting }
}
