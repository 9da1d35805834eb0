/** Finding objects of every kind by a piece of text, in GraphQL. */
import {
  search,
  searchedTypes,
  searchHitsDefault,
  searchHitsMax,
  type SearchHit,
} from '#src/resources/identity/search.ts'
import { organizationArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOfTypes } from '../enums.ts'
import { encodeNodeId } from '../node-ids.ts'

const searchedType = enumOfTypes('SearchedType', 'The types of the objects that `search` finds.', searchedTypes)

const hit = builder.objectRef<SearchHit>('SearchHit').implement({
  description: 'An object that was found.',
  fields: (t) => ({
    nodeType: t.field({ type: searchedType, description: 'The type of the object.', resolve: ({ type }) => type }),
    nodeId: t.id({ description: 'Which object.', resolve: ({ type, nodeId }) => encodeNodeId(type, nodeId) }),
    node: t.node({
      description: 'The object; null if it was deleted just now.',
      id: ({ type, nodeId }) => encodeNodeId(type, nodeId),
    }),
    title: t.exposeString('title', { nullable: true, description: 'What it is called, if it has a name.' }),
  }),
})

builder.queryField('search', (t) =>
  t.field({
    type: [hit],
    description:
      'The objects that have a piece of text in their names, in upper or lower case: of VMs the external reference counts too, of builds the repository and its reference. Those whose name begins with it come first, then the newest. Not those that are archived. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: {
      ...organizationArguments,
      text: t.arg.string({ required: true, description: 'The piece of text.' }),
      nodeTypes: t.arg({
        type: [searchedType],
        description: 'Only objects of these types; without it all that the caller may read.',
      }),
      first: t.arg.int({ description: `How many to return, 1 to ${searchHitsMax}; ${searchHitsDefault} by default.` }),
    },
    resolve: (_, { nodeTypes, ...given }, call) => search(call, { ...given, types: nodeTypes ?? null }),
  }),
)
