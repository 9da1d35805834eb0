/** Mutations: each takes one `input` and returns a payload that can grow. Most change one noun and return it. */
import type { InputFieldBuilder, InputFieldMap, InputShapeFromFields, InterfaceRef, ObjectRef } from '@pothos/core'
import type { Call } from '#src/platform/services.ts'
import { builder } from './builder.ts'
import { forRest } from './rest-fields.ts'

type Types = (typeof builder)['$inferSchemaTypes']
type Fields<Map extends InputFieldMap> = (t: InputFieldBuilder<Types, 'InputObject'>) => Map

/** The payload's field and its type; `description` where it is not an object that was changed. */
type Noun<Row> = { field: string; type: ObjectRef<Types, Row> | InterfaceRef<Types, Row>; description?: string }

/**
 * A mutation that returns the noun that it created or changed: `<name>(input: <Name>Input!): <Name>Payload`.
 * @param description what it does, and which errors it may return.
 */
export function mutationOf<Row, Map extends InputFieldMap>(
  name: string,
  { field, type, description: shown = 'The object after the change.' }: Noun<Row>,
  description: string,
  input: Fields<Map>,
  resolve: (call: Call, input: InputShapeFromFields<Map>) => Promise<Row> | Row,
): void {
  builder.relayMutationField(
    name,
    { description: `What \`${name}\` takes.`, inputFields: input },
    {
      description,
      resolve: async (_, arguments_, call) => {
        const { input } = arguments_ as unknown as { input: InputShapeFromFields<Map> } // Pothos cannot resolve a generic type
        return { node: await resolve(call, input) }
      },
    },
    {
      description: `What \`${name}\` answers.`,
      outputFields: (t) => ({
        [field]: t.field({
          type: type as never,
          description: shown,
          resolve: ({ node }) => node as never,
        }), // as above
      }),
    },
  )
}

/** The same for an action that takes only the noun's id, such as archiving or stopping it. */
export function actionOn<Row>(
  name: string,
  noun: Noun<Row>,
  description: string,
  resolve: (call: Call, id: string) => Promise<Row>,
): void {
  mutationOf(name, noun, description, idField, (call, { id }) => resolve(call, id))
}

/** A mutation that deletes a noun and returns its id. @param input fields that are needed besides the id. */
export function deletionOf(
  name: string,
  description: string,
  resolve: (call: Call, id: string) => Promise<unknown>,
): void
export function deletionOf<Map extends InputFieldMap>(
  name: string,
  description: string,
  resolve: (call: Call, input: InputShapeFromFields<Map>) => Promise<unknown>,
  input: Fields<Map>,
): void
export function deletionOf(
  name: string,
  description: string,
  resolve: (call: Call, which: never) => Promise<unknown>,
  input: Fields<InputFieldMap> = idField,
): void {
  addDeletion(
    name,
    description,
    input,
    null,
    (call, given) => resolve(call, (input === idField ? given.id : given) as never), // as the overloads say
  )
}

/** The same for one that REST answers with a sentence. */
export function deletionWithMessage<Map extends InputFieldMap>(
  name: string,
  description: string,
  message: string,
  input: Fields<Map>,
  resolve: (call: Call, input: InputShapeFromFields<Map>) => Promise<unknown>,
): void {
  addDeletion(name, description, input, message, (call, given) => resolve(call, given as never)) // these are its fields
}

function addDeletion(
  name: string,
  description: string,
  input: Fields<InputFieldMap>,
  message: string | null,
  resolve: (call: Call, given: { id: string }) => Promise<unknown>,
): void {
  builder.relayMutationField(
    name,
    { description: `What \`${name}\` takes.`, inputFields: input },
    {
      description,
      resolve: async (_, arguments_, call) => {
        const { input: given } = arguments_ as unknown as { input: { id: string } } // every input here has an id
        await resolve(call, given)
        return { deletedId: given.id, message: message ?? '' }
      },
    },
    {
      description: `What \`${name}\` answers.`,
      outputFields: (t) => ({
        deletedId: t.exposeID('deletedId', { description: 'The id of the deleted object.' }),
        ...(message === null
          ? {}
          : { message: t.exposeString('message', { description: 'The same as a sentence.', ...forRest }) }),
      }),
    },
  )
}

/** The id of the noun that a mutation is about. */
export const idField = (t: InputFieldBuilder<Types, 'InputObject'>) => ({
  id: t.id({ required: true, description: 'Its id.' }),
})
