/** Rows as types: made from the tables, so that a column that is renamed or changes its type is a type error where it is read. */
import type { Tables } from './tables.ts'

/** What is known of some columns beyond their type in the table: a set of words, the shape of JSON, a null that cannot be. */
type Narrowed<Name extends keyof Tables, Narrow> = {
  [Column in keyof Narrow]: Column extends keyof Tables[Name] ? Tables[Name][Column] : never
}

/**
 * A row of a table as queries answer it; `Pick` of it is one of which some columns are read.
 * @example Row<'vms', { status: VmStatus }>
 */
export type Row<Name extends keyof Tables, Narrow extends Narrowed<Name, Narrow> = Record<never, never>> = Omit<
  Tables[Name],
  keyof Narrow
> &
  Narrow
