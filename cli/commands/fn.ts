/** `berth fn`. */
import { NothingNamed, UsageError } from '../errors.ts'
import type { Noun, Verb } from '../grammar.ts'
import { given } from '../inputs.ts'
import { newKey } from '../keys.ts'
import { getOf, lsOf, rmOf } from '../plain.ts'
import { packProgram } from '../programs.ts'
import { lineOf } from '../text.ts'
import { findFunctionOf as find, functionNoun as noun } from './fn-names.ts'
import { sendTo } from './fn-request.ts'

const deploy: Verb = {
  name: 'deploy',
  args: '<function> [path]',
  about: 'deploy a file, a folder or a build to a function, which is made if it is new',
  options: [
    ['--build <id>', 'what this build made'],
    ['--command <line>', 'what starts it'],
    ['--port <port>', 'where it listens'],
  ],
  async run(cli, [text = '', path], options) {
    const { functions } = await cli.berth()
    const buildId = options.text('build')
    if ((path === undefined) === (buildId === undefined)) throw new UsageError('Pass a path, or --build <id>.')
    const id = await find(cli, text).catch((error: unknown) => {
      if (error instanceof NothingNamed) return undefined // it is new
      throw error
    })
    const what = given({
      buildId,
      binaryUrl: path === undefined ? undefined : await functions.upload(await packProgram(path)),
      startCommand: options.text('command'),
      port: options.number('port'),
    })
    const made =
      id === undefined
        ? await functions.create({ name: text, ...what }, { idempotencyKey: newKey() })
        : await functions.deploy({ id, ...what }, { idempotencyKey: newKey() })
    cli.out.result(made, lineOf(made.url))
  },
}

const invoke: Verb = {
  name: 'invoke',
  args: '<function> [path]',
  about: 'send it a request, and print its answer',
  options: [
    ['-X, --method <method>', 'GET by default'],
    ['-d, --data <text>', 'a body, sent by POST'],
  ],
  async run(cli, [text, path = '/'], options) {
    const { url } = await (await cli.berth()).functions.get(await find(cli, text))
    const data = options.text('data')
    const target = new URL(path, url)
    if (target.origin !== new URL(url).origin) throw new UsageError('A path begins with one slash.')
    const method = options.text('method') ?? (data === undefined ? 'GET' : 'POST')
    const { status, body } = await sendTo(target, { method, body: data })
    cli.out.note(`HTTP ${status}`)
    cli.out.printed(body)
    return status >= 200 && status < 300 ? 0 : 1
  },
}

const logs: Verb = {
  name: 'logs',
  args: '<function>',
  about: 'what it printed',
  options: [['--follow', 'go on until it is deleted']],
  async run(cli, [text], options) {
    const id = await find(cli, text)
    const berth = await cli.berth()
    const print = (entry: { output: string }): void =>
      cli.out.isJson ? cli.out.json(entry) : cli.out.printed(entry.output)
    if (options.flag('follow')) {
      for await (const entry of berth.functions.log(id)) print(entry)
      return
    }
    const answer = await berth.query<{ function: { log: { nodes: { output: string }[] } | null } }, { id: string }>(
      'query FunctionLogSoFar($id: ID!) { function(id: $id) { log(last: 100) { nodes { at output versionNumber } } } }',
      { id },
    )
    for (const entry of answer.function.log?.nodes ?? []) print(entry)
  },
}

/** Functions. */
export const fn: Noun = {
  verbs: [lsOf(noun), deploy, getOf(noun), invoke, logs, rmOf(noun, (berth, id) => berth.functions.delete(id))],
}
