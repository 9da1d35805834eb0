/** The tables that the migrations make, as queries answer their rows. Written by: npm run tables */

// biome-ignore format: a line for each column would be five hundred
/** Every table's columns; `unknown` is JSON. */
export type Tables = {
  acme_accounts: {
    directory: string; sealedKey: Buffer; accountUrl: string | null; createdAt: string
  }
  agent_versions: {
    agentId: string; version: number; definition: unknown; createdAt: string; byVmToken: boolean
  }
  agents: {
    id: string; organizationId: string; ownerUserId: string | null; version: number; definition: unknown
    createdAt: string; updatedAt: string; archivedAt: string | null; name: string | null
  }
  api_keys: {
    keyId: string; organizationId: string; name: string; secretSha256: Buffer; secretLast4: string; scopes: string[]
    createdBy: string; createdAt: string; expiresAt: string | null; revokedAt: string | null; lastUsedAt: string | null
  }
  audit_events: {
    id: string; organizationId: string; actorKind: string; actorUserId: string | null; actorKeyId: string | null
    actorVmId: string | null; operation: string; change: string; objectType: string; objectId: string
    objectName: string | null; address: string | null; requestId: string; createdAt: string
    actorAuthorizationId: string | null; actorProgram: string | null
  }
  authorization_requests: {
    id: string; secretSha256: Buffer; userCode: string | null; clientId: string; clientName: string
    clientHost: string | null; scope: string; redirectUri: string | null; state: string | null
    codeChallenge: string | null; address: string; createdAt: string; expiresAt: string; pollSeconds: number
    polledAt: string | null; deniedAt: string | null; authorizationId: string | null; codeSha256: Buffer | null
    codeExpiresAt: string | null; exchangedAt: string | null
  }
  authorization_tokens: {
    secretSha256: Buffer; authorizationId: string; kind: string; createdAt: string; exchangedAt: string | null
    expiresAt: string
  }
  authorizations: {
    id: string; userId: string; organizationId: string; clientId: string; clientName: string; scope: string
    createdAt: string; usedAt: string; expiresAt: string
  }
  backup_schedules: {
    id: string; organizationId: string; databaseId: string; userId: string | null; cron: string; timezone: string
    enabled: boolean; keepCount: number | null; keepDays: number | null; nextRunAt: string | null
    lastRunAt: string | null; lastError: string | null; createdAt: string; updatedAt: string
  }
  browser_sessions: {
    id: string; userId: string; secretSha256: Buffer; userAgent: string; address: string; createdAt: string
    usedAt: string; expiresAt: string
  }
  build_caches: {
    organizationId: string; repoKey: string; nodeId: string; folderId: string; jobId: string | null; usedAt: string
  }
  build_events: {
    jobId: string; position: number; status: string; cancelRequested: boolean; error: string | null; createdAt: string
  }
  build_jobs: {
    id: string; organizationId: string; createdBy: string | null; status: string; repoUrl: string | null
    sealedSource: Buffer | null; repoKey: string | null; gitRef: string | null; commitSha: string | null
    sealedSpec: Buffer | null; templateId: string; vcpuCount: number; memoryMb: number; timeoutSeconds: number
    outputType: string; outputName: string; error: string | null; exitCode: number | null; failingStep: number | null
    output: unknown; cancelRequested: boolean; nodeId: string | null; queuedAt: string; startedAt: string | null
    claimedAt: string | null; finishedAt: string | null; tail: string[]; logEndMs: number | null
    logEndSeq: number | null; eventPosition: number; submittedRole: string | null; keyId: string | null
    codeHostLinkId: string | null
  }
  build_log_lines: {
    jobId: string; ms: number; seq: number; output: string
  }
  build_runs: {
    jobId: string; workerNumber: number; sealedSecrets: Buffer | null; progress: unknown
  }
  build_secrets: {
    organizationId: string; name: string; sealedValue: Buffer; updatedAt: string; leastRole: string
  }
  certificate_orders: {
    id: string; organizationId: string; host: string; createdAt: string
  }
  certificates: {
    id: string; organizationId: string; domainId: string; host: string; status: string; reason: string | null
    issuer: string | null; chain: string | null; sealedKey: Buffer | null; notBefore: string | null
    notAfter: string | null; attempts: number; nextAttemptAt: string | null; heldUntil: string | null
    queuedUntil: string | null; claim: number; claimedUntil: string | null; orderUrl: string | null
    sealedOrderKey: Buffer | null; challenges: unknown; createdAt: string; updatedAt: string
    expiryToldAt: string | null
  }
  code_host_links: {
    id: string; userId: string; url: string; accountId: number; username: string; scopes: string[]; tokenPreview: string
    installed: boolean; sealedTokens: Buffer; expiresAt: string | null; tokenGeneration: number
    refusedGeneration: number | null; createdAt: string; updatedAt: string
  }
  code_host_states: {
    digest: Buffer; userId: string; expiresAt: string
  }
  credit_leases: {
    processId: string; organizationId: string; amountNanoUsd: number
  }
  database_auth_issuers: {
    databaseId: string; issuer: string; jwksUri: string; audience: string; createdAt: string
  }
  database_backup_events: {
    backupId: string; position: number; status: string; storedBytes: number; error: string | null
    verifiedAt: string | null; verificationError: string | null; createdAt: string
  }
  database_backup_roles: {
    backupId: string; sealed: Buffer
  }
  database_backups: {
    id: string; organizationId: string; databaseId: string; userId: string | null; scheduleId: string | null
    scheduledAt: string | null; status: string; triggeredBy: string; error: string | null; cancelRequested: boolean
    workerNumber: number | null; heartbeatAt: string | null; storedBytes: number; databaseBytes: number | null
    sizeBytes: number; sha256: string | null; pgVersion: string | null; eventPosition: number; createdAt: string
    startedAt: string | null; completedAt: string | null; expiresAt: string | null; verifiedAt: string | null
    verificationBegunAt: string | null; verificationError: string | null
  }
  database_events: {
    databaseId: string; position: number; status: string; statusReason: string | null; createdAt: string
  }
  database_metrics: {
    databaseId: string; connections: number; sizeBytes: number; transactions: number; rolledBack: number
    rowsRead: number; rowsWritten: number; blocksHit: number; blocksRead: number; deadlocks: number; measuredAt: string
  }
  database_restore_events: {
    restoreId: string; position: number; status: string; step: string; loadedBytes: number; error: string | null
    createdAt: string
  }
  database_restores: {
    id: string; organizationId: string; databaseId: string; backupId: string | null; safetyBackupId: string | null
    userId: string | null; number: number; status: string; step: string; error: string | null
    workerNumber: number | null; heartbeatAt: string | null; loadedBytes: number; backupBytes: number
    eventPosition: number; createdAt: string; startedAt: string | null; finishedAt: string | null
    tidiedAt: string | null; tidyAfter: string | null
  }
  database_roles: {
    databaseId: string; sealed: Buffer
  }
  databases: {
    id: string; organizationId: string; userId: string | null; name: string; status: string; statusReason: string | null
    eventPosition: number; vmId: string | null; folderId: string | null; projectId: string | null
    networkName: string | null; nativeCredentialGeneration: number; clientModeEnabled: boolean; pgDatabase: string
    pgUser: string; tokenVerifier: string | null; tokenHash: Buffer | null; sealedLogins: Buffer | null
    vcpuCount: number; memoryMb: number; diskMb: number; settings: unknown; sleepAfterSeconds: number | null
    activeAt: string; createdAt: string; updatedAt: string; deletedAt: string | null; purgeAfter: string | null
    functionId: string | null; linkVerifier: string | null; sealedLink: Buffer | null
  }
  deployment_runs: {
    id: string; deploymentId: string; organizationId: string; ownerUserId: string; position: number; agentId: string
    agentVersion: number; sessionId: string | null; error: unknown; trigger: unknown; createdAt: string
  }
  deployments: {
    id: string; organizationId: string; ownerUserId: string; name: string; description: string | null; agentId: string
    agentVersion: number | null; environmentType: string; environmentId: string | null; environmentConfig: unknown
    vaultIds: string[]; kickoff: unknown; budgetNanoUsd: number | null; metadata: unknown; status: string
    pausedReason: unknown; runPosition: number; lastRunAt: string | null; createdAt: string; updatedAt: string
    archivedAt: string | null
  }
  domain_events: {
    domainId: string; position: number; status: string; statusReason: string | null; target: string | null
    createdAt: string
  }
  domains: {
    id: string; organizationId: string; userId: string | null; name: string; path: string; status: string
    statusReason: string | null; verifyOwnership: boolean; verificationToken: string; serviceId: string | null
    vmId: string | null; vmPort: number | null; functionId: string | null; records: unknown; eventPosition: number
    pendingSince: string | null; checkedAt: string | null; nextCheckAt: string | null; checkNumber: number
    checkedNumber: number; checkEndsAt: string | null; lostAt: string | null; verifiedAt: string | null
    activatedAt: string | null; createdAt: string; updatedAt: string
  }
  edge_acknowledgements: {
    edgeId: string; databaseId: string; position: number
  }
  edge_processes: {
    id: string; heartbeatAt: string
  }
  environment_events: {
    environmentId: string; position: number; status: string; statusReason: string | null; vmId: string | null
    createdAt: string
  }
  environments: {
    id: string; organizationId: string; ownerUserId: string; name: string; description: string | null; config: unknown
    metadata: unknown; status: string; statusReason: string | null; ephemeral: boolean; vmId: string | null
    preparedVmId: string | null; eventPosition: number; usedAt: string; createdAt: string; updatedAt: string
    archivedAt: string | null
  }
  files: {
    id: string; organizationId: string; ownerUserId: string; filename: string | null; mimeType: string | null
    sizeBytes: number | null; sha256: string | null; expiresAt: string | null; createdAt: string
    storedAt: string | null; deletedAt: string | null; reservedBytes: number; writingUntil: string | null
  }
  folders: {
    id: string; organizationId: string; userId: string | null; name: string; nodeId: string; sizeMb: number
    createdAt: string; deletedAt: string | null; usedMb: number; purpose: string | null
  }
  function_events: {
    functionId: string; position: number; status: string; statusReason: string | null; versionNumber: number | null
    createdAt: string
  }
  function_instances: {
    vmId: string; functionId: string; versionId: string; generation: number; endsAt: string | null
    readyAt: string | null; failedAttempts: number; workerNumber: number; progress: unknown; createdAt: string
  }
  function_log_lines: {
    functionId: string; position: number; versionNumber: number; output: string; createdAt: string
  }
  function_logs: {
    functionId: string; position: number; bytes: number; droppedBytes: number; droppedTo: number
  }
  function_pushes: {
    repositoryId: string; position: number; delivery: string; commitSha: string; pushedAt: number | null
    buildId: string | null; reason: string | null; deployedAt: string | null; receivedAt: string
  }
  function_repositories: {
    id: string; functionId: string; organizationId: string; userId: string; url: string; repositoryId: number
    fullName: string; cloneUrl: string; branch: string; sealedSpec: Buffer; sealedSecret: Buffer; hookId: number | null
    pushesReceived: number; removedAt: string | null; createdAt: string
  }
  function_versions: {
    id: string; functionId: string; organizationId: string; userId: string | null; number: number; objectKey: string
    binaryUrl: string; buildId: string | null; startCommand: string | null; port: number; createdAt: string
    revision: string | null
  }
  functions: {
    id: string; organizationId: string; userId: string | null; name: string; host: string; status: string
    statusReason: string | null; eventPosition: number; versionId: string | null; versionsMade: number
    vmId: string | null; sealedVariables: Buffer | null; generation: number; vcpuCount: number; memoryMb: number
    idleSeconds: number; failures: number; retryAt: string | null; activeAt: string; createdAt: string
    updatedAt: string; deletedAt: string | null; startSeconds: number
  }
  group_events: {
    groupId: string; position: number; type: string; messageId: string | null; runId: string | null
    runStatus: string | null; createdAt: string
  }
  group_members: {
    groupId: string; place: number; sessionId: string; agentId: string | null; builtinAgent: string | null
    handle: string; displayName: string; seenSequence: number
  }
  group_messages: {
    id: string; groupId: string; sequence: number; authorType: string; authorId: string; authorHandle: string
    text: string; recipientIds: string[]; runId: string | null; undeliveredReason: string | null; createdAt: string
  }
  group_runs: {
    id: string; groupId: string; organizationId: string; ownerUserId: string; sessionId: string; messageId: string
    originId: string; hops: number; revision: number; throughPosition: number | null; usageFrom: unknown; usage: unknown
    createdAt: string
  }
  groups: {
    id: string; organizationId: string; ownerUserId: string; name: string; description: string | null; revision: number
    messageSequence: number; createdAt: string; updatedAt: string
  }
  idempotency_keys: {
    caller: string; key: string; requestSha256: Buffer; responseStatus: number | null; sealedResponse: Buffer | null
    inProgressUntil: string | null; createdAt: string; grants: unknown
  }
  identities: {
    issuer: string; subject: string; userId: string; createdAt: string; signedInAt: string
  }
  inference_accounts: {
    organizationId: string; plan: string | null; balanceNanoUsd: number; monthlyBudgetNanoUsd: number | null
    settledPosition: number
  }
  inference_days: {
    organizationId: string; day: Date; model: string; payer: string; requests: number; inputTokens: number
    outputTokens: number; cacheReadTokens: number; cacheWriteTokens: number; reasoningTokens: number
    costNanoUsd: number
  }
  inference_grants: {
    id: string; organizationId: string; amountNanoUsd: number; grantedBy: string; note: string | null; createdAt: string
  }
  inference_key_budgets: {
    organizationId: string; keyId: string; monthlyBudgetNanoUsd: number
  }
  inference_processes: {
    id: string; flushes: number; seenAt: string
  }
  inference_requests: {
    organizationId: string; id: string; keyId: string | null; userId: string | null; model: string
    upstream: string | null; route: string; status: string; inputTokens: number; outputTokens: number
    cacheReadTokens: number; cacheWriteTokens: number; reasoningTokens: number; costNanoUsd: number; processId: string
    settledPosition: number | null; startedAt: string; endedAt: string | null; sessionId: string | null
  }
  invitations: {
    id: string; organizationId: string; role: string; note: string | null; secretSha256: Buffer; createdBy: string
    createdAt: string; expiresAt: string; acceptedAt: string | null; acceptedBy: string | null; email: string | null
    mailStatus: string | null; mailReason: string | null; mailAttempts: number; sealedSecret: Buffer | null
  }
  mcp_authorizations: {
    digest: Buffer; personId: string; serviceId: string; returnUrl: string; issuer: string; sealedOrder: Buffer
    cameBackFrom: string | null; expiresAt: string
  }
  mcp_choices: {
    personId: string; serviceId: string; disabledTools: string[]; toolsCount: number
  }
  mcp_clients: {
    issuer: string; redirectUrl: string; clientId: string; clientAuth: string; sealedSecret: Buffer | null
    expiresAt: string | null; createdAt: string
  }
  mcp_connection_events: {
    personId: string; position: number; type: string; serviceId: string; connectionId: string | null; createdAt: string
  }
  mcp_connections: {
    id: string; personId: string; organizationId: string; ownerUserId: string; serviceId: string; serverUrl: string
    issuer: string; tokenEndpoint: string; revocationEndpoint: string | null; clientId: string; clientAuth: string
    resource: string | null; scope: string | null; missingScope: string | null; sealedTokens: Buffer
    expiresAt: string | null; tokenGeneration: number; refusedGeneration: number | null; connectedAt: string
    createdAt: string; updatedAt: string
  }
  mcp_people: {
    id: string; organizationId: string; ownerUserId: string; eventPosition: number
  }
  mcp_sessions: {
    id: string; sessionId: string | null; url: string; credentialId: string | null; sealedSession: Buffer
    createdAt: string; endingTries: number; endingAt: string
  }
  memberships: {
    id: string; organizationId: string; userId: string; role: string; createdAt: string; deactivatedAt: string | null
  }
  memories: {
    id: string; spaceId: string; organizationId: string; ownerUserId: string | null; body: string
    category: string | null; revision: number; idempotencyKey: string; requestDigest: Buffer; actorType: string
    actorId: string; authorUserId: string; sourceSessionId: string | null; words: string; createdAt: string
    updatedAt: string
  }
  memory_events: {
    spaceId: string; position: number; type: string; memoryId: string; revision: number; createdAt: string
  }
  memory_spaces: {
    id: string; organizationId: string; ownerUserId: string | null; useMemories: boolean; memoryCount: number
    eventPosition: number; vectorsMadeBy: number | null; vectorsPosition: number; vectorsFailures: number
    vectorsNotBefore: string | null
  }
  memory_vectors: {
    memoryId: string; spaceId: string; madeBy: number; revision: number; signs: string | null; vector: Buffer | null
  }
  migrations: {
    name: string; ranAt: string
  }
  nodes: {
    id: string; name: string; agentUrl: string; acceleration: string | null; memoryMb: number
    unavailableReason: string | null; heartbeatAt: string; createdAt: string; diskMb: number | null
    workerNumber: number; templates: string[]
  }
  oauth_clients: {
    clientId: string; name: string; redirectUris: string[]; address: string; createdAt: string; usedAt: string | null
  }
  organization_events: {
    transaction: number; id: number; organizationId: string; ownerUserId: string | null; type: string; nodeId: string
    change: string; createdAt: string
  }
  organizations: {
    id: string; name: string; createdAt: string; deactivatedAt: string | null; createdBy: string | null
  }
  peer_exchange_events: {
    exchangeId: string; position: number; status: string; createdAt: string
  }
  peer_exchanges: {
    id: string; organizationId: string; ownerUserId: string; requesterSessionId: string; responderSessionId: string
    turnId: string; depth: number; requestText: string; fileId: string | null; attachmentVmId: string | null
    attachmentPlacedAt: string | null; status: string; answer: string | null; error: unknown; eventPosition: number
    createdAt: string; updatedAt: string; expiresAt: string; finishedAt: string | null; toldAt: string | null
    deliveredAt: string | null
  }
  projects: {
    id: string; organizationId: string; userId: string | null; name: string; createdAt: string; updatedAt: string
  }
  proxies: {
    id: string; organizationId: string; userId: string | null; vmId: string; serviceName: string; vmPort: number
    deploymentType: string; host: string; path: string; domainId: string | null; wakes: boolean; createdAt: string
  }
  rate_buckets: {
    bucket: string; tokens: number; granted: number; refilledAt: string
  }
  routes: {
    id: string; organizationId: string; kind: string; host: string; path: string; access: string; vmId: string | null
    vmPort: number | null; functionId: string | null; wakes: boolean
  }
  schedule_runs: {
    id: string; scheduleId: string; scheduledAt: string; position: number; status: string; sessionId: string | null
    skipReason: string | null; errorType: string | null; message: string | null; createdAt: string
  }
  schedules: {
    id: string; organizationId: string; ownerUserId: string; agentId: string | null; agentVersion: number | null
    deploymentId: string | null; kickoff: unknown; cron: string; timezone: string; enabled: boolean; overlap: string
    jitterMs: number; nextRunAt: string | null; plannedAt: string; lastRunAt: string | null
    lastSessionId: string | null; lastError: string | null; failures: number; runPosition: number; createdAt: string
    updatedAt: string; name: string | null
  }
  session_calls: {
    toolUseId: string; sessionId: string; vmId: string | null; vmStartedAt: string | null; begunAt: string
  }
  session_events: {
    sessionId: string; position: number; id: string; type: string; data: unknown; sizeBytes: number
    answers: string | null; processedAt: string | null; takenPosition: number | null; createdAt: string
  }
  session_previews: {
    sessionId: string; seq: number; eventId: string; data: unknown
  }
  session_reasoning: {
    spanId: string; sessionId: string; blocks: unknown
  }
  session_resources: {
    id: string; sessionId: string; type: string; mountPath: string; fileId: string | null; url: string | null
    checkout: unknown; sealedToken: Buffer | null; vmId: string | null; placedAt: string | null; createdAt: string
    updatedAt: string
  }
  session_secrets: {
    sessionId: string; digest: string; sealedValue: Buffer
  }
  session_tasks: {
    id: string; kind: string; organizationId: string; ownerUserId: string; sessionId: string; status: string
    fromPosition: number | null; answer: string | null; error: unknown; createdAt: string; updatedAt: string
    expiresAt: string; startedAt: string | null; finishedAt: string | null
  }
  sessions: {
    id: string; organizationId: string; ownerUserId: string; agentId: string | null; builtinAgent: string | null
    agentVersion: number; agentDefinition: unknown; environmentId: string | null; deploymentId: string | null
    kind: string; source: string; title: string | null; metadata: unknown; vaultIds: string[]
    budgetNanoUsd: number | null; status: string; stopReason: unknown; runningSince: string | null; activeMs: number
    inputTokens: number; outputTokens: number; cacheReadInputTokens: number; cacheCreation5mInputTokens: number
    cacheCreation1hInputTokens: number; webSearchRequests: number; webFetchRequests: number; costNanoUsd: number
    eventPosition: number; lastEventId: string | null; lastEventAt: string | null; serviceEvents: number
    readEventId: string | null; readPosition: number; readServiceEvents: number; sharedAt: string | null
    createdAt: string; updatedAt: string; archivedAt: string | null; stepFence: number; stepNode: string | null
    stepBeatAt: string | null; stepTries: number; outcomes: unknown; keepsSecrets: boolean; usedByVm: boolean
    spendsFrom: string[]
  }
  signing_keys: {
    kid: string; publicJwk: unknown; sealedPrivateJwk: Buffer; createdAt: string; retiredAt: string | null
  }
  skill_archives: {
    id: string; organizationId: string; sizeBytes: number; reservedBytes: number; writingUntil: string | null
  }
  skill_versions: {
    id: string; skillId: string; name: string; description: string; instructions: string; files: unknown
    unpackedBytes: number; archiveBytes: number; createdAt: string
  }
  skills: {
    id: string; organizationId: string; ownerUserId: string; name: string; displayName: string; latestVersionId: string
    createdAt: string; updatedAt: string
  }
  stored_bytes: {
    organizationId: string; room: string; part: number; bytes: number
  }
  stored_changes: {
    organizationId: string; room: string; part: number; bytes: number
  }
  task_chunks: {
    taskId: string; number: number; body: string; endBytes: number
  }
  task_streams: {
    taskId: string; firstNumber: number; lastNumber: number; bytes: number; goneBytes: number; step: string
    requestId: string | null; pieces: number; endedAt: string | null
  }
  templates: {
    id: string; organizationId: string | null; name: string; description: string; createdAt: string
    nodeId: string | null; buildJobId: string | null; sizeBytes: number | null; deletedAt: string | null
  }
  terminal_tickets: {
    digest: Buffer; terminalId: string; rights: unknown; expiresAt: string
  }
  terminals: {
    id: string; organizationId: string; vmId: string; userId: string | null; command: string | null; columns: number
    rows: number; status: string; exitCode: number | null; createdAt: string; seenAt: string; finishedAt: string | null
  }
  trigger_deliveries: {
    id: string; organizationId: string; delivery: string; event: string; action: string | null; routed: unknown
    payload: Buffer | null; receivedAt: string
  }
  trigger_fires: {
    id: string; triggerId: string; organizationId: string; deliveryRowId: string; delivery: string; event: string
    action: string | null; repo: string; shown: boolean; ref: string | null; sha: string | null; number: number | null
    sender: unknown; position: number | null; status: string; skipReason: string | null; sessionId: string | null
    error: unknown; redeliveryCount: number; receivedAt: string; finishedAt: string | null
  }
  triggers: {
    id: string; organizationId: string; ownerUserId: string; agentId: string; agentVersion: number | null
    deploymentId: string | null; repo: string; repoKey: string; repositoryId: number | null; events: string[]
    filters: unknown; enabled: boolean; accessCheckedAt: string | null; eventPosition: number
    lastFiredAt: string | null; createdAt: string; updatedAt: string; name: string | null
  }
  tunnel_tickets: {
    digest: Buffer; vmId: string; port: number; rights: unknown; expiresAt: string
  }
  uploads: {
    id: string; organizationId: string; createdBy: string | null; createdAt: string; expiresAt: string
    checkedAt: string | null; usedAt: string; sizeBytes: number; writer: string | null; writingUntil: string | null
    reservedBytes: number
  }
  usage_sessions: {
    id: number; organizationId: string; vmId: string | null; vcpuCount: number; memoryMb: number; costPerHour: number
    startedAt: string; endedAt: string | null; endReason: string | null; buildJobId: string | null
  }
  users: {
    id: string; name: string; email: string | null; createdAt: string
  }
  vault_credentials: {
    id: string; vaultId: string; displayName: string | null; auth: unknown; keyKind: string; key: string
    sealedSecrets: Buffer | null; tokenGeneration: number; refusedGeneration: number | null; metadata: unknown
    createdAt: string; updatedAt: string; archivedAt: string | null
  }
  vault_events: {
    vaultId: string; position: number; type: string; credentialId: string | null; createdAt: string
  }
  vaults: {
    id: string; organizationId: string; ownerUserId: string; displayName: string; metadata: unknown
    eventPosition: number; createdAt: string; updatedAt: string; archivedAt: string | null
  }
  vm_credentials: {
    vmId: string; credentialId: string
  }
  vm_env: {
    vmId: string; key: string; source: string; visibility: string; sealedValue: Buffer; updatedAt: string
  }
  vm_events: {
    vmId: string; position: number; status: string; statusReason: string | null; createdAt: string
  }
  vm_processes: {
    id: string; vmId: string; command: string; status: string; exitCode: number | null; startedAt: string
    finishedAt: string | null; endsAt: string | null
  }
  vm_skills: {
    vmId: string; skillVersionId: string; placedAt: string
  }
  vms: {
    id: string; organizationId: string; userId: string | null; name: string; status: string; desiredStatus: string
    statusReason: string | null; endReason: string | null; templateId: string; nodeId: string; ipAddress: string | null
    vcpuCount: number; memoryMb: number; diskMb: number; externalRef: string | null; folderId: string | null
    wantsFolder: boolean; metadata: unknown; networkPolicy: unknown; sealedGitRepos: Buffer | null; warnings: unknown
    bootFailures: number; envGeneration: number; eventPosition: number; createdAt: string; updatedAt: string
    startedAt: string | null; stoppedAt: string | null; expiresAt: string | null; deletedAt: string | null
    ownerUserId: string | null; purpose: string | null; projectId: string | null; codeHostLinkId: string | null
    idleSeconds: number | null; idleAction: string; activeAt: string; sleeps: boolean; startupStep: string | null
    startupAt: string | null
  }
  webhook_attempts: {
    deliveryId: string; number: number; endpointId: string; position: number; status: string; startedAt: string
    durationMs: number; responseStatus: number | null; problem: string | null; answer: string | null
  }
  webhook_deliveries: {
    id: string; organizationId: string; endpointId: string; eventId: string; status: string; tries: number
    attempts: number; nextAttemptAt: string | null; claim: number; claimedUntil: string | null
    responseStatus: number | null; problem: string | null; finishedAt: string | null; replayedAt: string | null
    createdAt: string
  }
  webhook_endpoints: {
    id: string; organizationId: string; userId: string | null; url: string; description: string | null
    eventTypes: string[] | null; sealedSecret: Buffer; sealedPreviousSecret: Buffer | null
    previousSecretUntil: string | null; enabled: boolean; disabledReason: string | null; disabledAt: string | null
    failures: number; lastProblem: string | null; heldUntil: string | null; eventPosition: number; createdAt: string
    updatedAt: string
  }
  webhook_events: {
    id: string; organizationId: string; type: string; subjectId: string; details: unknown; createdAt: string
  }
}
