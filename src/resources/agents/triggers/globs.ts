/**
 * Patterns of branches and paths. `*` is any characters but a slash, `**` between slashes is any number of folders;
 * everything else is itself. Nothing here takes more time than the lengths of both multiplied, whatever they hold.
 */
import { setImmediate as otherWork } from 'node:timers/promises'

const stepMs = 8

/** Whether one of the texts matches one of the patterns; other work gets its turn between many. */
export async function matchesAny(texts: readonly string[], patterns: readonly string[]): Promise<boolean> {
  const read = patterns.map((pattern) => pattern.split('/').map((part) => part.split('*')))
  const isWide = patterns.map((pattern) => pattern.split('/').map((part) => part === '**'))
  let untilMs = performance.now() + stepMs
  for (const text of texts) {
    const parts = text.split('/')
    if (read.some((pattern, index) => matchesParts(parts, pattern, isWide[index] ?? []))) return true
    if (performance.now() < untilMs) continue
    await otherWork()
    untilMs = performance.now() + stepMs
  }
  return false
}

/** Only the last `**` is ever gone back to: what a later one takes, an earlier one need not. */
function matchesParts(parts: readonly string[], pattern: readonly string[][], isWide: readonly boolean[]): boolean {
  let at = 0
  let inPattern = 0
  let wideAt = -1
  let takenFrom = 0
  while (at < parts.length) {
    if (isWide[inPattern]) {
      wideAt = inPattern++
      takenFrom = at
    } else if (inPattern < pattern.length && matchesPart(parts[at] ?? '', pattern[inPattern] ?? [])) {
      at++
      inPattern++
    } else if (wideAt >= 0) {
      inPattern = wideAt + 1
      at = ++takenFrom
    } else return false
  }
  while (isWide[inPattern]) inPattern++
  return inPattern === pattern.length
}

/** @param pieces what is between the stars; each is looked for once, from left to right. */
function matchesPart(part: string, pieces: readonly string[]): boolean {
  const [first = '', ...others] = pieces
  const last = others.pop()
  if (last === undefined) return part === first
  if (!part.startsWith(first) || part.length < first.length + last.length || !part.endsWith(last)) return false
  let at = first.length
  const end = part.length - last.length
  for (const piece of others) {
    const found = part.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}
