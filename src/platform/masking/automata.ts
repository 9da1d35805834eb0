/** Finds strings in bytes (Aho-Corasick): each byte is read once, however many strings there are. */
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * A state is the longest suffix of what was read that is a prefix of some string; 0 is none. `longest` is how many
 * bytes the longest string has that ends in the state, `waiting` how many of the last bytes may still become more of
 * one.
 */
export type Automaton = {
  next(state: number, byte: number): number
  /** The state so many bytes before this one. */
  before(state: number, bytes: number): number
  isState(number: number): boolean
  longest: Int32Array
  waiting: Int32Array
}

/** How many bytes are added before the event loop gets a turn. */
const bytesAtOnce = 16 * 1024

/** Makes an automaton for these strings, none of which is empty. */
export function createAutomaton(strings: readonly Buffer[]): Automaton {
  const making = make(strings)
  for (let step = making.next(); ; step = making.next()) if (step.done) return step.value
}

/** The same for many strings: it yields to the event loop in between. */
export async function createAutomatonInSteps(strings: readonly Buffer[]): Promise<Automaton> {
  const making = make(strings)
  for (let step = making.next(); ; step = making.next()) {
    if (step.done) return step.value
    await nextTurn()
  }
}

function* make(strings: readonly Buffer[]): Generator<void, Automaton> {
  const most = strings.reduce((sum, { length }) => sum + length, 1)
  const { childOf, add } = createChildren(most)
  const [parent, fallback, longest, waiting, depth] = Array.from({ length: 5 }, () => new Int32Array(most)) as [
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
  ] // five are made
  const byteOf = new Uint8Array(most)
  const hasChild = new Uint8Array(most)
  let count = 1
  let taken = 0
  for (const string of strings) {
    let state = 0
    for (const byte of string) {
      let child = childOf(state, byte)
      if (child === 0) {
        child = count++
        add(state, byte, child)
        byteOf[child] = byte
        parent[child] = state
        depth[child] = depth[state]! + 1
        hasChild[state] = 1
      }
      state = child
      if (++taken % bytesAtOnce === 0) yield
    }
    longest[state] = string.length
  }
  const begins = Int32Array.from({ length: 256 }, (_, byte) => childOf(0, byte)) // where most bytes end
  const next = (from: number, byte: number): number => {
    for (let state = from; state !== 0; state = fallback[state]!) {
      const child = childOf(state, byte)
      if (child !== 0) return child
    }
    return begins[byte]!
  }
  for (const state of byDepth(depth.subarray(0, count))) {
    if (state === 0) continue
    const above = parent[state]!
    if (above !== 0) fallback[state] = next(fallback[above]!, byteOf[state]!)
    longest[state] ||= longest[fallback[state]!]!
    waiting[state] = hasChild[state] === 1 ? depth[state]! : waiting[fallback[state]!]!
    if (++taken % bytesAtOnce === 0) yield
  }
  const before = (from: number, bytes: number): number => {
    let state = from
    for (let left = bytes; left > 0 && state !== 0; left--) state = parent[state]!
    return state
  }
  return {
    next,
    before,
    longest,
    waiting,
    isState: (number) => Number.isInteger(number) && number >= 0 && number < count,
  }
}

/**
 * The children of all states, by state and byte, in one table of numbers: lists of them are slow if a state has many.
 */
function createChildren(most: number): {
  childOf: (state: number, byte: number) => number
  add: (state: number, byte: number, child: number) => void
} {
  const places = 2 ** Math.ceil(Math.log2(most * 2))
  const keys = new Float64Array(places) // state and byte together take more than 32 bits
  const children = new Int32Array(places)
  const placeOf = (key: number, state: number, byte: number): number => {
    let place = ((Math.imul(state, 0x9e3779b1) ^ Math.imul(byte + 1, 0x85ebca6b)) >>> 0) & (places - 1)
    while (children[place] !== 0 && keys[place] !== key) place = (place + 1) & (places - 1)
    return place
  }
  return {
    childOf: (state, byte) => children[placeOf(state * 256 + byte, state, byte)]!,
    add(state, byte, child) {
      const key = state * 256 + byte
      const place = placeOf(key, state, byte)
      keys[place] = key
      children[place] = child
    },
  }
}

/** The states, each after those that are nearer to 0. */
function byDepth(depth: Int32Array): Int32Array {
  const starts = new Int32Array(depth.reduce((most, one) => Math.max(most, one), 0) + 2)
  for (const one of depth) starts[one + 1]!++
  for (let at = 1; at < starts.length; at++) starts[at]! += starts[at - 1]!
  const order = new Int32Array(depth.length)
  for (let state = 0; state < depth.length; state++) order[starts[depth[state]!]!++] = state
  return order
}
