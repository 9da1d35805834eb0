/** Arguments that several fields have; those of pages are in pages.ts. */
import type { InputFieldBuilder } from '@pothos/core'
import { sumLimits } from '#src/platform/shapes/sums.ts'
import { builder } from './builder.ts'

type Types = (typeof builder)['$inferSchemaTypes']

/** Names one node by its id. */
export const idArguments = builder.args((t) => ({ id: t.id({ required: true, description: 'Its id.' }) }))

/** Names the organization that a field is about. */
export const organizationArguments = builder.args((t) => ({
  organizationId: t.id({ description: 'An organization that the caller belongs to; by default the active one.' }),
}))

/** The days that are summed. */
export const daysArguments = builder.args((t) => ({
  from: t.string({ description: 'The first day, UTC: `2026-11-01`; by default the first day of the month of `to`.' }),
  to: t.string({
    description: `The last day, UTC; today by default. The range has ${sumLimits.daysMax} days at most.`,
  }),
}))

/** Bounds of a moment. */
export const momentFilter = builder.inputType('DateTimeFilter', {
  description: 'Which moments are meant. All conditions that are given hold together.',
  fields: (t) => ({
    after: t.field({ type: 'DateTime', description: 'After this moment.' }),
    from: t.field({ type: 'DateTime', description: 'At or after this moment.' }),
    before: t.field({ type: 'DateTime', description: 'Before this moment.' }),
    until: t.field({ type: 'DateTime', description: 'At or before this moment.' }),
  }),
})

/** Conditions on the creation time, for the filters of lists: one, and four of REST’s. */
export const createdFields = (t: InputFieldBuilder<Types, 'InputObject'>) => ({
  createdAt: t.field({ type: momentFilter, description: 'When it was created.' }),
  createdAfter: t.field({ type: 'DateTime', description: 'Created after this moment.' }),
  createdFrom: t.field({ type: 'DateTime', description: 'Created at or after this moment.' }),
  createdBefore: t.field({ type: 'DateTime', description: 'Created before this moment.' }),
  createdUntil: t.field({ type: 'DateTime', description: 'Created at or before this moment.' }),
})
