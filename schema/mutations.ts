/** Mutations: each takes one `input` and answers a payload that can grow. Most change one noun, and answer it. */
import type { InputFieldBuilder, InputFieldMap, InputShapeFromFields, ObjectRef } from '@pothos/core'
import type { Call } from '#src/platform/services.ts'
import { builder } from './builder.ts'

type Types = (typeof builder)['$inferSchemaTypes']
type Fields<Map extends InputFieldMap> = (t: InputFieldBuilder<Types, 'InputObject'>) => Map

/** What the payload has, and of which type. */
type Noun<Row> = { field: string; type: ObjectRef<Types, Row> }

/**
 * A mutation that answers the noun that it made or changed: `<name>(input: <Name>Input!): <Name>Payload`.
 * @param description what it does, and which errors it may have.
 */
export function mutationOf<Row, Map extends InputFieldMap>(
  name: string,
  { field, type }: Noun<Row>,
  description: string,
  input: Fields<Map>,
  resolve: (call: Call, input: InputShapeFromFields<Map>) => Promise<Row> | Row,
): void {
  builder.relayMutationField(
    name,
    { description: `What \`${name}\` takes.`, inputFields: input },
    {
      description,
      resolve: async (_, arguments_, call) => ({
        node: await resolve(call, (arguments_ as unknown as { input: InputShapeFromFields<Map> }).input), // Pothos cannot see through a type parameter
      }),
    },
    {
      description: `What \`${name}\` answers.`,
      outputFields: (t) => ({
        [field]: t.field({ type: type as never, description: 'As it is now.', resolve: ({ node }) => node as never }), // as above
      }),
    },
  )
}

/** The same for what takes nothing but the noun's id, such as to archive or to stop it. */
export function actionOn<Row>(
  name: string,
  noun: Noun<Row>,
  description: string,
  resolve: (call: Call, id: string) => Promise<Row>,
): void {
  mutationOf(name, noun, description, idField, (call, { id }) => resolve(call, id))
}

/** A mutation that deletes the noun of an id, and answers that id. */
export function deletionOf(
  name: string,
  description: string,
  resolve: (call: Call, id: string) => Promise<unknown>,
): void {
  builder.relayMutationField(
    name,
    { description: `What \`${name}\` takes.`, inputFields: idField },
    { description, resolve: async (_, { input: { id } }, call) => (await resolve(call, id), { deletedId: id }) },
    {
      description: `What \`${name}\` answers.`,
      outputFields: (t) => ({ deletedId: t.exposeID('deletedId', { description: 'The id of what is gone.' }) }),
    },
  )
}

/** The id of what a mutation is about. */
export const idField = (t: InputFieldBuilder<Types, 'InputObject'>) => ({
  id: t.id({ required: true, description: 'Its id.' }),
})
