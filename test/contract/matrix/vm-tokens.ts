/**
 * What the token inside a VM gets: one answer for each root field of GraphQL, on which REST runs too, and for each REST
 * operation that is answered otherwise. Without a row here an operation fails the test.
 *
 * - `open`: what its person gets.
 * - `unless secret`: the same, but 403 for a session with vaults, resources or secrets in its VM, and for a member of a group.
 * - `unless started`: the same, but 403 for an agent that something starts by itself, or that has such sessions.
 * - `closed`: 403.
 */
export type VmTokenAnswer = 'open' | 'unless secret' | 'unless started' | 'closed'

const rows: Readonly<Record<VmTokenAnswer, string>> = {
  open: `
    query: instance viewer organization node nodes models model vm vmByExternalRef vms folders templates vmProcesses vmProcess vmFile
      vmFolder build builds buildSecrets agent agents agentMcpTools builtInTools session sessions sharedSession sessionEvents
      sessionResource sessionResources
    mutation: createVm runSandbox updateVm deleteVm startVm resumeVm stopVm pauseVm execInVm killVmProcess openTerminal createTerminalTicket closeTerminal createTunnelTicket openVmSsh deleteFolder setVmEnv
      replaceVmEnv deleteVmEnvVariable refreshVmSystemEnv writeVmFile createVmFolder renameVmPath createVmFileUrl removeVmPath createBuild cancelBuild
      createUpload createAgent createSession createRun
    subscription: vmEvents vmMetricsChanged vmProcessOutputEvents buildEvents buildLogEvents sessionEvents sessionStateChanged`,
  'unless secret': `
    mutation: updateSession sendSessionEvents markSessionSeen setSessionSharing archiveSession deleteSession`,
  'unless started': 'mutation: updateAgent archiveAgent deleteAgent',
  closed: `
    query: apiKey apiKeys auditEvent auditEvents invitation invitations members usage inferenceCredits inferenceRequests inferenceUsage vmUsage search
      machines
      project projects proxy proxies domain domains function functions
      database databases databaseRestore backup backupSchedule
      codeHostAccount codeHostApp codeHostBranches codeHostRepositories codeHostStatus
      webhookDelivery webhookEndpoint webhookEndpoints webhookEvent webhookEvents
      environment environments file files skill skills skillVersion skillVersions vault vaults vaultCredential vaultCredentials
      memory memories memorySettings recallMemories mcpService mcpServices mcpServiceTools
      group groups groupHistory groupRun groupSnapshot peerExchange peerExchanges
      deployment deployments deploymentRun deploymentRuns schedule schedules scheduleRuns
      trigger triggers triggerFire triggerFires
    mutation: updateMember removeMember createApiKey revokeApiKey revokeBrowserSession revokeAuthorization
      createOrganization updateOrganization createInvitation revokeInvitation acceptInvitation setApiKeyBudget setOrganizationBudget
      setBuildSecret deleteBuildSecret syncVmSession removeVmSession
      createChatCompletion createEmbeddings
      deleteTemplate
      createProject updateProject deleteProject createProxy deleteProxy
      createDomain activateDomain checkDomain linkDomain unlinkDomain deleteDomain
      createFunction updateFunction deployFunction rollBackFunction startFunction deleteFunction
      linkFunctionRepository unlinkFunctionRepository
      createDatabase updateDatabase moveDatabaseToProject rotateDatabaseToken deleteDatabase undeleteDatabase wakeDatabase runSql
      enableDatabaseClientAccess disableDatabaseClientAccess createDatabaseAuthIssuer deleteDatabaseAuthIssuer
      createBackup deleteBackup restoreBackup createBackupSchedule updateBackupSchedule deleteBackupSchedule
      startCodeHostAuthorization connectCodeHost disconnectCodeHost createCodeHostRepository
      createWebhookEndpoint updateWebhookEndpoint deleteWebhookEndpoint rotateWebhookEndpointSecret sendTestWebhookEvent
      replayWebhookDelivery
      createEnvironment updateEnvironment archiveEnvironment deleteEnvironment createFile deleteFile
      createSkill deleteSkill createSkillVersion deleteSkillVersion
      createVault updateVault archiveVault deleteVault
      createVaultCredential updateVaultCredential validateVaultCredential archiveVaultCredential deleteVaultCredential
      addSessionResource updateSessionResource removeSessionResource
      createMemory updateMemory deleteMemory updateMemorySettings
      startMcpSignIn completeMcpSignIn disconnectMcpService selectMcpTools
      createGroup updateGroup deleteGroup sendGroupMessage answerGroupApproval answerGroupQuestion stopGroupRun stopPeerExchange
      createDeployment updateDeployment archiveDeployment deleteDeployment pauseDeployment resumeDeployment runDeployment
      createSchedule updateSchedule deleteSchedule createTrigger updateTrigger deleteTrigger tryTrigger
    subscription: backupEvents chatCompletionEvents databaseEvents databaseMetricsChanged databaseRestoreEvents
      deploymentRunEvents domainEvents environmentEvents functionEvents functionLogEvents groupEvents groupRunChunkEvents groupRunStateChanged
      inferenceRequestEvents mcpServiceEvents memoryEvents organizationEvents peerExchangeEvents scheduleEvents triggerFireEvents vaultEvents
      webhookDeliveryEvents`,
}

