/** Functions by their names. */
import type { Berth } from '../../src/client/berth.ts'
import { ageOf, word } from '../output.ts'
import { finderOf, type PlainNoun } from '../plain.ts'

type Functions = Berth['functions']
type FunctionRow = Awaited<ReturnType<Functions['list']>>['nodes'][number]

/** Functions, as the usual verbs know them. */
export const functionNoun: PlainNoun<FunctionRow, Functions> = {
  one: 'function',
  argument: 'function',
  part: (berth) => berth.functions,
  nameOf: (row) => row.name,
  isSearchable: true,
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['STATUS', (row) => word(row.status)],
    ['VERSION', (row) => row.currentVersion?.number],
    ['URL', (row) => row.url],
    ['AGE', (row) => ageOf(row.createdAt)],
  ],
}

/** The id of a function that a person names. */
export const findFunctionOf = finderOf(functionNoun)
