/**
 * Every limit of Berth in one table, each with its unit in its name (decisions.md §3; lines marked "ours" are not decided there).
 * A limit that belongs to one algorithm only (a retry, a poll) stands beside that algorithm.
 */
export const limits = {
  // Bodies, in bytes.
  infraBodyBytes: 1024 * 1024,
  agentsBodyBytes: 4 * 1024 * 1024,
  gatewayBodyBytes: 32 * 1024 * 1024,
  graphqlBodyBytes: 1024 * 1024, // ours: as infra
  jsonInlineBytes: 64 * 1024, // ours: a larger body is read in steps, and the event loop goes on between them
  jsonParts: 50_000, // ours: objects, lists, keys and texts of one body
  conversationParts: 200_000, // ours: the same of bodies that hold conversations
  socketMessageParts: 20_000, // ours: commas, colons and brackets of one web socket message outside of texts
  jsonKeys: 20_000, // ours: keys of one object
  jsonNumbers: 300_000, // ours: numbers and other values of one body
  answerParts: 1_000_000, // ours: objects, lists, keys and texts of an upstream's whole answer; one with the probabilities of its tokens has many
  answerNumbers: 1_000_000, // ours: numbers and other values of one
  answerEventParts: 100_000, // ours: commas, colons and brackets of one event of an upstream's stream
  answerArgumentsLength: 1024 * 1024, // ours: characters of the arguments of all calls of one answer, where they are not sent as a text

  // GraphQL (decisions.md §9).
  graphqlDepth: 12,
  graphqlCost: 1000,
  graphqlAliases: 15,
  graphqlTokens: 4000, // ours
  graphqlLines: 10_000, // ours: of a document; each finding in it is placed by counting them
  graphqlBatch: 5, // ours
  jsonDepth: 64, // ours: nesting of any JSON body

  // Pages.
  infraListMax: 1000,
  connectionFirstMax: 100,
  connectionFirstDefault: 50, // ours
  usagePageDefault: 50,
  modelListMax: 1000, // ours: as many as a file of models may have
  usagePageMax: 200,

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
  gitUrlLength: 2048, // ours
  gitBranchLength: 255, // ours
  createWaitSeconds: 30,
  sandboxTtlSecondsDefault: 300,
  sandboxTtlSecondsMin: 10,
  sandboxTtlSecondsMax: 86_400,
  execTimeoutSecondsDefault: 60,
  execTimeoutSecondsMax: 3600,
  execSilenceSeconds: 10,
  execOutputBytes: 1024 * 1024,
  execArgumentBytes: 128 * 1024, // ours: command and arguments together, what execve takes
  nodeWaitSeconds: 5, // ours: how long a request waits for a node whose worker starts again
  processRecordHours: 24,
  processesRunningMax: 1000, // ours: background processes of one VM
  fileBytes: 700 * 1024, // ours: one read or write; base64 of it fits the 1 MiB body
  fileListMax: 1000, // ours
  foldersMax: 10_000, // ours: workspace folders of an organization

  // Builds.
  buildsPerMinute: 30,
  buildsQueuedMax: 50,
  buildsRunningMax: 4,
  buildQueuedSecondsMax: 3600,
  templatesMax: 200, // ours: an organization's own
  buildCachesMax: 50, // ours: repositories of an organization whose builds have a cache
  buildDiskMb: 10 * 1024, // ours
  buildSpecBytes: 256 * 1024,
  buildTimeoutSecondsDefault: 1800,
  buildTimeoutSecondsMax: 7200,
  buildCommandsMax: 100, // ours
  buildCommandLength: 32 * 1024, // ours: characters
  buildPathLength: 1024, // ours
  buildUrlLength: 2048, // ours
  buildSecretsMax: 100, // ours: of an organization, and of a spec
  buildListMax: 200,
  buildLogLinesDefault: 500,
  buildLogLinesMax: 5000,
  buildLogHours: 24,
  buildTailLines: 200,
  buildLogBytes: 100 * 1024 * 1024, // ours: beyond it the build goes on, and its log says that it is cut
  buildOutputBytes: 1024 * 1024 * 1024, // ours: as an upload
  buildTailCharacters: 256 * 1024, // ours: the last lines are kept for ever, so they are short

  // Agents service.
  agentsListMax: 100,
  agentsMax: 10_000, // ours: of an organization, archived ones too; as environments and vaults
  agentVersionsMax: 10_000, // ours: of one agent
  environmentsMax: 10_000, // ours
  vaultsMax: 10_000, // ours
  sessionsMax: 100_000, // ours: of an organization, archived ones too
  sessionsAtWorkMax: 500, // ours: of an organization, multiplied as the rates
  descriptionLength: 2048,
  agentSystemLength: 100_000,
  agentToolsMax: 128,
  agentMcpServersMax: 20,
  agentMcpServicesMax: 20,
  agentSkillsMax: 64, // ours
  toolDescriptionLength: 4096, // ours: characters
  toolSchemaBytes: 64 * 1024, // ours: of one custom tool's input_schema
  webDomainsMax: 64, // of each list of domains of web_fetch and web_search
  webDomainLength: 512, // ours: characters of one entry, its path included
  mcpDiscoverySeconds: 10, // for each tool server
  mcpListingBytes: 1024 * 1024, // ours: all that one tool server answers while its tools are listed
  mcpAnswerBytes: 16 * 1024 * 1024, // ours: all that it answers to one call; base64 of 10 MiB of images fits
  mcpAnswerParts: 20_000, // ours: objects, lists, keys and texts of one message of a tool server
  mcpAnswerNumbers: 100_000, // ours: numbers and other values of one
  environmentsPerMinute: 60,
  environmentsInFlightMax: 5, // ours: in flight is one whose VM is being made, started or prepared; multiplied as the rates it stands among
  environmentIdleSecondsDefault: 900,
  environmentIdleSecondsMin: 10, // ours
  environmentIdleSecondsMax: 86_400, // ours
  packagesMax: 100, // ours: of each package manager
  packageNameLength: 200, // ours
  setupScriptLength: 64 * 1024, // ours: characters
  environmentBootSecondsMax: 300, // ours: until an environment's VM runs
  setupSecondsMax: 1200, // ours: packages and the setup script together
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
  attachmentUrlLength: 2048, // ours
  outcomeIterationsMax: 20,
  outcomesMax: 50, // ours: of one session
  outcomeDescriptionsLength: 100_000, // ours: characters, of all outcomes of a session
  outcomeRubricLength: 262_144, // characters
  denyMessageLength: 10_000, // ours: characters
  sessionVaultsMax: 50,
  eventListDefault: 100,
  eventListMax: 1000,
  eventPageBytes: 32 * 1024 * 1024, // ours: a page of events holds no more, or one event
  unreadCountMax: 100,
  interruptSeconds: 5,

  // Vaults.
  credentialsPerVault: 20, // archived ones do not count
  credentialHostsMax: 16,
  tokenLength: 16 * 1024, // ours: a token or client secret, in characters
  serverUrlLength: 2048, // ours
  vaultEventsKept: 1000, // ours: of one vault

  // Uploads.
  uploadUrlSeconds: 1800,
  uploadUnfinishedHours: 24,
  uploadBytes: 1024 * 1024 * 1024,
  uploadStalledSeconds: 30, // ours: a PUT of which nothing comes for so long is cut
  uploadBytesPerSecondMin: 1024, // ours: and one that is slower than this from then on
  uploadsUnfinishedMax: 1000, // ours: addresses of an organization where nothing was put yet
  uploadsMax: 10_000, // ours: of an organization
  stagedBytesPerOrganization: 4 * 1024 * 1024 * 1024, // ours: what unfinished PUTs may store
  stagedBytes: 16 * 1024 * 1024 * 1024, // ours: those of everybody

  // Answers.
  stalledSeconds: 30, // ours: an answer of which its reader takes nothing for so long is cut; chats have a limit of their own
  pipelinedRequests: 16, // ours: on one connection, sent before the answers to those before them

  // Streams.
  streamHeartbeatSeconds: 10,
  streamQueuedBytes: 1024 * 1024, // ours: a reader further behind than this is cut, and resumes by its cursor
  streamsPerCaller: 100, // ours
  socketOperations: 50, // ours: GraphQL operations open at once on one web socket

  // Chats.
  chatMessagesMax: 10_000, // ours: of a conversation
  chatPartsMax: 1000, // ours: of a message
  chatToolsMax: 128, // offered, and called in one message
  chatStopsMax: 4,
  chatHintLength: 1024, // ours: a key or a name that is passed on to providers
  chatBiasMax: 1024, // ours: tokens in logit_bias
  chatStopLength: 1000, // ours: characters of one stop text
  chatUrlLength: 8192, // ours: characters of an image's https address; data URLs are bound by the body alone
  chatIdLength: 512, // ours: characters of the ids and names that a caller sends back
  chatStreamsPerCaller: 1000, // ours: a key serves a whole application
  chatStreamStalledSeconds: 300, // ours: a reader that takes nothing for so long is gone
  chatBodyBytesPerOrganization: 512 * 1024 * 1024, // ours: of bodies whose answers are not over, in one process
  chatReplayBytes: 4 * 1024 * 1024, // ours: a stream that is longer is not kept under its Idempotency-Key

  apiKeysMax: 200, // ours: keys of an organization that are neither revoked nor expired
  apiKeyDaysMax: 3_653, // ours: ten years

  idempotencyHours: 24,
  nameLength: 255,
  externalRefLength: 255,
} as const