/** By root field, such as `mutation deleteSession`. */
export const vmTokenRows: Readonly<Record<string, VmTokenAnswer>> = Object.fromEntries(
  (Object.keys(rows) as VmTokenAnswer[]).flatMap((answer) =>
    rootFieldsIn(rows[answer]).map((field) => [field, answer]),
  ),
)

function rootFieldsIn(text: string): string[] {
  let operation = ''
  return text
    .trim()
    .split(/\s+/)
    .flatMap((word) => {
      if (!word.endsWith(':')) return `${operation} ${word}`
      operation = word.slice(0, -1)
      return []
    })
}

/**
 * REST operations whose answer does not follow from their root field: those that are answered by hand, and those that show
 * what is inside of it. `signed`: no token counts, a signature or nothing lets in whoever asks.
 */
export const restExceptions: Readonly<Record<string, 'open' | 'closed' | 'signed'>> = {
  'POST /api/v1/codehost/pushes/{link_id}': 'signed',
  'GET /api/v1/audit-events/export': 'closed',
  'GET /api/v1/databases/{db_id}/backups/{backup_id}/download': 'closed',
  'GET /api/v1/vms/{vm_id}/files': 'open',
  'PUT /api/v1/vms/{vm_id}/files': 'open',
  'POST /agents/v1/files': 'closed',
  'GET /agents/v1/files/{id}/content': 'closed',
  'GET /agents/v1/peer-exchanges/{id}/attachment': 'closed',
  'POST /agents/v1/skills': 'closed',
  'POST /agents/v1/skills/{id}/versions': 'closed',
  'GET /agents/v1/skills/{id}/versions/{vid}/content': 'closed',
  'POST /agents/v1/hooks/github': 'signed',
  'GET /agents/v1/mcp-services/callback/{id}': 'signed',
  'GET /agents/v1/mcp-services/{id}/client.json': 'signed',
  'POST /llm/v1/chat': 'closed',
  'POST /llm/v1/chat/completions': 'closed',
  'POST /llm/v1/responses': 'closed',
  'POST /llm/v1/embeddings': 'closed',
  'POST /llm/v1/messages': 'closed',
  'POST /llm/v1/messages/count_tokens': 'closed',
  'GET /llm/v1/chat/{id}/stream': 'signed',
  'GET /api/v1/organizations/{org_id}/domains': 'closed',
  'GET /api/v1/proxies/vm/{vm_id}': 'closed',
  'GET /api/v1/vms/{vm_id}/preview-url': 'closed',
}
