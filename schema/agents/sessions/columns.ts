/** What a list of sessions needs of each. */

/** The columns of the fields that lists are asked for most; with any other field they take whole rows. */
export const sessionColumns: Readonly<Record<string, readonly string[]>> = {
  __typename: [],
  id: [],
  type: [],
  title: ['title'],
  agent: ['agent_id'],
  environmentId: ['environment_id'],
  environment: ['environment_id'],
  kind: ['kind'],
  sourceKind: ['source'],
  deploymentId: ['deployment_id'],
  deployment: ['deployment_id'],
  source: ['source', 'deployment_id'],
  status: ['status'],
  stopReason: ['stop_reason'],
  vaultIds: ['vault_ids'],
  vaults: ['vault_ids'],
  metadata: ['metadata'],
  shared: ['shared_at'],
  sharedAt: ['shared_at'],
  eventCursor: ['event_position'],
  createdAt: ['created_at'],
  updatedAt: ['updated_at'],
  archivedAt: ['archived_at'],
  events: ['organization_id'],
}
