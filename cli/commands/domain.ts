/** `berth domain`. */
import type { Berth } from '../../src/client/berth.ts'
import { UsageError } from '../errors.ts'
import type { Cli, Noun, Verb } from '../grammar.ts'
import { newKey } from '../keys.ts'
import { ageOf, word } from '../output.ts'
import { getOf, lsOf, rmOf, type PlainNoun } from '../plain.ts'
import { lineOf } from '../text.ts'
import { findVmOf } from './vm/names.ts'

type Domains = Berth['domains']
type DomainRow = Awaited<ReturnType<Domains['list']>>['nodes'][number]

const noun: PlainNoun<DomainRow, Domains> = {
  one: 'domain',
  argument: 'domain',
  part: (berth) => berth.domains,
  nameOf: (row) => row.name,
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['STATUS', (row) => word(row.status)],
    ['PATH', (row) => row.path],
    ['AGE', (row) => ageOf(row.createdAt)],
    ['MESSAGE', (row) => row.message],
  ],
}

function show(cli: Cli, domain: DomainRow): void {
  if (cli.out.isJson) return cli.out.json(domain)
  cli.out.line(`${lineOf(domain.name)}  ${domain.id}  ${cli.out.state(word(domain.status))}`)
  cli.out.note(lineOf(domain.message))
  cli.out.table(domain.records, [
    ['RECORD', (row) => row.name],
    ['TYPE', (row) => row.type],
    ['MUST BE', (row) => [row.expected].flat().join(' ')],
    ['IS', (row) => [row.seen ?? []].flat().join(' ') || '-'],
    ['RIGHT', (row) => (row.isRight ? 'yes' : 'no')],
  ])
}

const add: Verb = {
  name: 'add',
  args: '<name>',
  about: 'add a domain, and print the DNS records that it needs',
  options: [
    ['--vm <vm:port>', 'where it leads to'],
    ['--path <path>', 'only what is below this path'],
  ],
  async run(cli, [domain = ''], options) {
    const [vm, port = ''] = options.text('vm')?.split(':') ?? []
    if (vm !== undefined && !/^\d{1,5}$/.test(port)) throw new UsageError('--vm takes a VM and a port: --vm web:3000')
    const target = vm === undefined ? {} : { vmId: await findVmOf(cli, vm), vmPort: Number(port) }
    const path = options.text('path')
    show(
      cli,
      await (await cli.berth()).domains.create(
        { domain, ...target, ...(path === undefined ? {} : { path }) },
        { idempotencyKey: newKey() },
      ),
    )
  },
}

const check: Verb = {
  name: 'check',
  args: '<domain>',
  about: 'look at its DNS now',
  async run(cli, [domain = '']) {
    show(cli, await (await cli.berth()).domains.check(domain))
  },
}

/** Domains. */
export const domain: Noun = {
  verbs: [lsOf(noun), add, getOf(noun), check, rmOf(noun, (berth, id) => berth.domains.delete(id))],
}
