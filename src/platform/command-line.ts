/** What every command does with its words: `--help` says how it is used and does nothing, and words that it does not know do nothing either. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { ConfigError } from './config.ts'
import { redact } from './log.ts'

/** How a command is used. `isAsked`: somebody wanted to know (exit 0); else their words were wrong (exit 2). */
export class UsageError extends Error {
  readonly isAsked: boolean
  constructor(sentence: string, isAsked = false) {
    super(sentence)
    this.name = 'UsageError'
    this.isAsked = isAsked
  }
}

/** @throws UsageError with the usage when the words ask for it. */
export function answerHelp(words: readonly string[], usage: string): void {
  if (words.includes('--help') || words.includes('-h')) throw new UsageError(usage, true)
}

/**
 * Reads the words of a command that takes flags only.
 * @throws UsageError for help, and for any word that is not a flag of its.
 */
export function readFlags<const Options extends NonNullable<ParseArgsConfig['options']>>(
  words: readonly string[],
  usage: string,
  options: Options,
): ReturnType<typeof parseArgs<{ options: Options; args: string[]; strict: true; allowPositionals: false }>>['values'] {
  answerHelp(words, usage)
  try {
    return parseArgs({ args: [...words], options, strict: true, allowPositionals: false }).values
  } catch {
    throw new UsageError(`There is no such word for this command. It is: ${usage}`)
  }
}

/**
 * Reads the words of a command that takes one file, or none.
 * @throws UsageError for help, for a flag, and for more than one file.
 */
export function readFile(words: readonly string[], usage: string): string | undefined {
  answerHelp(words, usage)
  const [file, ...more] = words
  if (more.length > 0 || file?.startsWith('-'))
    throw new UsageError(`There is no such word for this command. It is: ${usage}`)
  return file
}

/** Writes what to tell of an error where it belongs, and says the exit code: 0 asked for help, 2 wrong words or settings, 1 anything else. */
export function tellError(error: unknown): number {
  if (error instanceof UsageError && error.isAsked) {
    process.stdout.write(`${error.message}\n`)
    return 0
  }
  const text =
    error instanceof Error ? error.message || ('code' in error ? String(error.code) : error.name) : String(error) // refused on several addresses has a code only
  process.stderr.write(`${redact(text)}\n`)
  return error instanceof UsageError || error instanceof ConfigError ? 2 : 1
}

/** Runs a command, and ends it with its exit code when it fails. */
export async function runTold(work: () => Promise<void> | void): Promise<void> {
  try {
    await work()
  } catch (error) {
    process.exitCode = tellError(error)
  }
}
