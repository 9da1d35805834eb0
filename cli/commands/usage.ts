/** `berth usage`. */
import { UsageError } from '../errors.ts'
import type { Cli, Given, Noun } from '../grammar.ts'
import { given } from '../inputs.ts'

const models = ['model', 'key', 'day'] as const
const ofVms = 'vm'

/** What was used. */
export const usage: Noun = {
  alone: {
    options: [
      ['--by <what>', 'model (by default), key, day, or vm'],
      ['--from <day>', 'from this day on: 2026-01-31'],
      ['--to <day>', 'up to this one'],
    ],
    async run(cli, _args, options) {
      const by = options.text('by') ?? 'model'
      if (by === ofVms) return showVms(cli, options)
      const dimension = models.find((one) => one === by)
      if (!dimension) throw new UsageError(`--by takes one of: ${[...models, ofVms].join(', ')}.`)
      return showModels(cli, dimension, options)
    },
  },
}

function rangeOf(options: Given): { from?: string; to?: string } {
  return given({ from: options.text('from'), to: options.text('to') })
}

async function showModels(cli: Cli, by: (typeof models)[number], options: Given): Promise<void> {
  const dimensions = [({ model: 'MODEL', key: 'KEY', day: 'DAY' } as const)[by]]
  const { groups, hasMoreGroups } = await (await cli.berth()).usage.models({ dimensions, ...rangeOf(options) })
  cli.out.table(groups, [
    [by.toUpperCase(), (row) => ({ model: row.modelId, key: row.key?.name ?? row.keyId, day: row.day })[by]],
    ['REQUESTS', (row) => row.totals.requests],
    ['INPUT', (row) => row.totals.inputTokens],
    ['OUTPUT', (row) => row.totals.outputTokens],
    ['USD', (row) => row.totals.costUsd],
  ])
  if (hasMoreGroups) cli.out.note('There are more. Pass --from and --to.')
}

async function showVms(cli: Cli, options: Given): Promise<void> {
  const { groups, hasMoreGroups } = await (await cli.berth()).usage.vms({ dimensions: ['VM'], ...rangeOf(options) })
  cli.out.table(groups, [
    ['VM', (row) => row.vm?.name ?? row.vmId ?? row.buildId],
    ['HOURS', (row) => row.totals.hours],
    ['USD', (row) => row.totals.costUsd],
  ])
  if (hasMoreGroups) cli.out.note('There are more. Pass --from and --to.')
}
