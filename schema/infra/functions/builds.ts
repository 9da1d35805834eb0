/** What a build has deployed, in GraphQL. */
import { encodeId } from '#src/platform/ids.ts'
import { builder } from '../../builder.ts'
import { buildOutput } from '../builds.ts'
import { functionType, versionType } from '../functions.ts'

builder.objectFields(buildOutput, (t) => ({
  functionId: t.id({
    nullable: true,
    description: 'The function that it was deployed to; null for other outputs.',
    resolve: ({ deployed }) => deployed && encodeId('function', deployed.functionId),
  }),
  function: t.field({
    type: functionType,
    nullable: true,
    description: 'The function; null when it is deleted.',
    resolve: ({ deployed }) => deployed?.functionId,
  }),
  versionNumber: t.int({
    nullable: true,
    description: 'The number of the version that it became.',
    resolve: ({ deployed }) => deployed?.number,
  }),
  version: t.field({
    type: versionType,
    nullable: true,
    description: 'The version; null when the function keeps it no more.',
    resolve: ({ deployed }) => deployed?.versionId,
  }),
}))
