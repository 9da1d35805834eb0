/** Bounds of `created_at` in a list's query, in the spelling of Anthropic's client. */

/** The query parameters, each with the field of the filter that it sets. */
export const createdFilter = {
  'created_at[gt]': 'createdAfter',
  'created_at[gte]': 'createdFrom',
  'created_at[lt]': 'createdBefore',
  'created_at[lte]': 'createdUntil',
}
