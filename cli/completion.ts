/** What the shells ask: `berth complete -- words`. */
import { RootCommand } from '@bomb.sh/tab'
import type { Command } from 'commander'
import { loadNoun, makeProgram } from './program.ts'

/** The program with all of its commands, for completion and for the tables of the documentation. */
export async function wholeProgram(): Promise<Command> {
  const program = makeProgram(() => Promise.resolve())
  for (const command of program.commands) await loadNoun(command, () => Promise.resolve())
  return program
}

/** Prints what may stand where the last of the words is, for a shell. */
export async function complete(words: readonly string[]): Promise<void> {
  const root = new RootCommand()
  const add = (command: Command, path: string): void => {
    const known = path ? root.command(path, command.description()) : root
    for (const option of command.createHelp().visibleOptions(command)) {
      const name = option.long?.replace(/^--/, '')
      if (name === undefined) continue
      // What takes a value has a handler; none of ours says which values.
      if (option.required) known.option(name, option.description, () => undefined)
      else known.option(name, option.description)
    }
    for (const argument of command.registeredArguments) known.argument(argument.name(), undefined, argument.variadic)
    for (const one of command.commands) add(one, path ? `${path} ${one.name()}` : one.name())
  }
  add(await wholeProgram(), '')
  root.parse([...words])
}
