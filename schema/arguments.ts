/** Arguments that several fields have; those of pages are in pages.ts. */
import type { InputFieldBuilder } from '@pothos/core'
import { builder } from './builder.ts'

type Types = (typeof builder)['$inferSchemaTypes']

/** Which one. */
export const idArguments = builder.args((t) => ({ id: t.id({ required: true, description: 'Its id.' }) }))

/** The organization that something is asked of. */
export const organizationArguments = builder.args((t) => ({
  organizationId: t.id({ required: true, description: 'An organization that the caller belongs to.' }),
}))

/** When what a list shows was made, for its filter. */
export const createdFields = (t: InputFieldBuilder<Types, 'InputObject'>) => ({
  createdAfter: t.field({ type: 'DateTime', description: 'Made after this moment.' }),
  createdFrom: t.field({ type: 'DateTime', description: 'Made at this moment or later.' }),
  createdBefore: t.field({ type: 'DateTime', description: 'Made before this moment.' }),
  createdUntil: t.field({ type: 'DateTime', description: 'Made at this moment or earlier.' }),
})
