/** Bounds of `created_at` in the query of a list, as Anthropic's client writes them. */

/** The fields of a filter that they fill. */
export const createdFilter = {
  'created_at[gt]': 'createdAfter',
  'created_at[gte]': 'createdFrom',
  'created_at[lt]': 'createdBefore',
  'created_at[lte]': 'createdUntil',
}
