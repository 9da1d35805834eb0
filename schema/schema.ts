/** The whole schema: every noun's file is loaded, then built once. */
import type { GraphQLSchema } from 'graphql'
import { builder } from './builder.ts'
import './agents/agents.ts'
import './agents/built-in-tools.ts'
import './agents/credentials.ts'
import './agents/vaults.ts'
import './infra/account.ts'
import './infra/build-logs.ts'
import './infra/builds.ts'
import './infra/folders.ts'
import './infra/sandboxes.ts'
import './infra/uploads.ts'
import './infra/usage.ts'
import './infra/vm-commands.ts'
import './infra/vm-env.ts'
import './infra/vm-files.ts'
import './infra/vm-sessions.ts'
import './infra/vms.ts'
import './llm/models.ts'

/** The schema that yoga and mercurius share. */
export const schema: GraphQLSchema = builder.toSchema()
