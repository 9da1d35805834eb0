/** Arguments of lists that can be ordered and cut by when something was made. */
import { builder } from './builder.ts'

/** Oldest or newest first. */
export const listOrder = builder.enumType('ListOrder', { description: 'The order of a list.', values: { asc: { description: 'Oldest first.' }, desc: { description: 'Newest first.' } } })

/** When what a list shows was made. */
export const createdArguments = builder.args((t) => ({
  createdAfter: t.field({ type: 'DateTime', description: 'Made after this moment.' }), createdFrom: t.field({ type: 'DateTime', description: 'Made at this moment or later.' }),
  createdBefore: t.field({ type: 'DateTime', description: 'Made before this moment.' }), createdUntil: t.field({ type: 'DateTime', description: 'Made at this moment or earlier.' }),
}))
