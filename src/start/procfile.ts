/** The Procfile: which processes make up Berth, one `name: command` a line. The `release` line runs once, before the others. */
import { readFileSync } from 'node:fs'
import { StartError } from './start-error.ts'

/** One line of the Procfile. */
export type ProcfileLine = { name: string; command: string }

const linesMax = 20

/**
 * Reads a Procfile.
 * @throws StartError naming an invalid line.
 */
export function readProcfile(path: string): { release: string | null; processes: ProcfileLine[] } {
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line && !line.startsWith('#'))
  if (lines.length > linesMax) throw new StartError(`${path} has more than ${linesMax} processes.`)
  const read = lines.map((line) => {
    const [, name, command] = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line) ?? []
    if (!name || !command) throw new StartError(`${path}: "${line}" is not of the form "name: command".`)
    return { name, command }
  })
  return {
    release: read.find((line) => line.name === 'release')?.command ?? null,
    processes: read.filter((line) => line.name !== 'release'),
  }
}
