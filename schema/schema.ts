/** The whole schema: loads every noun's file, then builds once. */
import {
  defaultTypeResolver,
  getNullableType,
  isAbstractType,
  isEnumType,
  isObjectType,
  type GraphQLSchema,
} from 'graphql'
import { builder } from './builder.ts'
import { withActors } from './identity/audit-events/actors.ts'
import { withoutReadingPrograms } from './identity/authorizations/reading.ts'
import { withInputNames } from './input-names.ts'
import { isNodeName, nodeIdEncoder } from './node-ids.ts'
import { withOldNames } from './old-names.ts'
import { withoutRestFields } from './rest-fields.ts'
import { withoutVmTokens } from './vm-tokens.ts'
import '#src/resources/wiring.ts'
import './error-codes.ts'
import './scalars.ts'
import './agents/agents.ts'
import './agents/built-in-tools.ts'
import './agents/deployments.ts'
import './agents/deployments/run-triggers.ts'
import './agents/deployments/running.ts'
import './agents/deployments/runs.ts'
import './agents/deployments/schedule.ts'
import './agents/environments.ts'
import './agents/files.ts'
import './agents/skills.ts'
import './agents/groups.ts'
import './agents/groups/answers.ts'
import './agents/groups/events.ts'
import './agents/groups/lists.ts'
import './agents/groups/sending.ts'
import './agents/groups/snapshots.ts'
import './agents/mcp-tools.ts'
import './agents/vaults/credentials.ts'
import './agents/runs.ts'
import './agents/schedules.ts'
import './agents/schedules/runs.ts'
import './agents/session-events.ts'
import './agents/sessions/resources.ts'
import './agents/session-sources.ts'
import './agents/sessions.ts'
import './agents/sessions/shared-sessions.ts'
import './agents/sessions/states.ts'
import './agents/triggers.ts'
import './agents/triggers/fires.ts'
import './agents/triggers/trials.ts'
import './agents/mcp-services.ts'
import './agents/mcp-services/events.ts'
import './agents/groups/run-chunks.ts'
import './agents/memories.ts'
import './agents/memories/recall.ts'
import './agents/peers.ts'
import './agents/vaults.ts'
import './identity/authorizations.ts'
import './identity/instance.ts'
import './identity/organizations.ts'
import './identity/storage.ts'
import './identity/users.ts'
import './identity/viewer.ts'
import './infra/builds/logs.ts'
import './infra/builds.ts'
import './infra/code-host.ts'
import './infra/database-auth-issuers.ts'
import './infra/database-changes.ts'
import './infra/databases.ts'
import './infra/databases/metrics.ts'
import './infra/databases/queries.ts'
import './infra/databases/tables.ts'
import './infra/backup-schedules.ts'
import './infra/database-backups.ts'
import './infra/database-restores.ts'
import './infra/certificates.ts'
import './infra/domains.ts'
import './infra/domain-changes.ts'
import './infra/domain-events.ts'
import './infra/folders.ts'
import './infra/functions.ts'
import './infra/functions/builds.ts'
import './infra/functions/changes.ts'
import './infra/functions/logs.ts'
import './infra/functions/repositories.ts'
import './infra/projects.ts'
import './infra/proxies.ts'
import './identity/members.ts'
import './infra/sandboxes.ts'
import './infra/uploads.ts'
import './infra/usage.ts'
import './infra/usage/sums.ts'
import './infra/terminals.ts'
import './infra/vms/tunnels.ts'
import './infra/vm-commands.ts'
import './infra/vm-env.ts'
import './infra/vm-files.ts'
import './infra/vm-sessions.ts'
import './infra/machines.ts'
import './infra/templates.ts'
import './infra/vm-changes.ts'
import './infra/vms.ts'
import './infra/vms/events.ts'
import './infra/vms/looks.ts'
import './infra/webhooks.ts'
import './infra/webhooks/deliveries.ts'
import './identity/api-keys.ts'
import './identity/audit-events.ts'
import './identity/browser-sessions.ts'
import './identity/invitations.ts'
import './identity/organization-events.ts'
import './identity/search.ts'
import './llm/chat.ts'
import './llm/credits.ts'
import './llm/embeddings.ts'
import './llm/chat-inputs.ts'
import './llm/model-capabilities.ts'
import './llm/models.ts'
import './llm/usage.ts'

/** The public schema, which /graphql serves. */
export const schema: GraphQLSchema = withOldNames(withInputNames(withoutRestFields(built())))

/** The same schema for REST: enums return the stored word, which REST shows, instead of the GraphQL name. */
export const wireSchema: GraphQLSchema = withWords(built())

function built(): GraphQLSchema {
  const made = withTypeOfValues(withPlainIds(withNullableRoots(builder.toSchema())))
  return withoutVmTokens(withoutReadingPrograms(withActors(made)))
}

/** Ids of nodes as values at once. Pothos answers each with a promise, and a hundred of them cost a list a fifth of its time. */
function withPlainIds(made: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(made.getTypeMap())) {
    const id = isObjectType(type) ? type.getFields()['id'] : undefined
    if (!id || !isNodeName(type.name)) continue
    const encode = nodeIdEncoder(type.name)
    id.resolve = (row: { id: string }) => encode(row.id)
  }
  return made
}

/**
 * Makes every field of Query and Mutation nullable, so that one that fails leaves the data of its siblings in the
 * answer.
 */
function withNullableRoots(made: GraphQLSchema): GraphQLSchema {
  for (const root of [made.getQueryType(), made.getMutationType()]) {
    for (const field of Object.values(root?.getFields() ?? {})) field.type = getNullableType(field.type)
  }
  return made
}

/**
 * Lets unions and interfaces find the type of a value in compiled documents too, where the compiler does not say which
 * abstract type it resolves.
 */
function withTypeOfValues(made: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(made.getTypeMap())) {
    if (!isAbstractType(type)) continue
    const typeOf = type.resolveType ?? defaultTypeResolver
    type.resolveType = (value, context, info) => typeOf(value, context, info, type)
  }
  return made
}

// Compiled documents do not serialize leaves, interpreted ones do; both must give the same answer.
function withWords(made: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(made.getTypeMap())) {
    if (isEnumType(type) && !type.name.startsWith('__')) type.serialize = (word) => word as string // what resolvers return
  }
  return made
}
