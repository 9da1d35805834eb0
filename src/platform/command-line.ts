/** Parses the arguments of every command: `--help` and unknown arguments print the usage and do nothing else. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { ConfigError } from './config.ts'
import { redact } from './log.ts'

/** The usage of a command. `isAsked`: somebody asked for it (exit 0); otherwise the arguments were wrong (exit 2). */
export class UsageError extends Error {
  readonly isAsked: boolean
  constructor(sentence: string, isAsked = false) {
    super(sentence)
    this.name = 'UsageError'
    this.isAsked = isAsked
  }
}

/** @throws UsageError with the usage when the arguments ask for it. */
export function answerHelp(words: readonly string[], usage: string): void {
  if (words.includes('--help') || words.includes('-h')) throw new UsageError(usage, true)
}

/**
 * Reads the arguments of a command that takes flags only.
 * @throws UsageError for help, and for any argument that is not one of its flags.
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
    throw new UsageError(`This command has no such argument. Usage: ${usage}`)
  }
}

/**
 * Reads the arguments of a command that takes one file, or none.
 * @throws UsageError for help, for a flag, and for more than one file.
 */
export function readFile(words: readonly string[], usage: string): string | undefined {
  answerHelp(words, usage)
  const [file, ...more] = words
  if (more.length > 0 || file?.startsWith('-'))
    throw new UsageError(`This command has no such argument. Usage: ${usage}`)
  return file
}

/**
 * Prints an error to the right output and returns the exit code: 0 for help, 2 for wrong arguments or settings, 1 for
 * anything else.
 */
export function reportError(error: unknown): number {
  if (error instanceof UsageError && error.isAsked) {
    process.stdout.write(`${error.message}\n`)
    return 0
  }
  const text =
    error instanceof Error ? error.message || ('code' in error ? String(error.code) : error.name) : String(error) // an AggregateError of several refused addresses has a code and no message
  process.stderr.write(`${redact(text)}\n`)
  return error instanceof UsageError || error instanceof ConfigError ? 2 : 1
}

/** Runs a command, and ends it with its exit code when it fails. */
export async function runOrReport(work: () => Promise<void> | void): Promise<void> {
  try {
    await work()
  } catch (error) {
    process.exitCode = reportError(error)
  }
}
