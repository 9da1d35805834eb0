/** What commands are: nouns with verbs, as tables, and how they are parsed. */
import { Command, CommanderError, Option } from 'commander'
import type { Berth } from '../src/client/berth.ts'
import type { ContextStore, Env, Target } from './contexts.ts'
import { UsageError } from './errors.ts'
import type { Output } from './output.ts'

/** What a command is given to work with. */
export type Cli = {
  /** The client, made when it is first asked for. @throws UsageError when there is no address. */
  berth(): Promise<Berth>
  target(): Target
  out: Output
  contexts: ContextStore
  env: Env
  isConfirmed: boolean
  version: string
}

/** The options of a call, by their long names. */
export class Given {
  readonly #values: Record<string, unknown>

  constructor(values: Record<string, unknown>) {
    this.#values = values
  }

  flag(name: string): boolean {
    return this.#values[name] === true
  }

  text(name: string): string | undefined {
    const value = this.#values[name]
    return typeof value === 'string' ? value : undefined
  }

  texts(name: string): string[] {
    const value = this.#values[name]
    return Array.isArray(value) ? value.map(String) : []
  }

  /** A whole number. @throws UsageError. */
  number(name: string): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    if (!/^\d{1,15}$/.test(value)) throw new UsageError(`--${name} takes a whole number, not '${value}'.`)
    return Number(value)
  }

  /** A time as `90`, `90s`, `15m`, `2h` or `3d`, in seconds. @throws UsageError. */
  seconds(name: string): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const [, digits = '', unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(value) ?? []
    if (!digits) throw new UsageError(`--${name} takes a time such as 90s, 15m, 2h or 3d, not '${value}'.`)
    return Number(digits) * ({ s: 1, m: 60, h: 3600, d: 86_400 }[unit] ?? 1)
  }

  /** Pairs as `key=value`. @throws UsageError. */
  pairs(name: string): Record<string, string> | undefined {
    const texts = this.texts(name)
    if (texts.length === 0) return undefined
    return Object.fromEntries(
      texts.map((text) => {
        const at = text.indexOf('=')
        if (at < 1) throw new UsageError(`--${name} takes key=value, not '${text}'.`)
        return [text.slice(0, at), text.slice(at + 1)]
      }),
    )
  }
}

/** An option: its flags, what it is for, and whether it may be repeated (`many`). */
export type OptionRow = readonly [flags: string, about: string, many?: 'many']

/** A command. `run` may give an exit code. */
export type Verb = {
  name: string
  /** In commander's form: `<vm> [path] [words...]`. */
  args?: string
  about: string
  options?: readonly OptionRow[]
  /** Whether its own failures end with 125, because it passes another program's exit code. */
  passesExit?: boolean
  run(cli: Cli, args: string[], options: Given, rest: string[]): Promise<number | void>
}

/** A noun with its verbs; `alone` is what the noun does without one. */
export type Noun = { verbs?: readonly Verb[]; alone?: Omit<Verb, 'name' | 'about'> }

/** The options that every command takes. */
export const commonOptions: readonly OptionRow[] = [
  ['--json', 'print data as JSON'],
  ['--org <organization>', 'the organization to act in'],
  ['--context <name>', 'which Berth, by the name of its context'],
  ['-y, --yes', 'answer every question with yes'],
  ['-q, --quiet', 'print data only'],
]

/** Runs a verb. */
export type Runner = (
  verb: Omit<Verb, 'name' | 'about'>,
  args: string[],
  options: Given,
  rest: string[],
) => Promise<void>

/** Adds what a noun has to its command. */
export function addNoun(command: Command, { verbs = [], alone }: Noun, run: Runner): void {
  if (alone) addTo(command, alone, run) // it has the common options already
  for (const verb of verbs) {
    const one = bare(addCommon(command.command(verb.name).description(verb.about), true))
    addTo(
      one.addHelpText('after', '\nBesides, as every command: --json, --org, --context, --yes, --quiet (berth help).'),
      verb,
      run,
    )
  }
}

/** A command with the ways of all of ours: it throws, and whoever catches that says why. */
export function bare(command: Command): Command {
  return command
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .showSuggestionAfterError(true)
    .enablePositionalOptions()
    .helpCommand(false)
}

/** The options that are common, hidden where the help of the program has them. */
export function addCommon(command: Command, isHidden: boolean): Command {
  for (const [flags, about] of commonOptions) {
    const option = new Option(flags, about)
    command.addOption(isHidden ? option.hideHelp() : option)
  }
  return command
}

function addTo(command: Command, verb: Omit<Verb, 'name' | 'about'>, run: Runner): void {
  if (verb.args) command.arguments(verb.args)
  for (const [flags, about, many] of verb.options ?? []) {
    const option = new Option(flags, about)
    if (many) option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value])
    command.addOption(option)
  }
  command.action(async () => {
    const expected = command.registeredArguments.length
    const isVariadic = command.registeredArguments.at(-1)?.variadic ?? false
    const words = command.args
    const args = isVariadic ? words.slice(0, expected - 1) : words
    const rest = isVariadic ? words.slice(expected - 1) : []
    await run(verb, args, new Given(named(command)), rest)
  })
}

/** The values by the long names of their options, those of the commands above too. */
function named(command: Command): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (let one: Command | null = command; one; one = one.parent)
    for (const option of one.options) {
      // The values of a noun without verbs are put back after its options were added, so a --no-… has lost its default.
      const value = (one.getOptionValue(option.attributeName()) ?? (option.negate ? true : undefined)) as unknown
      const name = (option.long ?? option.flags).replace(/^--(?:no-)?/, '')
      if (value !== undefined && values[name] === undefined) values[name] = value
    }
  return values
}

/** What other command lines call what is here. */
const otherNames: Readonly<Record<string, string>> = {
  function: 'fn',
  functions: 'fn',
  database: 'db',
  databases: 'db',
  sandbox: 'run',
  machine: 'vm',
  whoami: 'status',
  ls: 'vm ls',
  ps: 'vm ls',
  exec: 'vm exec',
  ssh: 'vm ssh',
  cp: 'vm cp',
  psql: 'db psql',
  deploy: 'fn deploy',
  invite: 'member invite',
  secret: 'vault',
  cron: 'schedule',
}

/** Those whose last words are a command of their own, which may have options. */
const withCommand = ['vm exec', 'vm ssh']

/** The sentence of a mistake in the words of a command, with what to write instead. */
export function mistakeOf(error: CommanderError, words: readonly string[] = []): string {
  const text = error.message.replace(/^error: /, '').replace(/\n\(Did you mean (.*?)\?\)$/, ". Did you mean '$1'?")
  const [, unknown = ''] = /^unknown command '([^']*)'/.exec(text) ?? []
  const usual = words[0] === unknown ? otherNames[unknown] : undefined
  const said = usual === undefined ? text : `unknown command '${unknown}'. Did you mean '${usual}'?`
  const sentence = said.charAt(0).toUpperCase() + said.slice(1)
  const ended = /[.?]$/.test(sentence) ? sentence : `${sentence}.`
  const command = words.slice(0, 2).join(' ')
  if (error.code === 'commander.unknownOption' && withCommand.includes(command))
    return `${ended} Put -- before the command that it is of: berth ${command} <vm> -- ls -l`
  return unknown !== '' && !ended.endsWith('?') ? `${ended} There is a list: berth help` : ended
}
