/** What a section of a file is: how its rows are read, made, changed and deleted. */
import type { Berth } from '../../src/client/berth.ts'
import { newKey } from '../keys.ts'
import type { Row } from './values.ts'

/** Fields as a file has them. */
export type Fields = Record<string, unknown>

/** The name of a row for the reader of a file: its own, or something else where another row has the name too. */
export type Namer = (section: string, id: unknown, name: unknown) => string | null

/** What a section does its work with. */
export type Work = {
  berth: Berth
  /** The id of what a file names. It is there: the plan has checked that. */
  idOf(section: string, name: string): string
  /** Puts the code of a function where Berth finds it. @returns its binary URL. */
  uploadCode(name: string): Promise<string>
  isWaiting: boolean
}

/** A section. */
export type Section = {
  one: string // what a row is: `VM`
  root: string // the query of its list
  select: string // what is read of each row, beside its id
  pageRows?: number // of a page, where its rows have many others in them
  nameIn: string // the field that the key of a file is
  refersTo: readonly string[] // sections whose rows its own name
  hasProject?: true
  isNamedInProject?: true // a row is known by its project and its name, else by its name alone
  isGone?(row: Row): boolean
  /** What is read only where a file names the field: a selection, and what a file has for it. */
  late?: Readonly<Record<string, { select: string; shown(row: Row): unknown }>>
  /** The row as a file has it. Undefined: a file cannot say it. */
  shown(row: Row, nameOf: Namer): Fields
  /** Whether what a file says is what the row has, where that is not plain. Undefined: it is plain. */
  isSame?(field: string, wanted: unknown, row: Row): boolean | undefined
  onlyNew?: readonly string[] // said of new ones only: Berth does not show them
  fixed?: Readonly<Record<string, string>> // what cannot be changed, and what to do instead
  grows?: readonly string[] // numbers that never become smaller
  patched?: readonly string[] // maps that are changed by pairs, with null for those that go
  hidden?: readonly string[] // whose values are neither printed nor exported
  unexported?: readonly string[]
  /** Why a row stays although nobody names it. */
  staysBecause?(row: Row): string | undefined
  create(work: Work, name: string, fields: Fields): Promise<string>
  /** @param fields what is different. @param all all that the file says. */
  change(work: Work, row: Row, fields: Fields, all: Fields): Promise<void>
  remove(work: Work, row: Row): Promise<void>
}

/** Runs a mutation by its input. @returns the object that it answers. */
export async function mutate(work: Work, name: string, input: Fields, answers: string): Promise<Row> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const answer = await work.berth.query(
    `mutation Apply($input: ${type}!) { done: ${name}(input: $input) { one: ${answers} } }`,
    { input },
    { idempotencyKey: newKey() },
  )
  return (answer['done'] as { one: Row } | null)?.one ?? { id: '' } // as the document says
}

/** Deletes what has the id. */
export async function removeBy(work: Work, mutation: string, id: string, key = 'id'): Promise<void> {
  const type = `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Input`
  await work.berth.query(`mutation Apply($input: ${type}!) { ${mutation}(input: $input) { deletedId } }`, {
    input: { [key]: id },
  })
}

/** Without those that are undefined. */
export function said(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** Those of these names, and the others. */
export function split(fields: Fields, names: readonly string[]): [those: Fields, others: Fields] {
  const entries = Object.entries(fields)
  return [
    Object.fromEntries(entries.filter(([name]) => names.includes(name))),
    Object.fromEntries(entries.filter(([name]) => !names.includes(name))),
  ]
}

/** A new id of a row that a file names, or null for none; undefined where the file does not say. */
export function idIn(work: Work, section: string, name: unknown): string | null | undefined {
  if (name === undefined) return undefined
  return typeof name === 'string' ? work.idOf(section, name) : null
}
