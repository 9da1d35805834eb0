/**
 * Patterns of branches and paths. `*` is any characters but a slash, `**` between slashes is any number of folders;
 * everything else is itself. One text and one pattern take no more time than their lengths multiplied, and all of an
 * event's together no more than a number of steps: both are written by strangers, and everybody's events wait meanwhile.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { triggerLimits } from './limits.ts'

const stepMs = 8
/** Comparisons of characters that take about as long as a step: looking whether a part fits. */
const comparisonsPerStep = 64

type Pattern = { parts: readonly string[][]; isWide: readonly boolean[] }
type Work = { steps: number }

/**
 * Whether one of the texts matches one of the patterns; other work gets its turn between many. Also true when finding
 * out takes more than `globSteps`: what is filtered is rather told than lost.
 */
export async function matchesAny(texts: readonly string[], patterns: readonly string[]): Promise<boolean> {
  const read = patterns.map(readPattern)
  const work: Work = { steps: 0 }
  let untilMs = performance.now() + stepMs
  for (const text of texts) {
    const parts = text.split('/')
    work.steps += parts.length
    for (const pattern of read) {
      if (matchesParts(parts, pattern, work)) return true
      if (work.steps > triggerLimits.globSteps) return true
    }
    if (performance.now() < untilMs) continue
    await nextTurn()
    untilMs = performance.now() + stepMs
  }
  return false
}

function readPattern(pattern: string): Pattern {
  const parts = pattern.split('/')
  return { parts: parts.map((part) => part.split('*')), isWide: parts.map((part) => part === '**') }
}

/** Only the last `**` is ever gone back to: what a later one takes, an earlier one need not. */
function matchesParts(parts: readonly string[], { parts: wanted, isWide }: Pattern, work: Work): boolean {
  let at = 0
  let inPattern = 0
  let wideAt = -1
  let takenFrom = 0
  while (at < parts.length) {
    if (isWide[inPattern]) {
      wideAt = inPattern++
      takenFrom = at
    } else if (inPattern < wanted.length && matchesPart(parts[at] ?? '', wanted[inPattern] ?? [], work)) {
      at++
      inPattern++
    } else if (wideAt >= 0) {
      inPattern = wideAt + 1
      at = ++takenFrom
    } else return false
  }
  while (isWide[inPattern]) inPattern++
  return inPattern === wanted.length
}

/** @param pieces what is between the stars; each is looked for once, from left to right. */
function matchesPart(part: string, pieces: readonly string[], work: Work): boolean {
  work.steps++
  const first = pieces[0] ?? ''
  if (pieces.length === 1) return part === first
  const last = pieces.at(-1) ?? ''
  if (!part.startsWith(first) || part.length < first.length + last.length || !part.endsWith(last)) return false
  let at = first.length
  const end = part.length - last.length
  for (let index = 1; index < pieces.length - 1; index++) {
    const piece = pieces[index] ?? ''
    work.steps += 1 + Math.floor(((end - at) * piece.length) / comparisonsPerStep)
    const found = part.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}
