/** `berth db`. */
import type { Berth } from '../../src/client/berth.ts'
import { Failure } from '../errors.ts'
import type { Noun, Verb } from '../grammar.ts'
import { given } from '../inputs.ts'
import { whileItGoesOn } from '../interrupts.ts'
import { newKey } from '../keys.ts'
import { ageOf, sizeOf, word } from '../output.ts'
import { getOf, idOfOption, lsOf, rmOf } from '../plain.ts'
import { confirm } from '../prompts.ts'
import { lineOf } from '../text.ts'
import { waitFor } from '../waiting.ts'
import { projectNoun } from './organization.ts'
import { dumpVerb } from './db/dump.ts'
import { databaseNoun as noun, findDatabaseOf as find } from './db/names.ts'
import { psqlVerb } from './db/psql.ts'

type Databases = Berth['databases']

const create: Verb = {
  name: 'create',
  args: '[name]',
  about: 'create a database; its address with the password is shown once',
  options: [
    ['--cpus <count>', 'processors'],
    ['--memory <mb>', 'memory in MB'],
    ['--disk <mb>', 'disk in MB'],
    ['--project <project>', 'its project'],
    ['--sleep-after <time>', 'let it sleep when nobody has used it for so long'],
    ['--no-wait', 'do not wait until it is active'],
  ],
  async run(cli, [name], options) {
    const { databases } = await cli.berth()
    const isWaiting = options.flag('wait')
    const made = await databases.create(
      given({
        name,
        vcpuCount: options.number('cpus'),
        memoryMb: options.number('memory'),
        diskMb: options.number('disk'),
        projectId: await idOfOption(projectNoun, cli, options.text('project')),
        sleepAfterSeconds: options.seconds('sleep-after'),
        wait: cli.out.isJson && isWaiting, // the address is printed first: who leaves while it is waited for would have lost it
      }),
      { idempotencyKey: newKey() },
    )
    const { database, credentials } = made
    cli.out.note(`${lineOf(database.name)}  ${database.id}. The address is shown this once:`)
    cli.out.result(made, lineOf(credentials.connectionUri))
    if (!isWaiting || database.status !== 'CREATING') return
    const { status, statusReason } = await whileItGoesOn(
      'The database is made all the same: berth db ls',
      waitFor(
        (signal) => databases.events(database.id, { signal }),
        (event) => event.status !== 'CREATING',
      ),
    )
    if (status === 'ERROR') throw new Failure(`It is in error: ${statusReason ?? 'no reason is known'}.`)
    cli.out.note(`It is ${word(status)}.`)
  },
}

const tables: Verb = {
  name: 'tables',
  args: '<database>',
  about: 'its tables, with estimates of their rows',
  async run(cli, [text]) {
    const id = await find(cli, text)
    const rows: Awaited<ReturnType<ReturnType<Databases['tables']>['next']>>['value'][] = []
    for await (const row of (await cli.berth()).databases.tables(id)) rows.push(row)
    cli.out.table(
      rows.filter((row) => row !== undefined),
      [
        ['SCHEMA', (row) => row.schema],
        ['NAME', (row) => row.name],
        ['KIND', (row) => word(row.kind)],
        ['ROWS', (row) => row.estimatedRows],
        ['SIZE', (row) => sizeOf(row.sizeBytes)],
      ],
    )
  },
}

const backup: Verb = {
  name: 'backup',
  args: '<database>',
  about: 'make a backup, and wait until it is there',
  options: [['--no-wait', 'do not wait']],
  async run(cli, [text], options) {
    const id = await find(cli, text)
    const { databases } = await cli.berth()
    const made = await databases.backup(id, { idempotencyKey: newKey() })
    if (options.flag('wait')) {
      const end = await waitFor(
        (signal) => databases.backups.events(made.id, { signal }),
        ({ status }) => status === 'COMPLETED' || status === 'FAILED',
      )
      if (end.status === 'FAILED') throw new Failure(`The backup failed: ${end.error ?? 'no reason is known'}.`)
    }
    const now = await databases.backups.get(made.id)
    cli.out.result(now, `${now.id}  ${word(now.status)}  ${sizeOf(now.sizeBytes)}`)
  },
}

const backups: Verb = {
  name: 'backups',
  args: '<database>',
  about: 'its backups',
  async run(cli, [text]) {
    const id = await find(cli, text)
    cli.out.table((await (await cli.berth()).databases.backups.list(id)).nodes, [
      ['ID', (row) => row.id],
      ['STATUS', (row) => word(row.status)],
      ['SIZE', (row) => sizeOf(row.sizeBytes)],
      ['BY', (row) => word(row.triggeredBy)],
      ['AGE', (row) => ageOf(row.createdAt)],
      ['ERROR', (row) => row.error],
    ])
  },
}

const restore: Verb = {
  name: 'restore',
  args: '<database> <backup>',
  about: 'load a backup: what the database has is replaced',
  options: [
    ['--to <database>', 'load it into this one instead'],
    ['--no-wait', 'do not wait until it is loaded'],
  ],
  async run(cli, [text = '', id = ''], options) {
    const databaseId = await find(cli, text)
    const to = options.text('to')
    const targetDatabaseId = to === undefined ? undefined : await find(cli, to)
    await confirm(`Replace what database ${lineOf(to ?? text)} has by backup ${lineOf(id)}?`, cli.isConfirmed)
    const { databases } = await cli.berth()
    const made = await databases.restore(given({ databaseId, id, targetDatabaseId }), { idempotencyKey: newKey() })
    if (options.flag('wait')) {
      const end = await waitFor(
        (signal) => databases.restores.events(made.id, { signal }),
        ({ status }) => status === 'COMPLETED' || status === 'FAILED',
      )
      if (end.status === 'FAILED') throw new Failure(`The restore failed: ${end.error ?? 'no reason is known'}.`)
    }
    const now = await databases.restores.get(made.id)
    cli.out.result(now, `${now.id}  ${word(now.status)}`)
  },
}

/** Databases. */
export const db: Noun = {
  verbs: [
    lsOf(noun),
    create,
    getOf(noun),
    rmOf(noun, (berth, id) => berth.databases.delete(id)),
    psqlVerb,
    dumpVerb,
    tables,
    backup,
    backups,
    restore,
  ],
}
