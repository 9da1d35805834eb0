/** Databases by their names. */
import type { Berth } from '../../../src/client/berth.ts'
import { ageOf, word } from '../../output.ts'
import { finderOf, type PlainNoun } from '../../plain.ts'

type Databases = Berth['databases']
type DatabaseRow = Awaited<ReturnType<Databases['list']>>['nodes'][number]

/** Databases, as the usual verbs know them. */
export const databaseNoun: PlainNoun<DatabaseRow, Databases> = {
  one: 'database',
  argument: 'database',
  part: (berth) => berth.databases,
  nameOf: (row) => row.name,
  isSearchable: true,
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['STATUS', (row) => (row.isAsleep ? 'asleep' : word(row.status))],
    ['DISK', (row) => `${row.diskMb} MB`],
    ['AGE', (row) => ageOf(row.createdAt)],
  ],
}

/** The id of a database that a person names. */
export const findDatabaseOf = finderOf(databaseNoun)
