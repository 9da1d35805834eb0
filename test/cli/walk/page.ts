/** A page with the recording of a walk: walked, and what happened as its text. */
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { readRecording, writeRecording, type Piece } from './recording.ts'
import type { Mode, Walker } from './walker.ts'

/** What happened at a terminal, by page: what is recorded by now, or about to be. */
const atTerminal = new Map<string, string>()

/** Walks along a page. What happens must be what it says; with `--update`, what happens at a terminal is recorded. */
export async function walkPage(page: string, mode: Mode, walker: Walker): Promise<void> {
  const recorded = readFileSync(page, 'utf8')
  const walked: Piece[] = []
  for (const piece of readRecording(recorded))
    walked.push(piece.kind === 'text' ? piece : { ...piece, steps: await walker.walk(piece) })
  expect(walked.flatMap((piece) => (piece.kind === 'steps' ? piece.steps : [])).length).toBeGreaterThan(30)
  const happened = writeRecording(walked)
  if (mode === 'in a pipe') return expect(happened).toBe(atTerminal.get(page) ?? recorded)
  atTerminal.set(page, happened)
  await expect(happened).toMatchFileSnapshot(page)
}
