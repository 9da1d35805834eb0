/** The one Pothos builder and its types. It knows no nouns. */
import SchemaBuilder from '@pothos/core'
import DataloaderPlugin from '@pothos/plugin-dataloader'
import RelayPlugin from '@pothos/plugin-relay'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Call } from '#src/platform/services.ts'
import { decodeNodeId, encodeNodeId } from './node-ids.ts'

/** What a resolver is given: the platform, the caller, and a signal that fires when the client of a subscription leaves. */
export type Context = Call & { signal?: AbortSignal }

/** A map of text to text, such as environment variables. */
export type TextMap = Readonly<Record<string, string>>

/** A change of such a map: a null value removes the key. */
export type TextMapPatch = Readonly<Record<string, string | null>>

/** Every noun adds its types and root fields to this. Fields are non-null unless they say otherwise. */
export const builder = new SchemaBuilder<{
  Context: Context
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: string; Output: string }
    TextMap: { Input: TextMap; Output: TextMap }
    TextMapPatch: { Input: TextMapPatch; Output: TextMapPatch }
    JSON: { Input: unknown; Output: unknown }
    RestObject: { Input: never; Output: unknown }
    Reserved: { Input: unknown; Output: unknown }
    BigInt: { Input: number; Output: number }
    Decimal: { Input: string; Output: string }
    Bytes: { Input: string; Output: string }
    ByteList: { Input: unknown; Output: unknown }
  }
}>({
  plugins: [RelayPlugin, DataloaderPlugin],
  defaultFieldNullability: false,
  relay: {
    clientMutationId: 'omit',
    encodeGlobalID: (name, id) => encodeNodeId(name, String(id)),
    decodeGlobalID: (id) => decodeNodeId(id) ?? { typename: nowhere, id },
    nodeTypeOptions: { description: 'Anything that has an id. `node` finds it by that id.' },
    idFieldOptions: { description: 'The same id that REST shows; its prefix says what it is.' },
    nodeQueryOptions: {
      description: 'The node with this id; null when it does not exist or is not yours.',
      args: { id: { description: 'Its id.' } },
      resolve: async (_, { id }, __, ___, load) => (id.typename === nowhere ? null : load(id)),
    },
    nodesQueryOptions: {
      description: `The nodes with these ids, in the same order; null for each that does not exist or is not yours. At most ${limits.nodesMax}.`,
      args: { ids: { description: 'Their ids.' } },
      resolve: async (_, { ids }, __, ___, load) => {
        if (ids.length > limits.nodesMax)
          throw new BerthError(
            'invalid_request',
            `ids may name at most ${limits.nodesMax} nodes; send several requests for more.`,
          )
        // The loader reads the arguments themselves, and passes null over.
        for (const [index, id] of ids.entries()) if (id.typename === nowhere) ids[index] = null as never
        return load(ids)
      },
    },
    defaultPayloadTypeOptions: {},
    mutationInputArgOptions: { description: 'The mutation’s input.' },
  },
})

/** The type of an id that names nothing. */
const nowhere = 'Nowhere'

builder.queryType({
  description: `Everything that can be read. An operation may return at most ${limits.graphqlCost} objects in all: each node that \`first\` or \`last\` allows (${limits.connectionFirstDefault} without them) counts, and an object beside it, or in a list of its own, a quarter. A list inside the nodes of a list counts for each of them.`,
})
builder.mutationType({ description: 'Everything that can be changed.' })
builder.subscriptionType({
  description:
    'Everything that can be followed. Pass the cursor of the last event seen as `after` to resume without gaps or repeats.',
})
