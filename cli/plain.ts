/** The verbs that most nouns have: ls, get, rm, create from a file. */
import type { Berth, Page } from '../src/client/berth.ts'
import { mistakeInInput } from './errors.ts'
import { newKey } from './keys.ts'
import type { Cli, OptionRow, Verb } from './grammar.ts'
import { fileIn, readObject } from './inputs.ts'
import { idOf, type Named } from './names.ts'
import type { Column } from './output.ts'
import { confirm } from './prompts.ts'
import { lineOf } from './text.ts'

const rowsUsual = 100
const pageRowsMax = 100

type ListVariables = { first?: number; after?: string | null; filter?: never }
type Listed<Row> = { list(variables?: ListVariables): Promise<Page<Row>> }

/** A noun as the usual verbs know it. `List` is its part of the client. */
export type PlainNoun<Row extends { id: string }, Part extends Listed<Row>> = {
  one: string // what a row is: `VM`
  argument: string // `vm`
  part(berth: Berth): Part
  columns: readonly Column<Row>[]
  nameOf?(row: Row): string | null | undefined
  isSearchable?: boolean
}

/** `a VM`, `an agent`. */
function oneOf(one: string): string {
  return `${/^[aeio]/.test(one) ? 'an' : 'a'} ${one}`
}

/** The id of a row that a person names. */
export function finderOf<Row extends { id: string }, Part extends Listed<Row>>(
  noun: PlainNoun<Row, Part>,
): (cli: Cli, text: string | undefined) => Promise<string> {
  return async (cli, text = '') => {
    const part = noun.part(await cli.berth())
    const named: Named<Row> = {
      one: noun.one,
      list: (variables) => part.list(variables as ListVariables), // those that are searchable take it
      nameOf: noun.nameOf ?? (() => undefined),
      ...(noun.isSearchable ? { isSearchable: true } : {}),
    }
    return idOf(named, text)
  }
}

/** The id of what an option names; undefined where it was not passed. */
export async function idOfOption<Row extends { id: string }, Part extends Listed<Row>>(
  noun: PlainNoun<Row, Part>,
  cli: Cli,
  text: string | undefined,
): Promise<string | undefined> {
  return text === undefined ? undefined : finderOf(noun)(cli, text)
}

/** `ls`. `filterOf` makes the filter of its options. */
export function lsOf<Row extends { id: string }, Part extends Listed<Row>>(
  noun: PlainNoun<Row, Part>,
  filters: { options: readonly OptionRow[]; of(options: Parameters<Verb['run']>[2]): Record<string, unknown> } = {
    options: [],
    of: () => ({}),
  },
): Verb {
  return {
    name: 'ls',
    about: `list ${noun.one}s`,
    options: [...filters.options, ['--limit <rows>', `how many, ${rowsUsual} by default`]],
    async run(cli, _args, options) {
      const part = noun.part(await cli.berth())
      const most = options.number('limit') ?? rowsUsual
      const filter = filters.of(options)
      const rows: Row[] = []
      let after: string | null = null
      do {
        const page: Page<Row> = await part.list({
          first: Math.max(1, Math.min(pageRowsMax, most - rows.length)),
          ...(after === null ? {} : { after }),
          ...(Object.keys(filter).length === 0 ? {} : { filter: filter as never }), // as the noun's filter is
        })
        rows.push(...page.nodes)
        after = page.endCursor
      } while (after !== null && rows.length < most)
      cli.out.table(rows.slice(0, most), noun.columns)
      if (after !== null) cli.out.note(`There are more. Pass --limit ${most * 10}.`)
    },
  }
}

/** `get`. */
export function getOf<Row extends { id: string }, Part extends Listed<Row> & { get(id: string): Promise<object> }>(
  noun: PlainNoun<Row, Part>,
): Verb {
  return {
    name: 'get',
    args: `<${noun.argument}>`,
    about: `show ${oneOf(noun.one)}`,
    async run(cli, [text]) {
      const berth = await cli.berth()
      cli.out.object({ ...(await noun.part(berth).get(await finderOf(noun)(cli, text))) })
    },
  }
}

/** `rm`. */
export function rmOf<Row extends { id: string }, Part extends Listed<Row>>(
  noun: PlainNoun<Row, Part>,
  remove: (berth: Berth, id: string) => Promise<unknown>,
  name = 'rm',
): Verb {
  return {
    name,
    args: `<${noun.argument}>`,
    about: `${name === 'rm' ? 'delete' : name} ${oneOf(noun.one)}`,
    async run(cli, [text = '']) {
      const id = await finderOf(noun)(cli, text)
      const shown = lineOf(text)
      await confirm(`Delete ${noun.one} ${shown}?`, cli.isConfirmed)
      await remove(await cli.berth(), id)
      cli.out.result({ deletedId: id }, `Deleted ${shown}.`)
    },
  }
}

/** @throws UsageError for fields that the input has not, rather than what the graph calls them. */
async function inPlainWords<Made>(made: Promise<Made>): Promise<Made> {
  try {
    return await made
  } catch (error) {
    throw mistakeInInput(error) ?? error
  }
}

/** `create -f file`: the input is a file of JSON or YAML, whose fields are those of the mutation. */
export function createOf<Made extends { id: string }>(
  one: string,
  create: (berth: Berth, input: never, options: { idempotencyKey: string }) => Promise<Made>,
): Verb {
  return {
    name: 'create',
    about: `create ${oneOf(one)} from a file`,
    options: [['-f, --file <path>', 'JSON or YAML with the fields of the input; - is stdin']],
    async run(cli, _args, options) {
      const input = await readObject(fileIn(options))
      const made = await inPlainWords(create(await cli.berth(), input as never, { idempotencyKey: newKey() })) // the server says what is wrong with it
      cli.out.result(made, made.id)
    },
  }
}

/** `update <noun> -f file`: the fields of the file change, the others stay. */
export function updateOf<Row extends { id: string }, Part extends Listed<Row>>(
  noun: PlainNoun<Row, Part>,
  update: (berth: Berth, input: never, options: { idempotencyKey: string }) => Promise<{ id: string }>,
): Verb {
  return {
    name: 'update',
    args: `<${noun.argument}>`,
    about: `change ${oneOf(noun.one)} by a file; what it does not name stays`,
    options: [['-f, --file <path>', 'JSON or YAML with the fields that change; - is stdin']],
    async run(cli, [text], options) {
      const id = await finderOf(noun)(cli, text)
      const input = await readObject(fileIn(options))
      const changed = await inPlainWords(
        update(await cli.berth(), { ...input, id } as never, { idempotencyKey: newKey() }), // the server says what is wrong with it
      )
      cli.out.result(changed, changed.id)
    },
  }
}
