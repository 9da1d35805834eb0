/**
 * Whether a regular expression is matched in time linear in its text, by V8's backtracking. Proven on its automaton:
 * a search takes more than linear time only when the number of paths through the automaton grows with the text, which is
 * so exactly when two states p and q have a word v with p -v-> p, p -v-> q and q -v-> q (Weber and Seidl, "On the degree
 * of ambiguity of finite automata"). That a search begins anew at every position is a state of its own, so patterns
 * such as `\s*x`, which are quadratic by restarting, are found too. What cannot be read counts as not linear.
 */
import { RegExpParser, type AST } from '@eslint-community/regexpp'

/** Repetitions up to this often are written out; more are taken for ever, which can only find too much. */
const writtenOutMax = 12
const statesMax = 600

type Label = 'free' | 'end' | 'start' | 'asserted'
type Node = { edges: { to: number; label: Label }[]; chars: Uint8Array | null; next: number }
type Graph = { nodes: Node[]; samples: readonly string[]; flags: string }

/** Why the pattern is not proven linear; null when it is. */
export function whyNotLinear(source: string, flags: string): string | null {
  let graph: Graph & { first: number; accept: number }
  try {
    graph = buildGraph(source, flags)
  } catch (error) {
    if (error instanceof Unreadable) return error.message
    throw error
  }
  const automaton = readAutomaton(graph)
  if (automaton.steps.length > statesMax) return 'it has too many states to be looked through'
  return whyAmbiguous(automaton)
}

class Unreadable extends Error {}

/** Every kind of character that the pattern tells apart is here at least once. */
function samplesOf(pattern: AST.Pattern, flags: string): string[] {
  const points = new Set<number>([
    0x1680, 0x2000, 0x2028, 0x2029, 0x202f, 0x205f, 0x212a, 0x3000, 0x65e5, 0xd83d, 0xde00, 0xfeff, 0xfffd, 0xffff,
  ])
  for (let point = 0; point <= 0x17f; point++) points.add(point)
  if (/[uv]/.test(flags)) points.add(0x1f600)
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('type' in node && node.type === 'Character' && 'value' in node)
      for (const near of [-1, 0, 1]) points.add(Math.max(0, Number(node.value) + near))
    for (const [key, value] of Object.entries(node))
      if (key !== 'parent' && key !== 'resolved' && key !== 'references') visit(value)
  }
  visit(pattern)
  return [...points].map((point) => String.fromCodePoint(point))
}

function buildGraph(source: string, flags: string): Graph & { first: number; accept: number } {
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: flags.includes('u'),
    unicodeSets: flags.includes('v'),
  })
  const builder = new Builder(samplesOf(pattern, flags), flags)
  const first = builder.add()
  const accept = builder.alternatives(pattern.alternatives, first)
  const { nodes, samples } = builder
  return { nodes, samples, flags, first, accept }
}

class Builder implements Graph {
  readonly nodes: Node[] = []
  readonly samples: readonly string[]
  readonly flags: string
  readonly #sets = new Map<string, Uint8Array>()

  constructor(samples: readonly string[], flags: string) {
    this.samples = samples
    this.flags = flags
  }

  add(): number {
    return this.nodes.push({ edges: [], chars: null, next: -1 }) - 1
  }

  edge(from: number, to: number, label: Label = 'free'): void {
    this.nodes[from]?.edges.push({ to, label })
  }

  alternatives(alternatives: readonly AST.Alternative[], from: number): number {
    const end = this.add()
    for (const alternative of alternatives) {
      let at = this.add()
      this.edge(from, at)
      for (const element of alternative.elements) at = this.element(element, at)
      this.edge(at, end)
    }
    return end
  }

  element(element: AST.Element, from: number): number {
    switch (element.type) {
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
        return this.chars(element.raw, from)
      case 'CapturingGroup':
        return this.alternatives(element.alternatives, from)
      case 'Group':
        if (element.modifiers) throw new Unreadable('it changes its flags inside')
        return this.alternatives(element.alternatives, from)
      case 'Quantifier':
        return this.quantifier(element, from)
      case 'Assertion':
        return this.assertion(element, from)
      default:
        throw new Unreadable(`it has a ${element.type}`)
    }
  }

