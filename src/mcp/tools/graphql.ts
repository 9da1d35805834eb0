/** Tools for everything that no other tool reads. */
import { getOperationAST, OperationTypeNode, parse } from 'graphql'
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { tool } from '../tool.ts'

/** @throws BerthError invalid_request for what is not a query alone. */
function refuseChanges(query: string): void {
  const document = parse(query)
  const changes = document.definitions.some(
    (one) => one.kind === 'OperationDefinition' && one.operation !== OperationTypeNode.QUERY,
  )
  if (changes || !getOperationAST(document))
    throw new BerthError('invalid_request', 'Give one query: mutations and subscriptions are not run here.')
}

/** Them. */
export const graphqlTools = [
  tool({
    name: 'graphql_query',
    title: 'Ask the graph',
    description:
      'Runs one GraphQL query, never a mutation, on the API, for what no other tool answers. Introspection shows the schema: ask for one type at a time.',
    feature: 'graphql',
    effect: 'reads',
    keepsToProject: false,
    input: z.object({ query: z.string(), variables: z.record(z.string(), z.unknown()).optional() }),
    async run({ query, variables }, { ask }) {
      refuseChanges(query)
      return ask(query, variables)
    },
  }),
]
