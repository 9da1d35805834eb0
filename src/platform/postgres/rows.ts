/**
 * Types of rows, derived from the tables, so that renaming a column or changing its type is a type error where it is
 * read.
 */
import type { Tables } from './tables.ts'

/** More exact types of some columns than in the table: a set of words, the type of JSON, a null that cannot occur. */
type Narrowed<Name extends keyof Tables, Narrow> = {
  [Column in keyof Narrow]: Column extends keyof Tables[Name] ? Tables[Name][Column] : never
}

/**
 * A row of a table as queries return it; use `Pick` if only some columns are read.
 * @example Row<'vms', { status: VmStatus }>
 */
export type Row<Name extends keyof Tables, Narrow extends Narrowed<Name, Narrow> = Record<never, never>> = Omit<
  Tables[Name],
  keyof Narrow
> &
  Narrow
