/** The Python examples: what they call, read from their text, and how they run. */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { environmentWith } from '#src/platform/config.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'examples/python')

/** The programs; `berth.py` is what they share. */
export const pythonExamples = readdirSync(folder).filter((name) => name.endsWith('.py') && name !== 'berth.py')

/** The keys of what is sent: what is neither an object nor a list is null. */
export type Sent = { [key: string]: Sent } | Sent[] | null

/** What a program calls, and which fields of the answers it names. `unread`: calls whose path is not written there. */
export type Calls = {
  calls: { method: string; path: string; ids: string[]; body: Sent; query: Sent }[]
  documents: string[]
  fields: string[]
  unread: number
}

/** Reads all programs. */
export async function readCalls(): Promise<Record<string, Calls>> {
  const files = pythonExamples.map((name) => join(folder, name))
  const { stdout } = await promisify(execFile)('python3', [join(import.meta.dirname, 'calls.py'), ...files])
  return JSON.parse(stdout) as Record<string, Calls>
}

/** Runs a program as it is. @returns what it printed; rejects when it fails or does not end in time */
export async function runPython(name: string, env: Record<string, string>, limitMs = 60_000): Promise<string> {
  const variables = environmentWith({ ...env, PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '1' })
  const { stdout } = await promisify(execFile)('python3', [name], { cwd: folder, env: variables, timeout: limitMs })
  return stdout
}
