/** The program: its nouns, whose commands are loaded when they are used. */
import { Command } from 'commander'
import { addCommon, addNoun, bare, type Runner } from './grammar.ts'
import { nouns } from './nouns.ts'

/** Makes it. `run` runs the verb that the words name. */
export function makeProgram(run: Runner): Command {
  const program = bare(addCommon(new Command('berth'), false))
    .description('The command line of Berth: VMs, databases, builds, functions and agents.')
    .usage('<noun> <verb> [name] [options]')
    .addHelpText('after', '\nNames and ids are the same to every command. More: docs/reference/cli.md')
  for (const [name, { about, isOfHost }] of Object.entries(nouns)) {
    const command = bare(program.command(name).description(about))
    if (!isOfHost) addCommon(command, true)
  }
  program.hook('preSubcommand', async (_program, command) => {
    await loadNoun(command, run)
  })
  return program
}

const loaded = new WeakSet<Command>()

/** Adds the commands of a noun, once. */
export async function loadNoun(command: Command, run: Runner): Promise<void> {
  const noun = nouns[command.name()]
  if (!noun || loaded.has(command)) return
  loaded.add(command)
  addNoun(command, await noun.load(), run)
}
