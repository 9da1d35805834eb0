/** `berth schedule`, `trigger`, `deployment` and `environment`. */
import type { Berth } from '../../src/client/berth.ts'
import type { Noun, Verb } from '../grammar.ts'
import { given, readObject } from '../inputs.ts'
import { ageOf, word } from '../output.ts'
import { createOf, finderOf, getOf, lsOf, rmOf, updateOf, type PlainNoun } from '../plain.ts'
import { lineOf } from '../text.ts'

type RowOf<Part extends { list(): Promise<{ nodes: unknown[] }> }> = Awaited<ReturnType<Part['list']>>['nodes'][number]
type Schedules = Berth['schedules']
type Triggers = Berth['triggers']
type Deployments = Berth['deployments']
type Environments = Berth['environments']

const schedules: PlainNoun<RowOf<Schedules>, Schedules> = {
  one: 'schedule',
  argument: 'schedule',
  part: (berth) => berth.schedules,
  nameOf: (row) => row.name,
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['CRON', (row) => row.cron],
    ['TIMEZONE', (row) => row.timezone],
    ['ENABLED', (row) => (row.isEnabled ? 'yes' : 'no')],
    ['NEXT', (row) => row.nextRunAt],
    ['ERROR', (row) => row.lastError],
  ],
}

const triggers: PlainNoun<RowOf<Triggers>, Triggers> = {
  one: 'trigger',
  argument: 'trigger',
  part: (berth) => berth.triggers,
  nameOf: (row) => row.name,
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['REPOSITORY', (row) => row.repo],
    ['EVENTS', (row) => row.events.map(word).join(', ')],
    ['ENABLED', (row) => (row.isEnabled ? 'yes' : 'no')],
    ['FIRED', (row) => ageOf(row.lastFiredAt)],
  ],
}

const deployments: PlainNoun<RowOf<Deployments>, Deployments> = {
  one: 'deployment',
  argument: 'deployment',
  part: (berth) => berth.deployments,
  nameOf: (row) => row.name,
  isSearchable: true,
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['STATUS', (row) => word(row.status)],
    ['LAST RUN', (row) => ageOf(row.lastRunAt)],
  ],
}

/** Environments, as the usual verbs know them. */
export const environmentNoun: PlainNoun<RowOf<Environments>, Environments> = {
  one: 'environment',
  argument: 'environment',
  part: (berth) => berth.environments,
  nameOf: (row) => row.name,
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['STATUS', (row) => word(row.status)],
    ['VM', (row) => row.vmId],
    ['AGE', (row) => ageOf(row.createdAt)],
  ],
}

/** Schedules. */
export const schedule: Noun = {
  verbs: [
    lsOf(schedules),
    createOf('schedule', (berth, input, options) => berth.schedules.create(input, options)),
    getOf(schedules),
    updateOf(schedules, (berth, input, options) => berth.schedules.update(input, options)),
    rmOf(schedules, (berth, id) => berth.schedules.delete(id)),
  ],
}

const test: Verb = {
  name: 'test',
  args: '<trigger>',
  about: 'what an event would do, without doing it',
  options: [
    ['--event <name>', 'as in X-GitHub-Event: pull_request'],
    ['-f, --file <path>', 'the body of the delivery as JSON; - is stdin'],
    ['--fire <id>', 'the event of an earlier fire instead'],
  ],
  async run(cli, [text], options) {
    const id = await finderOf(triggers)(cli, text)
    const file = options.text('file')
    const payload = file === undefined ? undefined : await readObject(file)
    const tried = await (await cli.berth()).triggers.test(
      given({ id, event: options.text('event'), payload, fireId: options.text('fire') }),
    )
    cli.out.result(tried, `${word(tried.outcome)}${tried.reason ? `: ${lineOf(tried.reason)}` : ''}`)
  },
}

/** Triggers. */
export const trigger: Noun = {
  verbs: [
    lsOf(triggers),
    createOf('trigger', (berth, input, options) => berth.triggers.create(input, options)),
    getOf(triggers),
    updateOf(triggers, (berth, input, options) => berth.triggers.update(input, options)),
    test,
    rmOf(triggers, (berth, id) => berth.triggers.delete(id)),
  ],
}

const run: Verb = {
  name: 'run',
  args: '<deployment>',
  about: 'start a session of it now, and print its id',
  async run(cli, [text]) {
    const made = await (await cli.berth()).deployments.run(await finderOf(deployments)(cli, text))
    cli.out.result(made, made.session?.id ?? lineOf(made.deploymentRun?.error?.message ?? '-'))
  },
}

/** Deployments. */
export const deployment: Noun = {
  verbs: [
    lsOf(deployments),
    createOf('deployment', (berth, input, options) => berth.deployments.create(input, options)),
    getOf(deployments),
    run,
    rmOf(deployments, (berth, id) => berth.deployments.delete(id)),
  ],
}

/** Environments. */
export const environment: Noun = {
  verbs: [
    lsOf(environmentNoun),
    createOf('environment', (berth, input, options) => berth.environments.create(input, options)),
    getOf(environmentNoun),
    rmOf(environmentNoun, (berth, id) => berth.environments.delete(id)),
  ],
}
