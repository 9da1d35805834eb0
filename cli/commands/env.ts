/** `berth env`: the environment variables of VMs and functions. Values are never printed, unless `ls` is asked for them. */
import { parseEnv } from 'node:util'
import { UsageError } from '../errors.ts'
import type { Cli, Given, Noun, OptionRow, Verb } from '../grammar.ts'
import { readText } from '../inputs.ts'
import { word } from '../output.ts'
import { lineOf } from '../text.ts'
import { findFunctionOf } from './fn-names.ts'
import { findVmOf } from './vm/names.ts'

const fileBytesMax = 1024 * 1024
const visibilities = ['PLAINTEXT', 'SENSITIVE', 'SECRET'] as const
const whose: readonly OptionRow[] = [
  ['--vm <vm>', 'of this VM'],
  ['--fn <function>', 'of this function'],
]

/** Whose variables: exactly one of the two. */
type Owner = { kind: 'vm' | 'fn'; id: string; name: string }

async function ownerOf(cli: Cli, options: Given): Promise<Owner> {
  const vm = options.text('vm')
  const fn = options.text('fn')
  if (vm !== undefined && fn === undefined) return { kind: 'vm', id: await findVmOf(cli, vm), name: vm }
  if (fn !== undefined && vm === undefined) return { kind: 'fn', id: await findFunctionOf(cli, fn), name: fn }
  throw new UsageError('Whose variables? Pass --vm <vm>, or --fn <function>.')
}

type Row = { key: string; value?: string; visibility?: string; source?: string }

const list: Verb = {
  name: 'ls',
  about: 'names of variables; with --values what they have, as far as you may see it',
  options: [...whose, ['--values', 'print the values too']],
  async run(cli, _args, options) {
    const { kind, id } = await ownerOf(cli, options)
    const berth = await cli.berth()
    const rows: Row[] = kind === 'vm' ? await berth.vms.env.list(id) : await berth.functions.variables(id)
    const isShown = options.flag('values')
    const withoutValues = ({ key, visibility, source }: Row): Row => ({
      key,
      ...(visibility === undefined ? {} : { visibility }),
      ...(source === undefined ? {} : { source }),
    })
    const shownValue = ['VALUE', (row: Row) => row.value] as const
    cli.out.table(isShown ? rows : rows.map(withoutValues), [
      ['NAME', (row) => row.key],
      ...(isShown ? [shownValue] : []),
      ['VISIBILITY', (row) => (row.visibility === undefined ? null : word(row.visibility))],
      ['SET BY', (row) => (row.source === undefined ? null : word(row.source))],
    ])
  },
}

/** What is set: of the file first, then what was passed as NAME=value. */
async function valuesOf(words: readonly string[], file: string | undefined): Promise<Record<string, string>> {
  const values: Record<string, string> = {}
  if (file !== undefined) {
    const text = await readText(file)
    if (Buffer.byteLength(text) > fileBytesMax)
      throw new UsageError(`${lineOf(file)} has more than ${fileBytesMax / 1024} KiB.`)
    for (const [name, value] of Object.entries(parseEnv(text))) if (value !== undefined) values[name] = value
  }
  for (const text of words) {
    const at = text.indexOf('=')
    // What was meant as a value is not repeated.
    if (at < 1) throw new UsageError('Variables are passed as NAME=value, or by --from-file <path>.')
    values[text.slice(0, at)] = text.slice(at + 1)
  }
  if (Object.keys(values).length === 0)
    throw new UsageError('Nothing to set. Pass NAME=value, or --from-file <path> with lines of NAME=value.')
  return values
}

const set: Verb = {
  name: 'set',
  args: '[values...]',
  about: 'set variables, passed as NAME=value or in a file; the others stay',
  options: [
    ...whose,
    ['--from-file <path>', 'a .env file, with comments and quotes; - is stdin'],
    ['--visibility <visibility>', `of a VM: ${visibilities.map((one) => one.toLowerCase()).join(', ')}`],
  ],
  async run(cli, _args, options, words) {
    const visibility = visibilityOf(options)
    const values = await valuesOf(words, options.text('from-file'))
    const { kind, id, name } = await ownerOf(cli, options)
    const berth = await cli.berth()
    if (kind === 'fn') {
      if (visibility !== undefined)
        throw new UsageError('--visibility is for VMs: variables of functions are hidden from viewers.')
      await berth.functions.update({ id, variables: values })
    } else {
      const { warning } = await berth.vms.env.set({ vmId: id, env: values, ...(visibility ? { visibility } : {}) })
      if (warning) cli.out.note(`Warning: ${lineOf(warning)}`)
    }
    const names = Object.keys(values)
    cli.out.result({ id, names }, `${lineOf(name)}: ${names.map(lineOf).join(', ')}`)
  },
}

function visibilityOf(options: Given): (typeof visibilities)[number] | undefined {
  const given = options.text('visibility')?.toUpperCase()
  const found = visibilities.find((one) => one === given)
  if (given !== undefined && found === undefined)
    throw new UsageError(`--visibility takes one of: ${visibilities.join(', ').toLowerCase()}.`)
  return found
}

const remove: Verb = {
  name: 'rm',
  args: '<names...>',
  about: 'remove variables',
  options: whose,
  async run(cli, _args, options, names) {
    const { kind, id, name } = await ownerOf(cli, options)
    const berth = await cli.berth()
    if (kind === 'fn')
      await berth.functions.update({ id, variables: Object.fromEntries(names.map((one) => [one, null])) })
    else for (const key of names) await berth.vms.env.delete({ vmId: id, key })
    cli.out.result({ id, names }, `${lineOf(name)}: removed ${names.map(lineOf).join(', ')}`)
  },
}

/** Variables. */
export const env: Noun = { verbs: [list, set, remove] }
