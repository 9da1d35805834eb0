/**
 * Limits of requests, and of nouns that have no table of their own yet; each with its unit in its name. Those of one
 * noun are in its folder, in `limits.ts`; those that drivers, REST or nouns below it read too are in `limits/`, each
 * with the reason. A limit that belongs to one algorithm only (a retry, a poll) is beside that algorithm.
 */
export const limits = {
  // Bodies, in bytes.
  infraBodyBytes: 1024 * 1024,
  agentsBodyBytes: 4 * 1024 * 1024,
  gatewayBodyBytes: 32 * 1024 * 1024,
  graphqlBodyBytes: 1024 * 1024, // as infra
  jsonInlineBytes: 64 * 1024, // a larger body is parsed in steps, so that the event loop is not blocked
  jsonParts: 50_000, // objects, lists, keys and texts of one body
  conversationParts: 200_000, // the same of bodies that hold conversations
  socketMessageParts: 20_000, // commas, colons and brackets of one web socket message outside of texts
  jsonKeys: 20_000, // keys of one object
  jsonNumbers: 300_000, // numbers and other values of one body
  unusualNumbers: 50_000, // numbers of one body or answer that a double would change; in memory one has 150 bytes
  answerParts: 1_000_000, // objects, lists, keys and texts of an upstream's whole answer; log probabilities need many
  answerNumbers: 1_000_000, // numbers and other values of one
  answerDepth: 256, // nesting of what other services answer
  answerEventParts: 100_000, // commas, colons and brackets of one event of an upstream's stream
  answerArgumentsLength: 1024 * 1024, // characters of the arguments of all calls of one answer that are no text, or come before a name

  // Lists.
  pageBytes: 32 * 1024 * 1024, // a page of agents, of their versions or of sessions holds no more of definitions, or one

  // GraphQL.
  graphqlDepth: 12,
  graphqlCost: 2000, // rows of lists that one operation may return; an object beside one counts a quarter
  graphqlAliases: 15,
  graphqlTokens: 4000,
  graphqlLines: 10_000, // of a document; each error's position is found by counting them
  graphqlBatch: 5,
  graphqlReadBytes: 64 * 1024 * 1024, // of logs, events, messages and variables, by all fields of one operation
  graphqlAnswerLength: 96 * 1024 * 1024, // characters of the answer to one operation, about
  jsonDepth: 64, // nesting of any JSON body

  // Pages.
  infraListMax: 1000,
  nodesMax: 100, // ours: ids of one `nodes`
  connectionFirstMax: 100,
  connectionFirstDefault: 50,
  usagePageDefault: 50,
  modelListMax: 1000, // as many as a file of models may have
  usagePageMax: 200,
  processListMax: 200,

  // Requests a minute. A token bucket each: it holds one minute's worth and refills evenly.
  createsPerMinute: 300,
  otherPerMinute: 600,
  vmLifecyclePerMinute: 60,
  sandboxesPerMinute: 60,
  execsPerMinute: 600,
  anonymousPerMinute: 60,
  chatsPerMinute: 600, // for each key, and for each person

  // VMs.
  envVarsPerVm: 100,
  envKeyLength: 128,
  envValueBytes: 32 * 1024,
  envTotalBytes: 256 * 1024,
  gitReposPerVm: 20,
  gitUrlLength: 2048,
  gitBranchLength: 255,
  createWaitSeconds: 30,
  bootTriesMax: 3, // of a VM, before it is left in `error`
  sandboxTtlSecondsDefault: 300,
  sandboxTtlSecondsMin: 10,
  sandboxTtlSecondsMax: 86_400,
  execTimeoutSecondsDefault: 60,
  execTimeoutSecondsMax: 3600,
  execSilenceSeconds: 10,
  execOutputBytes: 1024 * 1024,
  execArgumentBytes: 128 * 1024, // command and arguments together, each with the byte that ends it: what execve takes of one
  execInputBytes: 900 * 1024, // standard input of a command, or the code of a sandbox: what fits in the 1 MiB body
  nodeWaitSeconds: 5, // how long a request waits for a node whose worker starts again
  processRecordHours: 24,
  processesRunningMax: 1000, // background processes of one VM
  fileBytes: 700 * 1024, // one read or write; base64 of it fits the 1 MiB body
  fileListMax: 1000,
  foldersMax: 10_000, // workspace folders of an organization

  // Projects and databases.
  projectsMax: 10_000, // of an organization
  databasesMax: 10_000, // of an organization, those that are not deleted
  databaseAuthIssuersMax: 10, // of one database
  databaseWaitSeconds: 25, // how long a request that creates one waits for it
  databaseCreateSecondsMax: 300, // one that is not there by then has failed
  databaseAcknowledgedSeconds: 5, // how long a change of client access waits for the processes that let clients in
  edgeSilenceSeconds: 10, // one of them that sent no heartbeat for so long counts as dead
  databaseWakeSeconds: 30, // until one that slept is there again
  databaseRecoverySecondsMax: 1800, // how long a server may recover after a crash; then its VM starts again
  databaseSilenceSecondsMax: 120, // and how long it may say nothing
  databaseKeptDays: 7, // the data of a deleted one
  databaseEventsKept: 1000, // of one database
  databaseSleepSecondsMin: 10,
  databaseSleepSecondsMax: 30 * 86_400,
  databaseWatchSeconds: 5, // metrics of a database that somebody watches are this old
  databaseMetricsSeconds: 60, // and of any other that is awake

  // Connections to a VM through its node: to its Postgres, and to other ports.
  tunnelOpenSeconds: 10,
  tunnelsPerVm: 128, // some more than Postgres takes, so that it is Postgres that refuses
  tunnelsPerNode: 4096,
  portTunnelsPerVm: 512, // to other ports of a VM
  portTunnelsPerNode: 4096, // those of all VMs, beside the ones to Postgres

  // Connections of a VM's programs to the databases of its project.
  projectConnectionsPerVm: 64,
  projectConnectionsRefused: 16, // so many more are open while they are told that there are too many
  projectIdleSeconds: 900, // one on which nothing is said for so long is cut, as by the proxy of VMs

  // Backups of databases.
  backupsMax: 10_000, // of an organization
  backupBytes: 64 * 1024 * 1024 * 1024, // of one dump
  backupSeconds: 2 * 3600, // that one dump may take
  backupSilenceSeconds: 60, // a backup or restore whose worker writes no progress for so long is taken from it
  backupCancelSeconds: 10, // how long a request waits until a backup that is being made has stopped
  failedBackupDays: 30, // how long one that failed is listed
  safetyBackupDays: 7, // how long the backup that a restore makes first is kept
  safetyBackupsKept: 3, // of one database; the newest of those
  restoreSeconds: 4 * 3600, // that one restore may take
  replacedDataHours: 24, // how long a restore leaves the data that it replaced on the disk
  backupSchedulesMax: 10_000, // of an organization
  scheduleKeepCountMax: 1000,
  scheduleKeepDaysMax: 3650,
  scheduleLateSeconds: 300, // a backup that is later than this is skipped
  verificationSeconds: 2 * 3600, // that testing backups may take in one night, on each node
  verificationOnceSeconds: 600, // that testing one may take at least; a large one gets more
  verificationRetryHours: 20, // until a backup that was not found good is tested again

  // Builds.
  buildsPerMinute: 30,
  buildsQueuedMax: 50,
  buildsRunningMax: 4,
  buildQueuedSecondsMax: 3600,
  templatesMax: 200, // an organization's own
  buildCachesMax: 50, // repositories of an organization whose builds have a cache
  buildDiskMb: 10 * 1024,
  buildSpecBytes: 256 * 1024,
  buildTimeoutSecondsDefault: 1800,
  buildTimeoutSecondsMax: 7200,
  buildCommandsMax: 100,
  buildCommandLength: 32 * 1024, // characters
  buildPathLength: 1024,
  buildUrlLength: 2048,
  buildSecretsMax: 100, // of an organization, and of a spec
  buildListMax: 200,
  buildLogLinesDefault: 500,
  buildLogLinesMax: 5000,
  buildLogHours: 24,
  buildTailLines: 200,
  buildTailsKept: 1000, // ended builds of an organization whose last lines are kept, the newest
  buildLogBytes: 100 * 1024 * 1024, // beyond it the build continues, and its log says that it is truncated
  buildOutputBytes: 1024 * 1024 * 1024, // as an upload
  buildTailCharacters: 256 * 1024, // the last lines are kept permanently, so they are short

  // Agents service.
  agentsListMax: 100,
  agentsMax: 10_000, // of an organization, archived ones too; as environments and vaults
  agentVersionsMax: 10_000, // of one agent
  environmentsMax: 10_000,
  vaultsMax: 10_000,
  sessionsMax: 100_000, // of an organization, archived ones too
  sessionsAtWorkMax: 500, // of an organization, multiplied as the rates
  descriptionLength: 2048,
  agentSystemLength: 100_000,
  agentToolsMax: 128,
  agentMcpServersMax: 20,
  agentMcpServicesMax: 20,
  agentSkillsMax: 64,
  toolDescriptionLength: 4096, // characters
  toolSchemaBytes: 64 * 1024, // of one custom tool's input_schema
  webDomainsMax: 64, // of each list of domains of web_fetch and web_search
  webDomainLength: 512, // characters of one entry, its path included
  mcpDiscoverySeconds: 10, // for each tool server
  mcpListingBytes: 1024 * 1024, // everything that one tool server answers while its tools are listed
  mcpAnswerBytes: 16 * 1024 * 1024, // everything that it answers to one call; enough for 10 MiB of images in base64
  mcpAnswerParts: 20_000, // objects, lists, keys and texts of one message of a tool server
  mcpAnswerNumbers: 100_000, // numbers and other values of one
  environmentsPerMinute: 60,
  environmentsInFlightMax: 5, // in flight is one whose VM is being made, started or prepared; multiplied as the rates it stands among
  environmentIdleSecondsDefault: 900,
  environmentIdleSecondsMin: 10,
  environmentIdleSecondsMax: 86_400,
  packagesMax: 100, // of each package manager
  packageNameLength: 200,
  setupScriptLength: 64 * 1024, // characters
  environmentBootSecondsMax: 300, // until an environment's VM is running
  setupSecondsMax: 1200, // packages and the setup script together
  metadataPairs: 16,
  metadataKeyLength: 64,
  metadataValueLength: 512,

  // Sessions.
  eventsBodyBytes: 32 * 1024 * 1024,
  eventsPerBatch: 100,
  initialEventsMax: 50,
  contentBlocksMax: 100,
  imageBytes: 5 * 1024 * 1024,
  documentBytes: 32 * 1024 * 1024,
  attachmentUrlLength: 2048,
  outcomeIterationsMax: 20,
  outcomesMax: 50, // of one session
  outcomeDescriptionsLength: 100_000, // characters, of all outcomes of a session
  outcomeRubricLength: 262_144, // characters
  denyMessageLength: 10_000, // characters
  sessionVaultsMax: 50,
  eventListDefault: 100,
  eventListMax: 1000,
  eventPageBytes: 32 * 1024 * 1024, // the maximum size of a page of events, unless it is a single event
  unreadCountMax: 100,
  interruptSeconds: 5,

  // Vaults.
  credentialsPerVault: 20, // archived ones do not count
  credentialHostsMax: 16,
  tokenLength: 16 * 1024, // a token or client secret, in characters
  serverUrlLength: 2048,
  vaultEventsKept: 1000, // of one vault

  // Uploads.
  uploadUrlSeconds: 1800,
  uploadUnfinishedHours: 24,
  uploadBytes: 1024 * 1024 * 1024,
  uploadStalledSeconds: 30, // a PUT that is silent for so long is cut off
  uploadBytesPerSecondMin: 1024, // and one that is slower than this from then on
  uploadsUnfinishedMax: 1000, // unused upload URLs of an organization
  uploadsMax: 10_000, // of an organization
  stagedBytesPerOrganization: 4 * 1024 * 1024 * 1024, // what unfinished PUTs may store
  stagedBytes: 16 * 1024 * 1024 * 1024, // of all organizations together

  // Answers.
  stalledSeconds: 30, // an answer whose reader accepts nothing for so long is cut off; chats have a limit of their own
  pipelinedRequests: 16, // on one connection, sent before the answers to those before them

  // Streams.
  streamHeartbeatSeconds: 10,
  streamQueuedBytes: 1024 * 1024, // a reader further behind than this is cut off, and resumes from its cursor
  streamsPerCaller: 100,
  socketOperations: 50, // GraphQL operations open at once on one web socket
  socketOperationsPerCaller: 500, // on all of a caller's, in one process: one event is read by each that follows it

  // Chats.
  chatMessagesMax: 10_000, // of a conversation
  chatPartsMax: 1000, // of a message
  chatToolsMax: 128, // offered, and called in one message
  chatStopsMax: 4,
  chatHintLength: 1024, // a key or a name that is passed on to providers
  chatBiasMax: 1024, // tokens in logit_bias
  chatStopLength: 1000, // characters of one stop text
  chatUrlLength: 8192, // characters of an image's https address; data URLs are bound by the body alone
  chatIdLength: 512, // characters of the ids and names that a caller sends back
  chatStreamsPerCaller: 1000, // a key serves a whole application
  chatStreamStalledSeconds: 300, // a reader that accepts nothing for so long counts as gone
  bodyBytesPerOrganization: 512 * 1024 * 1024, // of requests of 64 KiB or more whose answers are not complete, in one process
  chatJoinedLength: 16 * 1024 * 1024, // characters of a stream that is joined; as much as an answer that is not streamed may have in bytes
  chatReplayBytes: 4 * 1024 * 1024, // a longer stream is not stored under its Idempotency-Key

  // The wire proxy of databases.
  postgresStartupBytes: 10_000, // of a startup packet, as in Postgres itself
  postgresLoginBytes: 1024, // of one message of a SCRAM exchange, as in Postgres itself
  postgresLoginSeconds: 15, // from the connection until the client has proved who it is
  postgresUnprovenPerAddress: 128, // connections that have not logged in yet; the oldest makes room for one more
  postgresUnprovenMax: 1024, // the same of all addresses together
  postgresClientsPerAddress: 2048,
  postgresClientsMax: 8192, // of one process
  postgresClientsPerDatabase: 2000,
  postgresClientsPerOrganization: 4096, // of all its databases together, in one process
  postgresFailuresPerMinute: 30, // failed logins to one database from one address
  postgresBackendsShared: 16, // server connections of a database that clients share; more while no client lets go of one
  postgresBackendsMax: 80, // of one database; its server takes 100, with those of Berth itself
  postgresQueueSeconds: 30, // a client waits so long for a server connection
  postgresWakeSeconds: 30, // and so long until a database that sleeps has come up
  postgresBackendIdleSeconds: 300, // a server connection that nobody uses is closed then
  postgresBackendMinutes: 60, // and one of this age when it is next free
  postgresStatementBytes: 64 * 1024, // a longer statement is not read, and its client keeps its server connection
  postgresPlanBytes: 16 * 1024, // an unnamed prepared statement up to this size is prepared again on another server connection
  postgresStalledSeconds: 900, // a client that takes nothing of its answer for so long is cut
  postgresWorkSeconds: 30, // a statement or transaction of a client without the database's token; and those of a POST /sql
  postgresEndSeconds: 5, // until the socket of a client that leaves, or was told to, is cut; and until one is ended whose statement was cancelled

  // POST /sql.
  sqlResultBytes: 1024 * 1024, // of the answer to one statement of `runSql`
  sqlSeconds: 60, // for all statements of a request
  sqlRequestsPerDatabase: 64, // that are answered at once; an eighth of them is kept for the owner
  sqlQueriesMax: 1000, // statements of one transaction
  sqlParamsMax: 65_535, // values of one statement, as in Postgres itself
  sqlStatementLength: 1024 * 1024, // characters
  sqlParts: 200_000, // objects, lists, keys and texts of one request
  sqlNumbers: 600_000, // numbers and other values of one: a list of them may fill it
  sqlAnswerBytes: 10 * 1024 * 1024, // of all rows together, as Postgres sends them

  apiKeysMax: 200, // keys of an organization that are neither revoked nor expired
  apiKeyDaysMax: 3_653, // ten years
  idempotencyHours: 24,
  nameLength: 255,
  externalRefLength: 255,
} as const
