/** `berth up`, `down`, `doctor`, `backup`, `restore` and `token`: the programs of npm's scripts, run in the checkout on a Berth's host. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure } from '../errors.ts'
import type { Cli, Given, Noun, OptionRow } from '../grammar.ts'

/** A program: its file below the checkout, and npm's way to run it. */
type HostProgram = { file: string; npm: string; options?: readonly OptionRow[]; args?: string }

const programs = {
  up: {
    file: 'src/start.ts',
    npm: 'npm start',
    options: [
      ['--detach', 'go on in the background, once it is ready'],
      ['--without-vms', 'leave VMs out'],
      ['--procfile <file>', 'run the processes of this file'],
      ['--log-file <file>', 'write what it prints there too; with --detach to berth.log in the data folder by default'],
    ],
  },
  down: { file: 'src/stop.ts', npm: 'npm stop', options: [['--vms', 'shut its VMs down too']] },
  doctor: { file: 'src/doctor.ts', npm: 'npm run doctor' },
  backup: { file: 'src/backup.ts', npm: 'npm run backup', args: '[file]' },
  restore: { file: 'src/restore.ts', npm: 'npm run restore', args: '<file>' },
  token: {
    file: 'src/identity/token.ts',
    npm: 'npm run -s token',
    options: [
      ['--user <name>', 'for whom'],
      ['--org <name>', 'in which organization'],
      ['--role <role>', 'viewer, member, admin or owner'],
      ['--ttl <time>', 'how long it is valid: 90s, 15m, 1h (by default), 7d'],
      ['--create', 'make both if they are new'],
    ],
  },
} as const satisfies Record<string, HostProgram>

/** Their names. */
export type HostCommand = keyof typeof programs

/** Variables of the command line, which no program of the host knows. */
const ownVariables = ['BERTH_URL', 'BERTH_TOKEN', 'BERTH_ORG']
/** Options whose value is a path from where the person is; the programs run in the checkout. */
const pathOptions = ['procfile', 'log-file']

/** One of them. */
export function hostNoun(name: HostCommand): Noun {
  const program: HostProgram = programs[name]
  return {
    alone: {
      ...(program.args ? { args: program.args } : {}),
      ...(program.options ? { options: program.options } : {}),
      async run(cli, args, options) {
        const files = args.map((path) => resolve(path))
        if (name === 'backup' && files.length === 0) files.push(process.cwd())
        become(cli, name, program, [...optionWords(program, options), ...files])
      },
    },
  }
}

function optionWords({ options: rows = [] }: HostProgram, options: Given): string[] {
  return rows.flatMap(([flags]) => {
    const [name = ''] = flags.slice('--'.length).split(' ')
    const text = options.text(name)
    if (text !== undefined) return [`--${name}=${pathOptions.includes(name) ? resolve(text) : text}`]
    return options.flag(name) ? [`--${name}`] : []
  })
}

/** This process becomes the program: its signals, its output and its exit code are ours. @throws Failure where there is no checkout. */
function become({ env }: Cli, name: HostCommand, { file, npm }: HostProgram, words: readonly string[]): void {
  const checkout = fileURLToPath(new URL('../..', import.meta.url))
  const runner = join(checkout, 'src/start/node.sh')
  if (!existsSync(runner) || !existsSync(join(checkout, file)) || !process.execve)
    throw new Failure(
      `berth ${name} works on the host of a Berth, whose checkout is not here: run it in that checkout, as npx berth ${name} or ${npm}.`,
    )
  process.chdir(checkout)
  const variables = Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !ownVariables.includes(entry[0]),
    ),
  )
  process.execve('/bin/sh', ['sh', runner, file, ...words], variables)
}