  chars(raw: string, from: number): number {
    let set = this.#sets.get(raw)
    if (!set) {
      const one = new RegExp(`^(?:${raw})$`, this.flags.replace(/[gym]/g, ''))
      this.#sets.set(raw, (set = Uint8Array.from(this.samples, (sample) => (one.test(sample) ? 1 : 0))))
    }
    const node = this.add()
    this.edge(from, node)
    const next = this.add()
    Object.assign(this.nodes[node]!, { chars: set, next }) // added just above
    return next
  }

  quantifier({ min, max, element }: AST.Quantifier, from: number): number {
    if (max === 0) return from
    const isForEver = max > writtenOutMax
    const end = this.add()
    let at = from
    const once = Math.max(isForEver ? Math.min(min, writtenOutMax) - 1 : min, 0)
    for (let count = 0; count < once; count++) at = this.element(element, at)
    if (!isForEver) {
      for (let count = min; count < max; count++) {
        this.edge(at, end)
        at = this.element(element, at)
      }
      this.edge(at, end)
      return end
    }
    const before = this.add()
    this.edge(at, before)
    if (min === 0) this.edge(at, end)
    const after = this.element(element, before)
    this.edge(after, before)
    this.edge(after, end)
    return end
  }

  assertion(assertion: AST.Assertion, from: number): number {
    const end = this.add()
    if (assertion.kind === 'start' || assertion.kind === 'end') this.edge(from, end, assertion.kind)
    else {
      this.edge(from, end, 'asserted')
      if (assertion.kind === 'lookahead') this.alternatives(assertion.alternatives, from) // where it ends is a dead end
      if (assertion.kind === 'lookbehind' && isEndless(assertion)) throw new Unreadable('it looks back without an end')
    }
    return end
  }
}

function isEndless(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false
  if ('type' in node && node.type === 'Quantifier' && 'max' in node && Number(node.max) > writtenOutMax) return true
  return Object.entries(node).some(([key, value]) => key !== 'parent' && isEndless(value))
}

/** States are the characters of the pattern, each "just read"; the first two are the search itself, between matches: just behind a line's end, or elsewhere. */
type Automaton = {
  steps: { to: number; ways: number }[][]
  sets: Uint8Array[]
  /** States from which no path can fail: what a search reads there it keeps, so nothing is read twice. */
  cannotFail: boolean[]
}
const searching = 0
const searchingLine = 1

function readAutomaton({ nodes, samples, flags, first, accept }: Graph & { first: number; accept: number }): Automaton {
  const isLines = flags.includes('m')
  const isEndOfLine = Uint8Array.from(samples, (sample) => (/[\n\r\u2028\u2029]/.test(sample) ? 1 : 0))
  const inLine = isEndOfLine.map((is) => 1 - is)
  const order = nodes.flatMap(({ chars }, index) => (chars ? [index] : []))
  const stateOf = new Map(order.map((node, index) => [node, index + 2]))
  const sets = [inLine, isEndOfLine, ...order.map((node) => nodes[node]!.chars!)] // chosen for having chars
  const stepsFrom = (node: number, mayStart: boolean): { to: number; ways: number }[] => {
    const ways = new Map<number, number>()
    walk(
      nodes,
      node,
      (label) => label !== 'start' || mayStart,
      (at) => {
        const state = stateOf.get(at)
        if (state !== undefined) ways.set(state, (ways.get(state) ?? 0) + 1)
      },
    )
    return [...ways].map(([to, count]) => ({ to, ways: count }))
  }
  const again = flags.includes('y')
    ? []
    : [
        { to: searching, ways: 1 },
        { to: searchingLine, ways: 1 },
      ]
  const starting = again.length > 0
  const steps = [
    starting ? [...again, ...stepsFrom(first, false)] : [],
    starting ? [...again, ...stepsFrom(first, isLines)] : [],
    ...order.map((node) => stepsFrom(nodes[node]!.next, isLines)), // chosen for having chars
    [...again, ...stepsFrom(first, true)], // the beginning of the text, to which nothing leads back
  ]
  sets.push(new Uint8Array(samples.length))
  const accepts = steps.map((following, state) => {
    if (state < 2 || state === steps.length - 1) return false
    const covered = samples.map((_, sample) => following.some(({ to }) => sets[to]?.[sample] === 1))
    const holdsAtEnd = covered.every((is, sample) => is || (isLines && isEndOfLine[sample] === 1))
    let found = false
    walk(
      nodes,
      nodes[order[state - 2]!]!.next,
      (label) => label === 'free' || (label === 'end' && holdsAtEnd),
      (at) => {
        // states are in the order of these nodes
        if (at === accept) found = true
      },
    )
    return found
  })
  return {
    steps,
    sets,
    cannotFail: steps.map((_, state) => [state, ...reachable(steps, state)].every((one) => accepts[one])),
  }
}

