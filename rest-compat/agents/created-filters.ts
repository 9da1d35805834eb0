/** Bounds of `created_at` in the query of a list, as Anthropic's client writes them. */

/** The variables, for a document's head. */
export const createdVariables =
  '$created_gt: DateTime, $created_gte: DateTime, $created_lt: DateTime, $created_lte: DateTime'
/** The arguments that they fill. */
export const createdArguments =
  'createdAfter: $created_gt, createdFrom: $created_gte, createdBefore: $created_lt, createdUntil: $created_lte'
/** What callers call them. */
export const createdNames = {
  created_gt: 'created_at[gt]',
  created_gte: 'created_at[gte]',
  created_lt: 'created_at[lt]',
  created_lte: 'created_at[lte]',
}
/** The same for a route's `filter`. */
export const createdFilter = {
  'created_at[gt]': 'createdAfter',
  'created_at[gte]': 'createdFrom',
  'created_at[lt]': 'createdBefore',
  'created_at[lte]': 'createdUntil',
}
