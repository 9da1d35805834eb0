/** Every tool of Berth's tool server. */
import type { Tool } from './tool.ts'
import { buildTools } from './tools/builds.ts'
import { databaseTools } from './tools/databases.ts'
import { docsTools } from './tools/docs.ts'
import { fileTools } from './tools/files.ts'
import { functionTools } from './tools/functions.ts'
import { graphqlTools } from './tools/graphql.ts'
import { sessionTools } from './tools/sessions.ts'
import { usageTools } from './tools/usage.ts'
import { vmTools } from './tools/vms.ts'

/** In the order in which they are listed. */
export const tools: readonly Tool[] = [
  ...vmTools,
  ...fileTools,
  ...buildTools,
  ...functionTools,
  ...databaseTools,
  ...sessionTools,
  ...usageTools,
  ...docsTools,
  ...graphqlTools,
]
