/** Finding memories by a text, in GraphQL. */
import { builder } from '../../builder.ts'
import { recallMemories } from '#src/resources/agents/memories/recall.ts'
import { memoryType } from '../memories.ts'

builder.queryFields((t) => ({
  recallMemories: t.field({
    type: [memoryType],
    description:
      'The memories that fit a text best, best first, as an agent’s `recall` finds them: by their words and, where the operator has set up a model for embeddings, by their meaning, for which the organization pays. The caller’s own with those that their organization shares. Errors: INVALID_REQUEST, FORBIDDEN, KEY_RATE_LIMITED.',
    args: {
      text: t.arg.string({
        required: true,
        description: 'What they are to be about: 1 to 500 characters, with a word.',
      }),
      first: t.arg.int({ description: 'How many at most, 1 to 50; 10 by default.' }),
      organizationId: t.arg.id({
        description: 'An organization of the caller’s: what it shares, instead of what the caller keeps.',
      }),
    },
    resolve: (_, given, call) => recallMemories(call, given),
  }),
}))