/** Every way from a node over edges that read nothing; a way that meets itself is none, as a repetition of nothing is none. */
function walk(
  nodes: readonly Node[],
  from: number,
  may: (label: Label) => boolean,
  found: (node: number) => void,
  seen: ReadonlySet<number> = new Set(),
): void {
  found(from)
  const inside = new Set([...seen, from])
  for (const { to, label } of nodes[from]?.edges ?? [])
    if (may(label) && !inside.has(to)) walk(nodes, to, may, found, inside)
}

function reachable(steps: Automaton['steps'], from: number): Set<number> {
  const found = new Set<number>()
  const open = [from]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const { to } of steps[at] ?? []) {
      if (found.has(to)) continue
      found.add(to)
      open.push(to)
    }
  }
  return found
}

function whyAmbiguous({ steps, sets, cannotFail }: Automaton): string | null {
  const reach = steps.map((_, state) => reachable(steps, state))
  const begun = reach.at(-1)! // the beginning of the text
  const looping = steps.flatMap((_, state) => (begun.has(state) && reach[state]!.has(state) ? [state] : [])) // one list entry for each state
  for (const p of looping) {
    const twice = steps[p]!.find(({ to, ways }) => ways > 1 && reach[to]!.has(p)) // as above
    if (twice && !cannotFail[p]) return 'a repetition inside it can read the same text in two ways'
    for (const q of looping) {
      if (p === q || !reach[p]!.has(q)) continue // as above
      if (cannotFail[p] || (p < 2 && (q < 2 || cannotFail[q]))) continue
      if (hasCommonWord({ steps, sets }, reach, p, q))
        return p < 2
          ? 'what it begins with can be read again from every position'
          : 'two repetitions inside it can share the same text'
    }
  }
  return null
}

/** Whether some word leads from p to p, from p to q, and from q to q. */
function hasCommonWord(
  { steps, sets }: Pick<Automaton, 'steps' | 'sets'>,
  reach: readonly Set<number>[],
  p: number,
  q: number,
): boolean {
  const size = steps.length
  const seen = new Set<number>()
  const open: [number, number, number][] = [[p, p, q]]
  const backTo = (from: number, to: number): boolean => from === to || reach[from]!.has(to) // one list entry for each state
  for (let at = open.pop(); at; at = open.pop()) {
    const [a, b, c] = at
    for (const { to: nextA } of steps[a] ?? []) {
      if (!backTo(nextA, p)) continue
      for (const { to: nextB } of steps[b] ?? []) {
        if (!backTo(nextB, q) || !meet(sets[nextA], sets[nextB])) continue
        for (const { to: nextC } of steps[c] ?? []) {
          if (!backTo(nextC, q) || !meet(sets[nextA], sets[nextB], sets[nextC])) continue
          if (nextA === p && nextB === q && nextC === q) return true
          const key = (nextA * size + nextB) * size + nextC
          if (seen.has(key)) continue
          seen.add(key)
          open.push([nextA, nextB, nextC])
        }
      }
    }
  }
  return false
}

/** Whether one character is in all of these sets. */
function meet(one: Uint8Array | undefined, two: Uint8Array | undefined, three: Uint8Array | undefined = two): boolean {
  for (let sample = 0; sample < (one?.length ?? 0); sample++)
    if (one?.[sample] && two?.[sample] && three?.[sample]) return true
  return false
}
