/** `berth build`. */
import type { Berth } from '../../src/client/berth.ts'
import { exits, UsageError } from '../errors.ts'
import type { Cli, Noun, Verb } from '../grammar.ts'
import { given, readObject } from '../inputs.ts'
import { newKey } from '../keys.ts'
import { ageOf, word } from '../output.ts'
import { finderOf, getOf, lsOf, type PlainNoun } from '../plain.ts'
import { lineOf } from '../text.ts'

type Builds = Berth['builds']
type BuildRow = Awaited<ReturnType<Builds['list']>>['nodes'][number]

const noun: PlainNoun<BuildRow, Builds> = {
  one: 'build',
  argument: 'build',
  part: (berth) => berth.builds,
  columns: [
    ['ID', (row) => row.id],
    ['STATUS', (row) => word(row.status)],
    ['REPOSITORY', (row) => row.repoUrl],
    ['REF', (row) => row.gitRef ?? row.commitSha?.slice(0, 12)],
    ['AGE', (row) => ageOf(row.queuedAt)],
    ['ERROR', (row) => row.error],
  ],
}
const find = finderOf(noun)

/** The log to its end; then whether it succeeded. */
async function follow(cli: Cli, id: string): Promise<number> {
  const { builds } = await cli.berth()
  for await (const entry of builds.log(id)) {
    if (cli.out.isJson) cli.out.json(entry)
    else cli.out.printed(entry.output)
  }
  const { status, error } = await builds.get(id)
  cli.out.note(`${id}  ${word(status)}${error ? `  ${lineOf(error)}` : ''}`)
  return status === 'SUCCEEDED' ? 0 : exits.failed
}

const create: Verb = {
  name: 'create',
  args: '[repository]',
  about: 'build a repository of git, print its log, and end with 1 unless it succeeds',
  options: [
    ['--ref <ref>', 'a branch or a tag'],
    ['--commit <sha>', 'a commit'],
    ['-f, --file <path>', 'what to do, as JSON or YAML, such as {"commands": ["make"]}; - is stdin'],
    ['--no-wait', 'print the id, and do not wait'],
  ],
  async run(cli, [repoUrl], options) {
    const file = options.text('file')
    if (file === undefined)
      throw new UsageError(
        'Pass -f with a file that says what to do, such as {"commands": ["make"]}, or -f - for stdin.',
      )
    const spec = (await readObject(file)) as never // the server says what is wrong with it
    const build = await (await cli.berth()).builds.create(
      given({ repoUrl, gitRef: options.text('ref'), commitSha: options.text('commit'), spec }),
      { idempotencyKey: newKey() },
    )
    if (!options.flag('wait')) return cli.out.result(build, build.id)
    cli.out.note(build.id)
    return follow(cli, build.id)
  },
}

const log: Verb = {
  name: 'log',
  args: '<build>',
  about: 'what it printed so far',
  options: [['--follow', 'go on until it ends, and end with 1 unless it succeeds']],
  async run(cli, [text], options) {
    const id = await find(cli, text)
    if (options.flag('follow')) return follow(cli, id)
    const berth = await cli.berth()
    const { build } = await berth.query<
      { build: { log: { id: string; output: string; isDone: boolean }[] | null } },
      { id: string }
    >('query BuildLogSoFar($id: ID!) { build(id: $id) { log { id output isDone } } }', { id })
    if (cli.out.isJson) cli.out.json(build.log ?? [])
    else for (const { output } of build.log ?? []) cli.out.printed(output)
    return undefined
  },
}

const cancel: Verb = {
  name: 'cancel',
  args: '<build>',
  about: 'stop a build',
  async run(cli, [text]) {
    const build = await (await cli.berth()).builds.cancel(await find(cli, text))
    cli.out.result(build, `${build.id}  ${word(build.status)}`)
  },
}

/** Builds. */
export const build: Noun = { verbs: [create, lsOf(noun), getOf(noun), log, cancel] }
