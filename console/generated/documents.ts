/** Generated from documents.graphql of each folder: npm run generate. */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
import { gql } from 'urql';
/** How a machine runs its VMs. */
export type Acceleration =
  /** In software emulation, several times slower. */
  | 'EMULATION'
  /** With hardware virtualization (KVM). */
  | 'KVM';

/** What `acceptInvitation` takes. */
export type AcceptInvitationInput = {
  /** The link, or what follows `#` in it. */
  url: string;
};

/** What `activateDomain` takes. */
export type ActivateDomainInput = {
  /** Its name or its id. */
  domain: string | number;
};

/** How hard an agent’s model thinks. */
export type AgentEffort =
  /** The model thinks a lot. */
  | 'HIGH'
  /** The model thinks the least. */
  | 'LOW'
  /** The model thinks the most. */
  | 'MAX'
  /** The model thinks a moderate amount. */
  | 'MEDIUM'
  /** The model thinks more than at `HIGH`. */
  | 'XHIGH';

/** How hard a model thinks. */
export type AgentEffortInput = {
  /** One of the model’s levels. */
  type: AgentEffort;
};

/** Narrows a list of agents. */
export type AgentFilter = {
  /**
   * Created after this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdAfter?: string | null | undefined;
  /** When it was created. */
  createdAt?: DateTimeFilter | null | undefined;
  /**
   * Created before this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdBefore?: string | null | undefined;
  /**
   * Created at or after this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdFrom?: string | null | undefined;
  /**
   * Created at or before this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdUntil?: string | null | undefined;
  /** Whether to include archived ones; false by default. */
  includeArchived?: boolean | null | undefined;
  /** One of the caller’s organizations; the active one by default. */
  organizationId?: string | number | null | undefined;
  /** Only those with this piece of text in their name, in upper or lower case. */
  text?: string | null | undefined;
};

/** A connector to use. */
export type AgentMcpServiceInput = {
  /** Those of its tools that the agent does not get. */
  disabledTools?: Array<string> | null | undefined;
  /** The connector, such as `linear`. */
  id: string | number;
};

/** The model that an agent uses, and how. */
export type AgentModelInput = {
  /** The model’s default if omitted. */
  effort?: AgentEffortInput | null | undefined;
  /** Its id, as in `models`. */
  id: string | number;
  /** `STANDARD` by default. */
  speed?: AgentSpeed | null | undefined;
};

/** An agent, in one of its versions. */
export type AgentReferenceInput = {
  /** Which agent. */
  id: string | number;
  /** Its version; the newest by default. */
  version?: number | null | undefined;
};

/** A skill for an agent. */
export type AgentSkillInput = {
  /** The skill’s name. */
  skillId: string | number;
  /** Who provides it. */
  type: AgentSkillType;
  /** `latest` by default. */
  version?: string | null | undefined;
};

/** Who provides a skill. */
export type AgentSkillType =
  /** One of Anthropic’s. */
  | 'ANTHROPIC'
  /** A custom skill of the organization. */
  | 'CUSTOM';

/** The class of service that an agent requests. */
export type AgentSpeed =
  /** A faster class. */
  | 'FAST'
  /** The standard class. */
  | 'STANDARD';

/** One entry of an agent’s tools: exactly one of these. */
export type AgentToolInput =
  {   /** Berth’s built-in tools for files, commands and the web, as Anthropic’s agents have them. */
  agentToolset: BuiltInToolsetInput; berthToolset?: never; custom?: never; mcpToolset?: never; }
  |  { agentToolset?: never;   /** The toolset of Berth. */
  berthToolset: BuiltInToolsetInput; custom?: never; mcpToolset?: never; }
  |  { agentToolset?: never; berthToolset?: never;   /** A custom tool, which the client runs. */
  custom: CustomToolInput; mcpToolset?: never; }
  |  { agentToolset?: never; berthToolset?: never; custom?: never;   /** The tools of a tool server. */
  mcpToolset: McpToolsetInput; };

/** An agent, with parts of its definition overridden for this session. */
export type AgentWithOverridesInput = {
  /** Which agent. */
  id: string | number;
  /** The tool servers that it connects to, 20 at most. */
  mcpServers?: Array<McpServerInput> | null | undefined;
  /** The connectors that it uses. */
  mcpServices?: Array<AgentMcpServiceInput> | null | undefined;
  /** The model it uses. */
  model?: AgentModelInput | null | undefined;
  /** Its skills. */
  skills?: Array<AgentSkillInput> | null | undefined;
  /** Its system prompt: at most 100,000 characters. */
  system?: string | null | undefined;
  /** Toolsets and custom tools, 128 at most. */
  tools?: Array<AgentToolInput> | null | undefined;
  /** Its version; the newest by default. */
  version?: number | null | undefined;
};

/** What `answerGroupApproval` takes. */
export type AnswerGroupApprovalInput = {
  /** Which: `apr_…`. */
  approvalId: string | number;
  /** Whether the tool may run. */
  approved?: boolean | null | undefined;
  /** The same as `reason`, as events of sessions have it. */
  denyMessage?: string | null | undefined;
  /** Its group. If given, a run of another group is not found. */
  groupId?: string | number | null | undefined;
  /** What the agent is told when it may not; when it may, only the session’s log has it. */
  reason?: string | null | undefined;
  /** The same as `approved`, as events of sessions have it. */
  result?: ToolConfirmationResult | null | undefined;
  /** The run. */
  runId: string | number;
};

/** What `answerGroupQuestion` takes. */
export type AnswerGroupQuestionInput = {
  /** 1 to 8000 characters. */
  answer: string;
  /** Its group. If given, a run of another group is not found. */
  groupId?: string | number | null | undefined;
  /** The run. */
  runId: string | number;
  /** Which: the `toolCallId` of the question. */
  toolCallId: string | number;
};

/** What `archiveAgent` takes. */
export type ArchiveAgentInput = {
  /** Its id. */
  id: string | number;
};

/** What `archiveDeployment` takes. */
export type ArchiveDeploymentInput = {
  /** Its id. */
  id: string | number;
};

/** What `archiveEnvironment` takes. */
export type ArchiveEnvironmentInput = {
  /** Its id. */
  id: string | number;
};

/** What `archiveVaultCredential` takes. */
export type ArchiveVaultCredentialInput = {
  /** Its id. */
  id: string | number;
  /** Its vault. If given, a credential of another vault is not found. */
  vaultId?: string | number | null | undefined;
};

/** What `archiveVault` takes. */
export type ArchiveVaultInput = {
  /** Its id. */
  id: string | number;
};

/** Whether a list includes archived sessions. */
export type ArchivedFilter =
  /** The list leaves archived sessions out. */
  | 'EXCLUDE'
  /** The list has archived sessions too. */
  | 'INCLUDE'
  /** The list has archived sessions only. */
  | 'ONLY';

/** What made a call. */
export type AuditActorKind =
  /** An API key of the organization. */
  | 'API_KEY'
  /** Whoever operates this host: by a command, or by the sign-in of this machine before it is known who signs in. */
  | 'OPERATOR'
  /** A person, by a token or by a session in a browser. */
  | 'PERSON'
  /** The token inside a VM, in the name of a person. */
  | 'VM_TOKEN';

/** Narrows a list of audit events. */
export type AuditEventFilter = {
  /** Only what this person, API key or VM did; a person’s includes what tokens in VMs did in their name. */
  actorId?: string | number | null | undefined;
  /** Only what was done within these bounds. */
  at?: DateTimeFilter | null | undefined;
  /** Only what was done to this object, which need not be there any more. */
  nodeId?: string | number | null | undefined;
  /** Only what was done to objects of these types, at most 50. */
  nodeTypes?: Array<AuditNodeType> | null | undefined;
  /** Only these operations, such as `createVm`, at most 50. */
  operations?: Array<string> | null | undefined;
};

/** The types of the objects that audit events are about. */
export type AuditNodeType =
  /** An object of the type `Agent`. */
  | 'AGENT'
  /** An object of the type `ApiKey`. */
  | 'API_KEY'
  /** An object of the type `Authorization`. */
  | 'AUTHORIZATION'
  /** An object of the type `Backup`. */
  | 'BACKUP'
  /** An object of the type `BackupSchedule`. */
  | 'BACKUP_SCHEDULE'
  /** An object of the type `BrowserSession`. */
  | 'BROWSER_SESSION'
  /** An object of the type `Build`. */
  | 'BUILD'
  /** An object of the type `BuildSecret`. */
  | 'BUILD_SECRET'
  /** An object of the type `CodeHostAccount`. */
  | 'CODE_HOST_ACCOUNT'
  /** An object of the type `ConnectedService`. */
  | 'CONNECTED_SERVICE'
  /** An object of the type `Database`. */
  | 'DATABASE'
  /** An object of the type `DatabaseRestore`. */
  | 'DATABASE_RESTORE'
  /** An object of the type `Deployment`. */
  | 'DEPLOYMENT'
  /** An object of the type `DeploymentRun`. */
  | 'DEPLOYMENT_RUN'
  /** An object of the type `Domain`. */
  | 'DOMAIN'
  /** An object of the type `Environment`. */
  | 'ENVIRONMENT'
  /** An object of the type `File`. */
  | 'FILE'
  /** An object of the type `Folder`. */
  | 'FOLDER'
  /** An object of the type `Function`. */
  | 'FUNCTION'
  /** An object of the type `Group`. */
  | 'GROUP'
  /** An object of the type `Invitation`. */
  | 'INVITATION'
  /** An object of the type `Member`. */
  | 'MEMBER'
  /** An object of the type `Memory`. */
  | 'MEMORY'
  /** An object of the type `Organization`. */
  | 'ORGANIZATION'
  /** An object of the type `PeerExchange`. */
  | 'PEER_EXCHANGE'
  /** An object of the type `Project`. */
  | 'PROJECT'
  /** An object of the type `Proxy`. */
  | 'PROXY'
  /** An object of the type `Schedule`. */
  | 'SCHEDULE'
  /** An object of the type `Session`. */
  | 'SESSION'
  /** An object of the type `Skill`. */
  | 'SKILL'
  /** An object of the type `SkillVersion`. */
  | 'SKILL_VERSION'
  /** An object of the type `Template`. */
  | 'TEMPLATE'
  /** An object of the type `Trigger`. */
  | 'TRIGGER'
  /** An object of the type `Vault`. */
  | 'VAULT'
  /** An object of the type `VaultCredential`. */
  | 'VAULT_CREDENTIAL'
  /** An object of the type `Vm`. */
  | 'VM'
  /** An object of the type `WebhookEndpoint`. */
  | 'WEBHOOK_ENDPOINT';

/** What the author of a text is to the repository, in GitHub’s words. */
export type AuthorAssociation =
  /** GitHub’s `COLLABORATOR`. */
  | 'COLLABORATOR'
  /** GitHub’s `CONTRIBUTOR`. */
  | 'CONTRIBUTOR'
  /** GitHub’s `FIRST_TIMER`. */
  | 'FIRST_TIMER'
  /** GitHub’s `FIRST_TIME_CONTRIBUTOR`. */
  | 'FIRST_TIME_CONTRIBUTOR'
  /** GitHub’s `MANNEQUIN`. */
  | 'MANNEQUIN'
  /** GitHub’s `MEMBER`. */
  | 'MEMBER'
  /** GitHub’s `NONE`. */
  | 'NONE'
  /** GitHub’s `OWNER`. */
  | 'OWNER';

/** The status of a backup. */
export type BackupStatus =
  /** It is stored, was read back, and can be restored. */
  | 'COMPLETED'
  /** Its file is being removed. */
  | 'DELETING'
  /** `error` says why. Nothing of it is stored. */
  | 'FAILED'
  /** It is waiting for its turn. */
  | 'PENDING'
  /** The database is being dumped. */
  | 'RUNNING';

/** Why a backup was made. */
export type BackupTrigger =
  /** Somebody asked for it. */
  | 'MANUAL'
  /** The data was about to be deleted. None is made now: a deleted database keeps its data for 7 days. */
  | 'PRE_DELETE'
  /** A restore was about to replace the data. */
  | 'PRE_RESTORE'
  /** A schedule was due. */
  | 'SCHEDULE';

/** Bytes inside the block. */
export type Base64SourceInput = {
  /** The bytes as base64. */
  data: string;
  /** `image/jpeg`, `image/png`, `image/gif` or `image/webp` for an image; `application/pdf` for a document. */
  mediaType: string;
};

/** A branch. */
export type BranchCheckoutInput = {
  /** Its name. */
  name: string;
};

/** How much a session may spend. */
export type BudgetInput =
  {   /** Up to an amount. */
  limit: LimitBudgetInput; };

/** How a build makes its output. */
export type BuildBuilder =
  /** It runs the commands of the spec. */
  | 'COMMAND'
  /** It publishes the output path as it is. */
  | 'STATIC';

/** Narrows a list of builds. */
export type BuildFilter = {
  /** Only those with one of these statuses. */
  statuses?: Array<BuildStatus> | null | undefined;
  /** Only those with this piece of text in their output’s name, repository or reference, in upper or lower case. */
  text?: string | null | undefined;
};

/** What a build produces. */
export type BuildOutputInput = {
  /** Its name: lower-case letters, digits and dashes, beginning with a letter, 63 at most. */
  name: string;
  /** A relative path inside the checkout; the whole checkout by default. */
  path?: string | null | undefined;
  /** Of a function: where it listens. By default as in its version before; at first 8080. */
  port?: number | null | undefined;
  /** Of a function: what starts it, at most 4096 characters. By default as in its version before; at first, and if empty, what the files say. */
  startCommand?: string | null | undefined;
  /** As what to publish the output. */
  type: BuildOutputType;
};

/** What a build produces. */
export type BuildOutputType =
  /** A tar.gz file, stored for some weeks. */
  | 'ARTIFACT'
  /** A version of a function, which is deployed when the build succeeds. */
  | 'FUNCTION'
  /** A template for VMs. */
  | 'TEMPLATE';

/** The size of a build’s VM. */
export type BuildResourcesInput = {
  /** Memory in MB, 256 to 65536; 2048 by default. */
  memoryMb?: number | null | undefined;
  /** Virtual processors, 1 to 16; 2 by default. */
  vcpuCount?: number | null | undefined;
};

/** What a build does. Every field is optional, so `{}` is a valid spec. */
export type BuildSpecInput = {
  /** `COMMAND` by default. */
  builder?: BuildBuilder | null | undefined;
  /** Whether it may use the cache of earlier builds; true by default. */
  cache?: boolean | null | undefined;
  /** The commands to run, one after the other. */
  commands?: Array<string> | null | undefined;
  /** A folder of the repository, `.` by default. Without a repository: the `binaryUrl` of an upload. */
  context?: string | null | undefined;
  /** Environment variables for the commands. */
  env?: Record<string, string> | null | undefined;
  /** What it produces; by default an artifact called `build`. */
  output?: BuildOutputInput | null | undefined;
  /** The size of its VM. */
  resources?: BuildResourcesInput | null | undefined;
  /** Names of build secrets to pass to the commands as environment variables. */
  secrets?: Array<string> | null | undefined;
  /** The id or name of the template it starts from; `base` by default. */
  template?: string | null | undefined;
  /** How many seconds its commands may take together, 1 to 7200; 1800 by default. */
  timeoutSeconds?: number | null | undefined;
  /** Always 1. */
  version?: number | null | undefined;
};

/** The status of a build. The last three are final. */
export type BuildStatus =
  /** A user cancelled it. */
  | 'CANCELLED'
  /** `error` says why. */
  | 'FAILED'
  /** It is waiting for a machine. */
  | 'QUEUED'
  /** It is running on a machine. */
  | 'RUNNING'
  /** Every command exited with 0, and the output is stored. */
  | 'SUCCEEDED';

/** The settings of one of Berth’s built-in tools. */
export type BuiltInToolConfigInput = {
  /** For web tools: the only domains it may reach. */
  allowedDomains?: Array<string> | null | undefined;
  /** For web tools: domains it may not reach. */
  blockedDomains?: Array<string> | null | undefined;
  /** Whether the agent has it; the toolset’s default if omitted. */
  enabled?: boolean | null | undefined;
  /** For `web_fetch`: how much of a page the model gets to read. */
  maxContentTokens?: number | null | undefined;
  /** The tool. */
  name: string;
  /** The toolset’s default if omitted. */
  permissionPolicy?: PermissionPolicyInput | null | undefined;
};

/** Berth’s built-in tools. */
export type BuiltInToolsetInput = {
  /** The settings of individual tools. */
  configs?: Array<BuiltInToolConfigInput> | null | undefined;
  /** The settings of tools that `configs` does not name. */
  defaultConfig?: ToolSettingInput | null | undefined;
};

/** What `cancelBuild` takes. */
export type CancelBuildInput = {
  /** Its id. */
  id: string | number;
};

/** How far a certificate is. */
export type CertificateStatus =
  /** `reason` says why there is none. It is tried again by itself at `nextAttemptAt`. */
  | 'FAILED'
  /** It is there. `reason` says when it could not be renewed. */
  | 'ISSUED'
  /** It is being obtained. */
  | 'PENDING';

/** How an object changed. */
export type ChangeType =
  /** It was created. */
  | 'CREATED'
  /** It is gone. */
  | 'DELETED'
  /** Its state changed, or something else of it that lists show. */
  | 'UPDATED';

/** An earlier answer of the model. */
export type ChatAssistantMessageInput = {
  /** Its reasoning, for the same model to continue from. */
  reasoning?: Array<ChatReasoningInput> | null | undefined;
  /** The text of the answer. */
  text?: string | null | undefined;
  /** The tool calls it made. */
  toolCalls?: Array<ChatToolCallInput> | null | undefined;
};

/** The encoding of audio. */
export type ChatAudioFormat =
  /** MP3. */
  | 'MP3'
  /** WAV. */
  | 'WAV';

/** Sound. */
export type ChatAudioInput = {
  /** The bytes. */
  data: unknown;
  /** The encoding of the bytes. */
  format: ChatAudioFormat;
};

/** What `chatCompletionEvents` takes. */
export type ChatCompletionEventsInput = {
  /** The maximum number of output tokens. */
  maxTokens?: number | null | undefined;
  /** The conversation, oldest first. */
  messages: Array<ChatMessageInput>;
  /** The model’s id, as in `models`. */
  model: string;
  /** Whether several tools may be called at once. */
  parallelToolCalls?: boolean | null | undefined;
  /** One of the model’s `reasoningLevels`. */
  reasoningEffort?: ReasoningLevel | null | undefined;
  /** The format of the answer; text by default. */
  responseFormat?: ChatResponseFormatInput | null | undefined;
  /** Up to 4 texts at which generation stops. */
  stop?: Array<string> | null | undefined;
  /** 0 to 2. */
  temperature?: number | null | undefined;
  /** Which of them it calls; by default the model decides. */
  toolChoice?: ChatToolChoiceInput | null | undefined;
  /** The tools that the model may call. */
  tools?: Array<ChatToolInput> | null | undefined;
  /** 0 to 1. */
  topP?: number | null | undefined;
};

/** A file. */
export type ChatFileInput = {
  /** A data URL, or base64 of a PDF. */
  data: string;
  /** Its name. */
  name?: string | null | undefined;
};

/** Why a model stopped. */
export type ChatFinishReason =
  /** The provider filtered the rest. */
  | 'CONTENT_FILTER'
  /** It reached the token limit. */
  | 'LENGTH'
  /** It finished, or met a stop text. */
  | 'STOP'
  /** It calls tools. */
  | 'TOOL_CALLS';

/** How closely a model looks at an image. */
export type ChatImageDetail =
  /** The provider decides. */
  | 'AUTO'
  /** In full. */
  | 'HIGH'
  /** A glance. */
  | 'LOW'
  /** At its own size. */
  | 'ORIGINAL';

/** An image. */
export type ChatImageInput = {
  /** How closely to look at it. */
  detail?: ChatImageDetail | null | undefined;
  /** An https URL, or a data URL of an image. */
  url: string;
};

/** The JSON Schema that an answer must match. */
export type ChatJsonSchemaInput = {
  /** A description of its purpose. */
  description?: string | null | undefined;
  /** Its name. */
  name: string;
  /** The JSON Schema. */
  schema?: unknown;
  /** Whether the answer must match it exactly. */
  strict?: boolean | null | undefined;
};

/** A message of a conversation: exactly one of these. */
export type ChatMessageInput =
  {   /** An earlier answer of the model. */
  assistant: ChatAssistantMessageInput; system?: never; tool?: never; user?: never; }
  |  { assistant?: never;   /** Instructions. */
  system: string; tool?: never; user?: never; }
  |  { assistant?: never; system?: never;   /** The result of a tool call. */
  tool: ChatToolMessageInput; user?: never; }
  |  { assistant?: never; system?: never; tool?: never;   /** A user’s message. */
  user: ChatUserMessageInput; };

/** A part of a user’s message. */
export type ChatPartInput =
  {   /** Sound. */
  audio: ChatAudioInput; file?: never; image?: never; text?: never; }
  |  { audio?: never;   /** A file. */
  file: ChatFileInput; image?: never; text?: never; }
  |  { audio?: never; file?: never;   /** An image. */
  image: ChatImageInput; text?: never; }
  |  { audio?: never; file?: never; image?: never;   /** Text. */
  text: string; };

/** A block of reasoning, sent back as it came in `ChatReasoning`. */
export type ChatReasoningInput = {
  /** OpenAI’s encrypted content, which it wants back. */
  encryptedContent?: string | null | undefined;
  /** The provider’s id of the block. */
  id?: string | null | undefined;
  /** The model that it is bound to. */
  model: string;
  /** Whether its provider hid the text. */
  redacted?: boolean | null | undefined;
  /** Anthropic’s signature, which it wants back. */
  signature?: string | null | undefined;
  /** The text that was shown. */
  text?: string | null | undefined;
};

/** The format of an answer. */
export type ChatResponseFormatInput =
  {   /** Any JSON object; send true. */
  jsonObject: boolean; jsonSchema?: never; text?: never; }
  |  { jsonObject?: never;   /** JSON that matches a schema. */
  jsonSchema: ChatJsonSchemaInput; text?: never; }
  |  { jsonObject?: never; jsonSchema?: never;   /** Plain text, which is the default; send true. */
  text: boolean; };

/** A call of a tool that the model made. */
export type ChatToolCallInput = {
  /** The arguments as the model wrote them; usually valid JSON. */
  arguments: string;
  /** Its id. */
  id: string;
  /** The tool. */
  name: string;
};

/** Which tools the model may or must call. */
export type ChatToolChoiceInput =
  {   /** Whether it may or must call tools. */
  mode: ChatToolChoiceMode; name?: never; }
  |  { mode?: never;   /** The tool that it must call. */
  name: string; };

/** Whether a model calls tools. */
export type ChatToolChoiceMode =
  /** It decides itself. */
  | 'AUTO'
  /** It calls no tools. */
  | 'NONE'
  /** It must call at least one tool. */
  | 'REQUIRED';

/** A tool that the model may call. */
export type ChatToolInput = {
  /** What it does, as the model reads it. */
  description?: string | null | undefined;
  /** 1 to 64 letters, digits, `_` or `-`. */
  name: string;
  /** A JSON Schema of its arguments. */
  parameters?: unknown;
  /** Whether arguments must match it exactly. */
  strict?: boolean | null | undefined;
};

/** The result of a tool call. */
export type ChatToolMessageInput = {
  /** The result. */
  text: string;
  /** The id of the tool call. */
  toolCallId: string;
};

/** A user’s message. */
export type ChatUserMessageInput = {
  /** Its parts. A single part needs no list: `content: {text: "Hello"}`. */
  content: Array<ChatPartInput>;
  /** The user’s name, when there are several users. */
  name?: string | null | undefined;
};

/** What `checkDomain` takes. */
export type CheckDomainInput = {
  /** Its name or its id. */
  domain: string | number;
};

/** The secret of a client. */
export type ClientSecretInput = {
  /** It is never shown again. */
  clientSecret: string;
};

/** What `closeTerminal` takes. */
export type CloseTerminalInput = {
  /** Its id. */
  id: string | number;
};

/** A commit. */
export type CommitCheckoutInput = {
  /** Its full SHA. */
  sha: string;
};

/** A piece of a message, or of what a tool answered. */
export type ContentBlockInput =
  {   /** A PDF, or a text to be read as a document. */
  document: DocumentBlockInput; image?: never; text?: never; }
  |  { document?: never;   /** An image. */
  image: ImageBlockInput; text?: never; }
  |  { document?: never; image?: never;   /** Text. */
  text: TextBlockInput; };

/** What `createAgent` takes. */
export type CreateAgentInput = {
  /** A description of its purpose: at most 2048 characters. */
  description?: string | null | undefined;
  /** The tool servers that it connects to, 20 at most. */
  mcpServers?: Array<McpServerInput> | null | undefined;
  /** The connectors that it uses. */
  mcpServices?: Array<AgentMcpServiceInput> | null | undefined;
  /** Your own labels: up to 16 pairs of key and text. */
  metadata?: Record<string, string> | null | undefined;
  /** The model it uses. */
  model: AgentModelInput;
  /** 1 to 255 characters. */
  name: string;
  /** Its skills. */
  skills?: Array<AgentSkillInput> | null | undefined;
  /** Its system prompt: at most 100,000 characters. */
  system?: string | null | undefined;
  /** Toolsets and custom tools, 128 at most. */
  tools?: Array<AgentToolInput> | null | undefined;
};

/** What `createApiKey` takes. */
export type CreateApiKeyInput = {
  /** When it expires, at most ten years ahead; never by default. */
  expiresAt?: string | null | undefined;
  /** A name, 1 to 255 characters. */
  name: string;
};

/** What `createBackup` takes. */
export type CreateBackupInput = {
  /** The database to back up. */
  databaseId: string | number;
};

/** What `createBuild` takes. */
export type CreateBuildInput = {
  /** A commit; it takes precedence over `gitRef`. */
  commitSha?: string | null | undefined;
  /** A branch or tag; the default branch if omitted. */
  gitRef?: string | null | undefined;
  /** An organization that the caller belongs to; by default the active one. */
  organizationId?: string | number | null | undefined;
  /** The repository: https:// or ssh://, or http:// for host.berth.internal. */
  repoUrl?: string | null | undefined;
  /** What to build, and how. */
  spec?: BuildSpecInput | null | undefined;
};

/** What `createDatabase` takes. */
export type CreateDatabaseInput = {
  /** Whether client access is on; off by default. */
  clientModeEnabled?: boolean | null | undefined;
  /** The disk of its data in MB, 10240 to 204800; 10240 by default. It only grows. */
  diskMb?: number | null | undefined;
  /** A function of the organization to link it to. */
  functionId?: string | number | null | undefined;
  /** Memory in MB, 512 to 65536; 1024 by default. */
  memoryMb?: number | null | undefined;
  /** 1 to 63 lower-case letters, digits and hyphens, beginning with a letter; by default `db-` and six random characters. */
  name?: string | null | undefined;
  /** The host name at which the VMs of the project reach it: 1 to 63 lower-case letters, digits and hyphens, beginning with a letter; by default the project’s id with `prj-` in place of `prj_`. */
  networkName?: string | null | undefined;
  /** As a check: the organization of your token. Any other is an error. */
  organizationId?: string | number | null | undefined;
  /** The project whose VMs reach it; none by default. */
  projectId?: string | number | null | undefined;
  /** Settings of Postgres for its sessions, such as `work_mem` or `statement_timeout`. */
  settings?: Record<string, string> | null | undefined;
  /** After how many seconds without a client it sleeps, 10 to 2592000, or 0 for never; as the operator says by default. */
  sleepAfterSeconds?: number | null | undefined;
  /** Virtual processors, 1 to 16; 2 by default. */
  vcpuCount?: number | null | undefined;
  /** False for an answer at once, still `CREATING`; `databaseEvents` says when it is active. True by default. */
  wait?: boolean | null | undefined;
};

/** What `createDeployment` takes. */
export type CreateDeploymentInput = {
  /** The agent that it runs. */
  agent: StartAgentInput;
  /** The spending limit of each of its sessions. */
  budget?: BudgetInput | null | undefined;
  /** A description of its purpose: at most 2048 characters. */
  description?: string | null | undefined;
  /** Where its sessions work; nowhere by default. */
  environment?: StartEnvironmentInput | null | undefined;
  /** The same as an existing `environment`, for Anthropic’s clients. */
  environmentId?: string | number | null | undefined;
  /** The same as the events of `kickoff`, for Anthropic’s clients. */
  initialEvents?: Array<SessionEventInput> | null | undefined;
  /** What each session is told first. */
  kickoff?: KickoffInput | null | undefined;
  /** Your own labels: up to 16 pairs of key and text. */
  metadata?: Record<string, string> | null | undefined;
  /** 1 to 255 characters. */
  name: string;
  /** When it starts by itself. It is one of its `schedules`: null deletes these, and another one replaces the only one. */
  schedule?: DeploymentScheduleInput | null | undefined;
  /** `PAUSED` keeps schedules and triggers from starting it. */
  status?: DeploymentStatus | null | undefined;
  /** The vaults whose credentials its sessions may use, 50 at most. */
  vaultIds?: Array<string | number> | null | undefined;
};

/** What `createDomain` takes. */
export type CreateDomainInput = {
  /** The name, such as `shop.example.com`; with `*.` before it, all names one level below. */
  domain: string;
  /** An organization that the caller belongs to; by default the active one. */
  organizationId?: string | number | null | undefined;
  /** The path below which it serves, such as `/api`; `/` by default. */
  path?: string | null | undefined;
  /** Whether its DNS must prove it. Only `true` is taken. */
  verifyOwnership?: boolean | null | undefined;
  /** Links it to this VM at once; goes with `vmPort`. */
  vmId?: string | number | null | undefined;
  /** The port on which a server listens in the VM, 1 to 65535. */
  vmPort?: number | null | undefined;
};

/** What `createEnvironment` takes. */
export type CreateEnvironmentInput = {
  /** The configuration of its VM. */
  config?: EnvironmentConfigInput | null | undefined;
  /** A description of its purpose: at most 2048 characters. */
  description?: string | null | undefined;
  /** Your own labels: up to 16 pairs of key and text. */
  metadata?: Record<string, string> | null | undefined;
  /** 1 to 255 characters. */
  name: string;
  /** Must be `account`, null or omitted. */
  scope?: string | null | undefined;
};

/** What `createFile` takes. */
export type CreateFileInput = {
  /** The `binaryUrl` of `createUpload`, once the file was PUT. */
  binaryUrl: string;
  /** When it is deleted by itself: 3600 to 7776000 seconds from now. */
  expiresInSeconds?: number | null | undefined;
  /** Its name: at most 255 characters. Only what follows the last slash is kept. */
  filename?: string | null | undefined;
  /** Its media type; found out from the file without it. */
  mimeType?: string | null | undefined;
};

/** What `createFunction` takes. */
export type CreateFunctionInput = {
  /** What to run: the binary URL of an upload, or the output URL of a build. A tar or zip archive is unpacked; any other file is the program itself. */
  binaryUrl?: string | null | undefined;
  /** The build whose output to run, instead of `binaryUrl`. */
  buildId?: string | number | null | undefined;
  /** After how many seconds without a request it sleeps, 10 to 86400; 300 by default. */
  idleSeconds?: number | null | undefined;
  /** Memory in MB, 256 to 65536; 2048 by default, for which machines are kept warm. */
  memoryMb?: number | null | undefined;
  /** 1 to 63 lower-case letters, digits and hyphens, beginning with a letter; unique in the organization. By default `fn-` and six random characters. */
  name?: string | null | undefined;
  /** The port at which it listens, 1 to 65535; 8080 by default. Its program finds it in the variable `PORT`. */
  port?: number | null | undefined;
  /** Your own mark of what this is, such as a commit or a digest: 1 to 255 characters. Berth only keeps it. */
  revision?: string | null | undefined;
  /** The command that starts it, in the unpacked folder. Without one: the `web:` line of a `Procfile`, `npm start` where `package.json` has it, or the program `app`, `server` or `main`. */
  startCommand?: string | null | undefined;
  /** How many seconds its program may take until it listens, and a request waits for it, 1 to 300; 30 by default. */
  startSeconds?: number | null | undefined;
  /** Environment variables of its program to set, or with null to remove; the others stay. Values are kept sealed, hidden from viewers, and masked in the log. */
  variables?: unknown;
  /** Virtual processors, 1 to 16; 2 by default. */
  vcpuCount?: number | null | undefined;
};

/** What `createGroup` takes. */
export type CreateGroupInput = {
  /** A description of its purpose: at most 2048 characters. */
  description?: string | null | undefined;
  /** 2 to 8 different sessions of the caller’s that have an environment and are not archived. */
  memberIds: Array<string | number>;
  /** 1 to 255 characters. By default the handles of its members. */
  name?: string | null | undefined;
  /** The organization that it belongs to, its members too; by default the active one. */
  organizationId?: string | number | null | undefined;
};

/** What `createInvitation` takes. */
export type CreateInvitationInput = {
  /** An address to send the link to, where `instance` says that e-mail can be sent. The link is answered all the same. */
  email?: string | null | undefined;
  /** Whom it is for, to tell it from others: at most 255 characters. */
  note?: string | null | undefined;
  /** The role that its receiver gets. */
  role: Role;
};

/** What `createMemory` takes. */
export type CreateMemoryInput = {
  /** The text: 1 to 10,000 characters. */
  body: string;
  /** What kind of thing it is. */
  category?: MemoryCategory | null | undefined;
  /** A text of your own, 1 to 255 characters, for as long as the memory exists: the same one creates nothing twice. */
  idempotencyKey: string;
  /** An organization of the caller’s that is to share it; a personal memory without it. */
  organizationId?: string | number | null | undefined;
};

/** What `createOrganization` takes. */
export type CreateOrganizationInput = {
  /** 1 to 255 characters, unique in this installation. */
  name: string;
};

/** What `createProject` takes. */
export type CreateProjectInput = {
  /** 1 to 255 characters. */
  name: string;
};

/** What `createSchedule` takes. */
export type CreateScheduleInput = {
  /** The agent to start, with `kickoff`; or give `deployment`. */
  agent?: StartAgentInput | null | undefined;
  /** Minute, hour, day of the month, month, day of the week, such as `0 9 * * mon-fri`; without seconds, `L`, `W`, `#`, `?` and names like `@daily`. */
  cron: string;
  /** The deployment to run, instead of an agent. */
  deployment?: StartDeploymentInput | null | undefined;
  /** Whether it fires; true by default. */
  enabled?: boolean | null | undefined;
  /** What the agent is told first. */
  kickoff?: KickoffInput | null | undefined;
  /** 1 to 255 characters, and none of your other schedules may have it. None by default. */
  name?: string | null | undefined;
  /** What happens while the session of the run before is still at work; `SKIP` by default. */
  overlap?: ScheduleOverlap | null | undefined;
  /** A name of the IANA time zone database, such as `Europe/Rome`. Required. */
  timezone?: string | null | undefined;
};

/** What `createSession` takes. */
export type CreateSessionInput = {
  /** The agent, where a version is chosen or parts of it are overridden. */
  agent?: SessionAgentInput | null | undefined;
  /** The agent, in its newest version. Use `agent` to choose a version or to override parts of it. */
  agentId?: string | number | null | undefined;
  /** Its spending limit. */
  budget?: BudgetInput | null | undefined;
  /** The environment to work in; none by default. */
  environmentId?: string | number | null | undefined;
  /** The first events: at most 50 messages and outcomes. */
  initialEvents?: Array<SessionEventInput> | null | undefined;
  /** Your own labels: up to 16 pairs of key and text. */
  metadata?: Record<string, string> | null | undefined;
  /** What to put into its VM: 100 at most. */
  resources?: Array<SessionResourceInput> | null | undefined;
  /** At most 255 characters. */
  title?: string | null | undefined;
  /** The vaults whose credentials it may use, 50 at most. */
  vaultIds?: Array<string | number> | null | undefined;
};

/** What `createSkill` takes. */
export type CreateSkillInput = {
  /** The `binaryUrl` of `createUpload`, once a zip of the skill’s folder was PUT. */
  binaryUrl: string;
  /** The name to show; that in `SKILL.md` without it. */
  displayName?: string | null | undefined;
};

/** What `createSkillVersion` takes. */
export type CreateSkillVersionInput = {
  /** The `binaryUrl` of `createUpload`, once a zip of the skill’s folder was PUT. */
  binaryUrl: string;
  /** The skill’s id. */
  skillId: string | number;
};

/** What `createTerminalTicket` takes. */
export type CreateTerminalTicketInput = {
  /** Its id. */
  id: string | number;
};

/** What `createTrigger` takes. */
export type CreateTriggerInput = {
  /** The agent that it starts. */
  agent: StartAgentInput;
  /** Says where its sessions work, which vaults they may use, and what they are told first, with its kickoff. */
  deployment?: StartDeploymentInput | null | undefined;
  /** Whether it starts anything; true by default. */
  enabled?: boolean | null | undefined;
  /** The events that it is for. */
  events: Array<TriggerEvent>;
  /** Which of the events start something. */
  filters?: TriggerFiltersInput | null | undefined;
  /** 1 to 255 characters, and none of your other triggers may have it. None by default. */
  name?: string | null | undefined;
  /** The repository: `owner/name`. */
  repo: string;
};

/** What `createUpload` takes. */
export type CreateUploadInput = {
  /** The organization that will own the file; by default the active one. */
  organizationId?: string | number | null | undefined;
};

/** What `createVaultCredential` takes. */
export type CreateVaultCredentialInput = {
  /** The kind of credential and its settings, with secrets. */
  auth: CredentialAuthInput;
  /** 1 to 255 characters, or null. */
  displayName?: string | null | undefined;
  /** Your own labels: up to 16 pairs of key and text. */
  metadata?: Record<string, string> | null | undefined;
  /** Its vault’s id. */
  vaultId: string | number;
};

/** What `createVault` takes. */
export type CreateVaultInput = {
  /** 1 to 255 characters. */
  displayName: string;
  /** Your own labels: up to 16 pairs of key and text. */
  metadata?: Record<string, string> | null | undefined;
};

/** What `createVmFileUrl` takes. */
export type CreateVmFileUrlInput = {
  /** How the file passes; `FILE` by default. */
  format?: VmFileFormat | null | undefined;
  /** What the URL is for. */
  method: VmFileUrlMethod;
  /** An absolute path. */
  path: string;
  /** How long the URL is valid, in seconds: 900 by default, 604800 at most; one made with the token inside a VM ends with that token. */
  ttlSeconds?: number | null | undefined;
  /** The VM. */
  vmId: string | number;
};

/** What `createVm` takes. */
export type CreateVmInput = {
  /** Disk in MB, 10240 to 204800; 10240 by default. */
  diskMb?: number | null | undefined;
  /** Environment variables for its processes; write-only, never shown again. */
  env?: Record<string, string> | null | undefined;
  /** Your own name for it, unique in the organization. */
  externalRef?: string | null | undefined;
  /** A workspace folder to mount at /home/user/workspace; a new one by default. */
  folderId?: string | number | null | undefined;
  /** The branch of `gitRepoUrl`. */
  gitBranch?: string | null | undefined;
  /** One repository to clone, before those of `gitRepos`. */
  gitRepoUrl?: string | null | undefined;
  /** Repositories to clone: 20 at most. */
  gitRepos?: Array<GitRepoInput> | null | undefined;
  /** What becomes of it then; `PAUSE` by default. */
  idleAction?: IdleAction | null | undefined;
  /** Seconds without use after which it is paused or stopped until somebody comes, 10 to 2592000; never by default. */
  idleSeconds?: number | null | undefined;
  /** Memory in MB, 256 to 65536; 2048 by default. */
  memoryMb?: number | null | undefined;
  /** Your own labels: up to 16 pairs of key and text. */
  metadata?: Record<string, string> | null | undefined;
  /** 1 to 255 characters; by default `vm-` and six random characters. */
  name?: string | null | undefined;
  /** What it may connect to; every public address by default. */
  networkPolicy?: NetworkPolicyInput | null | undefined;
  /** The project that it is in, whose databases it reaches; none by default. */
  projectId?: string | number | null | undefined;
  /** Whether to create the VM without a workspace folder when `folderId` is empty. */
  skipFolderCreate?: boolean | null | undefined;
  /** A template’s id or name; `base` by default. */
  templateId?: string | number | null | undefined;
  /** Seconds until it deletes itself, 10 to 86400; never by default. */
  ttlSeconds?: number | null | undefined;
  /** Virtual processors, 1 to 16; 2 by default. */
  vcpuCount?: number | null | undefined;
  /** An unused id of the form `vm_…`; a new one by default. */
  vmId?: string | number | null | undefined;
  /** False for an answer at once, still `CREATING`; `vmEvents` says when it runs. True by default. */
  wait?: boolean | null | undefined;
};

/** What `createWebhookEndpoint` takes. */
export type CreateWebhookEndpointInput = {
  /** Your own words for it, at most 2048 characters. */
  description?: string | null | undefined;
  /** Whether it is told of anything; true by default. */
  enabled?: boolean | null | undefined;
  /** What it wants to be told of, at least one; null for everything, which is the default. */
  eventTypes?: Array<WebhookEventType> | null | undefined;
  /** An https:// address of at most 2048 characters that leads to public hosts; http:// and private hosts only where the operator allows them. */
  url: string;
};

/** A new token for a `static_bearer`. Other secrets cannot be changed: archive the credential and create another. */
export type CredentialAuthChangeInput = {
  /** The tool server it has, or omitted. */
  mcpServerUrl?: string | null | undefined;
  /** The variable it has, or omitted. */
  secretName?: string | null | undefined;
  /** The new token. It is never shown again. */
  token?: string | null | undefined;
  /** The type it has, or omitted. */
  type?: CredentialAuthType | null | undefined;
};

/** The kind of a credential and its settings, with secrets: exactly one of these. */
export type CredentialAuthInput =
  {   /** An environment variable. */
  environmentVariable: EnvironmentVariableAuthInput; mcpOauth?: never; staticBearer?: never; }
  |  { environmentVariable?: never;   /** An access token for a tool server, by OAuth. */
  mcpOauth: McpOauthAuthInput; staticBearer?: never; }
  |  { environmentVariable?: never; mcpOauth?: never;   /** A token for a tool server. */
  staticBearer: StaticBearerAuthInput; };

/** The kind of a credential. */
export type CredentialAuthType =
  /** An environment variable. */
  | 'ENVIRONMENT_VARIABLE'
  /** An access token for a tool server, by OAuth. */
  | 'MCP_OAUTH'
  /** A token for a tool server. */
  | 'STATIC_BEARER';

/** The hosts to which requests carry the secret instead of its placeholder: exactly one of these. */
export type CredentialNetworkingInput =
  {   /** Some hosts only. */
  limited: LimitedCredentialNetworkingInput; unrestricted?: never; }
  |  { limited?: never;   /** Every host; send true. */
  unrestricted: boolean; };

/** The result of refreshing an access token. */
export type CredentialRefreshStatus =
  /** The token endpoint did not answer. */
  | 'CONNECT_ERROR'
  /** The token endpoint refused. */
  | 'FAILED'
  /** There is no refresh token. */
  | 'NO_REFRESH_TOKEN'
  /** There is a new access token. */
  | 'SUCCEEDED';

/** Whether a credential is valid. */
export type CredentialValidationStatus =
  /** The server refused the credential; its owner must authorize again. */
  | 'INVALID'
  /** Whether the credential is valid could not be determined; try again. */
  | 'UNKNOWN'
  /** The server accepted the credential. */
  | 'VALID';

/** A custom tool, which the client runs. */
export type CustomToolInput = {
  /** Its description, as models read it. */
  description: string;
  /** JSON Schema of its input, which is an object. */
  inputSchema: unknown;
  /** Its name, as models see it: letters, digits, `_` and `-`, 64 at most. */
  name: string;
};

/** Narrows a list of databases. */
export type DatabaseFilter = {
  /** Only those of this project. */
  projectId?: string | number | null | undefined;
  /** Only those with one of these statuses; by default all but `DELETED`. */
  statuses?: Array<DatabaseStatus> | null | undefined;
  /** Only those with this piece of text in their name, in upper or lower case. */
  text?: string | null | undefined;
};

/** The status of a restore. The last two are final. */
export type DatabaseRestoreStatus =
  /** The database has the data of the backup. */
  | 'COMPLETED'
  /** `error` says why. The database has the data that it had before. */
  | 'FAILED'
  /** It is waiting for its turn. */
  | 'PENDING'
  /** It is running; `step` says what it does. */
  | 'RUNNING';

/** What a restore does. */
export type DatabaseRestoreStep =
  /** It backs up the data that it is going to replace. */
  | 'BACKUP'
  /** It is complete. */
  | 'FINISHED'
  /** It loads the backup beside the data that is there. */
  | 'LOAD'
  /** It replaces that data with what it loaded. */
  | 'SWAP';

/** The status of a database. A steady status lasts; the others are on the way to one. */
export type DatabaseStatus =
  /** It takes connections; one that sleeps wakes for them. Steady. */
  | 'ACTIVE'
  /** It is being created. */
  | 'CREATING'
  /** It is deleted; its data is kept for 7 days. Steady. */
  | 'DELETED'
  /** It is being deleted. */
  | 'DELETING'
  /** It failed; `statusReason` says why. Steady. */
  | 'ERROR'
  /** A backup is being restored; it takes no connections. */
  | 'RESTORING'
  /** A change is being applied. */
  | 'UPDATING';

/** Narrows a list of tables. */
export type DatabaseTableFilter = {
  /** Only those in this schema. */
  schema?: string | null | undefined;
  /** Only those with this piece of text in their name, in upper or lower case. */
  text?: string | null | undefined;
};

/** What a table of a database is. */
export type DatabaseTableKind =
  /** A table of another server. */
  | 'FOREIGN_TABLE'
  /** A materialized view. */
  | 'MATERIALIZED_VIEW'
  /** A table whose rows are in its partitions. */
  | 'PARTITIONED_TABLE'
  /** A table; a partition of one is a table too. */
  | 'TABLE'
  /** A view. */
  | 'VIEW';

/** Which moments are meant. All conditions that are given hold together. */
export type DateTimeFilter = {
  /** After this moment. */
  after?: string | null | undefined;
  /** Before this moment. */
  before?: string | null | undefined;
  /** At or after this moment. */
  from?: string | null | undefined;
  /** At or before this moment. */
  until?: string | null | undefined;
};

/** What `deleteAgent` takes. */
export type DeleteAgentInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteDatabase` takes. */
export type DeleteDatabaseInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteDeployment` takes. */
export type DeleteDeploymentInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteDomain` takes. */
export type DeleteDomainInput = {
  /** Its name or its id. */
  domain: string | number;
};

/** What `deleteEnvironment` takes. */
export type DeleteEnvironmentInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteFile` takes. */
export type DeleteFileInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteFolder` takes. */
export type DeleteFolderInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteFunction` takes. */
export type DeleteFunctionInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteGroup` takes. */
export type DeleteGroupInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteMemory` takes. */
export type DeleteMemoryInput = {
  /** Its id. */
  id: string | number;
  /** The revision that is deleted: the latest. */
  revision: number;
};

/** What `deleteProject` takes. */
export type DeleteProjectInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteSchedule` takes. */
export type DeleteScheduleInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteSkill` takes. */
export type DeleteSkillInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteSkillVersion` takes. */
export type DeleteSkillVersionInput = {
  /** Its id. */
  id: string | number;
  /** Its skill. If given, a version of another skill is not found. */
  skillId?: string | number | null | undefined;
};

/** What `deleteTemplate` takes. */
export type DeleteTemplateInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteTrigger` takes. */
export type DeleteTriggerInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteVaultCredential` takes. */
export type DeleteVaultCredentialInput = {
  /** Its id. */
  id: string | number;
  /** Its vault. If given, a credential of another vault is not found. */
  vaultId?: string | number | null | undefined;
};

/** What `deleteVault` takes. */
export type DeleteVaultInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteVm` takes. */
export type DeleteVmInput = {
  /** Its id. */
  id: string | number;
};

/** What `deleteWebhookEndpoint` takes. */
export type DeleteWebhookEndpointInput = {
  /** Its id. */
  id: string | number;
};

/** What `deployFunction` takes. */
export type DeployFunctionInput = {
  /** What to run: the binary URL of an upload, or the output URL of a build. A tar or zip archive is unpacked; any other file is the program itself. */
  binaryUrl?: string | null | undefined;
  /** The build whose output to run, instead of `binaryUrl`. */
  buildId?: string | number | null | undefined;
  /** Its id. */
  id: string | number;
  /** The port at which it listens, 1 to 65535; 8080 by default. Its program finds it in the variable `PORT`. */
  port?: number | null | undefined;
  /** Your own mark of what this is, such as a commit or a digest: 1 to 255 characters. Berth only keeps it. */
  revision?: string | null | undefined;
  /** The command that starts it, in the unpacked folder. Without one: the `web:` line of a `Procfile`, `npm start` where `package.json` has it, or the program `app`, `server` or `main`. */
  startCommand?: string | null | undefined;
};

/** A cron expression in a time zone. */
export type DeploymentCronInput = {
  /** Minute, hour, day of the month, month, day of the week, such as `0 9 * * mon-fri`; without seconds, `L`, `W`, `#`, `?` and names like `@daily`. */
  expression: string;
  /** A name of the IANA time zone database, such as `Europe/Rome`. */
  timezone: string;
};

/** Narrows a list of deployments; all conditions must hold. */
export type DeploymentFilter = {
  /** Only those of this agent. */
  agentId?: string | number | null | undefined;
  /**
   * Created after this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdAfter?: string | null | undefined;
  /** When it was created. */
  createdAt?: DateTimeFilter | null | undefined;
  /**
   * Created before this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdBefore?: string | null | undefined;
  /**
   * Created at or after this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdFrom?: string | null | undefined;
  /**
   * Created at or before this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdUntil?: string | null | undefined;
  /** Whether to include archived ones; false by default. */
  includeArchived?: boolean | null | undefined;
  /** Only those with this status, without archived ones. */
  status?: DeploymentStatus | null | undefined;
  /** Only those with this piece of text in their name, in upper or lower case. */
  text?: string | null | undefined;
};

/** When a deployment starts by itself. */
export type DeploymentScheduleInput =
  {   /** At the moments of a cron expression. */
  cron: DeploymentCronInput; };

/** The status of a deployment. */
export type DeploymentStatus =
  /** Schedules and triggers start it. Archived ones are `ACTIVE` too, as in Anthropic’s API: see `archivedAt`. */
  | 'ACTIVE'
  /** Only its owner starts it; `pausedReason` says why. */
  | 'PAUSED';

/** A PDF, or a text to be read as a document. */
export type DocumentBlockInput = {
  /** Context about it for the model. */
  context?: string | null | undefined;
  /** Its content. */
  source: DocumentSourceInput;
  /** Its title: at most 255 characters. */
  title?: string | null | undefined;
};

/** Where the content of a document is. */
export type DocumentSourceInput =
  {   /** A PDF inside the block. */
  base64: Base64SourceInput; file?: never; text?: never; url?: never; }
  |  { base64?: never;   /** In a file: a PDF or a text. */
  file: FileSourceInput; text?: never; url?: never; }
  |  { base64?: never; file?: never;   /** Text inside the block. */
  text: TextSourceInput; url?: never; }
  |  { base64?: never; file?: never; text?: never;   /** At a URL. */
  url: UrlSourceInput; };

/** Narrows a list of domains. */
export type DomainFilter = {
  /** Only those with one of these statuses. */
  statuses?: Array<DomainStatus> | null | undefined;
};

/** What a DNS record is for. */
export type DomainRecordPurpose =
  /** It leads visitors here. */
  | 'ADDRESS'
  /** It proves that the name is yours. */
  | 'OWNERSHIP'
  /** It lets the certificate of a wildcard be issued, and proves that the name is yours. */
  | 'WILDCARD';

/** The type of a DNS record. */
export type DomainRecordType =
  /** An address. */
  | 'A'
  /** Another name. */
  | 'CNAME'
  /** A text. */
  | 'TXT';

/** How far a domain is. */
export type DomainStatus =
  /** It serves what it is linked to. */
  | 'ACTIVE'
  /** `statusReason` says why. Claim it again with `createDomain` to have it checked anew, or activate it once its records are right. */
  | 'FAILED'
  /** Its DNS records are not all there yet. */
  | 'PENDING'
  /** They were; `activateDomain` lets it serve. */
  | 'VERIFIED';

/** What a domain leads to. */
export type DomainTargetType =
  /** A function. */
  | 'SERVERLESS'
  /** A port of a VM. */
  | 'VM';

/** The configuration of an environment’s VM. Every field has a default; in an update, omitted fields stay as they are. */
export type EnvironmentConfigInput = {
  /** Repositories to clone: 20 at most. */
  gitRepos?: Array<EnvironmentGitRepoInput> | null | undefined;
  /** How long the VM may be unused before it is stopped. */
  idleTimeoutSeconds?: number | null | undefined;
  /** Memory in MB, 256 to 65536; 2048 by default. */
  memoryMb?: number | null | undefined;
  /** What it may connect to; every public address by default. */
  networking?: EnvironmentNetworkingInput | null | undefined;
  /** The packages to install. */
  packages?: EnvironmentPackagesInput | null | undefined;
  /** A script that runs once, as `user`, when the VM is new. */
  setupScript?: string | null | undefined;
  /** A template’s id or name; `base` by default. */
  templateId?: string | number | null | undefined;
  /** `VM` by default. */
  type?: EnvironmentKind | null | undefined;
  /** Virtual processors, 1 to 16; 2 by default. */
  vcpuCount?: number | null | undefined;
  /**
   * Virtual processors, 1 to 16; 2 by default.
   * @deprecated Use `vcpuCount`. Goes with 0.2.
   */
  vcpu?: number | null | undefined;
};

/** Narrows a list of environments. */
export type EnvironmentFilter = {
  /** Whether to include archived ones; false by default. */
  includeArchived?: boolean | null | undefined;
  /** Only those with this piece of text in their name, in upper or lower case. */
  text?: string | null | undefined;
};

/** A repository to clone. Its URL must not contain credentials, because the configuration is readable. */
export type EnvironmentGitRepoInput = {
  /** The branch; the default branch if omitted. */
  branch?: string | null | undefined;
  /** Where to clone it: a path relative to /home/user, or absolute; /home/user/<name> by default. */
  path?: string | null | undefined;
  /** https:// or ssh://, or http:// for host.berth.internal. */
  url: string;
};

/** What an environment runs on. */
export type EnvironmentKind =
  /** A VM in Berth: Anthropic’s word for `VM`. */
  | 'CLOUD'
  /** The caller’s own machine. */
  | 'SELF_HOSTED'
  /** A VM in Berth. */
  | 'VM';

/** What an environment’s VM may connect to: exactly one of these. */
export type EnvironmentNetworkingInput =
  {   /** Some hosts only. */
  limited: LimitedNetworkingInput; unrestricted?: never; }
  |  { limited?: never;   /** Every public address; send true. */
  unrestricted: boolean; };

/** Packages to install, by package manager: names, optionally with a version. */
export type EnvironmentPackagesInput = {
  /** Of Debian. */
  apt?: Array<string> | null | undefined;
  /** Of Rust. */
  cargo?: Array<string> | null | undefined;
  /** Of Ruby. */
  gem?: Array<string> | null | undefined;
  /** Of Go. */
  go?: Array<string> | null | undefined;
  /** Of Node. */
  npm?: Array<string> | null | undefined;
  /** Of Python. */
  pip?: Array<string> | null | undefined;
};

/** The status of an environment. */
export type EnvironmentStatus =
  /** It can no longer be used, and has no VM. */
  | 'ARCHIVED'
  /** Its VM failed; `statusReason` says why. The next use creates a new one. */
  | 'ERROR'
  /** Its VM is being created, started or prepared. */
  | 'PROVISIONING'
  /** It is ready for use. Before the first use it has no VM; after being idle for a while its VM is stopped. */
  | 'READY';

/** An environment variable of a session’s VM. */
export type EnvironmentVariableAuthInput = {
  /** Which parts of a request carry the value; headers by default. */
  injectionLocation?: InjectionLocationInput | null | undefined;
  /** If set, the VM holds a placeholder, and requests to these hosts carry the value. */
  networking?: CredentialNetworkingInput | null | undefined;
  /** The variable. */
  secretName: string;
  /** Its value. It is never shown again. */
  secretValue: string;
};

/** A fresh VM for each session. */
export type EphemeralEnvironmentInput = {
  /** The configuration of the VM; the default one if omitted. */
  config?: EnvironmentConfigInput | null | undefined;
};

/** Whether a tool runs immediately or waits for approval. */
export type EvaluatedPermission =
  /** The tool runs immediately. */
  | 'ALLOW'
  /** The tool waits for the user’s approval. */
  | 'ASK';

/** What `execInVm` takes. */
export type ExecInVmInput = {
  /** The program’s arguments, passed unchanged. */
  args?: Array<string> | null | undefined;
  /** Whether to run it in the background and answer immediately. */
  background?: boolean | null | undefined;
  /** A program when `args` is given; otherwise a command line for `/bin/bash -lc`. */
  command: string;
  /** Environment variables of this command alone, besides the VM’s: 100 at most, 256 KiB together. */
  env?: Record<string, string> | null | undefined;
  /** What it reads on standard input, up to 900 KiB; nothing by default. */
  stdin?: string | null | undefined;
  /** A time limit in seconds: 60 by default, 3600 at most; in the background, 0 means no limit. */
  timeoutSeconds?: number | null | undefined;
  /** Who runs it: `user` by default. */
  user?: GuestUser | null | undefined;
  /** The VM. */
  vmId: string | number;
  /** The working directory, an absolute path; /home/user by default. */
  workingDir?: string | null | undefined;
};

/** One of the caller’s environments. */
export type ExistingEnvironmentInput = {
  /** Which one. */
  environmentId: string | number;
};

/** A rubric in a file, which is always refused: send its text. */
export type FileRubricInput = {
  /** Which file. */
  fileId: string | number;
};

/** A file of yours. */
export type FileSourceInput = {
  /** Which file. */
  fileId: string | number;
};

/** Narrows a list of functions. */
export type FunctionFilter = {
  /** Only those with one of these statuses. */
  statuses?: Array<FunctionStatus> | null | undefined;
  /** Only those with this piece of text in their name, in upper or lower case. */
  text?: string | null | undefined;
};

/** The status of a function. */
export type FunctionStatus =
  /** It is deleted. Steady. */
  | 'DELETED'
  /** It is being deleted. */
  | 'DELETING'
  /** It failed; `statusReason` says why, and `retryAt` when it may start again. Steady. */
  | 'ERROR'
  /** It answers requests. Steady. */
  | 'RUNNING'
  /** It is being started; requests wait for it. */
  | 'STARTING'
  /** It sleeps, or was never started; the next request starts it. Steady. */
  | 'STOPPED'
  /** It is going to sleep, because nobody asks for it. */
  | 'STOPPING';

/** A repository to clone at creation. */
export type GitRepoInput = {
  /** The branch; the default branch if omitted. */
  branch?: string | null | undefined;
  /** Where to clone it: a path relative to /home/user, or absolute; /home/user/<name> by default. */
  path?: string | null | undefined;
  /** https:// or ssh://, or http:// for host.berth.internal. */
  url: string;
};

/** The status of a member’s session. */
export type GroupMemberStatus =
  /** The session is deleted. */
  | 'DELETED'
  /** It is waiting for the client. */
  | 'IDLE'
  /** A temporary failure; it retries soon. */
  | 'RESCHEDULING'
  /** It works. */
  | 'RUNNING'
  /** It has ended permanently. */
  | 'TERMINATED';

/** Who says something in a group. */
export type GroupMessageAuthorType =
  /** A member. */
  | 'MEMBER'
  /** A person. */
  | 'USER';

/** The status of a run of a group’s member. */
export type GroupRunStatus =
  /** It was stopped, or did not end within a day. */
  | 'CANCELLED'
  /** It has ended, with its reply. */
  | 'COMPLETED'
  /** It could not go on; `error` says why. */
  | 'FAILED'
  /** It waits until the session is idle. */
  | 'QUEUED'
  /** It waits for an approval or an answer. */
  | 'REQUIRES_ACTION'
  /** The session works on it. */
  | 'RUNNING';

/** Why somebody whom a message mentions does not answer it. */
export type GroupUndeliveredReason =
  /** Members have answered each other as often as they may after a message of the user’s. */
  | 'HOP_LIMIT'
  /** Too much waits for that member already. */
  | 'MEMBER_BUSY'
  /** As many runs as may have come from one message of the user’s. */
  | 'RUN_LIMIT'
  /** Nobody in the group has that handle. */
  | 'UNKNOWN_MENTION';

/** Who runs a command in a VM. */
export type GuestUser =
  /** The superuser, with the home folder /root. */
  | 'ROOT'
  /** The person of the VM, who may use `sudo`. */
  | 'USER';

/** What becomes of a VM that nobody uses for its idle time. */
export type IdleAction =
  /** It is paused with its memory, and goes on where it was. */
  | 'PAUSE'
  /** It is stopped, and starts from its disk. */
  | 'STOP';

/** An image. */
export type ImageBlockInput = {
  /** Its bytes. */
  source: ImageSourceInput;
};

/** Where the bytes of an image are. */
export type ImageSourceInput =
  {   /** Inside the block. */
  base64: Base64SourceInput; file?: never; url?: never; }
  |  { base64?: never;   /** In a file: a JPEG, PNG, GIF or WebP. */
  file: FileSourceInput; url?: never; }
  |  { base64?: never; file?: never;   /** At a URL. */
  url: UrlSourceInput; };

/** The status of a request to a model. */
export type InferenceRequestStatus =
  /** The answer is complete. */
  | 'COMPLETED'
  /** The caller disconnected before the end. */
  | 'CUT_BY_CLIENT'
  /** The provider broke off the answer. */
  | 'CUT_BY_UPSTREAM'
  /** No provider answered. */
  | 'FAILED'
  /** Its process died. Its usage is as of at most a second before that. */
  | 'LOST'
  /** It is running; its usage is updated every second. */
  | 'OPEN';

/** What sums are grouped by. */
export type InferenceUsageGroupBy =
  /** By the day on which requests started, UTC. */
  | 'DAY'
  /** By API key, and by person for requests without one. */
  | 'KEY'
  /** By model. */
  | 'MODEL';

/** Which parts of a request carry the secret instead of its placeholder. */
export type InjectionLocationInput = {
  /** In the body; false by default. */
  body?: boolean | null | undefined;
  /** In headers; false by default. */
  header?: boolean | null | undefined;
};

/** What a key may be used for. */
export type KeyScope =
  /** Defining agents. */
  | 'AGENTS_USE'
  /** Sending chats to models. */
  | 'CHAT_STATELESS'
  /** Using VMs, builds and uploads. */
  | 'COMPUTE_USE'
  /** Listing models. */
  | 'MODELS_READ';

/** What a session that starts by itself is told first: a text, or events. */
export type KickoffInput = {
  /** 1 to 50 messages and outcomes. */
  events?: Array<SessionEventInput> | null | undefined;
  /** It is sent as one message. */
  text?: string | null | undefined;
};

/** An amount at which a session stops. */
export type LimitBudgetInput = {
  /** The amount, at list prices. */
  maxListCost: MoneyInput;
};

/** Only these hosts. */
export type LimitedCredentialNetworkingInput = {
  /** The hosts, at least one. */
  allowedHosts: Array<string>;
};

/** The named hosts only. */
export type LimitedNetworkPolicyInput = {
  /** Whether the public package registries are allowed too. */
  allowPackageManagers?: boolean | null | undefined;
  /** Host names, or `*.name` for every subdomain of one: 100 at most. */
  allowedHosts?: Array<string> | null | undefined;
};

/** The VM may connect to these hosts only. */
export type LimitedNetworkingInput = {
  /** Whether the tool servers of the session’s agent are allowed too. */
  allowMcpServers?: boolean | null | undefined;
  /** Whether the public package registries are allowed too. */
  allowPackageManagers?: boolean | null | undefined;
  /** Host names, or `*.name` for every subdomain of one. */
  allowedHosts?: Array<string> | null | undefined;
};

/** What `linkDomain` takes. */
export type LinkDomainInput = {
  /** Its name or its id. */
  domain: string | number;
  /** The function. Give either this, or `vmId` and `vmPort`. */
  functionId?: string | number | null | undefined;
  /** The path below which it serves from now on, such as `/api`. */
  path?: string | null | undefined;
  /** The VM; goes with `vmPort`. */
  vmId?: string | number | null | undefined;
  /** The port on which a server listens in the VM, 1 to 65535. */
  vmPort?: number | null | undefined;
};

/** An OAuth access token for a tool server. Berth refreshes it when `refresh` is set. */
export type McpOauthAuthInput = {
  /** The access token. It is never shown again. */
  accessToken: string;
  /** When it expires. */
  expiresAt?: string | null | undefined;
  /** The tool server. */
  mcpServerUrl: string;
  /** How to refresh it. */
  refresh?: OauthRefreshInput | null | undefined;
};

/** A tool server to connect to. */
export type McpServerInput = {
  /** The name by which the agent’s tools refer to it. */
  name: string;
  /** How to reach it. */
  type: McpServerType;
  /** Its address. */
  url: string;
};

/** The outcome of asking a tool server for its tools. */
export type McpServerStatus =
  /** It requires a credential. */
  | 'AUTH_REQUIRED'
  /** It listed its tools. */
  | 'OK'
  /** It did not answer in time, or its answer was not valid. */
  | 'UNREACHABLE';

/** How to reach a tool server. */
export type McpServerType =
  /** By its URL. */
  | 'URL';

/** Narrows a list of mcp services. */
export type McpServiceFilter = {
  /** Only those with this piece of text in their name, in upper or lower case. */
  text?: string | null | undefined;
};

/** The tools of a tool server (MCP). */
export type McpToolsetInput = {
  /** The settings of individual tools. */
  configs?: Array<ToolConfigInput> | null | undefined;
  /** The settings of tools that `configs` does not name. */
  defaultConfig?: ToolSettingInput | null | undefined;
  /** One of `mcpServers`. */
  mcpServerName: string;
};

/** Who wrote a memory. */
export type MemoryActorType =
  /** An agent, by its tool `remember`. */
  | 'AGENT'
  /** A person. */
  | 'USER';

/** What kind of thing a memory is. */
export type MemoryCategory =
  /** Something that is so. */
  | 'FACT'
  /** What agents are to do or not to do. */
  | 'INSTRUCTION'
  /** Anything else. */
  | 'OTHER'
  /** What somebody likes, or how they want things to be done. */
  | 'PREFERENCE'
  /** What is being worked on. */
  | 'PROJECT';

/** Narrows a list of memories. */
export type MemoryFilter = {
  /** Those of this category. */
  category?: MemoryCategory | null | undefined;
  /** An organization of the caller’s: what it shares, instead of what the caller keeps. */
  organizationId?: string | number | null | undefined;
  /** Those that have each of these words, or a word that begins so, in any case and order; 500 characters at most. */
  search?: string | null | undefined;
};

/** What a model is for. */
export type ModelKind =
  /** It answers chats. */
  | 'CHAT'
  /** It makes embeddings: vectors of texts, by which similar ones are found. */
  | 'EMBEDDINGS';

/** The life cycle of a model. */
export type ModelStatus =
  /** It is available. */
  | 'AVAILABLE'
  /** It is still available; move to another one. */
  | 'DEPRECATED';

/** An amount of money. */
export type MoneyInput = {
  /** Such as `"2.50"`. */
  amount: string;
  /** `USD`. */
  currency: string;
};

/** What `moveDatabaseToProject` takes. */
export type MoveDatabaseToProjectInput = {
  /** Its id. */
  id: string | number;
  /** The host name at which the VMs of the project reach it: 1 to 63 lower-case letters, digits and hyphens, beginning with a letter; by default the project’s id with `prj-` in place of `prj_`. */
  networkName?: string | null | undefined;
  /** The project, or null for none. It must be given. */
  projectId?: string | number | null | undefined;
};

/** What a VM may connect to: exactly one of these. */
export type NetworkPolicyInput =
  {   /** The named hosts only. */
  limited: LimitedNetworkPolicyInput; none?: never; unrestricted?: never; }
  |  { limited?: never;   /** True: nowhere. */
  none: boolean; unrestricted?: never; }
  |  { limited?: never; none?: never;   /** True: every public address. */
  unrestricted: boolean; };

/** How much a VM may connect to. */
export type NetworkPolicyType =
  /** Some hosts only. */
  | 'LIMITED'
  /** Nowhere. */
  | 'NONE'
  /** Every public address. */
  | 'UNRESTRICTED';

/** The types of the objects whose changes `organizationEvents` has. */
export type NodeType =
  /** An object of the type `Agent`. */
  | 'AGENT'
  /** An object of the type `ApiKey`. */
  | 'API_KEY'
  /** An object of the type `Backup`. */
  | 'BACKUP'
  /** An object of the type `BackupSchedule`. */
  | 'BACKUP_SCHEDULE'
  /** An object of the type `Build`. */
  | 'BUILD'
  /** An object of the type `ConnectedService`. */
  | 'CONNECTED_SERVICE'
  /** An object of the type `Database`. */
  | 'DATABASE'
  /** An object of the type `DatabaseRestore`. */
  | 'DATABASE_RESTORE'
  /** An object of the type `Deployment`. */
  | 'DEPLOYMENT'
  /** An object of the type `DeploymentRun`. */
  | 'DEPLOYMENT_RUN'
  /** An object of the type `Domain`. */
  | 'DOMAIN'
  /** An object of the type `Environment`. */
  | 'ENVIRONMENT'
  /** An object of the type `File`. */
  | 'FILE'
  /** An object of the type `Folder`. */
  | 'FOLDER'
  /** An object of the type `Function`. */
  | 'FUNCTION'
  /** An object of the type `Group`. */
  | 'GROUP'
  /** An object of the type `Invitation`. */
  | 'INVITATION'
  /** An object of the type `Member`. */
  | 'MEMBER'
  /** An object of the type `Memory`. */
  | 'MEMORY'
  /** An object of the type `Organization`. */
  | 'ORGANIZATION'
  /** An object of the type `PeerExchange`. */
  | 'PEER_EXCHANGE'
  /** An object of the type `Project`. */
  | 'PROJECT'
  /** An object of the type `Proxy`. */
  | 'PROXY'
  /** An object of the type `Schedule`. */
  | 'SCHEDULE'
  /** An object of the type `Session`. */
  | 'SESSION'
  /** An object of the type `Skill`. */
  | 'SKILL'
  /** An object of the type `Template`. */
  | 'TEMPLATE'
  /** An object of the type `Trigger`. */
  | 'TRIGGER'
  /** An object of the type `TriggerFire`. */
  | 'TRIGGER_FIRE'
  /** An object of the type `Vault`. */
  | 'VAULT'
  /** An object of the type `Vm`. */
  | 'VM'
  /** An object of the type `WebhookEndpoint`. */
  | 'WEBHOOK_ENDPOINT';

/** How to get a new access token. */
export type OauthRefreshInput = {
  /** The client id at the authorization server. */
  clientId: string;
  /** The refresh token. It is never shown again. */
  refreshToken: string;
  /** The resource that the token is for (RFC 8707). */
  resource?: string | null | undefined;
  /** The scope to request. */
  scope?: string | null | undefined;
  /** The URL of the token endpoint. */
  tokenEndpoint: string;
  /** How to authenticate there. */
  tokenEndpointAuth: TokenEndpointAuthInput;
};

/** What `openTerminal` takes. */
export type OpenTerminalInput = {
  /** The width of the screen in characters: 1 to 1000. */
  columns: number;
  /** A command line for `/bin/bash -lc`; a login shell by default. */
  command?: string | null | undefined;
  /** The height of the screen in lines: 1 to 1000. */
  rows: number;
  /** The VM. */
  vmId: string | number;
};

/** The state of an outcome. */
export type OutcomeResult =
  /** The work is being graded. */
  | 'EVALUATING'
  /** The rubric cannot be applied to the work. */
  | 'FAILED'
  /** The client interrupted it, or archived the session. */
  | 'INTERRUPTED'
  /** It reached the maximum number of gradings without meeting the rubric. */
  | 'MAX_ITERATIONS_REACHED'
  /** Not started. */
  | 'PENDING'
  /** The agent is working on it. */
  | 'RUNNING'
  /** The work meets the whole rubric. */
  | 'SATISFIED';

/** The result of grading an outcome. */
export type OutcomeVerdict =
  /** The rubric cannot be applied to the work. */
  | 'FAILED'
  /** The client interrupted it. */
  | 'INTERRUPTED'
  /** The work does not meet all of the rubric, and this was the last grading. */
  | 'MAX_ITERATIONS_REACHED'
  /** The work does not meet all of the rubric; the agent revises it. */
  | 'NEEDS_REVISION'
  /** The work meets the whole rubric. */
  | 'SATISFIED';

/** What `pauseDeployment` takes. */
export type PauseDeploymentInput = {
  /** Its id. */
  id: string | number;
};

/** What `pauseVm` takes. */
export type PauseVmInput = {
  /** Its id. */
  id: string | number;
};

/** What becomes of an exchange. The last four are final. */
export type PeerExchangeState =
  /** It was stopped, or the requester was, or a day had passed. */
  | 'CANCELLED'
  /** It was answered. */
  | 'COMPLETED'
  /** The responder could not answer, for the reason in `error`. */
  | 'FAILED'
  /** The responder waits for an approval or an answer of its user. */
  | 'INPUT_REQUIRED'
  /** The responder was never asked, for the reason in `error`. */
  | 'REJECTED'
  /** The responder has not begun. */
  | 'SUBMITTED'
  /** The responder works on it. */
  | 'WORKING';

/** Whether a tool runs immediately or waits for the user’s approval. */
export type PermissionPolicyInput = {
  /** Whether it runs immediately or waits for approval. */
  type: PermissionPolicyType;
};

/** Whether a tool runs immediately or waits for approval. */
export type PermissionPolicyType =
  /** It runs immediately. */
  | 'ALWAYS_ALLOW'
  /** It waits for the user’s approval. */
  | 'ALWAYS_ASK';

/** What a program may do, and never more than the person themselves. */
export type ProgramScope =
  /** All that the person may do in the organization. */
  | 'ADMIN'
  /** What a viewer may see, and nothing that changes. */
  | 'READ'
  /** What a member may do. */
  | 'WRITE';

/** Narrows a list of projects. */
export type ProjectFilter = {
  /** Only those with this piece of text in their name, in upper or lower case. */
  text?: string | null | undefined;
};

/** How hard a model thinks, least first. */
export type ReasoningLevel =
  /** The model reasons hard. */
  | 'HIGH'
  /** The model reasons a little. */
  | 'LOW'
  /** As hard as it can. */
  | 'MAX'
  /** As it usually does. */
  | 'MEDIUM'
  /** As little as it can. */
  | 'MINIMAL'
  /** The model does not reason. */
  | 'NONE'
  /** The model reasons harder than at `HIGH`. */
  | 'XHIGH';

/** What `removeMember` takes. */
export type RemoveMemberInput = {
  /** Its id. */
  id: string | number;
};

/** What `replayWebhookDelivery` takes. */
export type ReplayWebhookDeliveryInput = {
  /** Its id. */
  id: string | number;
};

/** What to check out of a repository: exactly one of these. */
export type RepositoryCheckoutInput =
  {   /** A branch. */
  branch: BranchCheckoutInput; commit?: never; }
  |  { branch?: never;   /** A commit, which is checked out without a branch. */
  commit: CommitCheckoutInput; };

/** What `restoreBackup` takes. */
export type RestoreBackupInput = {
  /** The database that the backup must be of; any if omitted. */
  databaseId?: string | number | null | undefined;
  /** The backup. */
  id: string | number;
  /** The database whose data is replaced; that of the backup if omitted. */
  targetDatabaseId?: string | number | null | undefined;
};

/** What `resumeDeployment` takes. */
export type ResumeDeploymentInput = {
  /** Its id. */
  id: string | number;
};

/** What `resumeVm` takes. */
export type ResumeVmInput = {
  /** Its id. */
  id: string | number;
};

/** What `revokeApiKey` takes. */
export type RevokeApiKeyInput = {
  /** Its id. */
  id: string | number;
};

/** What `revokeAuthorization` takes. */
export type RevokeAuthorizationInput = {
  /** Its id. */
  id: string | number;
};

/** What `revokeBrowserSession` takes. */
export type RevokeBrowserSessionInput = {
  /** Its id. */
  id: string | number;
};

/** What `revokeInvitation` takes. */
export type RevokeInvitationInput = {
  /** Its id. */
  id: string | number;
};

/** A person’s role in an organization. */
export type Role =
  /** May also manage keys, secrets, budgets and members. */
  | 'ADMIN'
  /** May also use and change VMs, builds, agents and sessions, and chat with models. */
  | 'MEMBER'
  /** May do everything. */
  | 'OWNER'
  /** May read, but nothing inside VMs and no sensitive values. */
  | 'VIEWER';

/** What `rollBackFunction` takes. */
export type RollBackFunctionInput = {
  /** Its id. */
  id: string | number;
  /** The version: one of the function’s `versions`. */
  to: string | number;
};

/** What `rotateDatabaseToken` takes. */
export type RotateDatabaseTokenInput = {
  /** Its id. */
  id: string | number;
};

/** What `rotateWebhookEndpointSecret` takes. */
export type RotateWebhookEndpointSecretInput = {
  /** Its id. */
  id: string | number;
  /** For how many hours the secret before signs too, 0 to 168; 24 by default. 0 for one that others know. */
  previousSecretHours?: number | null | undefined;
};

/** How to grade an outcome. */
export type RubricInput =
  {   /** In a file. */
  file: FileRubricInput; text?: never; }
  |  { file?: never;   /** In words. */
  text: TextRubricInput; };

/** What `runDeployment` takes. */
export type RunDeploymentInput = {
  /** Its id. */
  id: string | number;
};

/** What `runSandbox` takes. */
export type RunSandboxInput = {
  /** Arguments of the program or the code. */
  args?: Array<string> | null | undefined;
  /** The code to run. Give either this or `command`. */
  code?: string | null | undefined;
  /** A program when `args` is given; otherwise a command line for `/bin/bash -lc`. */
  command?: string | null | undefined;
  /** Environment variables of this command alone, besides the VM’s: 100 at most, 256 KiB together. */
  env?: Record<string, string> | null | undefined;
  /** The language of `code`: python, javascript, typescript, bash, go or ruby (py, js, node, ts, sh). */
  language?: string | null | undefined;
  /** What it reads on standard input, up to 900 KiB; nothing by default. */
  stdin?: string | null | undefined;
  /** A template’s id or name; `base` by default. */
  templateId?: string | number | null | undefined;
  /** A time limit in seconds: 60 by default, 3600 at most, and never more than `ttlSeconds`. */
  timeoutSeconds?: number | null | undefined;
  /** Seconds until the VM is deleted: 10 to 86400; 300 by default. */
  ttlSeconds?: number | null | undefined;
  /** Who runs it: `user` by default. */
  user?: GuestUser | null | undefined;
};

/** What `runSql` takes. */
export type RunSqlInput = {
  /** The database. */
  databaseId: string | number;
  /** Whether it may only read; false by default. */
  isReadOnly?: boolean | null | undefined;
  /** A list of the values of `$1`, `$2` and so on. */
  parameters?: unknown;
  /** One statement. */
  statement: string;
};

/** What happens while the session of the run before is still at work. */
export type ScheduleOverlap =
  /** Another session starts beside it. */
  | 'ALLOW'
  /** Nothing starts, and the run is recorded as skipped. */
  | 'SKIP';

/** What became of a moment of a schedule. */
export type ScheduleRunStatus =
  /** Nothing could start; `error` says why. */
  | 'FAILED'
  /** Nothing was to start; `skipReason` says why. */
  | 'SKIPPED'
  /** A session started. */
  | 'STARTED';

/** Why a schedule started nothing although nothing failed. */
export type ScheduleSkipReason =
  /** The deployment was paused or archived. */
  | 'DEPLOYMENT_PAUSED'
  /** No worker was running within five minutes of the moment. */
  | 'MISSED'
  /** The session of the run before was still at work. */
  | 'OVERLAP'
  /** For five minutes the organization had as many running sessions as it may. */
  | 'RATE_LIMITED';

/** The types of the objects that `search` finds. */
export type SearchedType =
  /** An object of the type `Agent`. */
  | 'AGENT'
  /** An object of the type `Build`. */
  | 'BUILD'
  /** An object of the type `Database`. */
  | 'DATABASE'
  /** An object of the type `Deployment`. */
  | 'DEPLOYMENT'
  /** An object of the type `Domain`. */
  | 'DOMAIN'
  /** An object of the type `Environment`. */
  | 'ENVIRONMENT'
  /** An object of the type `File`. */
  | 'FILE'
  /** An object of the type `Function`. */
  | 'FUNCTION'
  /** An object of the type `Project`. */
  | 'PROJECT'
  /** An object of the type `Session`. */
  | 'SESSION'
  /** An object of the type `Skill`. */
  | 'SKILL'
  /** An object of the type `Vault`. */
  | 'VAULT'
  /** An object of the type `Vm`. */
  | 'VM';

/** What `sendGroupMessage` takes. */
export type SendGroupMessageInput = {
  /** The group. */
  groupId: string | number;
  /** The members that are to answer, instead of those whom the text mentions; without both, all. */
  recipientIds?: Array<string | number> | null | undefined;
  /** 1 to 32000 characters. `@` and the handle of a member asks that member, `@all` all of them. */
  text: string;
};

/** What `sendSessionEvents` takes. */
export type SendSessionEventsInput = {
  /** 1 to 100 events. */
  events: Array<SessionEventInput>;
  /** The session. */
  sessionId: string | number;
};

/** What `sendTestWebhookEvent` takes. */
export type SendTestWebhookEventInput = {
  /** Its id. */
  id: string | number;
};

/** The agent of a session. */
export type SessionAgentInput =
  {   /** An agent, in one of its versions. */
  agent: AgentReferenceInput; agentWithOverrides?: never; }
  |  { agent?: never;   /** An agent with overrides. */
  agentWithOverrides: AgentWithOverridesInput; };

/** An event that is sent to a session: exactly one of these. */
export type SessionEventInput =
  {   /** A system message for the model, sent with the next user message. */
  systemMessage: SystemMessageInput; userCustomToolResult?: never; userDefineOutcome?: never; userInterrupt?: never; userMessage?: never; userToolConfirmation?: never; userToolResult?: never; }
  |  { systemMessage?: never;   /** The result of a custom tool. */
  userCustomToolResult: UserCustomToolResultInput; userDefineOutcome?: never; userInterrupt?: never; userMessage?: never; userToolConfirmation?: never; userToolResult?: never; }
  |  { systemMessage?: never; userCustomToolResult?: never;   /** An outcome to reach. */
  userDefineOutcome: UserDefineOutcomeInput; userInterrupt?: never; userMessage?: never; userToolConfirmation?: never; userToolResult?: never; }
  |  { systemMessage?: never; userCustomToolResult?: never; userDefineOutcome?: never;   /** Send true: interrupts the agent. */
  userInterrupt: boolean; userMessage?: never; userToolConfirmation?: never; userToolResult?: never; }
  |  { systemMessage?: never; userCustomToolResult?: never; userDefineOutcome?: never; userInterrupt?: never;   /** A message to the agent. */
  userMessage: UserMessageInput; userToolConfirmation?: never; userToolResult?: never; }
  |  { systemMessage?: never; userCustomToolResult?: never; userDefineOutcome?: never; userInterrupt?: never; userMessage?: never;   /** The answer to a tool use that asks for approval. */
  userToolConfirmation: UserToolConfirmationInput; userToolResult?: never; }
  |  { systemMessage?: never; userCustomToolResult?: never; userDefineOutcome?: never; userInterrupt?: never; userMessage?: never; userToolConfirmation?: never;   /** The result of a built-in tool that the client runs itself. */
  userToolResult: UserToolResultInput; };

/** The kind of an event in a session. */
export type SessionEventType =
  /** The agent uses a custom tool and waits for its result. */
  | 'AGENT_CUSTOM_TOOL_USE'
  /** The result of a tool of a tool server. */
  | 'AGENT_MCP_TOOL_RESULT'
  /** The agent uses a tool of a tool server. */
  | 'AGENT_MCP_TOOL_USE'
  /** The agent said something. */
  | 'AGENT_MESSAGE'
  /** The agent was thinking. The thoughts themselves are not shown. */
  | 'AGENT_THINKING'
  /** Old messages were removed from what the model sees. */
  | 'AGENT_THREAD_CONTEXT_COMPACTED'
  /** The result of a built-in tool. */
  | 'AGENT_TOOL_RESULT'
  /** The agent uses a built-in tool. */
  | 'AGENT_TOOL_USE'
  /** The session was deleted, with its log. Nothing follows. */
  | 'SESSION_DELETED'
  /** Something failed. */
  | 'SESSION_ERROR'
  /** The session is idle. */
  | 'SESSION_STATUS_IDLE'
  /** A temporary failure; the session retries soon. */
  | 'SESSION_STATUS_RESCHEDULED'
  /** The session is running. */
  | 'SESSION_STATUS_RUNNING'
  /** The session ended permanently. Nothing follows. */
  | 'SESSION_STATUS_TERMINATED'
  /** The session was changed; null fields stayed as they were. */
  | 'SESSION_UPDATED'
  /** What the session has used so far. */
  | 'SESSION_USAGE'
  /** A request to the model ended. */
  | 'SPAN_MODEL_REQUEST_END'
  /** A request to the model began. */
  | 'SPAN_MODEL_REQUEST_START'
  /** A grading ended. */
  | 'SPAN_OUTCOME_EVALUATION_END'
  /** A grading began. */
  | 'SPAN_OUTCOME_EVALUATION_START'
  /** A system message for the model. */
  | 'SYSTEM_MESSAGE'
  /** The result of a custom tool, sent by the client. */
  | 'USER_CUSTOM_TOOL_RESULT'
  /** A user defined an outcome to reach. */
  | 'USER_DEFINE_OUTCOME'
  /** A user interrupted the agent. */
  | 'USER_INTERRUPT'
  /** A user said something. */
  | 'USER_MESSAGE'
  /** A user allowed or denied a tool use. */
  | 'USER_TOOL_CONFIRMATION'
  /** The result of a built-in tool that the client ran itself. */
  | 'USER_TOOL_RESULT';

/** A file to put into the VM. */
export type SessionFileInput = {
  /** Which one of the caller’s files. */
  fileId: string | number;
  /** Where to put it, an absolute path: `/mnt/session/uploads/<file id>` by default. */
  mountPath?: string | null | undefined;
};

/** Narrows a list of sessions; all conditions must hold. */
export type SessionFilter = {
  /** Only those of this agent. */
  agentId?: string | number | null | undefined;
  /** With `agentId`: only those that started with this version of it. */
  agentVersion?: number | null | undefined;
  /** Whether to include archived ones; not by default. */
  archived?: ArchivedFilter | null | undefined;
  /**
   * Created after this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdAfter?: string | null | undefined;
  /** When it was created. */
  createdAt?: DateTimeFilter | null | undefined;
  /**
   * Created before this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdBefore?: string | null | undefined;
  /**
   * Created at or after this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdFrom?: string | null | undefined;
  /**
   * Created at or before this moment.
   * @deprecated Use `createdAt`. Goes with 0.2.
   */
  createdUntil?: string | null | undefined;
  /** Only those that this deployment started. */
  deploymentId?: string | number | null | undefined;
  /** Whether to include archived ones too; false by default. */
  includeArchived?: boolean | null | undefined;
  /** With true, only those that wait for somebody: to approve a tool use, or to answer one; with false, only the others. */
  isActionRequired?: boolean | null | undefined;
  /** Only those with one of these statuses. */
  statuses?: Array<SessionStatus> | null | undefined;
  /** Only those with this piece of text in their title, in upper or lower case. */
  text?: string | null | undefined;
};

/** A memory store, which is always refused: agents have the tools `remember` and `recall`. */
export type SessionMemoryStoreInput = {
  /** How it would be used. */
  access?: string | null | undefined;
  /** What the agent would be told of it. */
  instructions?: string | null | undefined;
  /** Which one. */
  memoryStoreId: string | number;
};

/** A repository of git to clone in the VM. */
export type SessionRepositoryInput = {
  /** A token for git at this repository, which never enters the VM. It is never shown again. */
  authorizationToken?: string | null | undefined;
  /** What to check out; its default branch if omitted. */
  checkout?: RepositoryCheckoutInput | null | undefined;
  /** Where to put it, an absolute path: `/workspace/<name of the repository>` by default. */
  mountPath?: string | null | undefined;
  /** Its URL, with https:// and without a credential. */
  url: string;
};

/** Something to put into the VM of a session: exactly one of these. */
export type SessionResourceInput =
  {   /** A file. */
  file: SessionFileInput; githubRepository?: never; memoryStore?: never; }
  |  { file?: never;   /** A repository. */
  githubRepository: SessionRepositoryInput; memoryStore?: never; }
  |  { file?: never; githubRepository?: never;   /** Always refused. */
  memoryStore: SessionMemoryStoreInput; };

/** The status of a session. */
export type SessionStatus =
  /** It is waiting for the client; `stopReason` says for what. */
  | 'IDLE'
  /** A temporary failure; it retries soon. */
  | 'RESCHEDULING'
  /** It works. */
  | 'RUNNING'
  /** It has ended permanently. */
  | 'TERMINATED';

/** What `setApiKeyBudget` takes. */
export type SetApiKeyBudgetInput = {
  /** The key’s id. */
  keyId: string | number;
  /** US dollars per month, 0 to 1,000,000; null or omitted removes the budget. */
  monthlyUsd?: string | null | undefined;
  /** An organization that the caller belongs to; by default the active one. */
  organizationId?: string | number | null | undefined;
};

/** What `setOrganizationBudget` takes. */
export type SetOrganizationBudgetInput = {
  /** US dollars per month, 0 to 1,000,000; null or omitted removes the budget. */
  monthlyUsd?: string | null | undefined;
  /** An organization that the caller belongs to; by default the active one. */
  organizationId?: string | number | null | undefined;
};

/** What `setSessionSharing` takes. */
export type SetSessionSharingInput = {
  /** Its id. */
  id: string | number;
  /** Whether to share it. */
  shared: boolean;
};

/** The agent that sessions start with. */
export type StartAgentInput =
  {   /** An agent, in one of its versions or in the newest. */
  agent: AgentReferenceInput; };

/** A deployment; in REST its id alone will do. */
export type StartDeploymentInput = {
  /** Which deployment. */
  id: string | number;
};

/** Where sessions that start by themselves work: exactly one of these. */
export type StartEnvironmentInput =
  {   /** Each in a fresh VM. */
  ephemeral: EphemeralEnvironmentInput; existing?: never; none?: never; }
  |  { ephemeral?: never;   /** In one of the caller’s environments. */
  existing: ExistingEnvironmentInput; none?: never; }
  |  { ephemeral?: never; existing?: never;   /** Send true: sessions have no VM. */
  none: boolean; };

/** Why no session could start. */
export type StartErrorType =
  /** The agent is archived. */
  | 'AGENT_ARCHIVED_ERROR'
  /** The environment is archived. */
  | 'ENVIRONMENT_ARCHIVED_ERROR'
  /** The environment is deleted. */
  | 'ENVIRONMENT_NOT_FOUND_ERROR'
  /** The organization is deactivated, or has no plan. */
  | 'ORGANIZATION_DISABLED_ERROR'
  /** Something else is missing; the message says what. */
  | 'SESSION_CREATION_REJECTED_ERROR'
  /** A limit, a budget or the credits are used up for now. */
  | 'SESSION_RATE_LIMITED_ERROR'
  /** Something else; the message says what. */
  | 'UNKNOWN_ERROR'
  /** A vault is archived. */
  | 'VAULT_ARCHIVED_ERROR'
  /** A vault is deleted. */
  | 'VAULT_NOT_FOUND_ERROR';

/** What `startFunction` takes. */
export type StartFunctionInput = {
  /** Its id. */
  id: string | number;
};

/** What `startVm` takes. */
export type StartVmInput = {
  /** Its id. */
  id: string | number;
};

/** A fixed token that is sent to a tool server. */
export type StaticBearerAuthInput = {
  /** The tool server. */
  mcpServerUrl: string;
  /** The token. It is never shown again. */
  token: string;
};

/** What `stopGroupRun` takes. */
export type StopGroupRunInput = {
  /** Its group. If given, a run of another group is not found. */
  groupId?: string | number | null | undefined;
  /** Its id. */
  id: string | number;
};

/** What `stopPeerExchange` takes. */
export type StopPeerExchangeInput = {
  /** Its id. */
  id: string | number;
};

/** Why a session is idle. */
export type StopReasonType =
  /** It reached its spending limit. */
  | 'BUDGET_REACHED'
  /** The agent finished its turn. */
  | 'END_TURN'
  /** It is waiting for answers to tool uses. */
  | 'REQUIRES_ACTION'
  /** Retries were exhausted. */
  | 'RETRIES_EXHAUSTED';

/** What `stopVm` takes. */
export type StopVmInput = {
  /** Its id. */
  id: string | number;
};

/** What is stored in the database, by kinds that have a limit each. */
export type StorageRoomName =
  /** Answers kept for `Idempotency-Key`. */
  | 'ANSWERS'
  /** Agents, environments, deployments, schedules, skills, vaults, memories, functions, VMs. */
  | 'DEFINITIONS'
  /** Events delivered for triggers. */
  | 'DELIVERIES'
  /** Logs and records of builds, functions, commands and webhooks. */
  | 'LOGS'
  /** Sessions and groups. */
  | 'TRANSCRIPTS';

/** A piece of a system message. */
export type SystemBlockInput =
  {   /** Text. */
  text: TextBlockInput; };

/** A system message for the model, sent with the next user message. */
export type SystemMessageInput = {
  /** 1 to 100 blocks of text. */
  content: Array<SystemBlockInput>;
};

/** The status of a terminal. */
export type TerminalStatus =
  /** It was closed, its VM stopped, or nobody was attached for 15 minutes. */
  | 'CLOSED'
  /** Its program exited. */
  | 'EXITED'
  /** Its program is running, as far as is known. */
  | 'RUNNING';

/** Text. */
export type TextBlockInput = {
  /** The text; must not be empty. */
  text: string;
};

/** A rubric in words. */
export type TextRubricInput = {
  /** At most 262144 characters. */
  content: string;
};

/** Text inside the block. */
export type TextSourceInput = {
  /** The text. */
  data: string;
  /** `text/plain`. */
  mediaType: string;
};

/** How Berth authenticates at a token endpoint: exactly one of these. */
export type TokenEndpointAuthInput =
  {   /** With the header `Authorization`. */
  clientSecretBasic: ClientSecretInput; clientSecretPost?: never; none?: never; }
  |  { clientSecretBasic?: never;   /** In the body. */
  clientSecretPost: ClientSecretInput; none?: never; }
  |  { clientSecretBasic?: never; clientSecretPost?: never;   /** No authentication; send true. */
  none: boolean; };

/** The settings of one tool in a toolset. */
export type ToolConfigInput = {
  /** Whether the agent has it; the toolset’s default if omitted. */
  enabled?: boolean | null | undefined;
  /** The tool. */
  name: string;
  /** The toolset’s default if omitted. */
  permissionPolicy?: PermissionPolicyInput | null | undefined;
};

/** A user’s answer to a tool use that asks for approval. */
export type ToolConfirmationResult =
  /** It may run. */
  | 'ALLOW'
  /** It may not. */
  | 'DENY';

/** The settings of tools in a toolset that have none of their own. */
export type ToolSettingInput = {
  /** Whether the agent has them; true by default. */
  enabled?: boolean | null | undefined;
  /** Whether they run immediately or wait for approval. */
  permissionPolicy?: PermissionPolicyInput | null | undefined;
};

/** An event of a repository, in GitHub’s words. */
export type TriggerEvent =
  /** Every action of `check_suite`. */
  | 'CHECK_SUITE'
  /** The event `check_suite.completed`. */
  | 'CHECK_SUITE_COMPLETED'
  /** Every action of `issues`. */
  | 'ISSUES'
  /** The event `issues.assigned`. */
  | 'ISSUES_ASSIGNED'
  /** The event `issues.labeled`. */
  | 'ISSUES_LABELED'
  /** The event `issues.opened`. */
  | 'ISSUES_OPENED'
  /** Every action of `issue_comment`. */
  | 'ISSUE_COMMENT'
  /** The event `issue_comment.created`. */
  | 'ISSUE_COMMENT_CREATED'
  /** Every action of `pull_request`. */
  | 'PULL_REQUEST'
  /** The event `pull_request.closed`. */
  | 'PULL_REQUEST_CLOSED'
  /** The event `pull_request.labeled`. */
  | 'PULL_REQUEST_LABELED'
  /** The event `pull_request.opened`. */
  | 'PULL_REQUEST_OPENED'
  /** The event `pull_request.ready_for_review`. */
  | 'PULL_REQUEST_READY_FOR_REVIEW'
  /** The event `pull_request.reopened`. */
  | 'PULL_REQUEST_REOPENED'
  /** Every action of `pull_request_review`. */
  | 'PULL_REQUEST_REVIEW'
  /** Every action of `pull_request_review_comment`. */
  | 'PULL_REQUEST_REVIEW_COMMENT'
  /** The event `pull_request_review_comment.created`. */
  | 'PULL_REQUEST_REVIEW_COMMENT_CREATED'
  /** The event `pull_request_review.submitted`. */
  | 'PULL_REQUEST_REVIEW_SUBMITTED'
  /** The event `pull_request.synchronize`. */
  | 'PULL_REQUEST_SYNCHRONIZE'
  /** Every action of `push`. */
  | 'PUSH'
  /** Every action of `release`. */
  | 'RELEASE'
  /** The event `release.published`. */
  | 'RELEASE_PUBLISHED'
  /** Every action of `workflow_run`. */
  | 'WORKFLOW_RUN'
  /** The event `workflow_run.completed`. */
  | 'WORKFLOW_RUN_COMPLETED';

/** Which of its events start something. A filter concerns the events that have what it looks at. */
export type TriggerFiltersInput = {
  /** Whether events that bots caused count; false by default. */
  allowBots?: boolean | null | undefined;
  /** Whether code of forks counts; false by default. */
  allowForks?: boolean | null | undefined;
  /** Whose texts count; those of `OWNER`, `MEMBER` and `COLLABORATOR` by default. */
  authorAssociations?: Array<AuthorAssociation> | null | undefined;
  /** Patterns of branches, 20 at most: `*` is any characters but a slash, `**` between slashes any number of folders. */
  branches?: Array<string> | null | undefined;
  /** How a comment or review begins. */
  commentPrefix?: string | null | undefined;
  /** Labels, 20 at most. */
  labels?: Array<string> | null | undefined;
  /** Patterns of files that a push changed, 20 at most: `*` is any characters but a slash, `**` between slashes any number of folders. */
  paths?: Array<string> | null | undefined;
};

/** What becomes of a fire. */
export type TriggerFireStatus =
  /** It started nothing, for the reason in `error`. */
  | 'FAILED'
  /** It is not decided yet. */
  | 'PENDING'
  /** It started nothing, for the reason in `skipReason`. */
  | 'SKIPPED'
  /** It started a session. */
  | 'STARTED';

/** Why an event started nothing, in the order in which they are looked at. */
export type TriggerSkipReason =
  /** A bot caused it. */
  | 'BOT_SENDER'
  /** Its deployment is paused or archived. */
  | 'DEPLOYMENT_PAUSED'
  /** A filter did not match. */
  | 'FILTER_MISMATCH'
  /** The code is of a fork. */
  | 'FORK_PULL_REQUEST'
  /** Too many came within a minute. */
  | 'RATE_LIMITED'
  /** The push deleted its branch or tag. */
  | 'REF_DELETED'
  /** Berth’s own app caused it. */
  | 'SELF_CAUSED'
  /** The trigger is disabled. */
  | 'TRIGGER_DISABLED'
  /** The author is not among those whose texts count. */
  | 'UNTRUSTED_AUTHOR';

/** What would become of an event. */
export type TriggerTrialOutcome =
  /** Its fire would fail, with the error in `errorType`. */
  | 'FAIL'
  /** There would be no fire: the trigger is not for such an event, or not for its repository. */
  | 'NO_FIRE'
  /** Its fire would be skipped, for the reason in `skipReason`. */
  | 'SKIP'
  /** It would start a session, unless too many come within a minute. */
  | 'START';

/** What `tryTrigger` takes. */
export type TryTriggerInput = {
  /** The event as in `X-GitHub-Event`, such as `pull_request`. */
  event?: string | null | undefined;
  /** A fire of the caller’s triggers, whose event is tried. Without it, the next two. */
  fireId?: string | number | null | undefined;
  /** Its id. */
  id: string | number;
  /** The body of the delivery, such as from the list of recent deliveries at GitHub. */
  payload?: unknown;
};

/** What `unlinkDomain` takes. */
export type UnlinkDomainInput = {
  /** Its name or its id. */
  domain: string | number;
};

/** What `updateAgent` takes. */
export type UpdateAgentInput = {
  /** A description of its purpose: at most 2048 characters. */
  description?: string | null | undefined;
  /** Its id. */
  id: string | number;
  /** The tool servers that it connects to, 20 at most. */
  mcpServers?: Array<McpServerInput> | null | undefined;
  /** The connectors that it uses. */
  mcpServices?: Array<AgentMcpServiceInput> | null | undefined;
  /** Pairs to set; a null value deletes its key. */
  metadata?: unknown;
  /** The model it uses. */
  model?: AgentModelInput | null | undefined;
  /** 1 to 255 characters. */
  name?: string | null | undefined;
  /** Its skills. */
  skills?: Array<AgentSkillInput> | null | undefined;
  /** Its system prompt: at most 100,000 characters. */
  system?: string | null | undefined;
  /** Toolsets and custom tools, 128 at most. */
  tools?: Array<AgentToolInput> | null | undefined;
  /** The version that the change is based on; the newest by default. The update fails when it is not the newest. */
  version?: number | null | undefined;
};

/** What `updateDeployment` takes. */
export type UpdateDeploymentInput = {
  /** The agent that it runs. */
  agent?: StartAgentInput | null | undefined;
  /** The spending limit of each of its sessions. */
  budget?: BudgetInput | null | undefined;
  /** A description of its purpose: at most 2048 characters. */
  description?: string | null | undefined;
  /** Where its sessions work; nowhere by default. */
  environment?: StartEnvironmentInput | null | undefined;
  /** The same as an existing `environment`, for Anthropic’s clients. */
  environmentId?: string | number | null | undefined;
  /** Its id. */
  id: string | number;
  /** The same as the events of `kickoff`, for Anthropic’s clients. */
  initialEvents?: Array<SessionEventInput> | null | undefined;
  /** What each session is told first. */
  kickoff?: KickoffInput | null | undefined;
  /** Pairs to set; a null value deletes its key. */
  metadata?: unknown;
  /** 1 to 255 characters. */
  name?: string | null | undefined;
  /** When it starts by itself. It is one of its `schedules`: null deletes these, and another one replaces the only one. */
  schedule?: DeploymentScheduleInput | null | undefined;
  /** `PAUSED` keeps schedules and triggers from starting it. */
  status?: DeploymentStatus | null | undefined;
  /** The vaults whose credentials its sessions may use, 50 at most. */
  vaultIds?: Array<string | number> | null | undefined;
};

/** What `updateEnvironment` takes. */
export type UpdateEnvironmentInput = {
  /** The configuration of its VM. */
  config?: EnvironmentConfigInput | null | undefined;
  /** A description of its purpose: at most 2048 characters. */
  description?: string | null | undefined;
  /** Its id. */
  id: string | number;
  /** Pairs to set; a null value deletes its key. */
  metadata?: unknown;
  /** 1 to 255 characters. */
  name?: string | null | undefined;
  /** Must be `account`, null or omitted. */
  scope?: string | null | undefined;
};

/** What `updateFunction` takes. */
export type UpdateFunctionInput = {
  /** Its id. */
  id: string | number;
  /** After how many seconds without a request it sleeps, 10 to 86400; 300 by default. */
  idleSeconds?: number | null | undefined;
  /** Memory in MB, 256 to 65536; 2048 by default, for which machines are kept warm. */
  memoryMb?: number | null | undefined;
  /** 1 to 63 lower-case letters, digits and hyphens, beginning with a letter; unique in the organization. */
  name?: string | null | undefined;
  /** How many seconds its program may take until it listens, and a request waits for it, 1 to 300; 30 by default. */
  startSeconds?: number | null | undefined;
  /** Environment variables of its program to set, or with null to remove; the others stay. Values are kept sealed, hidden from viewers, and masked in the log. */
  variables?: unknown;
  /** Virtual processors, 1 to 16; 2 by default. */
  vcpuCount?: number | null | undefined;
};

/** What `updateGroup` takes. */
export type UpdateGroupInput = {
  /** Required, though it may be null: a description of its purpose, at most 2048 characters. */
  description?: string | null | undefined;
  /** Its id. */
  id: string | number;
  /** 1 to 255 characters. */
  name: string;
};

/** What `updateMember` takes. */
export type UpdateMemberInput = {
  /** Its id. */
  id: string | number;
  /** The new role. */
  role: Role;
};

/** What `updateMemory` takes. */
export type UpdateMemoryInput = {
  /** The text: 1 to 10,000 characters. */
  body?: string | null | undefined;
  /** What kind of thing it is; null for none. */
  category?: MemoryCategory | null | undefined;
  /** Its id. */
  id: string | number;
  /** The revision that is changed: the latest. */
  revision: number;
};

/** What `updateMemorySettings` takes. */
export type UpdateMemorySettingsInput = {
  /** Whether their agents may keep and recall memories. */
  useMemories: boolean;
};

/** What `updateOrganization` takes. */
export type UpdateOrganizationInput = {
  /** 1 to 255 characters, unique in this installation. */
  name?: string | null | undefined;
};

/** What `updateProject` takes. */
export type UpdateProjectInput = {
  /** Its id. */
  id: string | number;
  /** 1 to 255 characters. */
  name?: string | null | undefined;
};

/** What `updateSchedule` takes. */
export type UpdateScheduleInput = {
  /** Minute, hour, day of the month, month, day of the week, such as `0 9 * * mon-fri`; without seconds, `L`, `W`, `#`, `?` and names like `@daily`. */
  cron?: string | null | undefined;
  /** Whether it fires. Enabled again, it counts its failures anew. */
  enabled?: boolean | null | undefined;
  /** Its id. */
  id: string | number;
  /** What the agent is told first. */
  kickoff?: KickoffInput | null | undefined;
  /** 1 to 255 characters, and none of your other schedules may have it. */
  name?: string | null | undefined;
  /** What happens while the session of the run before is still at work; `SKIP` by default. */
  overlap?: ScheduleOverlap | null | undefined;
  /** A name of the IANA time zone database, such as `Europe/Rome`. Required. */
  timezone?: string | null | undefined;
};

/** What `updateTrigger` takes. */
export type UpdateTriggerInput = {
  /** The agent that it starts. */
  agent?: StartAgentInput | null | undefined;
  /** Says where its sessions work, which vaults they may use, and what they are told first, with its kickoff. Null for none. */
  deployment?: StartDeploymentInput | null | undefined;
  /** Whether it starts anything. */
  enabled?: boolean | null | undefined;
  /** The events that it is for. */
  events?: Array<TriggerEvent> | null | undefined;
  /** Which of the events start something; null for the defaults. */
  filters?: TriggerFiltersInput | null | undefined;
  /** Its id. */
  id: string | number;
  /** 1 to 255 characters, and none of your other triggers may have it. */
  name?: string | null | undefined;
  /** The repository: `owner/name`. */
  repo?: string | null | undefined;
};

/** What `updateVaultCredential` takes. */
export type UpdateVaultCredentialInput = {
  /** A new token. */
  auth?: CredentialAuthChangeInput | null | undefined;
  /** 1 to 255 characters, or null. */
  displayName?: string | null | undefined;
  /** Its id. */
  id: string | number;
  /** Pairs to set; a null value deletes its key. */
  metadata?: unknown;
  /** Its vault. If given, a credential of another vault is not found. */
  vaultId?: string | number | null | undefined;
};

/** What `updateVault` takes. */
export type UpdateVaultInput = {
  /** 1 to 255 characters. */
  displayName?: string | null | undefined;
  /** Its id. */
  id: string | number;
  /** Pairs to set; a null value deletes its key. */
  metadata?: unknown;
};

/** What `updateVm` takes. */
export type UpdateVmInput = {
  /** Disk in MB, up to 204800. It grows, with the file system on it, and never shrinks. */
  diskMb?: number | null | undefined;
  /** Its id. */
  id: string | number;
  /** What becomes of it then. */
  idleAction?: IdleAction | null | undefined;
  /** Seconds without use after which it is paused or stopped; null for never. */
  idleSeconds?: number | null | undefined;
  /** Memory in MB, 256 to 65536. */
  memoryMb?: number | null | undefined;
  /** Replaces the metadata. */
  metadata?: Record<string, string> | null | undefined;
  /** A new name. */
  name?: string | null | undefined;
  /** What it may connect to from now on. */
  networkPolicy?: NetworkPolicyInput | null | undefined;
  /** Virtual processors, 1 to 16. */
  vcpuCount?: number | null | undefined;
};

/** What `updateWebhookEndpoint` takes. */
export type UpdateWebhookEndpointInput = {
  /** Your own words for it, at most 2048 characters. */
  description?: string | null | undefined;
  /** Whether it is told of anything; true by default. */
  enabled?: boolean | null | undefined;
  /** What it wants to be told of, at least one; null for everything, which is the default. */
  eventTypes?: Array<WebhookEventType> | null | undefined;
  /** Its id. */
  id: string | number;
  /** An https:// address of at most 2048 characters that leads to public hosts; http:// and private hosts only where the operator allows them. */
  url?: string | null | undefined;
};

/** Something at a URL. */
export type UrlSourceInput = {
  /** An http or https URL of at most 2048 characters. */
  url: string;
};

/** The result of a custom tool. */
export type UserCustomToolResultInput = {
  /** Its result. */
  content?: Array<ContentBlockInput> | null | undefined;
  /** The id of the tool use’s event. */
  customToolUseId: string | number;
  /** Whether it failed; false by default. */
  isError?: boolean | null | undefined;
};

/** An outcome for the agent to reach. Its work is graded, and revised until it meets the rubric. */
export type UserDefineOutcomeInput = {
  /** The desired outcome. */
  description: string;
  /** How often to grade it at most: 1 to 20; 3 by default. */
  maxIterations?: number | null | undefined;
  /** The rubric by which to grade the work. */
  rubric: RubricInput;
};

/** A message to the agent. */
export type UserMessageInput = {
  /** The content: 1 to 100 blocks. */
  content: Array<ContentBlockInput>;
};

/** The answer to a tool use that asks for approval. */
export type UserToolConfirmationInput = {
  /** What to tell the agent when it may not: at most 10000 characters. */
  denyMessage?: string | null | undefined;
  /** Whether the tool may run. */
  result: ToolConfirmationResult;
  /** The id of the tool use’s event. */
  toolUseId: string | number;
};

/** The result of a built-in tool that the client runs itself, in a self-hosted environment. */
export type UserToolResultInput = {
  /** Its result. */
  content?: Array<ContentBlockInput> | null | undefined;
  /** Whether it failed; false by default. */
  isError?: boolean | null | undefined;
  /** The id of the tool use’s event. */
  toolUseId: string | number;
};

/** What `validateVaultCredential` takes. */
export type ValidateVaultCredentialInput = {
  /** Its id. */
  id: string | number;
  /** Its vault. If given, a credential of another vault is not found. */
  vaultId?: string | number | null | undefined;
};

/** What happened to a vault or one of its credentials. */
export type VaultEventType =
  /** It was archived, and its secrets purged. */
  | 'VAULT_ARCHIVED'
  /** The vault was created. */
  | 'VAULT_CREATED'
  /** A credential was archived, and its secrets purged. */
  | 'VAULT_CREDENTIAL_ARCHIVED'
  /** A credential was added. */
  | 'VAULT_CREDENTIAL_CREATED'
  /** A credential was deleted. */
  | 'VAULT_CREDENTIAL_DELETED'
  /** An access token was refreshed. */
  | 'VAULT_CREDENTIAL_REFRESHED'
  /** An access token could not be refreshed. */
  | 'VAULT_CREDENTIAL_REFRESH_FAILED'
  /** A credential changed. */
  | 'VAULT_CREDENTIAL_UPDATED'
  /** Its name or metadata changed. */
  | 'VAULT_UPDATED';

/** Narrows a list of vaults. */
export type VaultFilter = {
  /** Whether to include archived ones; false by default. */
  includeArchived?: boolean | null | undefined;
  /** Only those with this piece of text in their name, in upper or lower case. */
  text?: string | null | undefined;
};

/** The kind of a folder’s entry. */
export type VmFileEntryType =
  /** A folder. */
  | 'DIRECTORY'
  /** A file. */
  | 'FILE'
  /** A device, a socket, or a pipe. */
  | 'OTHER'
  /** A symbolic link. */
  | 'SYMLINK';

/** How a file passes through a signed URL. */
export type VmFileFormat =
  /** A file as it is. */
  | 'FILE'
  /** A folder as a tar archive. */
  | 'TAR';

/** What a signed URL of a file is for. */
export type VmFileUrlMethod =
  /** Getting it, as a whole or a part; and HEAD. */
  | 'GET'
  /** Putting it, as a whole or in parts; and HEAD, which says how much has arrived. */
  | 'PUT';

/** Narrows a list of VMs. */
export type VmFilter = {
  /** Only those that this person created. */
  createdById?: string | number | null | undefined;
  /** Only those of this project. */
  projectId?: string | number | null | undefined;
  /** Only those with one of these statuses. */
  statuses?: Array<VmStatus> | null | undefined;
  /** Only those that started from this template. */
  templateId?: string | number | null | undefined;
  /** Only those with this piece of text in their name or external reference, in upper or lower case. */
  text?: string | null | undefined;
};

/** The status of a background process. */
export type VmProcessStatus =
  /** It exited by itself. */
  | 'EXITED'
  /** A signal ended it, or its VM stopped. */
  | 'KILLED'
  /** It is running, as far as is known. */
  | 'RUNNING';

/** What is done for a VM that is being created or started; in this order, without what it does not need. */
export type VmStartupStep =
  /** Its template is built on its machine, which happens once; `statusReason` says how far that is. */
  | 'BUILDING_TEMPLATE'
  /** Its repositories are cloned. */
  | 'CLONING_REPOSITORIES'
  /** It is connected to the databases of its project. */
  | 'JOINING_PROJECT'
  /** It has its place on a machine, whose worker has not said more yet: it takes it up, or takes less than a second. */
  | 'PLACING'
  /** It is given its variables. */
  | 'PREPARING_GUEST'
  /** Its machine is started. */
  | 'STARTING_MACHINE'
  /** The server in it does not let anybody in yet; `statusReason` says why. */
  | 'WAITING_FOR_SERVER';

/** The status of a VM. A steady status lasts; the others are on the way to one. */
export type VmStatus =
  /** It is being created. */
  | 'CREATING'
  /** It is deleted. Steady. */
  | 'DELETED'
  /** It is being deleted. */
  | 'DELETING'
  /** It failed; `statusReason` says why. Steady. */
  | 'ERROR'
  /** It is saved with its memory. Steady. */
  | 'PAUSED'
  /** It is being saved with its memory. */
  | 'PAUSING'
  /** It is resuming where it was paused. */
  | 'RESUMING'
  /** It is running. Steady. */
  | 'RUNNING'
  /** It is starting from its disk. */
  | 'STARTING'
  /** It is not running; its disk is kept. Steady. */
  | 'STOPPED'
  /** It is shutting down. */
  | 'STOPPING';

/** What sums are grouped by. */
export type VmUsageDimension =
  /** By day, UTC. What ran over midnight counts on each day for its part. */
  | 'DAY'
  /** By VM, and by build for the VMs of builds. */
  | 'VM';

/** How far a webhook delivery is. */
export type WebhookDeliveryStatus =
  /** No further attempt is made. It can be replayed. */
  | 'FAILED'
  /** It is being delivered, or waits for its next attempt. */
  | 'PENDING'
  /** The endpoint answered 2xx. */
  | 'SUCCEEDED';

/** Why a webhook endpoint is disabled. */
export type WebhookDisabledReason =
  /** 20 attempts in a row failed. */
  | 'FAILURES'
  /** It answered 410. */
  | 'GONE'
  /** Somebody disabled it. */
  | 'MANUAL';

/** What a webhook endpoint can be told of. */
export type WebhookEventType =
  /** An agent was archived. */
  | 'AGENT_ARCHIVED'
  /** An agent was created. */
  | 'AGENT_CREATED'
  /** An agent was deleted. */
  | 'AGENT_DELETED'
  /** An agent has a new version. */
  | 'AGENT_UPDATED'
  /** A backup of a database is stored. */
  | 'BACKUP_COMPLETED'
  /** A backup of a database failed. */
  | 'BACKUP_FAILED'
  /** A build was cancelled. */
  | 'BUILD_CANCELLED'
  /** A build failed. */
  | 'BUILD_FAILED'
  /** A build succeeded. */
  | 'BUILD_SUCCEEDED'
  /** A database takes connections, again after a change. */
  | 'DATABASE_ACTIVE'
  /** A database was created, or a deleted one was brought back. */
  | 'DATABASE_CREATED'
  /** A database was deleted. */
  | 'DATABASE_DELETED'
  /** A database has failed. */
  | 'DATABASE_ERROR'
  /** A deployment was archived. */
  | 'DEPLOYMENT_ARCHIVED'
  /** A deployment was created. */
  | 'DEPLOYMENT_CREATED'
  /** A deployment was deleted. */
  | 'DEPLOYMENT_DELETED'
  /** A deployment was paused: by somebody, or because a run could not start. */
  | 'DEPLOYMENT_PAUSED'
  /** A run of a deployment could not start. */
  | 'DEPLOYMENT_RUN_FAILED'
  /** A run of a deployment has started its session. */
  | 'DEPLOYMENT_RUN_STARTED'
  /** A run of a deployment has its session, as Anthropic tells it; sent beside `deployment_run.started`. */
  | 'DEPLOYMENT_RUN_SUCCEEDED'
  /** A paused deployment is active again. */
  | 'DEPLOYMENT_UNPAUSED'
  /** A deployment was changed. */
  | 'DEPLOYMENT_UPDATED'
  /** A domain serves what it is linked to. */
  | 'DOMAIN_ACTIVE'
  /** The certificate of a domain ends within 14 days, and could not be renewed so far; sent once for each certificate. */
  | 'DOMAIN_CERTIFICATE_EXPIRING'
  /** A domain has failed. */
  | 'DOMAIN_FAILED'
  /** The DNS of a domain proved it. */
  | 'DOMAIN_VERIFIED'
  /** An environment was archived. */
  | 'ENVIRONMENT_ARCHIVED'
  /** An environment was created. */
  | 'ENVIRONMENT_CREATED'
  /** An environment was deleted. */
  | 'ENVIRONMENT_DELETED'
  /** An environment was changed. */
  | 'ENVIRONMENT_UPDATED'
  /** A session was archived. */
  | 'SESSION_ARCHIVED'
  /** A session has used up its budget; sent beside `session.status_idled`. */
  | 'SESSION_BUDGET_REACHED'
  /** A session was created. */
  | 'SESSION_CREATED'
  /** A session was deleted. */
  | 'SESSION_DELETED'
  /** The result of a session was graded. */
  | 'SESSION_OUTCOME_EVALUATION_ENDED'
  /** A session waits for a confirmation or a tool’s result; sent beside `session.status_idled`. */
  | 'SESSION_REQUIRES_ACTION'
  /** A session has nothing more to do. */
  | 'SESSION_STATUS_IDLED'
  /** A session waits until it can try again. */
  | 'SESSION_STATUS_RESCHEDULED'
  /** A session began to run. */
  | 'SESSION_STATUS_RUN_STARTED'
  /** A session ended for good. */
  | 'SESSION_STATUS_TERMINATED'
  /** A session’s title, metadata, budget, vaults or agent were changed. */
  | 'SESSION_UPDATED'
  /** An event of a repository started a session. */
  | 'TRIGGER_FIRED'
  /** An event of a repository started nothing; its fire says why. */
  | 'TRIGGER_SKIPPED'
  /** A vault was archived. */
  | 'VAULT_ARCHIVED'
  /** A vault was created. */
  | 'VAULT_CREATED'
  /** A credential was archived. */
  | 'VAULT_CREDENTIAL_ARCHIVED'
  /** A credential was added to a vault. */
  | 'VAULT_CREDENTIAL_CREATED'
  /** A credential was deleted. */
  | 'VAULT_CREDENTIAL_DELETED'
  /** The token of a credential could not be refreshed. */
  | 'VAULT_CREDENTIAL_REFRESH_FAILED'
  /** A vault was deleted. */
  | 'VAULT_DELETED'
  /** A VM was created. */
  | 'VM_CREATED'
  /** A VM was deleted. */
  | 'VM_DELETED'
  /** A VM has failed. */
  | 'VM_ERROR'
  /** A VM was paused. */
  | 'VM_PAUSED'
  /** A VM runs: it was created, started or resumed. */
  | 'VM_RUNNING'
  /** A VM was stopped. */
  | 'VM_STOPPED'
  /** Somebody asked for a test; it goes to that endpoint only, whatever that wants. */
  | 'WEBHOOK_ENDPOINT_TEST';

export type AgentRow = { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } };

export type ToolSettings = { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } };

export type ToolConfigs = { name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } };

export type AgentDefinition = { name: string, description: string | null, version: number, updatedAt: string, system: string | null, model: { id: string, effort: AgentEffort | null, speed: AgentSpeed }, mcpServers: Array<{ name: string, url: string }>, mcpServices: Array<{ id: string, disabledTools: Array<string> }>, skills: Array<{ skillName: string, type: AgentSkillType, version: string }>, tools: Array<
    | { __typename: 'BuiltInToolset', name: string, defaultConfig: { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } }, configs: Array<{ name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } }> }
    | { __typename: 'CustomTool', name: string, description: string, inputSchema: unknown }
    | { __typename: 'McpToolset', mcpServerName: string, defaultConfig: { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } }, configs: Array<{ name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } }> }
  > };

export type AgentsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: AgentFilter | null | undefined;
}>;


export type Agents = { agents: { totalCount: number, nodes: Array<{ id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type AgentVariables = Exact<{
  id: string | number;
}>;


export type Agent = { agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, system: string | null, versions: { totalCount: number, nodes: Array<{ version: number, updatedAt: string, model: { id: string } }> }, sessions: { totalCount: number, nodes: Array<{ id: string, title: string | null, agentId: string, deploymentId: string | null, environmentId: string | null, createdAt: string, updatedAt: string, sessionStatus: SessionStatus, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } } }> } | null, model: { id: string, effort: AgentEffort | null, speed: AgentSpeed }, mcpServers: Array<{ name: string, url: string }>, mcpServices: Array<{ id: string, disabledTools: Array<string> }>, skills: Array<{ skillName: string, type: AgentSkillType, version: string }>, tools: Array<
      | { __typename: 'BuiltInToolset', name: string, defaultConfig: { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } }, configs: Array<{ name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } }> }
      | { __typename: 'CustomTool', name: string, description: string, inputSchema: unknown }
      | { __typename: 'McpToolset', mcpServerName: string, defaultConfig: { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } }, configs: Array<{ name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } }> }
    > } | null };

export type AgentVersionVariables = Exact<{
  id: string | number;
  version: number;
}>;


export type AgentVersion = { agent: { name: string, description: string | null, version: number, updatedAt: string, system: string | null, model: { id: string, effort: AgentEffort | null, speed: AgentSpeed }, mcpServers: Array<{ name: string, url: string }>, mcpServices: Array<{ id: string, disabledTools: Array<string> }>, skills: Array<{ skillName: string, type: AgentSkillType, version: string }>, tools: Array<
      | { __typename: 'BuiltInToolset', name: string, defaultConfig: { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } }, configs: Array<{ name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } }> }
      | { __typename: 'CustomTool', name: string, description: string, inputSchema: unknown }
      | { __typename: 'McpToolset', mcpServerName: string, defaultConfig: { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } }, configs: Array<{ name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } }> }
    > } | null };

export type AgentModelsVariables = Exact<{ [key: string]: never; }>;


export type AgentModels = { models: { totalCount: number, nodes: Array<{ id: string, kind: ModelKind }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type AgentChoicesVariables = Exact<{ [key: string]: never; }>;


export type AgentChoices = { skills: { totalCount: number, nodes: Array<{ id: string, name: string, displayName: string, latestVersionId: string, createdAt: string, updatedAt: string, versions: { totalCount: number, nodes: Array<{ id: string, createdAt: string }> } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type AgentToolsVariables = Exact<{
  id: string | number;
}>;


export type AgentTools = { agentMcpTools: Array<{ serverName: string, url: string, error: string | null, serverStatus: McpServerStatus, tools: Array<{ name: string, description: string | null }> }> | null };

export type CreateAgentVariables = Exact<{
  input: CreateAgentInput;
}>;


export type CreateAgent = { createAgent: { agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, system: string | null, model: { id: string, effort: AgentEffort | null, speed: AgentSpeed }, mcpServers: Array<{ name: string, url: string }>, mcpServices: Array<{ id: string, disabledTools: Array<string> }>, skills: Array<{ skillName: string, type: AgentSkillType, version: string }>, tools: Array<
        | { __typename: 'BuiltInToolset', name: string, defaultConfig: { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } }, configs: Array<{ name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } }> }
        | { __typename: 'CustomTool', name: string, description: string, inputSchema: unknown }
        | { __typename: 'McpToolset', mcpServerName: string, defaultConfig: { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } }, configs: Array<{ name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } }> }
      > } } | null };

export type UpdateAgentVariables = Exact<{
  input: UpdateAgentInput;
}>;


export type UpdateAgent = { updateAgent: { agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, system: string | null, model: { id: string, effort: AgentEffort | null, speed: AgentSpeed }, mcpServers: Array<{ name: string, url: string }>, mcpServices: Array<{ id: string, disabledTools: Array<string> }>, skills: Array<{ skillName: string, type: AgentSkillType, version: string }>, tools: Array<
        | { __typename: 'BuiltInToolset', name: string, defaultConfig: { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } }, configs: Array<{ name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } }> }
        | { __typename: 'CustomTool', name: string, description: string, inputSchema: unknown }
        | { __typename: 'McpToolset', mcpServerName: string, defaultConfig: { isEnabled: boolean, permissionPolicy: { type: PermissionPolicyType } }, configs: Array<{ name: string, isEnabled: boolean, allowedDomains: Array<string> | null, blockedDomains: Array<string> | null, maxContentTokens: number | null, permissionPolicy: { type: PermissionPolicyType } }> }
      > } } | null };

export type ArchiveAgentVariables = Exact<{
  input: ArchiveAgentInput;
}>;


export type ArchiveAgent = { archiveAgent: { agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } } | null };

export type DeleteAgentVariables = Exact<{
  input: DeleteAgentInput;
}>;


export type DeleteAgent = { deleteAgent: { deletedId: string } | null };

export type InstanceVariables = Exact<{ [key: string]: never; }>;


export type Instance = { instance: { version: string, hasLocalSignIn: boolean, signInProviders: Array<string>, canSendMail: boolean } | null };

export type ViewerVariables = Exact<{ [key: string]: never; }>;


export type Viewer = { viewer: { user: { id: string, name: string } | null, organizations: { nodes: Array<{ id: string, name: string }> } } | null };

export type DeskVariables = Exact<{ [key: string]: never; }>;


export type Desk = { viewer: { role: Role | null, organization: { id: string, name: string, eventCursor: string | null } | null } | null };

export type SearchVariables = Exact<{
  text: string;
}>;


export type Search = { search: Array<{ nodeId: string, nodeType: SearchedType, title: string | null }> | null };

export type CreateOrganizationVariables = Exact<{
  input: CreateOrganizationInput;
}>;


export type CreateOrganization = { createOrganization: { organization: { id: string, name: string } } | null };

export type OrganizationEventsVariables = Exact<{
  after?: string | null | undefined;
}>;


export type OrganizationEvents = { organizationEvents:
    | { __typename: 'Heartbeat' }
    | { __typename: 'OrganizationEvent', cursor: string, change: ChangeType, nodeType: NodeType, nodeId: string, node:
        | { __typename: 'Agent', id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } }
        | { __typename: 'ApiKey', id: string, name: string, lastFour: string, scopes: Array<KeyScope>, createdAt: string, lastUsedAt: string | null, expiresAt: string | null, revokedAt: string | null, createdBy: { id: string, name: string } | null }
        | { __typename: 'AuditEvent', id: string }
        | { __typename: 'Authorization', id: string }
        | { __typename: 'Backup', id: string, error: string | null, sizeBytes: string, triggeredBy: BackupTrigger, createdAt: string, completedAt: string | null, verifiedAt: string | null, databaseId: string, backupStatus: BackupStatus }
        | { __typename: 'BackupSchedule', id: string }
        | { __typename: 'BrowserSession', id: string }
        | { __typename: 'Build', id: string, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null, buildStatus: BuildStatus }
        | { __typename: 'CodeHostAccount', id: string }
        | { __typename: 'ConnectedService', id: string }
        | { __typename: 'Database', id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, createdAt: string, databaseStatus: DatabaseStatus }
        | { __typename: 'DatabaseRestore', id: string, databaseId: string, error: string | null, createdAt: string, finishedAt: string | null, restoreStatus: DatabaseRestoreStatus, progress: { step: DatabaseRestoreStep, backupBytes: string, loadedBytes: string } }
        | { __typename: 'Deployment', id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus }
        | { __typename: 'DeploymentRun', id: string, deployment: { id: string } | null }
        | { __typename: 'Domain', id: string, name: string, path: string, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, checkedAt: string | null, createdAt: string, domainStatus: DomainStatus }
        | { __typename: 'Environment', id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus }
        | { __typename: 'File', id: string }
        | { __typename: 'Folder', id: string }
        | { __typename: 'Function', id: string, name: string, statusReason: string | null, url: string, createdAt: string, functionStatus: FunctionStatus, currentVersion: { id: string, number: number } | null }
        | { __typename: 'FunctionVersion', id: string }
        | { __typename: 'Group', id: string }
        | { __typename: 'GroupMessage', id: string }
        | { __typename: 'GroupRun', id: string }
        | { __typename: 'InferenceRequest', id: string }
        | { __typename: 'Invitation', id: string }
        | { __typename: 'Machine', id: string }
        | { __typename: 'Member', id: string, role: Role, email: string | null, createdAt: string, user: { id: string, name: string } | null }
        | { __typename: 'Memory', id: string }
        | { __typename: 'Model', id: string }
        | { __typename: 'Organization', id: string }
        | { __typename: 'PeerExchange', requesterSessionId: string, responderSessionId: string, id: string }
        | { __typename: 'Project', id: string, name: string, createdAt: string, updatedAt: string, createdBy: { id: string, name: string } | null }
        | { __typename: 'Proxy', id: string }
        | { __typename: 'Schedule', id: string, cron: string, timezone: string, isEnabled: boolean, lastError: string | null, failures: number, lastRunAt: string | null, nextRunAt: string | null, deploymentId: string | null, ownAgentId: string | null }
        | { __typename: 'ScheduleRun', id: string }
        | { __typename: 'Session', id: string, title: string | null, agentId: string, deploymentId: string | null, environmentId: string | null, createdAt: string, updatedAt: string, sessionStatus: SessionStatus, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } } }
        | { __typename: 'Skill', id: string }
        | { __typename: 'SkillVersion', id: string }
        | { __typename: 'Template', id: string, name: string, isReady: boolean, createdAt: string, replacedAt: string | null, buildId: string | null, content: string, diskBytes: string | null, organization: { id: string } | null }
        | { __typename: 'Terminal', id: string }
        | { __typename: 'Trigger', id: string, repo: string, isEnabled: boolean, lastFiredAt: string | null, createdAt: string, deploymentId: string | null, agentId: string }
        | { __typename: 'TriggerFire', triggerId: string, id: string }
        | { __typename: 'User', id: string }
        | { __typename: 'Vault', id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null }
        | { __typename: 'VaultCredential', id: string }
        | { __typename: 'Vm', id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null }
        | { __typename: 'VmProcess', id: string }
        | { __typename: 'WebhookDelivery', id: string }
        | { __typename: 'WebhookEndpoint', id: string, url: string, description: string | null, eventTypes: Array<WebhookEventType> | null, isEnabled: boolean, disabledReason: WebhookDisabledReason | null, failuresInARow: number, lastProblem: string | null, createdAt: string }
        | { __typename: 'WebhookEvent', id: string }
       | null }
   };

export type AuditVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: AuditEventFilter | null | undefined;
}>;


export type Audit = { auditEvents: { totalCount: number, nodes: Array<{ id: string, at: string, operation: string, nodeType: AuditNodeType, nodeId: string, nodeName: string | null, address: string | null, requestId: string, actor: { kind: AuditActorKind, name: string | null } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type KickoffShown = { text: string | null, events: Array<
    | { __typename: 'KickoffMessage', content: Array<
        | { __typename: 'DocumentBlock' }
        | { __typename: 'ImageBlock' }
        | { __typename: 'TextBlock', text: string }
      > }
    | { __typename: 'KickoffOutcome', description: string, rubric: string }
    | { __typename: 'KickoffSystemMessage', content: Array<
        | { __typename: 'DocumentBlock' }
        | { __typename: 'ImageBlock' }
        | { __typename: 'TextBlock', text: string }
      > }
  > };

export type BuildRow = { id: string, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null, buildStatus: BuildStatus };

export type BuildsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: BuildFilter | null | undefined;
}>;


export type Builds = { builds: { totalCount: number, nodes: Array<{ id: string, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null, buildStatus: BuildStatus }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type BuildVariables = Exact<{
  id: string | number;
}>;


export type Build = { build: { failingStep: number | null, isCancelRequested: boolean, vcpuCount: number, memoryMb: number, id: string, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null, buildStatus: BuildStatus, output: { type: BuildOutputType, name: string, sizeBytes: string, url: string | null } | null } | null };

export type BuildLogVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type BuildLog = { buildLogEvents:
    | { __typename: 'BuildLogEntry', id: string, output: string, isDone: boolean }
    | { __typename: 'Heartbeat' }
   };

export type CreateBuildVariables = Exact<{
  input: CreateBuildInput;
}>;


export type CreateBuild = { createBuild: { build: { id: string, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null, buildStatus: BuildStatus } } | null };

export type CancelBuildVariables = Exact<{
  input: CancelBuildInput;
}>;


export type CancelBuild = { cancelBuild: { build: { id: string, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null, buildStatus: BuildStatus } } | null };

export type DatabaseRow = { id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, createdAt: string, databaseStatus: DatabaseStatus };

export type BackupRow = { id: string, error: string | null, sizeBytes: string, triggeredBy: BackupTrigger, createdAt: string, completedAt: string | null, verifiedAt: string | null, databaseId: string, backupStatus: BackupStatus };

export type DatabasesVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: DatabaseFilter | null | undefined;
}>;


export type Databases = { databases: { totalCount: number, nodes: Array<{ id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, createdAt: string, databaseStatus: DatabaseStatus }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type DatabasePlace = { id: string, networkName: string | null, project: { id: string, name: string } | null };

export type DatabaseVariables = Exact<{
  id: string | number;
}>;


export type Database = { database: { host: string, connectionUri: string, pgDatabase: string, pgUser: string, isClientModeEnabled: boolean, sleepAfterSeconds: number | null, id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, createdAt: string, networkName: string | null, databaseStatus: DatabaseStatus, backups: { totalCount: number, nodes: Array<{ id: string, error: string | null, sizeBytes: string, triggeredBy: BackupTrigger, createdAt: string, completedAt: string | null, verifiedAt: string | null, databaseId: string, backupStatus: BackupStatus }> } | null, project: { id: string, name: string } | null } | null };

export type CreateDatabaseVariables = Exact<{
  input: CreateDatabaseInput;
}>;


export type CreateDatabase = { createDatabase: { database: { id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, createdAt: string, databaseStatus: DatabaseStatus }, credentials: { connectionUri: string } } | null };

export type MoveDatabaseToProjectVariables = Exact<{
  input: MoveDatabaseToProjectInput;
}>;


export type MoveDatabaseToProject = { moveDatabaseToProject: { database: { id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, createdAt: string, networkName: string | null, databaseStatus: DatabaseStatus, project: { id: string, name: string } | null } } | null };

export type DeleteDatabaseVariables = Exact<{
  input: DeleteDatabaseInput;
}>;


export type DeleteDatabase = { deleteDatabase: { deletedId: string } | null };

export type RotateDatabaseTokenVariables = Exact<{
  input: RotateDatabaseTokenInput;
}>;


export type RotateDatabaseToken = { rotateDatabaseToken: { database: { id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, createdAt: string, databaseStatus: DatabaseStatus }, credentials: { connectionUri: string } } | null };

export type RunSqlVariables = Exact<{
  input: RunSqlInput;
}>;


export type RunSql = { runSql: { result: { command: string | null, rowCount: number | null, rows: unknown, columns: Array<{ name: string }> } | null, failure: { message: string, detail: string | null, hint: string | null, position: number | null, sqlState: string | null } | null } | null };

export type CreateBackupVariables = Exact<{
  input: CreateBackupInput;
}>;


export type CreateBackup = { createBackup: { backup: { id: string, error: string | null, sizeBytes: string, triggeredBy: BackupTrigger, createdAt: string, completedAt: string | null, verifiedAt: string | null, databaseId: string, backupStatus: BackupStatus } } | null };

export type RestoreRow = { id: string, databaseId: string, error: string | null, createdAt: string, finishedAt: string | null, restoreStatus: DatabaseRestoreStatus, progress: { step: DatabaseRestoreStep, backupBytes: string, loadedBytes: string } };

export type RestoresVariables = Exact<{
  id: string | number;
}>;


export type Restores = { database: { id: string, restores: { nodes: Array<{ id: string, databaseId: string, error: string | null, createdAt: string, finishedAt: string | null, restoreStatus: DatabaseRestoreStatus, progress: { step: DatabaseRestoreStep, backupBytes: string, loadedBytes: string } }> } | null } | null };

export type RestoreBackupVariables = Exact<{
  input: RestoreBackupInput;
}>;


export type RestoreBackup = { restoreBackup: { databaseRestore: { id: string, databaseId: string, error: string | null, createdAt: string, finishedAt: string | null, restoreStatus: DatabaseRestoreStatus, progress: { step: DatabaseRestoreStep, backupBytes: string, loadedBytes: string } } } | null };

export type TablesVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
  filter?: DatabaseTableFilter | null | undefined;
}>;


export type Tables = { database: { id: string, tables: { totalCount: number, nodes: Array<{ schema: string, name: string, kind: DatabaseTableKind, estimatedRows: string | null, sizeBytes: string | null, comment: string | null, columns: Array<{ name: string, type: string, isNullable: boolean, isPrimaryKey: boolean, default: string | null }> }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null } | null };

export type TableRow = { schema: string, name: string, kind: DatabaseTableKind, estimatedRows: string | null, sizeBytes: string | null, comment: string | null, columns: Array<{ name: string, type: string, isNullable: boolean, isPrimaryKey: boolean, default: string | null }> };

export type DeploymentRow = { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus };

export type DeploymentDetails = { description: string | null, vaultIds: Array<string>, id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus, pausedReason:
    | { __typename: 'PausedByError', error: { type: StartErrorType } }
    | { __typename: 'PausedByOwner' }
   | null, agentReference: { id: string, version: number | null }, agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, budget: { maxListCost: { amount: string, currency: string } } | null, environment:
    | { __typename: 'EphemeralEnvironment', config:
        | { __typename: 'SelfHostedEnvironmentConfig' }
        | { __typename: 'VmEnvironmentConfig', vcpuCount: number, memoryMb: number, idleTimeoutSeconds: number, templateId: string | null, setupScript: string | null, gitRepos: Array<{ url: string, branch: string | null, path: string }>, packages: { apt: Array<string>, cargo: Array<string>, gem: Array<string>, go: Array<string>, npm: Array<string>, pip: Array<string> }, networking:
            | { __typename: 'LimitedNetworking', allowedHosts: Array<string>, allowMcpServers: boolean, allowPackageManagers: boolean }
            | { __typename: 'UnrestrictedNetworking' }
           }
       | null }
    | { __typename: 'ExistingEnvironment', environmentId: string, environment: { id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus } | null }
    | { __typename: 'NoEnvironment' }
  , kickoff: { text: string | null, events: Array<
      | { __typename: 'KickoffMessage', content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > }
      | { __typename: 'KickoffOutcome', description: string, rubric: string }
      | { __typename: 'KickoffSystemMessage', content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > }
    > }, vaults: Array<{ id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null }> | null };

export type DeploymentRunRow = { id: string, deploymentId: string, createdAt: string, sessionId: string | null, error: { message: string } | null, trigger:
    | { __typename: 'ManualRun' }
    | { __typename: 'ScheduledRun', scheduleId: string | null }
    | { __typename: 'TriggeredRun', triggerId: string | null }
   };

export type DeploymentsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: DeploymentFilter | null | undefined;
}>;


export type Deployments = { deployments: { totalCount: number, nodes: Array<{ id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type DeploymentVariables = Exact<{
  id: string | number;
}>;


export type Deployment = { deployment: { description: string | null, vaultIds: Array<string>, id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus, runs: { totalCount: number, nodes: Array<{ id: string, deploymentId: string, createdAt: string, sessionId: string | null, error: { message: string } | null, trigger:
          | { __typename: 'ManualRun' }
          | { __typename: 'ScheduledRun', scheduleId: string | null }
          | { __typename: 'TriggeredRun', triggerId: string | null }
         }> } | null, sessions: { totalCount: number, nodes: Array<{ id: string, title: string | null, agentId: string, deploymentId: string | null, environmentId: string | null, createdAt: string, updatedAt: string, sessionStatus: SessionStatus, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } } }> } | null, schedules: { totalCount: number, nodes: Array<{ id: string, cron: string, timezone: string, isEnabled: boolean, lastError: string | null, failures: number, lastRunAt: string | null, nextRunAt: string | null, deploymentId: string | null, ownAgentId: string | null }> } | null, triggers: { totalCount: number, nodes: Array<{ id: string, repo: string, isEnabled: boolean, lastFiredAt: string | null, createdAt: string, deploymentId: string | null, agentId: string }> } | null, pausedReason:
      | { __typename: 'PausedByError', error: { type: StartErrorType } }
      | { __typename: 'PausedByOwner' }
     | null, agentReference: { id: string, version: number | null }, agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, budget: { maxListCost: { amount: string, currency: string } } | null, environment:
      | { __typename: 'EphemeralEnvironment', config:
          | { __typename: 'SelfHostedEnvironmentConfig' }
          | { __typename: 'VmEnvironmentConfig', vcpuCount: number, memoryMb: number, idleTimeoutSeconds: number, templateId: string | null, setupScript: string | null, gitRepos: Array<{ url: string, branch: string | null, path: string }>, packages: { apt: Array<string>, cargo: Array<string>, gem: Array<string>, go: Array<string>, npm: Array<string>, pip: Array<string> }, networking:
              | { __typename: 'LimitedNetworking', allowedHosts: Array<string>, allowMcpServers: boolean, allowPackageManagers: boolean }
              | { __typename: 'UnrestrictedNetworking' }
             }
         | null }
      | { __typename: 'ExistingEnvironment', environmentId: string, environment: { id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus } | null }
      | { __typename: 'NoEnvironment' }
    , kickoff: { text: string | null, events: Array<
        | { __typename: 'KickoffMessage', content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'KickoffOutcome', description: string, rubric: string }
        | { __typename: 'KickoffSystemMessage', content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
      > }, vaults: Array<{ id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null }> | null } | null };

export type CreateDeploymentVariables = Exact<{
  input: CreateDeploymentInput;
}>;


export type CreateDeployment = { createDeployment: { deployment: { description: string | null, vaultIds: Array<string>, id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus, pausedReason:
        | { __typename: 'PausedByError', error: { type: StartErrorType } }
        | { __typename: 'PausedByOwner' }
       | null, agentReference: { id: string, version: number | null }, agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, budget: { maxListCost: { amount: string, currency: string } } | null, environment:
        | { __typename: 'EphemeralEnvironment', config:
            | { __typename: 'SelfHostedEnvironmentConfig' }
            | { __typename: 'VmEnvironmentConfig', vcpuCount: number, memoryMb: number, idleTimeoutSeconds: number, templateId: string | null, setupScript: string | null, gitRepos: Array<{ url: string, branch: string | null, path: string }>, packages: { apt: Array<string>, cargo: Array<string>, gem: Array<string>, go: Array<string>, npm: Array<string>, pip: Array<string> }, networking:
                | { __typename: 'LimitedNetworking', allowedHosts: Array<string>, allowMcpServers: boolean, allowPackageManagers: boolean }
                | { __typename: 'UnrestrictedNetworking' }
               }
           | null }
        | { __typename: 'ExistingEnvironment', environmentId: string, environment: { id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus } | null }
        | { __typename: 'NoEnvironment' }
      , kickoff: { text: string | null, events: Array<
          | { __typename: 'KickoffMessage', content: Array<
              | { __typename: 'DocumentBlock' }
              | { __typename: 'ImageBlock' }
              | { __typename: 'TextBlock', text: string }
            > }
          | { __typename: 'KickoffOutcome', description: string, rubric: string }
          | { __typename: 'KickoffSystemMessage', content: Array<
              | { __typename: 'DocumentBlock' }
              | { __typename: 'ImageBlock' }
              | { __typename: 'TextBlock', text: string }
            > }
        > }, vaults: Array<{ id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null }> | null } } | null };

export type UpdateDeploymentVariables = Exact<{
  input: UpdateDeploymentInput;
}>;


export type UpdateDeployment = { updateDeployment: { deployment: { description: string | null, vaultIds: Array<string>, id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus, pausedReason:
        | { __typename: 'PausedByError', error: { type: StartErrorType } }
        | { __typename: 'PausedByOwner' }
       | null, agentReference: { id: string, version: number | null }, agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, budget: { maxListCost: { amount: string, currency: string } } | null, environment:
        | { __typename: 'EphemeralEnvironment', config:
            | { __typename: 'SelfHostedEnvironmentConfig' }
            | { __typename: 'VmEnvironmentConfig', vcpuCount: number, memoryMb: number, idleTimeoutSeconds: number, templateId: string | null, setupScript: string | null, gitRepos: Array<{ url: string, branch: string | null, path: string }>, packages: { apt: Array<string>, cargo: Array<string>, gem: Array<string>, go: Array<string>, npm: Array<string>, pip: Array<string> }, networking:
                | { __typename: 'LimitedNetworking', allowedHosts: Array<string>, allowMcpServers: boolean, allowPackageManagers: boolean }
                | { __typename: 'UnrestrictedNetworking' }
               }
           | null }
        | { __typename: 'ExistingEnvironment', environmentId: string, environment: { id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus } | null }
        | { __typename: 'NoEnvironment' }
      , kickoff: { text: string | null, events: Array<
          | { __typename: 'KickoffMessage', content: Array<
              | { __typename: 'DocumentBlock' }
              | { __typename: 'ImageBlock' }
              | { __typename: 'TextBlock', text: string }
            > }
          | { __typename: 'KickoffOutcome', description: string, rubric: string }
          | { __typename: 'KickoffSystemMessage', content: Array<
              | { __typename: 'DocumentBlock' }
              | { __typename: 'ImageBlock' }
              | { __typename: 'TextBlock', text: string }
            > }
        > }, vaults: Array<{ id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null }> | null } } | null };

export type PauseDeploymentVariables = Exact<{
  input: PauseDeploymentInput;
}>;


export type PauseDeployment = { pauseDeployment: { deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } } | null };

export type ResumeDeploymentVariables = Exact<{
  input: ResumeDeploymentInput;
}>;


export type ResumeDeployment = { resumeDeployment: { deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } } | null };

export type ArchiveDeploymentVariables = Exact<{
  input: ArchiveDeploymentInput;
}>;


export type ArchiveDeployment = { archiveDeployment: { deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } } | null };

export type DeleteDeploymentVariables = Exact<{
  input: DeleteDeploymentInput;
}>;


export type DeleteDeployment = { deleteDeployment: { deletedId: string } | null };

export type RunDeploymentVariables = Exact<{
  input: RunDeploymentInput;
}>;


export type RunDeployment = { runDeployment: { deploymentRun: { id: string, deploymentId: string, createdAt: string, sessionId: string | null, error: { message: string } | null, trigger:
        | { __typename: 'ManualRun' }
        | { __typename: 'ScheduledRun', scheduleId: string | null }
        | { __typename: 'TriggeredRun', triggerId: string | null }
       } | null } | null };

export type DomainRow = { id: string, name: string, path: string, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, checkedAt: string | null, createdAt: string, domainStatus: DomainStatus };

export type DomainsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: DomainFilter | null | undefined;
}>;


export type Domains = { domains: { totalCount: number, nodes: Array<{ id: string, name: string, path: string, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, checkedAt: string | null, createdAt: string, domainStatus: DomainStatus }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type DomainVariables = Exact<{
  id: string | number;
}>;


export type Domain = { domain: { instructions: string, nextCheckAt: string | null, id: string, name: string, path: string, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, checkedAt: string | null, createdAt: string, domainStatus: DomainStatus, records: Array<{ name: string, type: DomainRecordType, purpose: DomainRecordPurpose, expected: string, seen: Array<string>, isRight: boolean, reason: string | null, checkedAt: string | null }>, certificate: { status: CertificateStatus, reason: string | null, notAfter: string | null } | null } | null };

export type DnsRecord = { name: string, type: DomainRecordType, purpose: DomainRecordPurpose, expected: string, seen: Array<string>, isRight: boolean, reason: string | null, checkedAt: string | null };

export type CreateDomainVariables = Exact<{
  input: CreateDomainInput;
}>;


export type CreateDomain = { createDomain: { domain: { id: string, name: string, path: string, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, checkedAt: string | null, createdAt: string, domainStatus: DomainStatus } } | null };

export type CheckDomainVariables = Exact<{
  input: CheckDomainInput;
}>;


export type CheckDomain = { checkDomain: { domain: { nextCheckAt: string | null, id: string, name: string, path: string, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, checkedAt: string | null, createdAt: string, domainStatus: DomainStatus, records: Array<{ name: string, type: DomainRecordType, purpose: DomainRecordPurpose, expected: string, seen: Array<string>, isRight: boolean, reason: string | null, checkedAt: string | null }> } } | null };

export type DeleteDomainVariables = Exact<{
  input: DeleteDomainInput;
}>;


export type DeleteDomain = { deleteDomain: { deletedId: string } | null };

export type DomainTargetsVariables = Exact<{ [key: string]: never; }>;


export type DomainTargets = { vms: { nodes: Array<{ id: string, name: string }> } | null, functions: { nodes: Array<{ id: string, name: string }> } | null };

export type ActivateDomainVariables = Exact<{
  input: ActivateDomainInput;
}>;


export type ActivateDomain = { activateDomain: { domain: { id: string, name: string, path: string, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, checkedAt: string | null, createdAt: string, domainStatus: DomainStatus, records: Array<{ name: string, type: DomainRecordType, purpose: DomainRecordPurpose, expected: string, seen: Array<string>, isRight: boolean, reason: string | null, checkedAt: string | null }> } } | null };

export type LinkDomainVariables = Exact<{
  input: LinkDomainInput;
}>;


export type LinkDomain = { linkDomain: { domain: { id: string, name: string, path: string, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, checkedAt: string | null, createdAt: string, domainStatus: DomainStatus } } | null };

export type UnlinkDomainVariables = Exact<{
  input: UnlinkDomainInput;
}>;


export type UnlinkDomain = { unlinkDomain: { domain: { id: string, name: string, path: string, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, checkedAt: string | null, createdAt: string, domainStatus: DomainStatus } } | null };

export type EnvironmentRow = { id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus };

export type MachineConfig = { vcpuCount: number, memoryMb: number, idleTimeoutSeconds: number, templateId: string | null, setupScript: string | null, gitRepos: Array<{ url: string, branch: string | null, path: string }>, packages: { apt: Array<string>, cargo: Array<string>, gem: Array<string>, go: Array<string>, npm: Array<string>, pip: Array<string> }, networking:
    | { __typename: 'LimitedNetworking', allowedHosts: Array<string>, allowMcpServers: boolean, allowPackageManagers: boolean }
    | { __typename: 'UnrestrictedNetworking' }
   };

export type EnvironmentDetails = { vmId: string | null, updatedAt: string, id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus, config:
    | { __typename: 'SelfHostedEnvironmentConfig' }
    | { __typename: 'VmEnvironmentConfig', vcpuCount: number, memoryMb: number, idleTimeoutSeconds: number, templateId: string | null, setupScript: string | null, gitRepos: Array<{ url: string, branch: string | null, path: string }>, packages: { apt: Array<string>, cargo: Array<string>, gem: Array<string>, go: Array<string>, npm: Array<string>, pip: Array<string> }, networking:
        | { __typename: 'LimitedNetworking', allowedHosts: Array<string>, allowMcpServers: boolean, allowPackageManagers: boolean }
        | { __typename: 'UnrestrictedNetworking' }
       }
   };

export type EnvironmentsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: EnvironmentFilter | null | undefined;
}>;


export type Environments = { environments: { totalCount: number, nodes: Array<{ id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type EnvironmentVariables = Exact<{
  id: string | number;
}>;


export type Environment = { environment: { vmId: string | null, updatedAt: string, id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus, sessions: { totalCount: number, nodes: Array<{ id: string, title: string | null, agentId: string, deploymentId: string | null, environmentId: string | null, createdAt: string, updatedAt: string, sessionStatus: SessionStatus, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } } }> } | null, config:
      | { __typename: 'SelfHostedEnvironmentConfig' }
      | { __typename: 'VmEnvironmentConfig', vcpuCount: number, memoryMb: number, idleTimeoutSeconds: number, templateId: string | null, setupScript: string | null, gitRepos: Array<{ url: string, branch: string | null, path: string }>, packages: { apt: Array<string>, cargo: Array<string>, gem: Array<string>, go: Array<string>, npm: Array<string>, pip: Array<string> }, networking:
          | { __typename: 'LimitedNetworking', allowedHosts: Array<string>, allowMcpServers: boolean, allowPackageManagers: boolean }
          | { __typename: 'UnrestrictedNetworking' }
         }
     } | null };

export type CreateEnvironmentVariables = Exact<{
  input: CreateEnvironmentInput;
}>;


export type CreateEnvironment = { createEnvironment: { environment: { vmId: string | null, updatedAt: string, id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus, config:
        | { __typename: 'SelfHostedEnvironmentConfig' }
        | { __typename: 'VmEnvironmentConfig', vcpuCount: number, memoryMb: number, idleTimeoutSeconds: number, templateId: string | null, setupScript: string | null, gitRepos: Array<{ url: string, branch: string | null, path: string }>, packages: { apt: Array<string>, cargo: Array<string>, gem: Array<string>, go: Array<string>, npm: Array<string>, pip: Array<string> }, networking:
            | { __typename: 'LimitedNetworking', allowedHosts: Array<string>, allowMcpServers: boolean, allowPackageManagers: boolean }
            | { __typename: 'UnrestrictedNetworking' }
           }
       } } | null };

export type UpdateEnvironmentVariables = Exact<{
  input: UpdateEnvironmentInput;
}>;


export type UpdateEnvironment = { updateEnvironment: { environment: { vmId: string | null, updatedAt: string, id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus, config:
        | { __typename: 'SelfHostedEnvironmentConfig' }
        | { __typename: 'VmEnvironmentConfig', vcpuCount: number, memoryMb: number, idleTimeoutSeconds: number, templateId: string | null, setupScript: string | null, gitRepos: Array<{ url: string, branch: string | null, path: string }>, packages: { apt: Array<string>, cargo: Array<string>, gem: Array<string>, go: Array<string>, npm: Array<string>, pip: Array<string> }, networking:
            | { __typename: 'LimitedNetworking', allowedHosts: Array<string>, allowMcpServers: boolean, allowPackageManagers: boolean }
            | { __typename: 'UnrestrictedNetworking' }
           }
       } } | null };

export type ArchiveEnvironmentVariables = Exact<{
  input: ArchiveEnvironmentInput;
}>;


export type ArchiveEnvironment = { archiveEnvironment: { environment: { id: string, name: string, description: string | null, statusReason: string | null, createdAt: string, archivedAt: string | null, environmentStatus: EnvironmentStatus } } | null };

export type DeleteEnvironmentVariables = Exact<{
  input: DeleteEnvironmentInput;
}>;


export type DeleteEnvironment = { deleteEnvironment: { deletedId: string } | null };

export type FileRow = { id: string, filename: string, mimeType: string, sizeBytes: string, createdAt: string, expiresAt: string | null, sha256: string };

export type FolderRow = { id: string, name: string, sizeMb: number, createdAt: string, vmId: string | null, createdBy: { id: string, name: string } | null };

export type FilesVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Files = { files: { totalCount: number, nodes: Array<{ id: string, filename: string, mimeType: string, sizeBytes: string, createdAt: string, expiresAt: string | null, sha256: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type FileVariables = Exact<{
  id: string | number;
}>;


export type File = { file: { id: string, filename: string, mimeType: string, sizeBytes: string, createdAt: string, expiresAt: string | null, sha256: string } | null };

export type FoldersVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Folders = { folders: { totalCount: number, nodes: Array<{ id: string, name: string, sizeMb: number, createdAt: string, vmId: string | null, createdBy: { id: string, name: string } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type CreateUploadVariables = Exact<{
  input: CreateUploadInput;
}>;


export type CreateUpload = { createUpload: { upload: { uploadUrl: string, binaryUrl: string } } | null };

export type CreateFileVariables = Exact<{
  input: CreateFileInput;
}>;


export type CreateFile = { createFile: { file: { id: string, filename: string, mimeType: string, sizeBytes: string, createdAt: string, expiresAt: string | null, sha256: string } } | null };

export type DeleteFileVariables = Exact<{
  input: DeleteFileInput;
}>;


export type DeleteFile = { deleteFile: { deletedId: string } | null };

export type DeleteFolderVariables = Exact<{
  input: DeleteFolderInput;
}>;


export type DeleteFolder = { deleteFolder: { deletedId: string } | null };

export type FunctionRow = { id: string, name: string, statusReason: string | null, url: string, createdAt: string, functionStatus: FunctionStatus, currentVersion: { id: string, number: number } | null };

export type FunctionsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: FunctionFilter | null | undefined;
}>;


export type Functions = { functions: { totalCount: number, nodes: Array<{ id: string, name: string, statusReason: string | null, url: string, createdAt: string, functionStatus: FunctionStatus, currentVersion: { id: string, number: number } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type FunctionVariables = Exact<{
  id: string | number;
}>;


export type Function = { function: { failures: number, idleSeconds: number, memoryMb: number, vcpuCount: number, id: string, name: string, statusReason: string | null, url: string, createdAt: string, functionStatus: FunctionStatus, versions: { nodes: Array<{ id: string, number: number, createdAt: string, startCommand: string | null, port: number }> }, currentVersion: { id: string, number: number } | null } | null };

export type FunctionLogVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type FunctionLog = { functionLogEvents:
    | { __typename: 'FunctionLogEntry', cursor: string, at: string, output: string, versionNumber: number | null }
    | { __typename: 'Heartbeat' }
   };

export type RollBackFunctionVariables = Exact<{
  input: RollBackFunctionInput;
}>;


export type RollBackFunction = { rollBackFunction: { function: { id: string, name: string, statusReason: string | null, url: string, createdAt: string, functionStatus: FunctionStatus, currentVersion: { id: string, number: number } | null } } | null };

export type DeleteFunctionVariables = Exact<{
  input: DeleteFunctionInput;
}>;


export type DeleteFunction = { deleteFunction: { deletedId: string } | null };

export type DeployableBuildsVariables = Exact<{ [key: string]: never; }>;


export type DeployableBuilds = { builds: { nodes: Array<{ id: string, repoUrl: string | null, finishedAt: string | null }> } | null };

export type CreateFunctionVariables = Exact<{
  input: CreateFunctionInput;
}>;


export type CreateFunction = { createFunction: { function: { id: string, name: string, statusReason: string | null, url: string, createdAt: string, functionStatus: FunctionStatus, currentVersion: { id: string, number: number } | null } } | null };

export type DeployFunctionVariables = Exact<{
  input: DeployFunctionInput;
}>;


export type DeployFunction = { deployFunction: { function: { id: string, name: string, statusReason: string | null, url: string, createdAt: string, functionStatus: FunctionStatus, currentVersion: { id: string, number: number } | null } } | null };

export type UpdateFunctionVariables = Exact<{
  input: UpdateFunctionInput;
}>;


export type UpdateFunction = { updateFunction: { function: { idleSeconds: number, memoryMb: number, vcpuCount: number, id: string, name: string, statusReason: string | null, url: string, createdAt: string, functionStatus: FunctionStatus, currentVersion: { id: string, number: number } | null } } | null };

export type StartFunctionVariables = Exact<{
  input: StartFunctionInput;
}>;


export type StartFunction = { startFunction: { function: { id: string, name: string, statusReason: string | null, url: string, createdAt: string, functionStatus: FunctionStatus, currentVersion: { id: string, number: number } | null } } | null };

export type GroupRow = { id: string, name: string, description: string | null, memberIds: Array<string>, revision: number, createdAt: string, updatedAt: string };

export type GroupRunRow = { id: string, groupId: string, sessionId: string, messageId: string, createdAt: string, finishedAt: string | null, runStatus: GroupRunStatus, error: { message: string } | null, reply: { text: string } | null, pendingApprovals: Array<{ approvalId: string, toolName: string, input: unknown }>, pendingQuestions: Array<{ toolCallId: string, question: string, options: Array<string> | null }> };

export type GroupMessageRow = { id: string, sequence: number, text: string, createdAt: string, undeliveredReason: GroupUndeliveredReason | null, author:
    | { type: GroupMessageAuthorType, handle: string }
    | { type: GroupMessageAuthorType, handle: string }
   };

export type GroupsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Groups = { groups: { totalCount: number, nodes: Array<{ id: string, name: string, description: string | null, memberIds: Array<string>, revision: number, createdAt: string, updatedAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type GroupVariables = Exact<{
  id: string | number;
}>;


export type Group = { group: { id: string, name: string, description: string | null, memberIds: Array<string>, revision: number, createdAt: string, updatedAt: string, members: Array<{ handle: string, displayName: string, sessionId: string, agentId: string, memberStatus: GroupMemberStatus }>, messages: { totalCount: number, nodes: Array<{ id: string, sequence: number, text: string, createdAt: string, undeliveredReason: GroupUndeliveredReason | null, author:
          | { type: GroupMessageAuthorType, handle: string }
          | { type: GroupMessageAuthorType, handle: string }
         }> } | null, runs: { totalCount: number, nodes: Array<{ id: string, groupId: string, sessionId: string, messageId: string, createdAt: string, finishedAt: string | null, runStatus: GroupRunStatus, error: { message: string } | null, reply: { text: string } | null, pendingApprovals: Array<{ approvalId: string, toolName: string, input: unknown }>, pendingQuestions: Array<{ toolCallId: string, question: string, options: Array<string> | null }> }> } | null } | null };

export type GroupSessionsVariables = Exact<{ [key: string]: never; }>;


export type GroupSessions = { sessions: { totalCount: number, nodes: Array<{ id: string, title: string | null, agentId: string, deploymentId: string | null, environmentId: string | null, createdAt: string, updatedAt: string, sessionStatus: SessionStatus, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type CreateGroupVariables = Exact<{
  input: CreateGroupInput;
}>;


export type CreateGroup = { createGroup: { group: { id: string, name: string, description: string | null, memberIds: Array<string>, revision: number, createdAt: string, updatedAt: string } } | null };

export type UpdateGroupVariables = Exact<{
  input: UpdateGroupInput;
}>;


export type UpdateGroup = { updateGroup: { group: { id: string, name: string, description: string | null, memberIds: Array<string>, revision: number, createdAt: string, updatedAt: string } } | null };

export type DeleteGroupVariables = Exact<{
  input: DeleteGroupInput;
}>;


export type DeleteGroup = { deleteGroup: { deletedId: string } | null };

export type SendGroupMessageVariables = Exact<{
  input: SendGroupMessageInput;
}>;


export type SendGroupMessage = { sendGroupMessage: { groupMessage: { id: string, sequence: number, text: string, createdAt: string, undeliveredReason: GroupUndeliveredReason | null, author:
        | { type: GroupMessageAuthorType, handle: string }
        | { type: GroupMessageAuthorType, handle: string }
       } } | null };

export type StopGroupRunVariables = Exact<{
  input: StopGroupRunInput;
}>;


export type StopGroupRun = { stopGroupRun: { groupRun: { id: string, groupId: string, sessionId: string, messageId: string, createdAt: string, finishedAt: string | null, runStatus: GroupRunStatus, error: { message: string } | null, reply: { text: string } | null, pendingApprovals: Array<{ approvalId: string, toolName: string, input: unknown }>, pendingQuestions: Array<{ toolCallId: string, question: string, options: Array<string> | null }> } } | null };

export type AnswerGroupApprovalVariables = Exact<{
  input: AnswerGroupApprovalInput;
}>;


export type AnswerGroupApproval = { answerGroupApproval: { groupRun: { id: string, groupId: string, sessionId: string, messageId: string, createdAt: string, finishedAt: string | null, runStatus: GroupRunStatus, error: { message: string } | null, reply: { text: string } | null, pendingApprovals: Array<{ approvalId: string, toolName: string, input: unknown }>, pendingQuestions: Array<{ toolCallId: string, question: string, options: Array<string> | null }> } } | null };

export type AnswerGroupQuestionVariables = Exact<{
  input: AnswerGroupQuestionInput;
}>;


export type AnswerGroupQuestion = { answerGroupQuestion: { groupRun: { id: string, groupId: string, sessionId: string, messageId: string, createdAt: string, finishedAt: string | null, runStatus: GroupRunStatus, error: { message: string } | null, reply: { text: string } | null, pendingApprovals: Array<{ approvalId: string, toolName: string, input: unknown }>, pendingQuestions: Array<{ toolCallId: string, question: string, options: Array<string> | null }> } } | null };

export type HomeVariables = Exact<{ [key: string]: never; }>;


export type Home = { waiting: { totalCount: number, nodes: Array<{ id: string, title: string | null, agentId: string, deploymentId: string | null, environmentId: string | null, createdAt: string, updatedAt: string, sessionStatus: SessionStatus, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } } }> } | null, running: { totalCount: number, nodes: Array<{ id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null }> } | null, databases: { totalCount: number } | null, agents: { totalCount: number } | null, builds: { totalCount: number, nodes: Array<{ id: string, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null, buildStatus: BuildStatus }> } | null };

export type RunSandboxVariables = Exact<{
  input: RunSandboxInput;
}>;


export type RunSandbox = { runSandbox: { sandbox: { command: { exitCode: number, stdout: string, stderr: string } } } | null };

export type HostVariables = Exact<{ [key: string]: never; }>;


export type Host = { instance: { version: string, hasLocalSignIn: boolean, signInProviders: Array<string>, issuers: Array<string>, canSendMail: boolean, limits: { pageSizeMax: number, operationObjectsMax: number, requestsPerMinute: number, createsPerMinute: number, imageBytesMax: number, documentBytesMax: number } } | null };

export type MachinesVariables = Exact<{ [key: string]: never; }>;


export type Machines = { machines: { totalCount: number, nodes: Array<{ id: string, name: string, acceleration: Acceleration | null, unavailableReason: string | null, lastSeenAt: string }> } | null };

export type MemoryRow = { id: string, body: string, category: MemoryCategory | null, revision: number, createdAt: string, updatedAt: string, organizationId: string | null, sourceSessionId: string | null, actor: { type: MemoryActorType } };

export type MemoriesVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: MemoryFilter | null | undefined;
}>;


export type Memories = { memories: { totalCount: number, nodes: Array<{ id: string, body: string, category: MemoryCategory | null, revision: number, createdAt: string, updatedAt: string, organizationId: string | null, sourceSessionId: string | null, actor: { type: MemoryActorType } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type MemoryVariables = Exact<{
  id: string | number;
}>;


export type Memory = { memory: { id: string, body: string, category: MemoryCategory | null, revision: number, createdAt: string, updatedAt: string, organizationId: string | null, sourceSessionId: string | null, actor: { type: MemoryActorType } } | null };

export type MemorySettingsVariables = Exact<{ [key: string]: never; }>;


export type MemorySettings = { memorySettings: { useMemories: boolean } | null };

export type CreateMemoryVariables = Exact<{
  input: CreateMemoryInput;
}>;


export type CreateMemory = { createMemory: { isNew: boolean, memory: { id: string, body: string, category: MemoryCategory | null, revision: number, createdAt: string, updatedAt: string, organizationId: string | null, sourceSessionId: string | null, actor: { type: MemoryActorType } } } | null };

export type UpdateMemoryVariables = Exact<{
  input: UpdateMemoryInput;
}>;


export type UpdateMemory = { updateMemory: { memory: { id: string, body: string, category: MemoryCategory | null, revision: number, createdAt: string, updatedAt: string, organizationId: string | null, sourceSessionId: string | null, actor: { type: MemoryActorType } } } | null };

export type DeleteMemoryVariables = Exact<{
  input: DeleteMemoryInput;
}>;


export type DeleteMemory = { deleteMemory: { deletedId: string } | null };

export type UpdateMemorySettingsVariables = Exact<{
  input: UpdateMemorySettingsInput;
}>;


export type UpdateMemorySettings = { updateMemorySettings: { memorySettings: { useMemories: boolean } } | null };

export type InferenceUsageVariables = Exact<{
  dimensions?: Array<InferenceUsageGroupBy> | InferenceUsageGroupBy | null | undefined;
  from?: string | null | undefined;
}>;


export type InferenceUsage = { inferenceUsage: { from: string, to: string, hasMoreGroups: boolean, totals: { requests: string, inputTokens: string, outputTokens: string, costUsd: string }, groups: Array<{ day: string | null, modelId: string | null, key: { id: string, name: string } | null, user: { id: string, name: string } | null, totals: { requests: string, inputTokens: string, outputTokens: string, costUsd: string } }> } | null };

export type Totals = { requests: string, inputTokens: string, outputTokens: string, costUsd: string };

export type VmUsageVariables = Exact<{
  dimensions?: Array<VmUsageDimension> | VmUsageDimension | null | undefined;
  from?: string | null | undefined;
}>;


export type VmUsage = { vmUsage: { from: string, to: string, hasMoreGroups: boolean, totals: { hours: number, costUsd: string }, groups: Array<{ day: string | null, vmId: string | null, vm: { id: string, name: string } | null, totals: { hours: number, costUsd: string, sessions: number } }> } | null };

export type ModelsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Models = { models: { totalCount: number, nodes: Array<{ id: string, displayName: string, ownedBy: string, kind: ModelKind, contextWindow: number, maxOutputTokens: number, modelStatus: ModelStatus }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type RequestsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Requests = { inferenceRequests: { totalCount: number, nodes: Array<{ id: string, modelId: string, inputTokens: string, outputTokens: string, costUsd: string, startedAt: string, requestStatus: InferenceRequestStatus, key: { id: string, name: string } | null, user: { id: string, name: string } | null, session: { id: string, title: string | null } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type BudgetVariables = Exact<{ [key: string]: never; }>;


export type Budget = { inferenceCredits: { balanceUsd: string, spentThisMonthUsd: string, monthlyBudgetUsd: string | null, keyBudgets: Array<{ keyId: string, monthlyUsd: string, spentThisMonthUsd: string, key: { id: string, name: string } | null }> } | null };

export type SetOrganizationBudgetVariables = Exact<{
  input: SetOrganizationBudgetInput;
}>;


export type SetOrganizationBudget = { setOrganizationBudget: { credits: { balanceUsd: string, spentThisMonthUsd: string, monthlyBudgetUsd: string | null } } | null };

export type SetApiKeyBudgetVariables = Exact<{
  input: SetApiKeyBudgetInput;
}>;


export type SetApiKeyBudget = { setApiKeyBudget: { credits: { balanceUsd: string } } | null };

export type ChatVariables = Exact<{
  input: ChatCompletionEventsInput;
}>;


export type Chat = { chatCompletionEvents:
    | { __typename: 'ChatCompletionEvent', id: string, text: string | null, reasoningText: string | null, finishReason: ChatFinishReason | null }
    | { __typename: 'Heartbeat' }
   };

export type OfferedAgentsVariables = Exact<{
  filter?: AgentFilter | null | undefined;
}>;


export type OfferedAgents = { agents: { totalCount: number, nodes: Array<{ id: string, name: string }> } | null };

export type OfferedDeploymentsVariables = Exact<{
  filter?: DeploymentFilter | null | undefined;
}>;


export type OfferedDeployments = { deployments: { totalCount: number, nodes: Array<{ id: string, name: string }> } | null };

export type OfferedEnvironmentsVariables = Exact<{
  filter?: EnvironmentFilter | null | undefined;
}>;


export type OfferedEnvironments = { environments: { totalCount: number, nodes: Array<{ id: string, name: string }> } | null };

export type OfferedVaultsVariables = Exact<{
  filter?: VaultFilter | null | undefined;
}>;


export type OfferedVaults = { vaults: { totalCount: number, nodes: Array<{ id: string, name: string }> } | null };

export type OfferedProjectsVariables = Exact<{
  filter?: ProjectFilter | null | undefined;
}>;


export type OfferedProjects = { projects: { totalCount: number, nodes: Array<{ id: string, name: string }> } | null };

export type OfferedConnectorsVariables = Exact<{
  filter?: McpServiceFilter | null | undefined;
}>;


export type OfferedConnectors = { mcpServices: { totalCount: number, nodes: Array<{ id: string, name: string }> } | null };

export type NamesVariables = Exact<{
  ids: Array<string | number> | string | number;
}>;


export type Names = { nodes: Array<
    | { __typename: 'Agent', name: string, id: string }
    | { __typename: 'ApiKey', id: string }
    | { __typename: 'AuditEvent', id: string }
    | { __typename: 'Authorization', id: string }
    | { __typename: 'Backup', id: string }
    | { __typename: 'BackupSchedule', id: string }
    | { __typename: 'BrowserSession', id: string }
    | { __typename: 'Build', id: string }
    | { __typename: 'CodeHostAccount', id: string }
    | { __typename: 'ConnectedService', id: string }
    | { __typename: 'Database', id: string }
    | { __typename: 'DatabaseRestore', id: string }
    | { __typename: 'Deployment', name: string, id: string }
    | { __typename: 'DeploymentRun', id: string }
    | { __typename: 'Domain', id: string }
    | { __typename: 'Environment', name: string, id: string }
    | { __typename: 'File', id: string }
    | { __typename: 'Folder', id: string }
    | { __typename: 'Function', id: string }
    | { __typename: 'FunctionVersion', id: string }
    | { __typename: 'Group', id: string }
    | { __typename: 'GroupMessage', id: string }
    | { __typename: 'GroupRun', id: string }
    | { __typename: 'InferenceRequest', id: string }
    | { __typename: 'Invitation', id: string }
    | { __typename: 'Machine', id: string }
    | { __typename: 'Member', id: string }
    | { __typename: 'Memory', id: string }
    | { __typename: 'Model', id: string }
    | { __typename: 'Organization', id: string }
    | { __typename: 'PeerExchange', id: string }
    | { __typename: 'Project', name: string, id: string }
    | { __typename: 'Proxy', id: string }
    | { __typename: 'Schedule', id: string }
    | { __typename: 'ScheduleRun', id: string }
    | { __typename: 'Session', id: string }
    | { __typename: 'Skill', id: string }
    | { __typename: 'SkillVersion', id: string }
    | { __typename: 'Template', id: string }
    | { __typename: 'Terminal', id: string }
    | { __typename: 'Trigger', id: string }
    | { __typename: 'TriggerFire', id: string }
    | { __typename: 'User', id: string }
    | { __typename: 'Vault', id: string, name: string }
    | { __typename: 'VaultCredential', id: string }
    | { __typename: 'Vm', id: string }
    | { __typename: 'VmProcess', id: string }
    | { __typename: 'WebhookDelivery', id: string }
    | { __typename: 'WebhookEndpoint', id: string }
    | { __typename: 'WebhookEvent', id: string }
   | null> | null };

export type ApiKeyRow = { id: string, name: string, lastFour: string, scopes: Array<KeyScope>, createdAt: string, lastUsedAt: string | null, expiresAt: string | null, revokedAt: string | null, createdBy: { id: string, name: string } | null };

export type ApiKeysVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type ApiKeys = { apiKeys: { totalCount: number, nodes: Array<{ id: string, name: string, lastFour: string, scopes: Array<KeyScope>, createdAt: string, lastUsedAt: string | null, expiresAt: string | null, revokedAt: string | null, createdBy: { id: string, name: string } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type CreateApiKeyVariables = Exact<{
  input: CreateApiKeyInput;
}>;


export type CreateApiKey = { createApiKey: { key: string, apiKey: { id: string, name: string, lastFour: string, scopes: Array<KeyScope>, createdAt: string, lastUsedAt: string | null, expiresAt: string | null, revokedAt: string | null, createdBy: { id: string, name: string } | null } } | null };

export type RevokeApiKeyVariables = Exact<{
  input: RevokeApiKeyInput;
}>;


export type RevokeApiKey = { revokeApiKey: { apiKey: { id: string, name: string, lastFour: string, scopes: Array<KeyScope>, createdAt: string, lastUsedAt: string | null, expiresAt: string | null, revokedAt: string | null, createdBy: { id: string, name: string } | null } } | null };

export type MemberRow = { id: string, role: Role, email: string | null, createdAt: string, user: { id: string, name: string } | null };

export type MembersVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Members = { members: { totalCount: number, nodes: Array<{ id: string, role: Role, email: string | null, createdAt: string, user: { id: string, name: string } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type InvitationsVariables = Exact<{ [key: string]: never; }>;


export type Invitations = { invitations: { nodes: Array<{ id: string, role: Role, note: string | null, createdAt: string, expiresAt: string, acceptedAt: string | null }> } | null };

export type CreateInvitationVariables = Exact<{
  input: CreateInvitationInput;
}>;


export type CreateInvitation = { createInvitation: { url: string, invitation: { id: string } } | null };

export type AcceptInvitationVariables = Exact<{
  input: AcceptInvitationInput;
}>;


export type AcceptInvitation = { acceptInvitation: { organization: { id: string, name: string } } | null };

export type BrowserSessionsVariables = Exact<{ [key: string]: never; }>;


export type BrowserSessions = { viewer: { browserSessions: Array<{ id: string, address: string, userAgent: string, createdAt: string, usedAt: string, expiresAt: string, isCurrent: boolean }> | null } | null };

export type AuthorizationsVariables = Exact<{ [key: string]: never; }>;


export type Authorizations = { viewer: { authorizations: Array<{ id: string, clientName: string, scope: ProgramScope, createdAt: string, usedAt: string, organization: { id: string, name: string } | null }> | null } | null };

export type RevokeAuthorizationVariables = Exact<{
  input: RevokeAuthorizationInput;
}>;


export type RevokeAuthorization = { revokeAuthorization: { authorization: { id: string } } | null };

export type RevokeBrowserSessionVariables = Exact<{
  input: RevokeBrowserSessionInput;
}>;


export type RevokeBrowserSession = { revokeBrowserSession: { browserSession: { id: string } } | null };

export type SettingsVariables = Exact<{ [key: string]: never; }>;


export type Settings = { viewer: { organization: { id: string, name: string, createdAt: string, storage: Array<{ name: StorageRoomName, usedBytes: string, limitBytes: string | null }> | null } | null } | null };

export type UpdateOrganizationVariables = Exact<{
  input: UpdateOrganizationInput;
}>;


export type UpdateOrganization = { updateOrganization: { organization: { id: string, name: string } } | null };

export type UpdateMemberVariables = Exact<{
  input: UpdateMemberInput;
}>;


export type UpdateMember = { updateMember: { member: { id: string, role: Role, email: string | null, createdAt: string, user: { id: string, name: string } | null } } | null };

export type RemoveMemberVariables = Exact<{
  input: RemoveMemberInput;
}>;


export type RemoveMember = { removeMember: { member: { id: string } } | null };

export type RevokeInvitationVariables = Exact<{
  input: RevokeInvitationInput;
}>;


export type RevokeInvitation = { revokeInvitation: { invitation: { id: string } } | null };

export type ProjectRow = { id: string, name: string, createdAt: string, updatedAt: string, createdBy: { id: string, name: string } | null };

export type ProjectsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: ProjectFilter | null | undefined;
}>;


export type Projects = { projects: { totalCount: number, nodes: Array<{ id: string, name: string, createdAt: string, updatedAt: string, createdBy: { id: string, name: string } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type ProjectVariables = Exact<{
  id: string | number;
}>;


export type Project = { project: { id: string, name: string, createdAt: string, updatedAt: string, createdBy: { id: string, name: string } | null } | null, vms: { totalCount: number, nodes: Array<{ id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null }> } | null, databases: { totalCount: number, nodes: Array<{ id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, createdAt: string, databaseStatus: DatabaseStatus }> } | null };

export type CreateProjectVariables = Exact<{
  input: CreateProjectInput;
}>;


export type CreateProject = { createProject: { project: { id: string, name: string, createdAt: string, updatedAt: string, createdBy: { id: string, name: string } | null } } | null };

export type UpdateProjectVariables = Exact<{
  input: UpdateProjectInput;
}>;


export type UpdateProject = { updateProject: { project: { id: string, name: string, createdAt: string, updatedAt: string, createdBy: { id: string, name: string } | null } } | null };

export type DeleteProjectVariables = Exact<{
  input: DeleteProjectInput;
}>;


export type DeleteProject = { deleteProject: { deletedId: string } | null };

export type ScheduleRow = { id: string, cron: string, timezone: string, isEnabled: boolean, lastError: string | null, failures: number, lastRunAt: string | null, nextRunAt: string | null, deploymentId: string | null, ownAgentId: string | null };

export type ScheduleDetails = { overlap: ScheduleOverlap, createdAt: string, upcomingRunsAt: Array<string>, id: string, cron: string, timezone: string, isEnabled: boolean, lastError: string | null, failures: number, lastRunAt: string | null, nextRunAt: string | null, deploymentId: string | null, ownAgentId: string | null, deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } | null, ownAgent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, ownAgentReference: { id: string, version: number | null } | null, ownKickoff: { text: string | null, events: Array<
      | { __typename: 'KickoffMessage', content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > }
      | { __typename: 'KickoffOutcome', description: string, rubric: string }
      | { __typename: 'KickoffSystemMessage', content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > }
    > } | null };

export type ScheduleRunRow = { id: string, scheduledAt: string, skipReason: ScheduleSkipReason | null, sessionId: string | null, runStatus: ScheduleRunStatus, error: { message: string } | null };

export type SchedulesVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Schedules = { schedules: { totalCount: number, nodes: Array<{ id: string, cron: string, timezone: string, isEnabled: boolean, lastError: string | null, failures: number, lastRunAt: string | null, nextRunAt: string | null, deploymentId: string | null, ownAgentId: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type ScheduleVariables = Exact<{
  id: string | number;
}>;


export type Schedule = { schedule: { overlap: ScheduleOverlap, createdAt: string, upcomingRunsAt: Array<string>, id: string, cron: string, timezone: string, isEnabled: boolean, lastError: string | null, failures: number, lastRunAt: string | null, nextRunAt: string | null, deploymentId: string | null, ownAgentId: string | null, runs: { totalCount: number, nodes: Array<{ id: string, scheduledAt: string, skipReason: ScheduleSkipReason | null, sessionId: string | null, runStatus: ScheduleRunStatus, error: { message: string } | null }> } | null, deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } | null, ownAgent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, ownAgentReference: { id: string, version: number | null } | null, ownKickoff: { text: string | null, events: Array<
        | { __typename: 'KickoffMessage', content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'KickoffOutcome', description: string, rubric: string }
        | { __typename: 'KickoffSystemMessage', content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
      > } | null } | null };

export type ScheduleEventsVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type ScheduleEvents = { scheduleEvents:
    | { __typename: 'Heartbeat' }
    | { __typename: 'ScheduleEvent', cursor: string }
   };

export type CreateScheduleVariables = Exact<{
  input: CreateScheduleInput;
}>;


export type CreateSchedule = { createSchedule: { schedule: { overlap: ScheduleOverlap, createdAt: string, upcomingRunsAt: Array<string>, id: string, cron: string, timezone: string, isEnabled: boolean, lastError: string | null, failures: number, lastRunAt: string | null, nextRunAt: string | null, deploymentId: string | null, ownAgentId: string | null, deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } | null, ownAgent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, ownAgentReference: { id: string, version: number | null } | null, ownKickoff: { text: string | null, events: Array<
          | { __typename: 'KickoffMessage', content: Array<
              | { __typename: 'DocumentBlock' }
              | { __typename: 'ImageBlock' }
              | { __typename: 'TextBlock', text: string }
            > }
          | { __typename: 'KickoffOutcome', description: string, rubric: string }
          | { __typename: 'KickoffSystemMessage', content: Array<
              | { __typename: 'DocumentBlock' }
              | { __typename: 'ImageBlock' }
              | { __typename: 'TextBlock', text: string }
            > }
        > } | null } } | null };

export type UpdateScheduleVariables = Exact<{
  input: UpdateScheduleInput;
}>;


export type UpdateSchedule = { updateSchedule: { schedule: { overlap: ScheduleOverlap, createdAt: string, upcomingRunsAt: Array<string>, id: string, cron: string, timezone: string, isEnabled: boolean, lastError: string | null, failures: number, lastRunAt: string | null, nextRunAt: string | null, deploymentId: string | null, ownAgentId: string | null, deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } | null, ownAgent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, ownAgentReference: { id: string, version: number | null } | null, ownKickoff: { text: string | null, events: Array<
          | { __typename: 'KickoffMessage', content: Array<
              | { __typename: 'DocumentBlock' }
              | { __typename: 'ImageBlock' }
              | { __typename: 'TextBlock', text: string }
            > }
          | { __typename: 'KickoffOutcome', description: string, rubric: string }
          | { __typename: 'KickoffSystemMessage', content: Array<
              | { __typename: 'DocumentBlock' }
              | { __typename: 'ImageBlock' }
              | { __typename: 'TextBlock', text: string }
            > }
        > } | null } } | null };

export type DeleteScheduleVariables = Exact<{
  input: DeleteScheduleInput;
}>;


export type DeleteSchedule = { deleteSchedule: { deletedId: string } | null };

export type SessionRow = { id: string, title: string | null, agentId: string, deploymentId: string | null, environmentId: string | null, createdAt: string, updatedAt: string, sessionStatus: SessionStatus, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } } };

export type SessionsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: SessionFilter | null | undefined;
}>;


export type Sessions = { sessions: { totalCount: number, nodes: Array<{ id: string, title: string | null, agentId: string, deploymentId: string | null, environmentId: string | null, createdAt: string, updatedAt: string, sessionStatus: SessionStatus, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type SessionVariables = Exact<{
  id: string | number;
}>;


export type Session = { session: { isShared: boolean, archivedAt: string | null, vaultIds: Array<string>, id: string, title: string | null, agentId: string, deploymentId: string | null, environmentId: string | null, createdAt: string, updatedAt: string, sessionStatus: SessionStatus, definition: { name: string, model: { id: string } }, environment: { id: string, vmId: string | null } | null, outcomeEvaluations: Array<{ outcomeId: string, description: string, iteration: number, explanation: string | null, completedAt: string | null, outcomeResult: OutcomeResult }>, askedPeerExchanges: { totalCount: number, nodes: Array<{ id: string, state: PeerExchangeState, createdAt: string, finishedAt: string | null, requesterSessionId: string, responderSessionId: string, request: { text: string }, answer: { text: string } | null, error: { message: string } | null }> } | null, answeredPeerExchanges: { totalCount: number, nodes: Array<{ id: string, state: PeerExchangeState, createdAt: string, finishedAt: string | null, requesterSessionId: string, responderSessionId: string, request: { text: string }, answer: { text: string } | null, error: { message: string } | null }> } | null, activity: { isActionRequired: boolean, lastEventAt: string | null }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } } } | null };

export type PeerExchangeRow = { id: string, state: PeerExchangeState, createdAt: string, finishedAt: string | null, requesterSessionId: string, responderSessionId: string, request: { text: string }, answer: { text: string } | null, error: { message: string } | null };

type Blocks_DocumentBlock = { __typename: 'DocumentBlock' };

type Blocks_ImageBlock = { __typename: 'ImageBlock' };

type Blocks_TextBlock = { __typename: 'TextBlock', text: string };

export type Blocks =
  | Blocks_DocumentBlock
  | Blocks_ImageBlock
  | Blocks_TextBlock
;

type TranscriptEvent_AgentCustomToolUse = { __typename: 'AgentCustomToolUse', name: string, input: unknown, id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_AgentMcpToolResult = { __typename: 'AgentMcpToolResult', mcpToolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_AgentMcpToolUse = { __typename: 'AgentMcpToolUse', name: string, input: unknown, evaluatedPermission: EvaluatedPermission, mcpServerName: string, id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_AgentMessage = { __typename: 'AgentMessage', id: string, type: SessionEventType, createdAt: string, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_AgentThinking = { __typename: 'AgentThinking', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_AgentThreadContextCompacted = { __typename: 'AgentThreadContextCompacted', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_AgentToolResult = { __typename: 'AgentToolResult', toolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_AgentToolUse = { __typename: 'AgentToolUse', name: string, input: unknown, evaluatedPermission: EvaluatedPermission, id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SessionDeleted = { __typename: 'SessionDeleted', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SessionError = { __typename: 'SessionError', id: string, type: SessionEventType, createdAt: string, error: { message: string } };

type TranscriptEvent_SessionStatusIdle = { __typename: 'SessionStatusIdle', id: string, type: SessionEventType, createdAt: string, stopReason:
    | { __typename: 'BudgetReached', type: StopReasonType }
    | { __typename: 'EndTurn', type: StopReasonType }
    | { __typename: 'RequiresAction', eventIds: Array<string>, type: StopReasonType }
    | { __typename: 'RetriesExhausted', type: StopReasonType }
   | null };

type TranscriptEvent_SessionStatusRescheduled = { __typename: 'SessionStatusRescheduled', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SessionStatusRunning = { __typename: 'SessionStatusRunning', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SessionStatusTerminated = { __typename: 'SessionStatusTerminated', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SessionUpdated = { __typename: 'SessionUpdated', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SessionUsageReport = { __typename: 'SessionUsageReport', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SpanModelRequestEnd = { __typename: 'SpanModelRequestEnd', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SpanModelRequestStart = { __typename: 'SpanModelRequestStart', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SpanOutcomeEvaluationEnd = { __typename: 'SpanOutcomeEvaluationEnd', verdict: OutcomeVerdict, explanation: string, id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SpanOutcomeEvaluationStart = { __typename: 'SpanOutcomeEvaluationStart', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_SystemMessage = { __typename: 'SystemMessage', id: string, type: SessionEventType, createdAt: string, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_UserCustomToolResult = { __typename: 'UserCustomToolResult', customToolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_UserDefineOutcome = { __typename: 'UserDefineOutcome', description: string, id: string, type: SessionEventType, createdAt: string, rubric: { content: string } };

type TranscriptEvent_UserInterrupt = { __typename: 'UserInterrupt', id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_UserMessage = { __typename: 'UserMessage', id: string, type: SessionEventType, createdAt: string, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_UserToolConfirmation = { __typename: 'UserToolConfirmation', toolUseId: string, result: ToolConfirmationResult, denyMessage: string | null, id: string, type: SessionEventType, createdAt: string };

type TranscriptEvent_UserToolResult = { __typename: 'UserToolResult', toolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

export type TranscriptEvent =
  | TranscriptEvent_AgentCustomToolUse
  | TranscriptEvent_AgentMcpToolResult
  | TranscriptEvent_AgentMcpToolUse
  | TranscriptEvent_AgentMessage
  | TranscriptEvent_AgentThinking
  | TranscriptEvent_AgentThreadContextCompacted
  | TranscriptEvent_AgentToolResult
  | TranscriptEvent_AgentToolUse
  | TranscriptEvent_SessionDeleted
  | TranscriptEvent_SessionError
  | TranscriptEvent_SessionStatusIdle
  | TranscriptEvent_SessionStatusRescheduled
  | TranscriptEvent_SessionStatusRunning
  | TranscriptEvent_SessionStatusTerminated
  | TranscriptEvent_SessionUpdated
  | TranscriptEvent_SessionUsageReport
  | TranscriptEvent_SpanModelRequestEnd
  | TranscriptEvent_SpanModelRequestStart
  | TranscriptEvent_SpanOutcomeEvaluationEnd
  | TranscriptEvent_SpanOutcomeEvaluationStart
  | TranscriptEvent_SystemMessage
  | TranscriptEvent_UserCustomToolResult
  | TranscriptEvent_UserDefineOutcome
  | TranscriptEvent_UserInterrupt
  | TranscriptEvent_UserMessage
  | TranscriptEvent_UserToolConfirmation
  | TranscriptEvent_UserToolResult
;

export type SessionEventsVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type SessionEvents = { sessionEvents:
    | { __typename: 'Heartbeat' }
    | { __typename: 'SessionEmission', cursor: string | null, event:
        | { __typename: 'AgentCustomToolUse', name: string, input: unknown, id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'AgentMcpToolResult', mcpToolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'AgentMcpToolUse', name: string, input: unknown, evaluatedPermission: EvaluatedPermission, mcpServerName: string, id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'AgentMessage', id: string, type: SessionEventType, createdAt: string, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'AgentThinking', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'AgentThreadContextCompacted', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'AgentToolResult', toolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'AgentToolUse', name: string, input: unknown, evaluatedPermission: EvaluatedPermission, id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SessionDeleted', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SessionError', id: string, type: SessionEventType, createdAt: string, error: { message: string } }
        | { __typename: 'SessionStatusIdle', id: string, type: SessionEventType, createdAt: string, stopReason:
            | { __typename: 'BudgetReached', type: StopReasonType }
            | { __typename: 'EndTurn', type: StopReasonType }
            | { __typename: 'RequiresAction', eventIds: Array<string>, type: StopReasonType }
            | { __typename: 'RetriesExhausted', type: StopReasonType }
           | null }
        | { __typename: 'SessionStatusRescheduled', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SessionStatusRunning', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SessionStatusTerminated', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SessionUpdated', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SessionUsageReport', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SpanModelRequestEnd', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SpanModelRequestStart', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SpanOutcomeEvaluationEnd', verdict: OutcomeVerdict, explanation: string, id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SpanOutcomeEvaluationStart', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'SystemMessage', id: string, type: SessionEventType, createdAt: string, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'UserCustomToolResult', customToolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'UserDefineOutcome', description: string, id: string, type: SessionEventType, createdAt: string, rubric: { content: string } }
        | { __typename: 'UserInterrupt', id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'UserMessage', id: string, type: SessionEventType, createdAt: string, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'UserToolConfirmation', toolUseId: string, result: ToolConfirmationResult, denyMessage: string | null, id: string, type: SessionEventType, createdAt: string }
        | { __typename: 'UserToolResult', toolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
       | null, preview:
        | { __typename: 'SessionPreviewStart', previewOf: string }
        | { __typename: 'SessionPreviewText', previewOf: string, text: string }
       | null }
   };

export type CreateSessionVariables = Exact<{
  input: CreateSessionInput;
}>;


export type CreateSession = { createSession: { session: { id: string, title: string | null, agentId: string, deploymentId: string | null, environmentId: string | null, createdAt: string, updatedAt: string, sessionStatus: SessionStatus, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } } } } | null };

export type SendSessionEventsVariables = Exact<{
  input: SendSessionEventsInput;
}>;


export type SendSessionEvents = { sendSessionEvents: { events: Array<
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
      | { id: string }
    > } | null };

export type StopPeerExchangeVariables = Exact<{
  input: StopPeerExchangeInput;
}>;


export type StopPeerExchange = { stopPeerExchange: { peerExchange: { id: string, state: PeerExchangeState, createdAt: string, finishedAt: string | null, requesterSessionId: string, responderSessionId: string, request: { text: string }, answer: { text: string } | null, error: { message: string } | null } } | null };

export type SharedSessionVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type SharedSession = { sharedSession: { id: string, title: string | null, sharedAt: string, agent: { name: string }, transcript: { totalCount: number, nodes: Array<{ id: string | null, type: SessionEventType, toolName: string | null, processedAt: string | null, content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type SetSessionSharingVariables = Exact<{
  input: SetSessionSharingInput;
}>;


export type SetSessionSharing = { setSessionSharing: { session: { id: string, isShared: boolean } } | null };

export type SkillRow = { id: string, name: string, displayName: string, latestVersionId: string, createdAt: string, updatedAt: string };

export type SkillVersionRow = { id: string, skillId: string, description: string, createdAt: string, archiveBytes: string, unpackedBytes: string, files: Array<{ path: string, sizeBytes: number }> };

export type SkillsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Skills = { skills: { totalCount: number, nodes: Array<{ id: string, name: string, displayName: string, latestVersionId: string, createdAt: string, updatedAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type SkillVariables = Exact<{
  id: string | number;
}>;


export type Skill = { skill: { id: string, name: string, displayName: string, latestVersionId: string, createdAt: string, updatedAt: string, versions: { totalCount: number, nodes: Array<{ id: string, skillId: string, description: string, createdAt: string, archiveBytes: string, unpackedBytes: string, files: Array<{ path: string, sizeBytes: number }> }> } | null } | null };

export type CreateSkillVariables = Exact<{
  input: CreateSkillInput;
}>;


export type CreateSkill = { createSkill: { skill: { id: string, name: string, displayName: string, latestVersionId: string, createdAt: string, updatedAt: string } } | null };

export type CreateSkillVersionVariables = Exact<{
  input: CreateSkillVersionInput;
}>;


export type CreateSkillVersion = { createSkillVersion: { skillVersion: { id: string, skillId: string, description: string, createdAt: string, archiveBytes: string, unpackedBytes: string, files: Array<{ path: string, sizeBytes: number }> } } | null };

export type DeleteSkillVariables = Exact<{
  input: DeleteSkillInput;
}>;


export type DeleteSkill = { deleteSkill: { deletedId: string } | null };

export type DeleteSkillVersionVariables = Exact<{
  input: DeleteSkillVersionInput;
}>;


export type DeleteSkillVersion = { deleteSkillVersion: { deletedId: string } | null };

export type TemplateRow = { id: string, name: string, isReady: boolean, createdAt: string, replacedAt: string | null, buildId: string | null, content: string, diskBytes: string | null, organization: { id: string } | null };

export type TemplateListVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type TemplateList = { templates: { totalCount: number, nodes: Array<{ id: string, name: string, isReady: boolean, createdAt: string, replacedAt: string | null, buildId: string | null, content: string, diskBytes: string | null, organization: { id: string } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type TemplateVariables = Exact<{
  id: string | number;
}>;


export type Template = { node:
    | { __typename: 'Agent', id: string }
    | { __typename: 'ApiKey', id: string }
    | { __typename: 'AuditEvent', id: string }
    | { __typename: 'Authorization', id: string }
    | { __typename: 'Backup', id: string }
    | { __typename: 'BackupSchedule', id: string }
    | { __typename: 'BrowserSession', id: string }
    | { __typename: 'Build', id: string }
    | { __typename: 'CodeHostAccount', id: string }
    | { __typename: 'ConnectedService', id: string }
    | { __typename: 'Database', id: string }
    | { __typename: 'DatabaseRestore', id: string }
    | { __typename: 'Deployment', id: string }
    | { __typename: 'DeploymentRun', id: string }
    | { __typename: 'Domain', id: string }
    | { __typename: 'Environment', id: string }
    | { __typename: 'File', id: string }
    | { __typename: 'Folder', id: string }
    | { __typename: 'Function', id: string }
    | { __typename: 'FunctionVersion', id: string }
    | { __typename: 'Group', id: string }
    | { __typename: 'GroupMessage', id: string }
    | { __typename: 'GroupRun', id: string }
    | { __typename: 'InferenceRequest', id: string }
    | { __typename: 'Invitation', id: string }
    | { __typename: 'Machine', id: string }
    | { __typename: 'Member', id: string }
    | { __typename: 'Memory', id: string }
    | { __typename: 'Model', id: string }
    | { __typename: 'Organization', id: string }
    | { __typename: 'PeerExchange', id: string }
    | { __typename: 'Project', id: string }
    | { __typename: 'Proxy', id: string }
    | { __typename: 'Schedule', id: string }
    | { __typename: 'ScheduleRun', id: string }
    | { __typename: 'Session', id: string }
    | { __typename: 'Skill', id: string }
    | { __typename: 'SkillVersion', id: string }
    | { __typename: 'Template', id: string, name: string, isReady: boolean, createdAt: string, replacedAt: string | null, buildId: string | null, content: string, diskBytes: string | null, machine: { id: string, name: string } | null, organization: { id: string } | null }
    | { __typename: 'Terminal', id: string }
    | { __typename: 'Trigger', id: string }
    | { __typename: 'TriggerFire', id: string }
    | { __typename: 'User', id: string }
    | { __typename: 'Vault', id: string }
    | { __typename: 'VaultCredential', id: string }
    | { __typename: 'Vm', id: string }
    | { __typename: 'VmProcess', id: string }
    | { __typename: 'WebhookDelivery', id: string }
    | { __typename: 'WebhookEndpoint', id: string }
    | { __typename: 'WebhookEvent', id: string }
   | null, vms: { totalCount: number, nodes: Array<{ id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null }> } | null };

export type DeleteTemplateVariables = Exact<{
  input: DeleteTemplateInput;
}>;


export type DeleteTemplate = { deleteTemplate: { deletedId: string } | null };

export type TerminalRow = { id: string, command: string | null, exitCode: number | null, createdAt: string, terminalStatus: TerminalStatus };

export type TerminalsVariables = Exact<{
  id: string | number;
}>;


export type Terminals = { vm: { id: string, vmStatus: VmStatus, terminals: { nodes: Array<{ id: string, command: string | null, exitCode: number | null, createdAt: string, terminalStatus: TerminalStatus }> } | null } | null };

export type OpenTerminalVariables = Exact<{
  input: OpenTerminalInput;
}>;


export type OpenTerminal = { openTerminal: { ticket: string, terminal: { id: string, command: string | null, exitCode: number | null, createdAt: string, terminalStatus: TerminalStatus } } | null };

export type CreateTerminalTicketVariables = Exact<{
  input: CreateTerminalTicketInput;
}>;


export type CreateTerminalTicket = { createTerminalTicket: { ticket: string, terminal: { id: string, command: string | null, exitCode: number | null, createdAt: string, terminalStatus: TerminalStatus } } | null };

export type CloseTerminalVariables = Exact<{
  input: CloseTerminalInput;
}>;


export type CloseTerminal = { closeTerminal: { terminal: { id: string, command: string | null, exitCode: number | null, createdAt: string, terminalStatus: TerminalStatus } } | null };

export type TriggerRow = { id: string, repo: string, isEnabled: boolean, lastFiredAt: string | null, createdAt: string, deploymentId: string | null, agentId: string };

export type TriggerDetails = { events: Array<TriggerEvent>, id: string, repo: string, isEnabled: boolean, lastFiredAt: string | null, createdAt: string, deploymentId: string | null, agentId: string, filters: { allowBots: boolean, allowForks: boolean, authorAssociations: Array<AuthorAssociation>, branches: Array<string> | null, commentPrefix: string | null, labels: Array<string> | null, paths: Array<string> | null }, agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, agentReference: { id: string, version: number | null }, deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } | null };

export type TriggerFireRow = { id: string, triggerId: string, event: string, action: string | null, number: number | null, ref: string | null, receivedAt: string, skipReason: TriggerSkipReason | null, sessionId: string | null, fireStatus: TriggerFireStatus, sender: { login: string } | null, error: { message: string } | null };

export type TriggersVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Triggers = { triggers: { totalCount: number, nodes: Array<{ id: string, repo: string, isEnabled: boolean, lastFiredAt: string | null, createdAt: string, deploymentId: string | null, agentId: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type TriggerVariables = Exact<{
  id: string | number;
}>;


export type Trigger = { trigger: { events: Array<TriggerEvent>, id: string, repo: string, isEnabled: boolean, lastFiredAt: string | null, createdAt: string, deploymentId: string | null, agentId: string, fires: { totalCount: number, nodes: Array<{ id: string, triggerId: string, event: string, action: string | null, number: number | null, ref: string | null, receivedAt: string, skipReason: TriggerSkipReason | null, sessionId: string | null, fireStatus: TriggerFireStatus, sender: { login: string } | null, error: { message: string } | null }> }, filters: { allowBots: boolean, allowForks: boolean, authorAssociations: Array<AuthorAssociation>, branches: Array<string> | null, commentPrefix: string | null, labels: Array<string> | null, paths: Array<string> | null }, agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, agentReference: { id: string, version: number | null }, deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } | null } | null };

export type CreateTriggerVariables = Exact<{
  input: CreateTriggerInput;
}>;


export type CreateTrigger = { createTrigger: { trigger: { events: Array<TriggerEvent>, id: string, repo: string, isEnabled: boolean, lastFiredAt: string | null, createdAt: string, deploymentId: string | null, agentId: string, filters: { allowBots: boolean, allowForks: boolean, authorAssociations: Array<AuthorAssociation>, branches: Array<string> | null, commentPrefix: string | null, labels: Array<string> | null, paths: Array<string> | null }, agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, agentReference: { id: string, version: number | null }, deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } | null } } | null };

export type UpdateTriggerVariables = Exact<{
  input: UpdateTriggerInput;
}>;


export type UpdateTrigger = { updateTrigger: { trigger: { events: Array<TriggerEvent>, id: string, repo: string, isEnabled: boolean, lastFiredAt: string | null, createdAt: string, deploymentId: string | null, agentId: string, filters: { allowBots: boolean, allowForks: boolean, authorAssociations: Array<AuthorAssociation>, branches: Array<string> | null, commentPrefix: string | null, labels: Array<string> | null, paths: Array<string> | null }, agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null, agentReference: { id: string, version: number | null }, deployment: { id: string, name: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string, deploymentStatus: DeploymentStatus } | null } } | null };

export type DeleteTriggerVariables = Exact<{
  input: DeleteTriggerInput;
}>;


export type DeleteTrigger = { deleteTrigger: { deletedId: string } | null };

export type TryTriggerVariables = Exact<{
  input: TryTriggerInput;
}>;


export type TryTrigger = { tryTrigger: { outcome: TriggerTrialOutcome, skipReason: TriggerSkipReason | null, reason: string | null, errorType: string | null, kickoff: { text: string | null, events: Array<
        | { __typename: 'KickoffMessage', content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'KickoffOutcome', description: string, rubric: string }
        | { __typename: 'KickoffSystemMessage', content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
      > } | null } | null };

export type VaultRow = { id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null };

export type CredentialRow = { id: string, vaultId: string, displayName: string | null, createdAt: string, updatedAt: string, archivedAt: string | null, auth:
    | { __typename: 'EnvironmentVariableAuth', secretName: string, networking:
        | { __typename: 'LimitedCredentialNetworking', allowedHosts: Array<string> }
        | { __typename: 'UnrestrictedCredentialNetworking' }
       | null, injectionLocation: { isInBody: boolean, isInHeader: boolean } | null }
    | { __typename: 'McpOauthAuth', mcpServerUrl: string, expiresAt: string | null, refresh: { tokenEndpoint: string } | null }
    | { __typename: 'StaticBearerAuth', mcpServerUrl: string }
   };

export type VaultsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: VaultFilter | null | undefined;
}>;


export type Vaults = { vaults: { totalCount: number, nodes: Array<{ id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type VaultVariables = Exact<{
  id: string | number;
}>;


export type Vault = { vault: { id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null, credentials: { totalCount: number, nodes: Array<{ id: string, vaultId: string, displayName: string | null, createdAt: string, updatedAt: string, archivedAt: string | null, auth:
          | { __typename: 'EnvironmentVariableAuth', secretName: string, networking:
              | { __typename: 'LimitedCredentialNetworking', allowedHosts: Array<string> }
              | { __typename: 'UnrestrictedCredentialNetworking' }
             | null, injectionLocation: { isInBody: boolean, isInHeader: boolean } | null }
          | { __typename: 'McpOauthAuth', mcpServerUrl: string, expiresAt: string | null, refresh: { tokenEndpoint: string } | null }
          | { __typename: 'StaticBearerAuth', mcpServerUrl: string }
         }> } } | null };

export type VaultEventsVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type VaultEvents = { vaultEvents:
    | { __typename: 'Heartbeat' }
    | { __typename: 'VaultEvent', cursor: string, type: VaultEventType }
   };

export type CreateVaultVariables = Exact<{
  input: CreateVaultInput;
}>;


export type CreateVault = { createVault: { vault: { id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null } } | null };

export type UpdateVaultVariables = Exact<{
  input: UpdateVaultInput;
}>;


export type UpdateVault = { updateVault: { vault: { id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null } } | null };

export type ArchiveVaultVariables = Exact<{
  input: ArchiveVaultInput;
}>;


export type ArchiveVault = { archiveVault: { vault: { id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null } } | null };

export type DeleteVaultVariables = Exact<{
  input: DeleteVaultInput;
}>;


export type DeleteVault = { deleteVault: { deletedId: string } | null };

export type CreateVaultCredentialVariables = Exact<{
  input: CreateVaultCredentialInput;
}>;


export type CreateVaultCredential = { createVaultCredential: { vaultCredential: { id: string, vaultId: string, displayName: string | null, createdAt: string, updatedAt: string, archivedAt: string | null, auth:
        | { __typename: 'EnvironmentVariableAuth', secretName: string, networking:
            | { __typename: 'LimitedCredentialNetworking', allowedHosts: Array<string> }
            | { __typename: 'UnrestrictedCredentialNetworking' }
           | null, injectionLocation: { isInBody: boolean, isInHeader: boolean } | null }
        | { __typename: 'McpOauthAuth', mcpServerUrl: string, expiresAt: string | null, refresh: { tokenEndpoint: string } | null }
        | { __typename: 'StaticBearerAuth', mcpServerUrl: string }
       } } | null };

export type UpdateVaultCredentialVariables = Exact<{
  input: UpdateVaultCredentialInput;
}>;


export type UpdateVaultCredential = { updateVaultCredential: { vaultCredential: { id: string, vaultId: string, displayName: string | null, createdAt: string, updatedAt: string, archivedAt: string | null, auth:
        | { __typename: 'EnvironmentVariableAuth', secretName: string, networking:
            | { __typename: 'LimitedCredentialNetworking', allowedHosts: Array<string> }
            | { __typename: 'UnrestrictedCredentialNetworking' }
           | null, injectionLocation: { isInBody: boolean, isInHeader: boolean } | null }
        | { __typename: 'McpOauthAuth', mcpServerUrl: string, expiresAt: string | null, refresh: { tokenEndpoint: string } | null }
        | { __typename: 'StaticBearerAuth', mcpServerUrl: string }
       } } | null };

export type ArchiveVaultCredentialVariables = Exact<{
  input: ArchiveVaultCredentialInput;
}>;


export type ArchiveVaultCredential = { archiveVaultCredential: { vaultCredential: { id: string, vaultId: string, displayName: string | null, createdAt: string, updatedAt: string, archivedAt: string | null, auth:
        | { __typename: 'EnvironmentVariableAuth', secretName: string, networking:
            | { __typename: 'LimitedCredentialNetworking', allowedHosts: Array<string> }
            | { __typename: 'UnrestrictedCredentialNetworking' }
           | null, injectionLocation: { isInBody: boolean, isInHeader: boolean } | null }
        | { __typename: 'McpOauthAuth', mcpServerUrl: string, expiresAt: string | null, refresh: { tokenEndpoint: string } | null }
        | { __typename: 'StaticBearerAuth', mcpServerUrl: string }
       } } | null };

export type DeleteVaultCredentialVariables = Exact<{
  input: DeleteVaultCredentialInput;
}>;


export type DeleteVaultCredential = { deleteVaultCredential: { deletedId: string } | null };

export type ValidateVaultCredentialVariables = Exact<{
  input: ValidateVaultCredentialInput;
}>;


export type ValidateVaultCredential = { validateVaultCredential: { validation: { hasRefreshToken: boolean, validationStatus: CredentialValidationStatus, refresh: { refreshStatus: CredentialRefreshStatus } | null, mcpProbe: { httpResponse: { statusCode: number } | null } | null } } | null };

export type VmRow = { id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null };

export type VmsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: VmFilter | null | undefined;
}>;


export type Vms = { vms: { totalCount: number, nodes: Array<{ id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type VmVariables = Exact<{
  id: string | number;
}>;


export type Vm = { vm: { diskMb: number, ipAddress: string | null, idleSeconds: number | null, idleAction: IdleAction, expiresAt: string | null, startedAt: string | null, warnings: Array<string>, id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, networkPolicy:
      | { type: NetworkPolicyType }
      | { type: NetworkPolicyType }
      | { type: NetworkPolicyType }
    , machine: { id: string, name: string, acceleration: Acceleration | null } | null, events: { nodes: Array<{ cursor: string, at: string, status: VmStatus, statusReason: string | null }> }, proxies: { nodes: Array<{ id: string, externalUrl: string, vmPort: number }> } | null, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null } | null };

export type VmProcessesVariables = Exact<{
  id: string | number;
}>;


export type VmProcesses = { vm: { id: string, processes: { nodes: Array<{ id: string, command: string, status: VmProcessStatus, exitCode: number | null, startedAt: string, finishedAt: string | null }> } | null } | null };

export type VmFolderVariables = Exact<{
  vmId: string | number;
  path: string;
}>;


export type VmFolder = { vmFolder: { path: string, entries: Array<{ name: string, type: VmFileEntryType, sizeBytes: string, modifiedAt: string }> } | null };

export type VmPortsVariables = Exact<{
  id: string | number;
}>;


export type VmPorts = { vm: { id: string, ports: Array<{ port: number, address: string, isReachable: boolean, processName: string | null, pid: number | null, previewUrl: string | null }> | null } | null };

export type VmKernelLogVariables = Exact<{
  id: string | number;
}>;


export type VmKernelLog = { vm: { id: string, kernelLog: string | null } | null };

export type WatchVmVariables = Exact<{
  id: string | number;
}>;


export type WatchVm = { vmMetricsChanged:
    | { processorPercent: number, load: number, memoryUsedBytes: string, memoryTotalBytes: string, diskUsedBytes: string, diskTotalBytes: string, receivedBytes: string, sentBytes: string, at: string }
    | Record<PropertyKey, never>
   };

export type TemplatesVariables = Exact<{ [key: string]: never; }>;


export type Templates = { templates: { nodes: Array<{ id: string, name: string, description: string, isReady: boolean }> } | null };

export type CreateVmVariables = Exact<{
  input: CreateVmInput;
}>;


export type CreateVm = { createVm: { vm: { id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null } } | null };

export type StartVmVariables = Exact<{
  input: StartVmInput;
}>;


export type StartVm = { startVm: { vm: { id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null } } | null };

export type StopVmVariables = Exact<{
  input: StopVmInput;
}>;


export type StopVm = { stopVm: { vm: { id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null } } | null };

export type PauseVmVariables = Exact<{
  input: PauseVmInput;
}>;


export type PauseVm = { pauseVm: { vm: { id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null } } | null };

export type ResumeVmVariables = Exact<{
  input: ResumeVmInput;
}>;


export type ResumeVm = { resumeVm: { vm: { id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null } } | null };

export type UpdateVmVariables = Exact<{
  input: UpdateVmInput;
}>;


export type UpdateVm = { updateVm: { vm: { diskMb: number, id: string, name: string, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, createdAt: string, vmStatus: VmStatus, startup: { step: VmStartupStep, attempt: number, attemptsMax: number, since: string } | null, template: { id: string, name: string } | null, createdBy: { id: string, name: string } | null, project: { id: string, name: string } | null } } | null };

export type CreateVmFileUrlVariables = Exact<{
  input: CreateVmFileUrlInput;
}>;


export type CreateVmFileUrl = { createVmFileUrl: { fileUrl: { url: string } } | null };

export type DeleteVmVariables = Exact<{
  input: DeleteVmInput;
}>;


export type DeleteVm = { deleteVm: { deletedId: string } | null };

export type ExecInVmVariables = Exact<{
  input: ExecInVmInput;
}>;


export type ExecInVm = { execInVm: { result: { exitCode: number, stdout: string, stderr: string, error: string | null, duration: string, hasTimedOut: boolean, isBackground: boolean } } | null };

export type WebhookRow = { id: string, url: string, description: string | null, eventTypes: Array<WebhookEventType> | null, isEnabled: boolean, disabledReason: WebhookDisabledReason | null, failuresInARow: number, lastProblem: string | null, createdAt: string };

export type DeliveryRow = { id: string, attemptCount: number, responseStatus: number | null, problem: string | null, nextAttemptAt: string | null, createdAt: string, deliveryStatus: WebhookDeliveryStatus, event: { id: string, type: WebhookEventType, subjectId: string } | null, attempts: Array<{ number: number, startedAt: string, durationMs: number, responseStatus: number | null, problem: string | null, answer: string | null }> };

export type WebhooksVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Webhooks = { webhookEndpoints: { totalCount: number, nodes: Array<{ id: string, url: string, description: string | null, eventTypes: Array<WebhookEventType> | null, isEnabled: boolean, disabledReason: WebhookDisabledReason | null, failuresInARow: number, lastProblem: string | null, createdAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type WebhookVariables = Exact<{
  id: string | number;
}>;


export type Webhook = { webhookEndpoint: { heldUntil: string | null, previousSecretUntil: string | null, id: string, url: string, description: string | null, eventTypes: Array<WebhookEventType> | null, isEnabled: boolean, disabledReason: WebhookDisabledReason | null, failuresInARow: number, lastProblem: string | null, createdAt: string, deliveries: { totalCount: number, nodes: Array<{ id: string, attemptCount: number, responseStatus: number | null, problem: string | null, nextAttemptAt: string | null, createdAt: string, deliveryStatus: WebhookDeliveryStatus, event: { id: string, type: WebhookEventType, subjectId: string } | null, attempts: Array<{ number: number, startedAt: string, durationMs: number, responseStatus: number | null, problem: string | null, answer: string | null }> }> } | null } | null };

export type WebhookEventTypesVariables = Exact<{ [key: string]: never; }>;


export type WebhookEventTypes = { __type: { enumValues: Array<{ name: string, description: string | null }> | null } | null };

export type WebhookAttemptsVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type WebhookAttempts = { webhookDeliveryEvents:
    | { __typename: 'Heartbeat' }
    | { __typename: 'WebhookDeliveryEvent', cursor: string, delivery: { id: string, attemptCount: number, responseStatus: number | null, problem: string | null, nextAttemptAt: string | null, createdAt: string, deliveryStatus: WebhookDeliveryStatus, event: { id: string, type: WebhookEventType, subjectId: string } | null, attempts: Array<{ number: number, startedAt: string, durationMs: number, responseStatus: number | null, problem: string | null, answer: string | null }> } | null }
   };

export type CreateWebhookVariables = Exact<{
  input: CreateWebhookEndpointInput;
}>;


export type CreateWebhook = { createWebhookEndpoint: { secret: string, webhookEndpoint: { id: string, url: string, description: string | null, eventTypes: Array<WebhookEventType> | null, isEnabled: boolean, disabledReason: WebhookDisabledReason | null, failuresInARow: number, lastProblem: string | null, createdAt: string } } | null };

export type UpdateWebhookVariables = Exact<{
  input: UpdateWebhookEndpointInput;
}>;


export type UpdateWebhook = { updateWebhookEndpoint: { webhookEndpoint: { id: string, url: string, description: string | null, eventTypes: Array<WebhookEventType> | null, isEnabled: boolean, disabledReason: WebhookDisabledReason | null, failuresInARow: number, lastProblem: string | null, createdAt: string } } | null };

export type RotateWebhookSecretVariables = Exact<{
  input: RotateWebhookEndpointSecretInput;
}>;


export type RotateWebhookSecret = { rotateWebhookEndpointSecret: { secret: string, webhookEndpoint: { id: string, previousSecretUntil: string | null } } | null };

export type DeleteWebhookVariables = Exact<{
  input: DeleteWebhookEndpointInput;
}>;


export type DeleteWebhook = { deleteWebhookEndpoint: { deletedId: string } | null };

export type TestWebhookVariables = Exact<{
  input: SendTestWebhookEventInput;
}>;


export type TestWebhook = { sendTestWebhookEvent: { webhookDelivery: { id: string, attemptCount: number, responseStatus: number | null, problem: string | null, nextAttemptAt: string | null, createdAt: string, deliveryStatus: WebhookDeliveryStatus, event: { id: string, type: WebhookEventType, subjectId: string } | null, attempts: Array<{ number: number, startedAt: string, durationMs: number, responseStatus: number | null, problem: string | null, answer: string | null }> } } | null };

export type ReplayDeliveryVariables = Exact<{
  input: ReplayWebhookDeliveryInput;
}>;


export type ReplayDelivery = { replayWebhookDelivery: { webhookDelivery: { id: string, attemptCount: number, responseStatus: number | null, problem: string | null, nextAttemptAt: string | null, createdAt: string, deliveryStatus: WebhookDeliveryStatus, event: { id: string, type: WebhookEventType, subjectId: string } | null, attempts: Array<{ number: number, startedAt: string, durationMs: number, responseStatus: number | null, problem: string | null, answer: string | null }> } } | null };

export const ToolSettings = gql`
    fragment ToolSettings on ToolSetting {
  isEnabled
  permissionPolicy {
    type
  }
}
    ` as unknown as DocumentNode<ToolSettings, unknown>;
export const ToolConfigs = gql`
    fragment ToolConfigs on ToolConfig {
  name
  isEnabled
  permissionPolicy {
    type
  }
  allowedDomains
  blockedDomains
  maxContentTokens
}
    ` as unknown as DocumentNode<ToolConfigs, unknown>;
export const AgentDefinition = gql`
    fragment AgentDefinition on Agent {
  name
  description
  version
  updatedAt
  system
  model {
    id
    effort
    speed
  }
  mcpServers {
    name
    url
  }
  mcpServices {
    id
    disabledTools
  }
  skills {
    skillName
    type
    version
  }
  tools {
    __typename
    ... on BuiltInToolset {
      name
      defaultConfig {
        ...ToolSettings
      }
      configs {
        ...ToolConfigs
      }
    }
    ... on CustomTool {
      name
      description
      inputSchema
    }
    ... on McpToolset {
      mcpServerName
      defaultConfig {
        ...ToolSettings
      }
      configs {
        ...ToolConfigs
      }
    }
  }
}
    ` as unknown as DocumentNode<AgentDefinition, unknown>;
export const BuildRow = gql`
    fragment BuildRow on Build {
  id
  buildStatus: status
  repoUrl
  gitRef
  commitSha
  error
  exitCode
  queuedAt
  startedAt
  finishedAt
}
    ` as unknown as DocumentNode<BuildRow, unknown>;
export const DatabaseRow = gql`
    fragment DatabaseRow on Database {
  id
  name
  databaseStatus: status
  statusReason
  isAsleep
  vcpuCount
  memoryMb
  diskMb
  createdAt
}
    ` as unknown as DocumentNode<DatabaseRow, unknown>;
export const BackupRow = gql`
    fragment BackupRow on Backup {
  id
  backupStatus: status
  error
  sizeBytes
  triggeredBy
  createdAt
  completedAt
  verifiedAt
  databaseId
}
    ` as unknown as DocumentNode<BackupRow, unknown>;
export const DatabasePlace = gql`
    fragment DatabasePlace on Database {
  id
  networkName
  project {
    id
    name
  }
}
    ` as unknown as DocumentNode<DatabasePlace, unknown>;
export const RestoreRow = gql`
    fragment RestoreRow on DatabaseRestore {
  id
  databaseId
  restoreStatus: status
  error
  createdAt
  finishedAt
  progress {
    step
    backupBytes
    loadedBytes
  }
}
    ` as unknown as DocumentNode<RestoreRow, unknown>;
export const TableRow = gql`
    fragment TableRow on DatabaseTable {
  schema
  name
  kind
  estimatedRows
  sizeBytes
  comment
  columns {
    name
    type
    isNullable
    isPrimaryKey
    default
  }
}
    ` as unknown as DocumentNode<TableRow, unknown>;
export const DeploymentRow = gql`
    fragment DeploymentRow on Deployment {
  id
  name
  deploymentStatus: status
  lastRunAt
  archivedAt
  createdAt
}
    ` as unknown as DocumentNode<DeploymentRow, unknown>;
export const AgentRow = gql`
    fragment AgentRow on Agent {
  id
  name
  description
  version
  createdAt
  updatedAt
  archivedAt
  model {
    id
  }
}
    ` as unknown as DocumentNode<AgentRow, unknown>;
export const EnvironmentRow = gql`
    fragment EnvironmentRow on Environment {
  id
  name
  description
  environmentStatus: status
  statusReason
  createdAt
  archivedAt
}
    ` as unknown as DocumentNode<EnvironmentRow, unknown>;
export const MachineConfig = gql`
    fragment MachineConfig on VmEnvironmentConfig {
  vcpuCount
  memoryMb
  idleTimeoutSeconds
  templateId
  setupScript
  gitRepos {
    url
    branch
    path
  }
  packages {
    apt
    cargo
    gem
    go
    npm
    pip
  }
  networking {
    __typename
    ... on LimitedNetworking {
      allowedHosts
      allowMcpServers
      allowPackageManagers
    }
  }
}
    ` as unknown as DocumentNode<MachineConfig, unknown>;
export const Blocks = gql`
    fragment Blocks on ContentBlock {
  __typename
  ... on TextBlock {
    text
  }
}
    ` as unknown as DocumentNode<Blocks, unknown>;
export const KickoffShown = gql`
    fragment KickoffShown on Kickoff {
  text
  events {
    __typename
    ... on KickoffOutcome {
      description
      rubric
    }
    ... on KickoffMessage {
      content {
        ...Blocks
      }
    }
    ... on KickoffSystemMessage {
      content {
        ...Blocks
      }
    }
  }
}
    ` as unknown as DocumentNode<KickoffShown, unknown>;
export const VaultRow = gql`
    fragment VaultRow on Vault {
  id
  displayName
  createdAt
  updatedAt
  archivedAt
}
    ` as unknown as DocumentNode<VaultRow, unknown>;
export const DeploymentDetails = gql`
    fragment DeploymentDetails on Deployment {
  ...DeploymentRow
  pausedReason {
    __typename
    ... on PausedByError {
      error {
        type
      }
    }
  }
  description
  agentReference {
    id
    version
  }
  agent {
    ...AgentRow
  }
  budget {
    maxListCost {
      amount
      currency
    }
  }
  environment {
    __typename
    ... on ExistingEnvironment {
      environmentId
      environment {
        ...EnvironmentRow
      }
    }
    ... on EphemeralEnvironment {
      config {
        __typename
        ...MachineConfig
      }
    }
  }
  kickoff {
    ...KickoffShown
  }
  vaultIds
  vaults {
    ...VaultRow
  }
}
    ` as unknown as DocumentNode<DeploymentDetails, unknown>;
export const DeploymentRunRow = gql`
    fragment DeploymentRunRow on DeploymentRun {
  id
  deploymentId
  createdAt
  sessionId
  error {
    message
  }
  trigger {
    __typename
    ... on ScheduledRun {
      scheduleId
    }
    ... on TriggeredRun {
      triggerId
    }
  }
}
    ` as unknown as DocumentNode<DeploymentRunRow, unknown>;
export const DomainRow = gql`
    fragment DomainRow on Domain {
  id
  name
  path
  domainStatus: status
  statusReason
  message
  externalUrl
  targetType
  checkedAt
  createdAt
}
    ` as unknown as DocumentNode<DomainRow, unknown>;
export const DnsRecord = gql`
    fragment DnsRecord on DomainRecord {
  name
  type
  purpose
  expected
  seen
  isRight
  reason
  checkedAt
}
    ` as unknown as DocumentNode<DnsRecord, unknown>;
export const EnvironmentDetails = gql`
    fragment EnvironmentDetails on Environment {
  ...EnvironmentRow
  vmId
  updatedAt
  config {
    __typename
    ...MachineConfig
  }
}
    ` as unknown as DocumentNode<EnvironmentDetails, unknown>;
export const FileRow = gql`
    fragment FileRow on File {
  id
  filename
  mimeType
  sizeBytes
  createdAt
  expiresAt
  sha256
}
    ` as unknown as DocumentNode<FileRow, unknown>;
export const FolderRow = gql`
    fragment FolderRow on Folder {
  id
  name
  sizeMb
  createdAt
  vmId
  createdBy {
    id
    name
  }
}
    ` as unknown as DocumentNode<FolderRow, unknown>;
export const FunctionRow = gql`
    fragment FunctionRow on Function {
  id
  name
  functionStatus: status
  statusReason
  url
  createdAt
  currentVersion {
    id
    number
  }
}
    ` as unknown as DocumentNode<FunctionRow, unknown>;
export const GroupRow = gql`
    fragment GroupRow on Group {
  id
  name
  description
  memberIds
  revision
  createdAt
  updatedAt
}
    ` as unknown as DocumentNode<GroupRow, unknown>;
export const GroupRunRow = gql`
    fragment GroupRunRow on GroupRun {
  id
  groupId
  sessionId
  messageId
  runStatus: status
  createdAt
  finishedAt
  error {
    message
  }
  reply {
    text
  }
  pendingApprovals {
    approvalId
    toolName
    input
  }
  pendingQuestions {
    toolCallId
    question
    options
  }
}
    ` as unknown as DocumentNode<GroupRunRow, unknown>;
export const GroupMessageRow = gql`
    fragment GroupMessageRow on GroupMessage {
  id
  sequence
  text
  createdAt
  undeliveredReason
  author {
    type
    handle
  }
}
    ` as unknown as DocumentNode<GroupMessageRow, unknown>;
export const MemoryRow = gql`
    fragment MemoryRow on Memory {
  id
  body
  category
  revision
  createdAt
  updatedAt
  organizationId
  actor {
    type
  }
  sourceSessionId
}
    ` as unknown as DocumentNode<MemoryRow, unknown>;
export const Totals = gql`
    fragment Totals on InferenceTotals {
  requests
  inputTokens
  outputTokens
  costUsd
}
    ` as unknown as DocumentNode<Totals, unknown>;
export const ApiKeyRow = gql`
    fragment ApiKeyRow on ApiKey {
  id
  name
  lastFour
  scopes
  createdAt
  lastUsedAt
  expiresAt
  revokedAt
  createdBy {
    id
    name
  }
}
    ` as unknown as DocumentNode<ApiKeyRow, unknown>;
export const MemberRow = gql`
    fragment MemberRow on Member {
  id
  role
  email
  createdAt
  user {
    id
    name
  }
}
    ` as unknown as DocumentNode<MemberRow, unknown>;
export const ProjectRow = gql`
    fragment ProjectRow on Project {
  id
  name
  createdAt
  updatedAt
  createdBy {
    id
    name
  }
}
    ` as unknown as DocumentNode<ProjectRow, unknown>;
export const ScheduleRow = gql`
    fragment ScheduleRow on Schedule {
  id
  cron
  timezone
  isEnabled
  lastError
  failures
  lastRunAt
  nextRunAt
  deploymentId
  ownAgentId
}
    ` as unknown as DocumentNode<ScheduleRow, unknown>;
export const ScheduleDetails = gql`
    fragment ScheduleDetails on Schedule {
  ...ScheduleRow
  overlap
  createdAt
  upcomingRunsAt
  deployment {
    ...DeploymentRow
  }
  ownAgent {
    ...AgentRow
  }
  ownAgentReference {
    id
    version
  }
  ownKickoff {
    ...KickoffShown
  }
}
    ` as unknown as DocumentNode<ScheduleDetails, unknown>;
export const ScheduleRunRow = gql`
    fragment ScheduleRunRow on ScheduleRun {
  id
  scheduledAt
  runStatus: status
  skipReason
  sessionId
  error {
    message
  }
}
    ` as unknown as DocumentNode<ScheduleRunRow, unknown>;
export const SessionRow = gql`
    fragment SessionRow on Session {
  id
  title
  agentId
  deploymentId
  environmentId
  sessionStatus: status
  createdAt
  updatedAt
  activity {
    isActionRequired
    lastEventAt
  }
  definition {
    name
  }
  usage {
    inputTokens
    outputTokens
    listCost {
      amount
      currency
    }
  }
}
    ` as unknown as DocumentNode<SessionRow, unknown>;
export const PeerExchangeRow = gql`
    fragment PeerExchangeRow on PeerExchange {
  id
  state
  createdAt
  finishedAt
  requesterSessionId
  responderSessionId
  request {
    text
  }
  answer {
    text
  }
  error {
    message
  }
}
    ` as unknown as DocumentNode<PeerExchangeRow, unknown>;
export const TranscriptEvent = gql`
    fragment TranscriptEvent on SessionEvent {
  __typename
  id
  type
  createdAt
  ... on UserMessage {
    content {
      ...Blocks
    }
  }
  ... on SystemMessage {
    content {
      ...Blocks
    }
  }
  ... on AgentMessage {
    content {
      ...Blocks
    }
  }
  ... on AgentToolUse {
    name
    input
    evaluatedPermission
  }
  ... on AgentMcpToolUse {
    name
    input
    evaluatedPermission
    mcpServerName
  }
  ... on AgentCustomToolUse {
    name
    input
  }
  ... on AgentToolResult {
    toolUseId
    isError
    content {
      ...Blocks
    }
  }
  ... on AgentMcpToolResult {
    mcpToolUseId
    isError
    content {
      ...Blocks
    }
  }
  ... on UserToolConfirmation {
    toolUseId
    result
    denyMessage
  }
  ... on UserCustomToolResult {
    customToolUseId
    isError
    content {
      ...Blocks
    }
  }
  ... on UserToolResult {
    toolUseId
    isError
    content {
      ...Blocks
    }
  }
  ... on UserDefineOutcome {
    description
    rubric {
      content
    }
  }
  ... on SpanOutcomeEvaluationEnd {
    verdict
    explanation
  }
  ... on SessionError {
    error {
      message
    }
  }
  ... on SessionStatusIdle {
    stopReason {
      __typename
      type
      ... on RequiresAction {
        eventIds
      }
    }
  }
}
    ` as unknown as DocumentNode<TranscriptEvent, unknown>;
export const SkillRow = gql`
    fragment SkillRow on Skill {
  id
  name
  displayName
  latestVersionId
  createdAt
  updatedAt
}
    ` as unknown as DocumentNode<SkillRow, unknown>;
export const SkillVersionRow = gql`
    fragment SkillVersionRow on SkillVersion {
  id
  skillId
  description
  createdAt
  archiveBytes
  unpackedBytes
  files {
    path
    sizeBytes
  }
}
    ` as unknown as DocumentNode<SkillVersionRow, unknown>;
export const TemplateRow = gql`
    fragment TemplateRow on Template {
  id
  name
  content: description
  isReady
  diskBytes: sizeBytes
  createdAt
  replacedAt
  buildId
  organization {
    id
  }
}
    ` as unknown as DocumentNode<TemplateRow, unknown>;
export const TerminalRow = gql`
    fragment TerminalRow on Terminal {
  id
  terminalStatus: status
  command
  exitCode
  createdAt
}
    ` as unknown as DocumentNode<TerminalRow, unknown>;
export const TriggerRow = gql`
    fragment TriggerRow on Trigger {
  id
  repo
  isEnabled
  lastFiredAt
  createdAt
  deploymentId
  agentId
}
    ` as unknown as DocumentNode<TriggerRow, unknown>;
export const TriggerDetails = gql`
    fragment TriggerDetails on Trigger {
  ...TriggerRow
  events
  filters {
    allowBots
    allowForks
    authorAssociations
    branches
    commentPrefix
    labels
    paths
  }
  agent {
    ...AgentRow
  }
  agentReference {
    id
    version
  }
  deployment {
    ...DeploymentRow
  }
}
    ` as unknown as DocumentNode<TriggerDetails, unknown>;
export const TriggerFireRow = gql`
    fragment TriggerFireRow on TriggerFire {
  id
  triggerId
  event
  action
  number
  ref
  receivedAt
  fireStatus: status
  skipReason
  sessionId
  sender {
    login
  }
  error {
    message
  }
}
    ` as unknown as DocumentNode<TriggerFireRow, unknown>;
export const CredentialRow = gql`
    fragment CredentialRow on VaultCredential {
  id
  vaultId
  displayName
  createdAt
  updatedAt
  archivedAt
  auth {
    __typename
    ... on EnvironmentVariableAuth {
      secretName
      networking {
        __typename
        ... on LimitedCredentialNetworking {
          allowedHosts
        }
      }
      injectionLocation {
        isInBody
        isInHeader
      }
    }
    ... on McpOauthAuth {
      mcpServerUrl
      expiresAt
      refresh {
        tokenEndpoint
      }
    }
    ... on StaticBearerAuth {
      mcpServerUrl
    }
  }
}
    ` as unknown as DocumentNode<CredentialRow, unknown>;
export const VmRow = gql`
    fragment VmRow on Vm {
  id
  name
  vmStatus: status
  statusReason
  startup {
    step
    attempt
    attemptsMax
    since
  }
  isAsleep
  vcpuCount
  memoryMb
  createdAt
  template {
    id
    name
  }
  createdBy {
    id
    name
  }
  project {
    id
    name
  }
}
    ` as unknown as DocumentNode<VmRow, unknown>;
export const WebhookRow = gql`
    fragment WebhookRow on WebhookEndpoint {
  id
  url
  description
  eventTypes
  isEnabled
  disabledReason
  failuresInARow
  lastProblem
  createdAt
}
    ` as unknown as DocumentNode<WebhookRow, unknown>;
export const DeliveryRow = gql`
    fragment DeliveryRow on WebhookDelivery {
  id
  deliveryStatus: status
  attemptCount
  responseStatus
  problem
  nextAttemptAt
  createdAt
  event {
    id
    type
    subjectId
  }
  attempts {
    number
    startedAt
    durationMs
    responseStatus
    problem
    answer
  }
}
    ` as unknown as DocumentNode<DeliveryRow, unknown>;
export const AgentsDocument = gql`
    query Agents($first: Int!, $after: String, $filter: AgentFilter) {
  agents(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...AgentRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${AgentRow}` as unknown as DocumentNode<Agents, AgentsVariables>;
export const AgentDocument = gql`
    query Agent($id: ID!) {
  agent(id: $id) {
    ...AgentRow
    ...AgentDefinition
    versions(first: 50) {
      totalCount
      nodes {
        version
        updatedAt
        model {
          id
        }
      }
    }
    sessions(first: 50) {
      totalCount
      nodes {
        ...SessionRow
      }
    }
  }
}
    ${AgentRow}
${AgentDefinition}
${ToolSettings}
${ToolConfigs}
${SessionRow}` as unknown as DocumentNode<Agent, AgentVariables>;
export const AgentVersionDocument = gql`
    query AgentVersion($id: ID!, $version: Int!) {
  agent(id: $id, version: $version) {
    ...AgentDefinition
  }
}
    ${AgentDefinition}
${ToolSettings}
${ToolConfigs}` as unknown as DocumentNode<AgentVersion, AgentVersionVariables>;
export const AgentModelsDocument = gql`
    query AgentModels {
  models(first: 100) {
    totalCount
    nodes {
      id
      kind
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ` as unknown as DocumentNode<AgentModels, AgentModelsVariables>;
export const AgentChoicesDocument = gql`
    query AgentChoices {
  skills(first: 50) {
    totalCount
    nodes {
      ...SkillRow
      versions(first: 20) {
        totalCount
        nodes {
          id
          createdAt
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${SkillRow}` as unknown as DocumentNode<AgentChoices, AgentChoicesVariables>;
export const AgentToolsDocument = gql`
    query AgentTools($id: ID!) {
  agentMcpTools(agentId: $id) {
    serverName
    serverStatus: status
    url
    error
    tools {
      name
      description
    }
  }
}
    ` as unknown as DocumentNode<AgentTools, AgentToolsVariables>;
export const CreateAgentDocument = gql`
    mutation CreateAgent($input: CreateAgentInput!) {
  createAgent(input: $input) {
    agent {
      ...AgentRow
      ...AgentDefinition
    }
  }
}
    ${AgentRow}
${AgentDefinition}
${ToolSettings}
${ToolConfigs}` as unknown as DocumentNode<CreateAgent, CreateAgentVariables>;
export const UpdateAgentDocument = gql`
    mutation UpdateAgent($input: UpdateAgentInput!) {
  updateAgent(input: $input) {
    agent {
      ...AgentRow
      ...AgentDefinition
    }
  }
}
    ${AgentRow}
${AgentDefinition}
${ToolSettings}
${ToolConfigs}` as unknown as DocumentNode<UpdateAgent, UpdateAgentVariables>;
export const ArchiveAgentDocument = gql`
    mutation ArchiveAgent($input: ArchiveAgentInput!) {
  archiveAgent(input: $input) {
    agent {
      ...AgentRow
    }
  }
}
    ${AgentRow}` as unknown as DocumentNode<ArchiveAgent, ArchiveAgentVariables>;
export const DeleteAgentDocument = gql`
    mutation DeleteAgent($input: DeleteAgentInput!) {
  deleteAgent(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteAgent, DeleteAgentVariables>;
export const InstanceDocument = gql`
    query Instance {
  instance {
    version
    hasLocalSignIn
    signInProviders
    canSendMail
  }
}
    ` as unknown as DocumentNode<Instance, InstanceVariables>;
export const ViewerDocument = gql`
    query Viewer {
  viewer {
    user {
      id
      name
    }
    organizations(first: 100) {
      nodes {
        id
        name
      }
    }
  }
}
    ` as unknown as DocumentNode<Viewer, ViewerVariables>;
export const DeskDocument = gql`
    query Desk {
  viewer {
    role
    organization {
      id
      name
      eventCursor
    }
  }
}
    ` as unknown as DocumentNode<Desk, DeskVariables>;
export const SearchDocument = gql`
    query Search($text: String!) {
  search(text: $text, first: 20) {
    nodeId
    nodeType
    title
  }
}
    ` as unknown as DocumentNode<Search, SearchVariables>;
export const CreateOrganizationDocument = gql`
    mutation CreateOrganization($input: CreateOrganizationInput!) {
  createOrganization(input: $input) {
    organization {
      id
      name
    }
  }
}
    ` as unknown as DocumentNode<CreateOrganization, CreateOrganizationVariables>;
export const OrganizationEventsDocument = gql`
    subscription OrganizationEvents($after: String) {
  organizationEvents(after: $after) {
    __typename
    ... on OrganizationEvent {
      cursor
      change
      nodeType
      nodeId
      node {
        __typename
        id
        ... on Vm {
          ...VmRow
        }
        ... on Database {
          ...DatabaseRow
        }
        ... on Build {
          ...BuildRow
        }
        ... on Session {
          ...SessionRow
        }
        ... on Agent {
          ...AgentRow
        }
        ... on Function {
          ...FunctionRow
        }
        ... on Domain {
          ...DomainRow
        }
        ... on ApiKey {
          ...ApiKeyRow
        }
        ... on Member {
          ...MemberRow
        }
        ... on Backup {
          ...BackupRow
        }
        ... on DatabaseRestore {
          ...RestoreRow
        }
        ... on Deployment {
          ...DeploymentRow
        }
        ... on Schedule {
          ...ScheduleRow
        }
        ... on Trigger {
          ...TriggerRow
        }
        ... on Vault {
          ...VaultRow
        }
        ... on Environment {
          ...EnvironmentRow
        }
        ... on DeploymentRun {
          deployment {
            id
          }
        }
        ... on TriggerFire {
          triggerId
        }
        ... on PeerExchange {
          requesterSessionId
          responderSessionId
        }
        ... on Project {
          ...ProjectRow
        }
        ... on Template {
          ...TemplateRow
        }
        ... on WebhookEndpoint {
          ...WebhookRow
        }
      }
    }
  }
}
    ${VmRow}
${DatabaseRow}
${BuildRow}
${SessionRow}
${AgentRow}
${FunctionRow}
${DomainRow}
${ApiKeyRow}
${MemberRow}
${BackupRow}
${RestoreRow}
${DeploymentRow}
${ScheduleRow}
${TriggerRow}
${VaultRow}
${EnvironmentRow}
${ProjectRow}
${TemplateRow}
${WebhookRow}` as unknown as DocumentNode<OrganizationEvents, OrganizationEventsVariables>;
export const AuditDocument = gql`
    query Audit($first: Int!, $after: String, $filter: AuditEventFilter) {
  auditEvents(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      id
      at
      operation
      nodeType
      nodeId
      nodeName
      address
      requestId
      actor {
        kind
        name
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ` as unknown as DocumentNode<Audit, AuditVariables>;
export const BuildsDocument = gql`
    query Builds($first: Int!, $after: String, $filter: BuildFilter) {
  builds(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...BuildRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${BuildRow}` as unknown as DocumentNode<Builds, BuildsVariables>;
export const BuildDocument = gql`
    query Build($id: ID!) {
  build(id: $id) {
    ...BuildRow
    failingStep
    isCancelRequested
    vcpuCount
    memoryMb
    output {
      type
      name
      sizeBytes
      url
    }
  }
}
    ${BuildRow}` as unknown as DocumentNode<Build, BuildVariables>;
export const BuildLogDocument = gql`
    subscription BuildLog($id: ID!, $after: String = "0") {
  buildLogEvents(buildId: $id, after: $after) {
    __typename
    ... on BuildLogEntry {
      id
      output
      isDone
    }
  }
}
    ` as unknown as DocumentNode<BuildLog, BuildLogVariables>;
export const CreateBuildDocument = gql`
    mutation CreateBuild($input: CreateBuildInput!) {
  createBuild(input: $input) {
    build {
      ...BuildRow
    }
  }
}
    ${BuildRow}` as unknown as DocumentNode<CreateBuild, CreateBuildVariables>;
export const CancelBuildDocument = gql`
    mutation CancelBuild($input: CancelBuildInput!) {
  cancelBuild(input: $input) {
    build {
      ...BuildRow
    }
  }
}
    ${BuildRow}` as unknown as DocumentNode<CancelBuild, CancelBuildVariables>;
export const DatabasesDocument = gql`
    query Databases($first: Int!, $after: String, $filter: DatabaseFilter) {
  databases(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...DatabaseRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${DatabaseRow}` as unknown as DocumentNode<Databases, DatabasesVariables>;
export const DatabaseDocument = gql`
    query Database($id: ID!) {
  database(id: $id) {
    ...DatabaseRow
    ...DatabasePlace
    host
    connectionUri
    pgDatabase
    pgUser
    isClientModeEnabled
    sleepAfterSeconds
    backups(first: 50) {
      totalCount
      nodes {
        ...BackupRow
      }
    }
  }
}
    ${DatabaseRow}
${DatabasePlace}
${BackupRow}` as unknown as DocumentNode<Database, DatabaseVariables>;
export const CreateDatabaseDocument = gql`
    mutation CreateDatabase($input: CreateDatabaseInput!) {
  createDatabase(input: $input) {
    database {
      ...DatabaseRow
    }
    credentials {
      connectionUri
    }
  }
}
    ${DatabaseRow}` as unknown as DocumentNode<CreateDatabase, CreateDatabaseVariables>;
export const MoveDatabaseToProjectDocument = gql`
    mutation MoveDatabaseToProject($input: MoveDatabaseToProjectInput!) {
  moveDatabaseToProject(input: $input) {
    database {
      ...DatabaseRow
      ...DatabasePlace
    }
  }
}
    ${DatabaseRow}
${DatabasePlace}` as unknown as DocumentNode<MoveDatabaseToProject, MoveDatabaseToProjectVariables>;
export const DeleteDatabaseDocument = gql`
    mutation DeleteDatabase($input: DeleteDatabaseInput!) {
  deleteDatabase(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteDatabase, DeleteDatabaseVariables>;
export const RotateDatabaseTokenDocument = gql`
    mutation RotateDatabaseToken($input: RotateDatabaseTokenInput!) {
  rotateDatabaseToken(input: $input) {
    database {
      ...DatabaseRow
    }
    credentials {
      connectionUri
    }
  }
}
    ${DatabaseRow}` as unknown as DocumentNode<RotateDatabaseToken, RotateDatabaseTokenVariables>;
export const RunSqlDocument = gql`
    mutation RunSql($input: RunSqlInput!) {
  runSql(input: $input) {
    result {
      columns {
        name
      }
      command
      rowCount
      rows
    }
    failure {
      message
      detail
      hint
      position
      sqlState
    }
  }
}
    ` as unknown as DocumentNode<RunSql, RunSqlVariables>;
export const CreateBackupDocument = gql`
    mutation CreateBackup($input: CreateBackupInput!) {
  createBackup(input: $input) {
    backup {
      ...BackupRow
    }
  }
}
    ${BackupRow}` as unknown as DocumentNode<CreateBackup, CreateBackupVariables>;
export const RestoresDocument = gql`
    query Restores($id: ID!) {
  database(id: $id) {
    id
    restores(first: 20) {
      nodes {
        ...RestoreRow
      }
    }
  }
}
    ${RestoreRow}` as unknown as DocumentNode<Restores, RestoresVariables>;
export const RestoreBackupDocument = gql`
    mutation RestoreBackup($input: RestoreBackupInput!) {
  restoreBackup(input: $input) {
    databaseRestore {
      ...RestoreRow
    }
  }
}
    ${RestoreRow}` as unknown as DocumentNode<RestoreBackup, RestoreBackupVariables>;
export const TablesDocument = gql`
    query Tables($id: ID!, $after: String, $filter: DatabaseTableFilter) {
  database(id: $id) {
    id
    tables(first: 50, after: $after, filter: $filter) {
      totalCount
      nodes {
        ...TableRow
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    ${TableRow}` as unknown as DocumentNode<Tables, TablesVariables>;
export const DeploymentsDocument = gql`
    query Deployments($first: Int!, $after: String, $filter: DeploymentFilter) {
  deployments(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...DeploymentRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${DeploymentRow}` as unknown as DocumentNode<Deployments, DeploymentsVariables>;
export const DeploymentDocument = gql`
    query Deployment($id: ID!) {
  deployment(id: $id) {
    ...DeploymentDetails
    runs(first: 50) {
      totalCount
      nodes {
        ...DeploymentRunRow
      }
    }
    sessions(first: 50) {
      totalCount
      nodes {
        ...SessionRow
      }
    }
    schedules(first: 50) {
      totalCount
      nodes {
        ...ScheduleRow
      }
    }
    triggers(first: 50) {
      totalCount
      nodes {
        ...TriggerRow
      }
    }
  }
}
    ${DeploymentDetails}
${DeploymentRow}
${AgentRow}
${EnvironmentRow}
${MachineConfig}
${KickoffShown}
${Blocks}
${VaultRow}
${DeploymentRunRow}
${SessionRow}
${ScheduleRow}
${TriggerRow}` as unknown as DocumentNode<Deployment, DeploymentVariables>;
export const CreateDeploymentDocument = gql`
    mutation CreateDeployment($input: CreateDeploymentInput!) {
  createDeployment(input: $input) {
    deployment {
      ...DeploymentDetails
    }
  }
}
    ${DeploymentDetails}
${DeploymentRow}
${AgentRow}
${EnvironmentRow}
${MachineConfig}
${KickoffShown}
${Blocks}
${VaultRow}` as unknown as DocumentNode<CreateDeployment, CreateDeploymentVariables>;
export const UpdateDeploymentDocument = gql`
    mutation UpdateDeployment($input: UpdateDeploymentInput!) {
  updateDeployment(input: $input) {
    deployment {
      ...DeploymentDetails
    }
  }
}
    ${DeploymentDetails}
${DeploymentRow}
${AgentRow}
${EnvironmentRow}
${MachineConfig}
${KickoffShown}
${Blocks}
${VaultRow}` as unknown as DocumentNode<UpdateDeployment, UpdateDeploymentVariables>;
export const PauseDeploymentDocument = gql`
    mutation PauseDeployment($input: PauseDeploymentInput!) {
  pauseDeployment(input: $input) {
    deployment {
      ...DeploymentRow
    }
  }
}
    ${DeploymentRow}` as unknown as DocumentNode<PauseDeployment, PauseDeploymentVariables>;
export const ResumeDeploymentDocument = gql`
    mutation ResumeDeployment($input: ResumeDeploymentInput!) {
  resumeDeployment(input: $input) {
    deployment {
      ...DeploymentRow
    }
  }
}
    ${DeploymentRow}` as unknown as DocumentNode<ResumeDeployment, ResumeDeploymentVariables>;
export const ArchiveDeploymentDocument = gql`
    mutation ArchiveDeployment($input: ArchiveDeploymentInput!) {
  archiveDeployment(input: $input) {
    deployment {
      ...DeploymentRow
    }
  }
}
    ${DeploymentRow}` as unknown as DocumentNode<ArchiveDeployment, ArchiveDeploymentVariables>;
export const DeleteDeploymentDocument = gql`
    mutation DeleteDeployment($input: DeleteDeploymentInput!) {
  deleteDeployment(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteDeployment, DeleteDeploymentVariables>;
export const RunDeploymentDocument = gql`
    mutation RunDeployment($input: RunDeploymentInput!) {
  runDeployment(input: $input) {
    deploymentRun {
      ...DeploymentRunRow
    }
  }
}
    ${DeploymentRunRow}` as unknown as DocumentNode<RunDeployment, RunDeploymentVariables>;
export const DomainsDocument = gql`
    query Domains($first: Int!, $after: String, $filter: DomainFilter) {
  domains(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...DomainRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${DomainRow}` as unknown as DocumentNode<Domains, DomainsVariables>;
export const DomainDocument = gql`
    query Domain($id: ID!) {
  domain(id: $id) {
    ...DomainRow
    instructions
    nextCheckAt
    records {
      ...DnsRecord
    }
    certificate {
      status
      reason
      notAfter
    }
  }
}
    ${DomainRow}
${DnsRecord}` as unknown as DocumentNode<Domain, DomainVariables>;
export const CreateDomainDocument = gql`
    mutation CreateDomain($input: CreateDomainInput!) {
  createDomain(input: $input) {
    domain {
      ...DomainRow
    }
  }
}
    ${DomainRow}` as unknown as DocumentNode<CreateDomain, CreateDomainVariables>;
export const CheckDomainDocument = gql`
    mutation CheckDomain($input: CheckDomainInput!) {
  checkDomain(input: $input) {
    domain {
      ...DomainRow
      nextCheckAt
      records {
        ...DnsRecord
      }
    }
  }
}
    ${DomainRow}
${DnsRecord}` as unknown as DocumentNode<CheckDomain, CheckDomainVariables>;
export const DeleteDomainDocument = gql`
    mutation DeleteDomain($input: DeleteDomainInput!) {
  deleteDomain(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteDomain, DeleteDomainVariables>;
export const DomainTargetsDocument = gql`
    query DomainTargets {
  vms(first: 100) {
    nodes {
      id
      name
    }
  }
  functions(first: 100) {
    nodes {
      id
      name
    }
  }
}
    ` as unknown as DocumentNode<DomainTargets, DomainTargetsVariables>;
export const ActivateDomainDocument = gql`
    mutation ActivateDomain($input: ActivateDomainInput!) {
  activateDomain(input: $input) {
    domain {
      ...DomainRow
      records {
        ...DnsRecord
      }
    }
  }
}
    ${DomainRow}
${DnsRecord}` as unknown as DocumentNode<ActivateDomain, ActivateDomainVariables>;
export const LinkDomainDocument = gql`
    mutation LinkDomain($input: LinkDomainInput!) {
  linkDomain(input: $input) {
    domain {
      ...DomainRow
    }
  }
}
    ${DomainRow}` as unknown as DocumentNode<LinkDomain, LinkDomainVariables>;
export const UnlinkDomainDocument = gql`
    mutation UnlinkDomain($input: UnlinkDomainInput!) {
  unlinkDomain(input: $input) {
    domain {
      ...DomainRow
    }
  }
}
    ${DomainRow}` as unknown as DocumentNode<UnlinkDomain, UnlinkDomainVariables>;
export const EnvironmentsDocument = gql`
    query Environments($first: Int!, $after: String, $filter: EnvironmentFilter) {
  environments(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...EnvironmentRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${EnvironmentRow}` as unknown as DocumentNode<Environments, EnvironmentsVariables>;
export const EnvironmentDocument = gql`
    query Environment($id: ID!) {
  environment(id: $id) {
    ...EnvironmentDetails
    sessions(first: 50) {
      totalCount
      nodes {
        ...SessionRow
      }
    }
  }
}
    ${EnvironmentDetails}
${EnvironmentRow}
${MachineConfig}
${SessionRow}` as unknown as DocumentNode<Environment, EnvironmentVariables>;
export const CreateEnvironmentDocument = gql`
    mutation CreateEnvironment($input: CreateEnvironmentInput!) {
  createEnvironment(input: $input) {
    environment {
      ...EnvironmentDetails
    }
  }
}
    ${EnvironmentDetails}
${EnvironmentRow}
${MachineConfig}` as unknown as DocumentNode<CreateEnvironment, CreateEnvironmentVariables>;
export const UpdateEnvironmentDocument = gql`
    mutation UpdateEnvironment($input: UpdateEnvironmentInput!) {
  updateEnvironment(input: $input) {
    environment {
      ...EnvironmentDetails
    }
  }
}
    ${EnvironmentDetails}
${EnvironmentRow}
${MachineConfig}` as unknown as DocumentNode<UpdateEnvironment, UpdateEnvironmentVariables>;
export const ArchiveEnvironmentDocument = gql`
    mutation ArchiveEnvironment($input: ArchiveEnvironmentInput!) {
  archiveEnvironment(input: $input) {
    environment {
      ...EnvironmentRow
    }
  }
}
    ${EnvironmentRow}` as unknown as DocumentNode<ArchiveEnvironment, ArchiveEnvironmentVariables>;
export const DeleteEnvironmentDocument = gql`
    mutation DeleteEnvironment($input: DeleteEnvironmentInput!) {
  deleteEnvironment(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteEnvironment, DeleteEnvironmentVariables>;
export const FilesDocument = gql`
    query Files($first: Int!, $after: String) {
  files(first: $first, after: $after) {
    totalCount
    nodes {
      ...FileRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${FileRow}` as unknown as DocumentNode<Files, FilesVariables>;
export const FileDocument = gql`
    query File($id: ID!) {
  file(id: $id) {
    ...FileRow
  }
}
    ${FileRow}` as unknown as DocumentNode<File, FileVariables>;
export const FoldersDocument = gql`
    query Folders($first: Int!, $after: String) {
  folders(first: $first, after: $after) {
    totalCount
    nodes {
      ...FolderRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${FolderRow}` as unknown as DocumentNode<Folders, FoldersVariables>;
export const CreateUploadDocument = gql`
    mutation CreateUpload($input: CreateUploadInput!) {
  createUpload(input: $input) {
    upload {
      uploadUrl
      binaryUrl
    }
  }
}
    ` as unknown as DocumentNode<CreateUpload, CreateUploadVariables>;
export const CreateFileDocument = gql`
    mutation CreateFile($input: CreateFileInput!) {
  createFile(input: $input) {
    file {
      ...FileRow
    }
  }
}
    ${FileRow}` as unknown as DocumentNode<CreateFile, CreateFileVariables>;
export const DeleteFileDocument = gql`
    mutation DeleteFile($input: DeleteFileInput!) {
  deleteFile(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteFile, DeleteFileVariables>;
export const DeleteFolderDocument = gql`
    mutation DeleteFolder($input: DeleteFolderInput!) {
  deleteFolder(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteFolder, DeleteFolderVariables>;
export const FunctionsDocument = gql`
    query Functions($first: Int!, $after: String, $filter: FunctionFilter) {
  functions(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...FunctionRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${FunctionRow}` as unknown as DocumentNode<Functions, FunctionsVariables>;
export const FunctionDocument = gql`
    query Function($id: ID!) {
  function(id: $id) {
    ...FunctionRow
    failures
    idleSeconds
    memoryMb
    vcpuCount
    versions(first: 50) {
      nodes {
        id
        number
        createdAt
        startCommand
        port
      }
    }
  }
}
    ${FunctionRow}` as unknown as DocumentNode<Function, FunctionVariables>;
export const FunctionLogDocument = gql`
    subscription FunctionLog($id: ID!, $after: String = "0") {
  functionLogEvents(functionId: $id, after: $after) {
    __typename
    ... on FunctionLogEntry {
      cursor
      at
      output
      versionNumber
    }
  }
}
    ` as unknown as DocumentNode<FunctionLog, FunctionLogVariables>;
export const RollBackFunctionDocument = gql`
    mutation RollBackFunction($input: RollBackFunctionInput!) {
  rollBackFunction(input: $input) {
    function {
      ...FunctionRow
    }
  }
}
    ${FunctionRow}` as unknown as DocumentNode<RollBackFunction, RollBackFunctionVariables>;
export const DeleteFunctionDocument = gql`
    mutation DeleteFunction($input: DeleteFunctionInput!) {
  deleteFunction(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteFunction, DeleteFunctionVariables>;
export const DeployableBuildsDocument = gql`
    query DeployableBuilds {
  builds(first: 50, filter: {statuses: [SUCCEEDED]}) {
    nodes {
      id
      repoUrl
      finishedAt
    }
  }
}
    ` as unknown as DocumentNode<DeployableBuilds, DeployableBuildsVariables>;
export const CreateFunctionDocument = gql`
    mutation CreateFunction($input: CreateFunctionInput!) {
  createFunction(input: $input) {
    function {
      ...FunctionRow
    }
  }
}
    ${FunctionRow}` as unknown as DocumentNode<CreateFunction, CreateFunctionVariables>;
export const DeployFunctionDocument = gql`
    mutation DeployFunction($input: DeployFunctionInput!) {
  deployFunction(input: $input) {
    function {
      ...FunctionRow
    }
  }
}
    ${FunctionRow}` as unknown as DocumentNode<DeployFunction, DeployFunctionVariables>;
export const UpdateFunctionDocument = gql`
    mutation UpdateFunction($input: UpdateFunctionInput!) {
  updateFunction(input: $input) {
    function {
      ...FunctionRow
      idleSeconds
      memoryMb
      vcpuCount
    }
  }
}
    ${FunctionRow}` as unknown as DocumentNode<UpdateFunction, UpdateFunctionVariables>;
export const StartFunctionDocument = gql`
    mutation StartFunction($input: StartFunctionInput!) {
  startFunction(input: $input) {
    function {
      ...FunctionRow
    }
  }
}
    ${FunctionRow}` as unknown as DocumentNode<StartFunction, StartFunctionVariables>;
export const GroupsDocument = gql`
    query Groups($first: Int!, $after: String) {
  groups(first: $first, after: $after) {
    totalCount
    nodes {
      ...GroupRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${GroupRow}` as unknown as DocumentNode<Groups, GroupsVariables>;
export const GroupDocument = gql`
    query Group($id: ID!) {
  group(id: $id) {
    ...GroupRow
    members {
      handle
      displayName
      memberStatus: status
      sessionId
      agentId
    }
    messages(last: 100) {
      totalCount
      nodes {
        ...GroupMessageRow
      }
    }
    runs(last: 50) {
      totalCount
      nodes {
        ...GroupRunRow
      }
    }
  }
}
    ${GroupRow}
${GroupMessageRow}
${GroupRunRow}` as unknown as DocumentNode<Group, GroupVariables>;
export const GroupSessionsDocument = gql`
    query GroupSessions {
  sessions(first: 100) {
    totalCount
    nodes {
      ...SessionRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${SessionRow}` as unknown as DocumentNode<GroupSessions, GroupSessionsVariables>;
export const CreateGroupDocument = gql`
    mutation CreateGroup($input: CreateGroupInput!) {
  createGroup(input: $input) {
    group {
      ...GroupRow
    }
  }
}
    ${GroupRow}` as unknown as DocumentNode<CreateGroup, CreateGroupVariables>;
export const UpdateGroupDocument = gql`
    mutation UpdateGroup($input: UpdateGroupInput!) {
  updateGroup(input: $input) {
    group {
      ...GroupRow
    }
  }
}
    ${GroupRow}` as unknown as DocumentNode<UpdateGroup, UpdateGroupVariables>;
export const DeleteGroupDocument = gql`
    mutation DeleteGroup($input: DeleteGroupInput!) {
  deleteGroup(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteGroup, DeleteGroupVariables>;
export const SendGroupMessageDocument = gql`
    mutation SendGroupMessage($input: SendGroupMessageInput!) {
  sendGroupMessage(input: $input) {
    groupMessage {
      ...GroupMessageRow
    }
  }
}
    ${GroupMessageRow}` as unknown as DocumentNode<SendGroupMessage, SendGroupMessageVariables>;
export const StopGroupRunDocument = gql`
    mutation StopGroupRun($input: StopGroupRunInput!) {
  stopGroupRun(input: $input) {
    groupRun {
      ...GroupRunRow
    }
  }
}
    ${GroupRunRow}` as unknown as DocumentNode<StopGroupRun, StopGroupRunVariables>;
export const AnswerGroupApprovalDocument = gql`
    mutation AnswerGroupApproval($input: AnswerGroupApprovalInput!) {
  answerGroupApproval(input: $input) {
    groupRun {
      ...GroupRunRow
    }
  }
}
    ${GroupRunRow}` as unknown as DocumentNode<AnswerGroupApproval, AnswerGroupApprovalVariables>;
export const AnswerGroupQuestionDocument = gql`
    mutation AnswerGroupQuestion($input: AnswerGroupQuestionInput!) {
  answerGroupQuestion(input: $input) {
    groupRun {
      ...GroupRunRow
    }
  }
}
    ${GroupRunRow}` as unknown as DocumentNode<AnswerGroupQuestion, AnswerGroupQuestionVariables>;
export const HomeDocument = gql`
    query Home {
  waiting: sessions(first: 5, order: DESC, filter: {isActionRequired: true}) {
    totalCount
    nodes {
      ...SessionRow
    }
  }
  running: vms(
    first: 5
    order: DESC
    filter: {statuses: [RUNNING, CREATING, STARTING]}
  ) {
    totalCount
    nodes {
      ...VmRow
    }
  }
  databases(first: 1, order: DESC) {
    totalCount
  }
  agents(first: 1, order: DESC) {
    totalCount
  }
  builds(first: 5, order: DESC) {
    totalCount
    nodes {
      ...BuildRow
    }
  }
}
    ${SessionRow}
${VmRow}
${BuildRow}` as unknown as DocumentNode<Home, HomeVariables>;
export const RunSandboxDocument = gql`
    mutation RunSandbox($input: RunSandboxInput!) {
  runSandbox(input: $input) {
    sandbox {
      command {
        exitCode
        stdout
        stderr
      }
    }
  }
}
    ` as unknown as DocumentNode<RunSandbox, RunSandboxVariables>;
export const HostDocument = gql`
    query Host {
  instance {
    version
    hasLocalSignIn
    signInProviders
    issuers
    canSendMail
    limits {
      pageSizeMax
      operationObjectsMax
      requestsPerMinute
      createsPerMinute
      imageBytesMax
      documentBytesMax
    }
  }
}
    ` as unknown as DocumentNode<Host, HostVariables>;
export const MachinesDocument = gql`
    query Machines {
  machines(first: 100) {
    totalCount
    nodes {
      id
      name
      acceleration
      unavailableReason
      lastSeenAt
    }
  }
}
    ` as unknown as DocumentNode<Machines, MachinesVariables>;
export const MemoriesDocument = gql`
    query Memories($first: Int!, $after: String, $filter: MemoryFilter) {
  memories(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...MemoryRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${MemoryRow}` as unknown as DocumentNode<Memories, MemoriesVariables>;
export const MemoryDocument = gql`
    query Memory($id: ID!) {
  memory(id: $id) {
    ...MemoryRow
  }
}
    ${MemoryRow}` as unknown as DocumentNode<Memory, MemoryVariables>;
export const MemorySettingsDocument = gql`
    query MemorySettings {
  memorySettings {
    useMemories
  }
}
    ` as unknown as DocumentNode<MemorySettings, MemorySettingsVariables>;
export const CreateMemoryDocument = gql`
    mutation CreateMemory($input: CreateMemoryInput!) {
  createMemory(input: $input) {
    isNew
    memory {
      ...MemoryRow
    }
  }
}
    ${MemoryRow}` as unknown as DocumentNode<CreateMemory, CreateMemoryVariables>;
export const UpdateMemoryDocument = gql`
    mutation UpdateMemory($input: UpdateMemoryInput!) {
  updateMemory(input: $input) {
    memory {
      ...MemoryRow
    }
  }
}
    ${MemoryRow}` as unknown as DocumentNode<UpdateMemory, UpdateMemoryVariables>;
export const DeleteMemoryDocument = gql`
    mutation DeleteMemory($input: DeleteMemoryInput!) {
  deleteMemory(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteMemory, DeleteMemoryVariables>;
export const UpdateMemorySettingsDocument = gql`
    mutation UpdateMemorySettings($input: UpdateMemorySettingsInput!) {
  updateMemorySettings(input: $input) {
    memorySettings {
      useMemories
    }
  }
}
    ` as unknown as DocumentNode<UpdateMemorySettings, UpdateMemorySettingsVariables>;
export const InferenceUsageDocument = gql`
    query InferenceUsage($dimensions: [InferenceUsageGroupBy!], $from: String) {
  inferenceUsage(dimensions: $dimensions, from: $from) {
    from
    to
    hasMoreGroups
    totals {
      ...Totals
    }
    groups {
      day
      modelId
      key {
        id
        name
      }
      user {
        id
        name
      }
      totals {
        ...Totals
      }
    }
  }
}
    ${Totals}` as unknown as DocumentNode<InferenceUsage, InferenceUsageVariables>;
export const VmUsageDocument = gql`
    query VmUsage($dimensions: [VmUsageDimension!], $from: String) {
  vmUsage(dimensions: $dimensions, from: $from) {
    from
    to
    hasMoreGroups
    totals {
      hours
      costUsd
    }
    groups {
      day
      vmId
      vm {
        id
        name
      }
      totals {
        hours
        costUsd
        sessions
      }
    }
  }
}
    ` as unknown as DocumentNode<VmUsage, VmUsageVariables>;
export const ModelsDocument = gql`
    query Models($first: Int!, $after: String) {
  models(first: $first, after: $after) {
    totalCount
    nodes {
      id
      displayName
      ownedBy
      modelStatus: status
      kind
      contextWindow
      maxOutputTokens
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ` as unknown as DocumentNode<Models, ModelsVariables>;
export const RequestsDocument = gql`
    query Requests($first: Int!, $after: String) {
  inferenceRequests(first: $first, after: $after) {
    totalCount
    nodes {
      id
      modelId
      requestStatus: status
      inputTokens
      outputTokens
      costUsd
      startedAt
      key {
        id
        name
      }
      user {
        id
        name
      }
      session {
        id
        title
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ` as unknown as DocumentNode<Requests, RequestsVariables>;
export const BudgetDocument = gql`
    query Budget {
  inferenceCredits {
    balanceUsd
    spentThisMonthUsd
    monthlyBudgetUsd
    keyBudgets {
      keyId
      monthlyUsd
      spentThisMonthUsd
      key {
        id
        name
      }
    }
  }
}
    ` as unknown as DocumentNode<Budget, BudgetVariables>;
export const SetOrganizationBudgetDocument = gql`
    mutation SetOrganizationBudget($input: SetOrganizationBudgetInput!) {
  setOrganizationBudget(input: $input) {
    credits {
      balanceUsd
      spentThisMonthUsd
      monthlyBudgetUsd
    }
  }
}
    ` as unknown as DocumentNode<SetOrganizationBudget, SetOrganizationBudgetVariables>;
export const SetApiKeyBudgetDocument = gql`
    mutation SetApiKeyBudget($input: SetApiKeyBudgetInput!) {
  setApiKeyBudget(input: $input) {
    credits {
      balanceUsd
    }
  }
}
    ` as unknown as DocumentNode<SetApiKeyBudget, SetApiKeyBudgetVariables>;
export const ChatDocument = gql`
    subscription Chat($input: ChatCompletionEventsInput!) {
  chatCompletionEvents(input: $input) {
    __typename
    ... on ChatCompletionEvent {
      id
      text
      reasoningText
      finishReason
    }
  }
}
    ` as unknown as DocumentNode<Chat, ChatVariables>;
export const OfferedAgentsDocument = gql`
    query OfferedAgents($filter: AgentFilter) {
  agents(first: 20, filter: $filter) {
    totalCount
    nodes {
      id
      name
    }
  }
}
    ` as unknown as DocumentNode<OfferedAgents, OfferedAgentsVariables>;
export const OfferedDeploymentsDocument = gql`
    query OfferedDeployments($filter: DeploymentFilter) {
  deployments(first: 20, filter: $filter) {
    totalCount
    nodes {
      id
      name
    }
  }
}
    ` as unknown as DocumentNode<OfferedDeployments, OfferedDeploymentsVariables>;
export const OfferedEnvironmentsDocument = gql`
    query OfferedEnvironments($filter: EnvironmentFilter) {
  environments(first: 20, filter: $filter) {
    totalCount
    nodes {
      id
      name
    }
  }
}
    ` as unknown as DocumentNode<OfferedEnvironments, OfferedEnvironmentsVariables>;
export const OfferedVaultsDocument = gql`
    query OfferedVaults($filter: VaultFilter) {
  vaults(first: 20, filter: $filter) {
    totalCount
    nodes {
      id
      name: displayName
    }
  }
}
    ` as unknown as DocumentNode<OfferedVaults, OfferedVaultsVariables>;
export const OfferedProjectsDocument = gql`
    query OfferedProjects($filter: ProjectFilter) {
  projects(first: 20, filter: $filter) {
    totalCount
    nodes {
      id
      name
    }
  }
}
    ` as unknown as DocumentNode<OfferedProjects, OfferedProjectsVariables>;
export const OfferedConnectorsDocument = gql`
    query OfferedConnectors($filter: McpServiceFilter) {
  mcpServices(first: 20, filter: $filter) {
    totalCount
    nodes {
      id
      name
    }
  }
}
    ` as unknown as DocumentNode<OfferedConnectors, OfferedConnectorsVariables>;
export const NamesDocument = gql`
    query Names($ids: [ID!]!) {
  nodes(ids: $ids) {
    __typename
    id
    ... on Agent {
      name
    }
    ... on Deployment {
      name
    }
    ... on Environment {
      name
    }
    ... on Vault {
      name: displayName
    }
    ... on Project {
      name
    }
  }
}
    ` as unknown as DocumentNode<Names, NamesVariables>;
export const ApiKeysDocument = gql`
    query ApiKeys($first: Int!, $after: String) {
  apiKeys(first: $first, after: $after) {
    totalCount
    nodes {
      ...ApiKeyRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${ApiKeyRow}` as unknown as DocumentNode<ApiKeys, ApiKeysVariables>;
export const CreateApiKeyDocument = gql`
    mutation CreateApiKey($input: CreateApiKeyInput!) {
  createApiKey(input: $input) {
    key
    apiKey {
      ...ApiKeyRow
    }
  }
}
    ${ApiKeyRow}` as unknown as DocumentNode<CreateApiKey, CreateApiKeyVariables>;
export const RevokeApiKeyDocument = gql`
    mutation RevokeApiKey($input: RevokeApiKeyInput!) {
  revokeApiKey(input: $input) {
    apiKey {
      ...ApiKeyRow
    }
  }
}
    ${ApiKeyRow}` as unknown as DocumentNode<RevokeApiKey, RevokeApiKeyVariables>;
export const MembersDocument = gql`
    query Members($first: Int!, $after: String) {
  members(first: $first, after: $after) {
    totalCount
    nodes {
      ...MemberRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${MemberRow}` as unknown as DocumentNode<Members, MembersVariables>;
export const InvitationsDocument = gql`
    query Invitations {
  invitations(first: 50) {
    nodes {
      id
      role
      note
      createdAt
      expiresAt
      acceptedAt
    }
  }
}
    ` as unknown as DocumentNode<Invitations, InvitationsVariables>;
export const CreateInvitationDocument = gql`
    mutation CreateInvitation($input: CreateInvitationInput!) {
  createInvitation(input: $input) {
    url
    invitation {
      id
    }
  }
}
    ` as unknown as DocumentNode<CreateInvitation, CreateInvitationVariables>;
export const AcceptInvitationDocument = gql`
    mutation AcceptInvitation($input: AcceptInvitationInput!) {
  acceptInvitation(input: $input) {
    organization {
      id
      name
    }
  }
}
    ` as unknown as DocumentNode<AcceptInvitation, AcceptInvitationVariables>;
export const BrowserSessionsDocument = gql`
    query BrowserSessions {
  viewer {
    browserSessions {
      id
      address
      userAgent
      createdAt
      usedAt
      expiresAt
      isCurrent
    }
  }
}
    ` as unknown as DocumentNode<BrowserSessions, BrowserSessionsVariables>;
export const AuthorizationsDocument = gql`
    query Authorizations {
  viewer {
    authorizations {
      id
      clientName
      scope
      createdAt
      usedAt
      organization {
        id
        name
      }
    }
  }
}
    ` as unknown as DocumentNode<Authorizations, AuthorizationsVariables>;
export const RevokeAuthorizationDocument = gql`
    mutation RevokeAuthorization($input: RevokeAuthorizationInput!) {
  revokeAuthorization(input: $input) {
    authorization {
      id
    }
  }
}
    ` as unknown as DocumentNode<RevokeAuthorization, RevokeAuthorizationVariables>;
export const RevokeBrowserSessionDocument = gql`
    mutation RevokeBrowserSession($input: RevokeBrowserSessionInput!) {
  revokeBrowserSession(input: $input) {
    browserSession {
      id
    }
  }
}
    ` as unknown as DocumentNode<RevokeBrowserSession, RevokeBrowserSessionVariables>;
export const SettingsDocument = gql`
    query Settings {
  viewer {
    organization {
      id
      name
      createdAt
      storage {
        name
        usedBytes
        limitBytes
      }
    }
  }
}
    ` as unknown as DocumentNode<Settings, SettingsVariables>;
export const UpdateOrganizationDocument = gql`
    mutation UpdateOrganization($input: UpdateOrganizationInput!) {
  updateOrganization(input: $input) {
    organization {
      id
      name
    }
  }
}
    ` as unknown as DocumentNode<UpdateOrganization, UpdateOrganizationVariables>;
export const UpdateMemberDocument = gql`
    mutation UpdateMember($input: UpdateMemberInput!) {
  updateMember(input: $input) {
    member {
      ...MemberRow
    }
  }
}
    ${MemberRow}` as unknown as DocumentNode<UpdateMember, UpdateMemberVariables>;
export const RemoveMemberDocument = gql`
    mutation RemoveMember($input: RemoveMemberInput!) {
  removeMember(input: $input) {
    member {
      id
    }
  }
}
    ` as unknown as DocumentNode<RemoveMember, RemoveMemberVariables>;
export const RevokeInvitationDocument = gql`
    mutation RevokeInvitation($input: RevokeInvitationInput!) {
  revokeInvitation(input: $input) {
    invitation {
      id
    }
  }
}
    ` as unknown as DocumentNode<RevokeInvitation, RevokeInvitationVariables>;
export const ProjectsDocument = gql`
    query Projects($first: Int!, $after: String, $filter: ProjectFilter) {
  projects(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...ProjectRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${ProjectRow}` as unknown as DocumentNode<Projects, ProjectsVariables>;
export const ProjectDocument = gql`
    query Project($id: ID!) {
  project(id: $id) {
    ...ProjectRow
  }
  vms(first: 100, filter: {projectId: $id}) {
    totalCount
    nodes {
      ...VmRow
    }
  }
  databases(first: 100, filter: {projectId: $id}) {
    totalCount
    nodes {
      ...DatabaseRow
    }
  }
}
    ${ProjectRow}
${VmRow}
${DatabaseRow}` as unknown as DocumentNode<Project, ProjectVariables>;
export const CreateProjectDocument = gql`
    mutation CreateProject($input: CreateProjectInput!) {
  createProject(input: $input) {
    project {
      ...ProjectRow
    }
  }
}
    ${ProjectRow}` as unknown as DocumentNode<CreateProject, CreateProjectVariables>;
export const UpdateProjectDocument = gql`
    mutation UpdateProject($input: UpdateProjectInput!) {
  updateProject(input: $input) {
    project {
      ...ProjectRow
    }
  }
}
    ${ProjectRow}` as unknown as DocumentNode<UpdateProject, UpdateProjectVariables>;
export const DeleteProjectDocument = gql`
    mutation DeleteProject($input: DeleteProjectInput!) {
  deleteProject(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteProject, DeleteProjectVariables>;
export const SchedulesDocument = gql`
    query Schedules($first: Int!, $after: String) {
  schedules(first: $first, after: $after) {
    totalCount
    nodes {
      ...ScheduleRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${ScheduleRow}` as unknown as DocumentNode<Schedules, SchedulesVariables>;
export const ScheduleDocument = gql`
    query Schedule($id: ID!) {
  schedule(id: $id) {
    ...ScheduleDetails
    runs(first: 50) {
      totalCount
      nodes {
        ...ScheduleRunRow
      }
    }
  }
}
    ${ScheduleDetails}
${ScheduleRow}
${DeploymentRow}
${AgentRow}
${KickoffShown}
${Blocks}
${ScheduleRunRow}` as unknown as DocumentNode<Schedule, ScheduleVariables>;
export const ScheduleEventsDocument = gql`
    subscription ScheduleEvents($id: ID!, $after: String) {
  scheduleEvents(scheduleId: $id, after: $after) {
    __typename
    ... on ScheduleEvent {
      cursor
    }
  }
}
    ` as unknown as DocumentNode<ScheduleEvents, ScheduleEventsVariables>;
export const CreateScheduleDocument = gql`
    mutation CreateSchedule($input: CreateScheduleInput!) {
  createSchedule(input: $input) {
    schedule {
      ...ScheduleDetails
    }
  }
}
    ${ScheduleDetails}
${ScheduleRow}
${DeploymentRow}
${AgentRow}
${KickoffShown}
${Blocks}` as unknown as DocumentNode<CreateSchedule, CreateScheduleVariables>;
export const UpdateScheduleDocument = gql`
    mutation UpdateSchedule($input: UpdateScheduleInput!) {
  updateSchedule(input: $input) {
    schedule {
      ...ScheduleDetails
    }
  }
}
    ${ScheduleDetails}
${ScheduleRow}
${DeploymentRow}
${AgentRow}
${KickoffShown}
${Blocks}` as unknown as DocumentNode<UpdateSchedule, UpdateScheduleVariables>;
export const DeleteScheduleDocument = gql`
    mutation DeleteSchedule($input: DeleteScheduleInput!) {
  deleteSchedule(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteSchedule, DeleteScheduleVariables>;
export const SessionsDocument = gql`
    query Sessions($first: Int!, $after: String, $filter: SessionFilter) {
  sessions(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...SessionRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${SessionRow}` as unknown as DocumentNode<Sessions, SessionsVariables>;
export const SessionDocument = gql`
    query Session($id: ID!) {
  session(id: $id) {
    ...SessionRow
    isShared
    archivedAt
    definition {
      model {
        id
      }
    }
    environment {
      id
      vmId
    }
    vaultIds
    outcomeEvaluations {
      outcomeId
      description
      outcomeResult: result
      iteration
      explanation
      completedAt
    }
    askedPeerExchanges(first: 50) {
      totalCount
      nodes {
        ...PeerExchangeRow
      }
    }
    answeredPeerExchanges(first: 50) {
      totalCount
      nodes {
        ...PeerExchangeRow
      }
    }
  }
}
    ${SessionRow}
${PeerExchangeRow}` as unknown as DocumentNode<Session, SessionVariables>;
export const SessionEventsDocument = gql`
    subscription SessionEvents($id: ID!, $after: String) {
  sessionEvents(
    sessionId: $id
    after: $after
    replay: true
    previews: [AGENT_MESSAGE]
  ) {
    __typename
    ... on SessionEmission {
      cursor
      event {
        ...TranscriptEvent
      }
      preview {
        __typename
        ... on SessionPreviewStart {
          previewOf
        }
        ... on SessionPreviewText {
          previewOf
          text
        }
      }
    }
  }
}
    ${TranscriptEvent}
${Blocks}` as unknown as DocumentNode<SessionEvents, SessionEventsVariables>;
export const CreateSessionDocument = gql`
    mutation CreateSession($input: CreateSessionInput!) {
  createSession(input: $input) {
    session {
      ...SessionRow
    }
  }
}
    ${SessionRow}` as unknown as DocumentNode<CreateSession, CreateSessionVariables>;
export const SendSessionEventsDocument = gql`
    mutation SendSessionEvents($input: SendSessionEventsInput!) {
  sendSessionEvents(input: $input) {
    events {
      id
    }
  }
}
    ` as unknown as DocumentNode<SendSessionEvents, SendSessionEventsVariables>;
export const StopPeerExchangeDocument = gql`
    mutation StopPeerExchange($input: StopPeerExchangeInput!) {
  stopPeerExchange(input: $input) {
    peerExchange {
      ...PeerExchangeRow
    }
  }
}
    ${PeerExchangeRow}` as unknown as DocumentNode<StopPeerExchange, StopPeerExchangeVariables>;
export const SharedSessionDocument = gql`
    query SharedSession($id: ID!, $after: String) {
  sharedSession(id: $id) {
    id
    title
    sharedAt
    agent {
      name
    }
    transcript(first: 100, after: $after) {
      totalCount
      nodes {
        id
        type
        toolName
        processedAt
        content {
          ...Blocks
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    ${Blocks}` as unknown as DocumentNode<SharedSession, SharedSessionVariables>;
export const SetSessionSharingDocument = gql`
    mutation SetSessionSharing($input: SetSessionSharingInput!) {
  setSessionSharing(input: $input) {
    session {
      id
      isShared
    }
  }
}
    ` as unknown as DocumentNode<SetSessionSharing, SetSessionSharingVariables>;
export const SkillsDocument = gql`
    query Skills($first: Int!, $after: String) {
  skills(first: $first, after: $after) {
    totalCount
    nodes {
      ...SkillRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${SkillRow}` as unknown as DocumentNode<Skills, SkillsVariables>;
export const SkillDocument = gql`
    query Skill($id: ID!) {
  skill(id: $id) {
    ...SkillRow
    versions(first: 50) {
      totalCount
      nodes {
        ...SkillVersionRow
      }
    }
  }
}
    ${SkillRow}
${SkillVersionRow}` as unknown as DocumentNode<Skill, SkillVariables>;
export const CreateSkillDocument = gql`
    mutation CreateSkill($input: CreateSkillInput!) {
  createSkill(input: $input) {
    skill {
      ...SkillRow
    }
  }
}
    ${SkillRow}` as unknown as DocumentNode<CreateSkill, CreateSkillVariables>;
export const CreateSkillVersionDocument = gql`
    mutation CreateSkillVersion($input: CreateSkillVersionInput!) {
  createSkillVersion(input: $input) {
    skillVersion {
      ...SkillVersionRow
    }
  }
}
    ${SkillVersionRow}` as unknown as DocumentNode<CreateSkillVersion, CreateSkillVersionVariables>;
export const DeleteSkillDocument = gql`
    mutation DeleteSkill($input: DeleteSkillInput!) {
  deleteSkill(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteSkill, DeleteSkillVariables>;
export const DeleteSkillVersionDocument = gql`
    mutation DeleteSkillVersion($input: DeleteSkillVersionInput!) {
  deleteSkillVersion(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteSkillVersion, DeleteSkillVersionVariables>;
export const TemplateListDocument = gql`
    query TemplateList($first: Int!, $after: String) {
  templates(first: $first, after: $after) {
    totalCount
    nodes {
      ...TemplateRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${TemplateRow}` as unknown as DocumentNode<TemplateList, TemplateListVariables>;
export const TemplateDocument = gql`
    query Template($id: ID!) {
  node(id: $id) {
    __typename
    id
    ... on Template {
      ...TemplateRow
      machine {
        id
        name
      }
    }
  }
  vms(first: 100, filter: {templateId: $id}) {
    totalCount
    nodes {
      ...VmRow
    }
  }
}
    ${TemplateRow}
${VmRow}` as unknown as DocumentNode<Template, TemplateVariables>;
export const DeleteTemplateDocument = gql`
    mutation DeleteTemplate($input: DeleteTemplateInput!) {
  deleteTemplate(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteTemplate, DeleteTemplateVariables>;
export const TerminalsDocument = gql`
    query Terminals($id: ID!) {
  vm(id: $id) {
    id
    vmStatus: status
    terminals(first: 50) {
      nodes {
        ...TerminalRow
      }
    }
  }
}
    ${TerminalRow}` as unknown as DocumentNode<Terminals, TerminalsVariables>;
export const OpenTerminalDocument = gql`
    mutation OpenTerminal($input: OpenTerminalInput!) {
  openTerminal(input: $input) {
    ticket
    terminal {
      ...TerminalRow
    }
  }
}
    ${TerminalRow}` as unknown as DocumentNode<OpenTerminal, OpenTerminalVariables>;
export const CreateTerminalTicketDocument = gql`
    mutation CreateTerminalTicket($input: CreateTerminalTicketInput!) {
  createTerminalTicket(input: $input) {
    ticket
    terminal {
      ...TerminalRow
    }
  }
}
    ${TerminalRow}` as unknown as DocumentNode<CreateTerminalTicket, CreateTerminalTicketVariables>;
export const CloseTerminalDocument = gql`
    mutation CloseTerminal($input: CloseTerminalInput!) {
  closeTerminal(input: $input) {
    terminal {
      ...TerminalRow
    }
  }
}
    ${TerminalRow}` as unknown as DocumentNode<CloseTerminal, CloseTerminalVariables>;
export const TriggersDocument = gql`
    query Triggers($first: Int!, $after: String) {
  triggers(first: $first, after: $after) {
    totalCount
    nodes {
      ...TriggerRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${TriggerRow}` as unknown as DocumentNode<Triggers, TriggersVariables>;
export const TriggerDocument = gql`
    query Trigger($id: ID!) {
  trigger(id: $id) {
    ...TriggerDetails
    fires(first: 50) {
      totalCount
      nodes {
        ...TriggerFireRow
      }
    }
  }
}
    ${TriggerDetails}
${TriggerRow}
${AgentRow}
${DeploymentRow}
${TriggerFireRow}` as unknown as DocumentNode<Trigger, TriggerVariables>;
export const CreateTriggerDocument = gql`
    mutation CreateTrigger($input: CreateTriggerInput!) {
  createTrigger(input: $input) {
    trigger {
      ...TriggerDetails
    }
  }
}
    ${TriggerDetails}
${TriggerRow}
${AgentRow}
${DeploymentRow}` as unknown as DocumentNode<CreateTrigger, CreateTriggerVariables>;
export const UpdateTriggerDocument = gql`
    mutation UpdateTrigger($input: UpdateTriggerInput!) {
  updateTrigger(input: $input) {
    trigger {
      ...TriggerDetails
    }
  }
}
    ${TriggerDetails}
${TriggerRow}
${AgentRow}
${DeploymentRow}` as unknown as DocumentNode<UpdateTrigger, UpdateTriggerVariables>;
export const DeleteTriggerDocument = gql`
    mutation DeleteTrigger($input: DeleteTriggerInput!) {
  deleteTrigger(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteTrigger, DeleteTriggerVariables>;
export const TryTriggerDocument = gql`
    mutation TryTrigger($input: TryTriggerInput!) {
  tryTrigger(input: $input) {
    outcome
    skipReason
    reason
    errorType
    kickoff {
      ...KickoffShown
    }
  }
}
    ${KickoffShown}
${Blocks}` as unknown as DocumentNode<TryTrigger, TryTriggerVariables>;
export const VaultsDocument = gql`
    query Vaults($first: Int!, $after: String, $filter: VaultFilter) {
  vaults(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...VaultRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${VaultRow}` as unknown as DocumentNode<Vaults, VaultsVariables>;
export const VaultDocument = gql`
    query Vault($id: ID!) {
  vault(id: $id) {
    ...VaultRow
    credentials(first: 100, filter: {includeArchived: true}) {
      totalCount
      nodes {
        ...CredentialRow
      }
    }
  }
}
    ${VaultRow}
${CredentialRow}` as unknown as DocumentNode<Vault, VaultVariables>;
export const VaultEventsDocument = gql`
    subscription VaultEvents($id: ID!, $after: String) {
  vaultEvents(vaultId: $id, after: $after) {
    __typename
    ... on VaultEvent {
      cursor
      type
    }
  }
}
    ` as unknown as DocumentNode<VaultEvents, VaultEventsVariables>;
export const CreateVaultDocument = gql`
    mutation CreateVault($input: CreateVaultInput!) {
  createVault(input: $input) {
    vault {
      ...VaultRow
    }
  }
}
    ${VaultRow}` as unknown as DocumentNode<CreateVault, CreateVaultVariables>;
export const UpdateVaultDocument = gql`
    mutation UpdateVault($input: UpdateVaultInput!) {
  updateVault(input: $input) {
    vault {
      ...VaultRow
    }
  }
}
    ${VaultRow}` as unknown as DocumentNode<UpdateVault, UpdateVaultVariables>;
export const ArchiveVaultDocument = gql`
    mutation ArchiveVault($input: ArchiveVaultInput!) {
  archiveVault(input: $input) {
    vault {
      ...VaultRow
    }
  }
}
    ${VaultRow}` as unknown as DocumentNode<ArchiveVault, ArchiveVaultVariables>;
export const DeleteVaultDocument = gql`
    mutation DeleteVault($input: DeleteVaultInput!) {
  deleteVault(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteVault, DeleteVaultVariables>;
export const CreateVaultCredentialDocument = gql`
    mutation CreateVaultCredential($input: CreateVaultCredentialInput!) {
  createVaultCredential(input: $input) {
    vaultCredential {
      ...CredentialRow
    }
  }
}
    ${CredentialRow}` as unknown as DocumentNode<CreateVaultCredential, CreateVaultCredentialVariables>;
export const UpdateVaultCredentialDocument = gql`
    mutation UpdateVaultCredential($input: UpdateVaultCredentialInput!) {
  updateVaultCredential(input: $input) {
    vaultCredential {
      ...CredentialRow
    }
  }
}
    ${CredentialRow}` as unknown as DocumentNode<UpdateVaultCredential, UpdateVaultCredentialVariables>;
export const ArchiveVaultCredentialDocument = gql`
    mutation ArchiveVaultCredential($input: ArchiveVaultCredentialInput!) {
  archiveVaultCredential(input: $input) {
    vaultCredential {
      ...CredentialRow
    }
  }
}
    ${CredentialRow}` as unknown as DocumentNode<ArchiveVaultCredential, ArchiveVaultCredentialVariables>;
export const DeleteVaultCredentialDocument = gql`
    mutation DeleteVaultCredential($input: DeleteVaultCredentialInput!) {
  deleteVaultCredential(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteVaultCredential, DeleteVaultCredentialVariables>;
export const ValidateVaultCredentialDocument = gql`
    mutation ValidateVaultCredential($input: ValidateVaultCredentialInput!) {
  validateVaultCredential(input: $input) {
    validation {
      validationStatus: status
      hasRefreshToken
      refresh {
        refreshStatus: status
      }
      mcpProbe {
        httpResponse {
          statusCode
        }
      }
    }
  }
}
    ` as unknown as DocumentNode<ValidateVaultCredential, ValidateVaultCredentialVariables>;
export const VmsDocument = gql`
    query Vms($first: Int!, $after: String, $filter: VmFilter) {
  vms(first: $first, after: $after, filter: $filter) {
    totalCount
    nodes {
      ...VmRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${VmRow}` as unknown as DocumentNode<Vms, VmsVariables>;
export const VmDocument = gql`
    query Vm($id: ID!) {
  vm(id: $id) {
    ...VmRow
    diskMb
    ipAddress
    idleSeconds
    idleAction
    expiresAt
    startedAt
    warnings
    networkPolicy {
      type
    }
    machine {
      id
      name
      acceleration
    }
    events(last: 50) {
      nodes {
        cursor
        at
        status
        statusReason
      }
    }
    proxies(first: 50) {
      nodes {
        id
        externalUrl
        vmPort
      }
    }
  }
}
    ${VmRow}` as unknown as DocumentNode<Vm, VmVariables>;
export const VmProcessesDocument = gql`
    query VmProcesses($id: ID!) {
  vm(id: $id) {
    id
    processes(first: 50) {
      nodes {
        id
        command
        status
        exitCode
        startedAt
        finishedAt
      }
    }
  }
}
    ` as unknown as DocumentNode<VmProcesses, VmProcessesVariables>;
export const VmFolderDocument = gql`
    query VmFolder($vmId: ID!, $path: String!) {
  vmFolder(vmId: $vmId, path: $path) {
    path
    entries {
      name
      type
      sizeBytes
      modifiedAt
    }
  }
}
    ` as unknown as DocumentNode<VmFolder, VmFolderVariables>;
export const VmPortsDocument = gql`
    query VmPorts($id: ID!) {
  vm(id: $id) {
    id
    ports {
      port
      address
      isReachable
      processName
      pid
      previewUrl
    }
  }
}
    ` as unknown as DocumentNode<VmPorts, VmPortsVariables>;
export const VmKernelLogDocument = gql`
    query VmKernelLog($id: ID!) {
  vm(id: $id) {
    id
    kernelLog
  }
}
    ` as unknown as DocumentNode<VmKernelLog, VmKernelLogVariables>;
export const WatchVmDocument = gql`
    subscription WatchVm($id: ID!) {
  vmMetricsChanged(vmId: $id) {
    ... on VmMetrics {
      processorPercent
      load
      memoryUsedBytes
      memoryTotalBytes
      diskUsedBytes
      diskTotalBytes
      receivedBytes
      sentBytes
      at
    }
  }
}
    ` as unknown as DocumentNode<WatchVm, WatchVmVariables>;
export const TemplatesDocument = gql`
    query Templates {
  templates(first: 100) {
    nodes {
      id
      name
      description
      isReady
    }
  }
}
    ` as unknown as DocumentNode<Templates, TemplatesVariables>;
export const CreateVmDocument = gql`
    mutation CreateVm($input: CreateVmInput!) {
  createVm(input: $input) {
    vm {
      ...VmRow
    }
  }
}
    ${VmRow}` as unknown as DocumentNode<CreateVm, CreateVmVariables>;
export const StartVmDocument = gql`
    mutation StartVm($input: StartVmInput!) {
  startVm(input: $input) {
    vm {
      ...VmRow
    }
  }
}
    ${VmRow}` as unknown as DocumentNode<StartVm, StartVmVariables>;
export const StopVmDocument = gql`
    mutation StopVm($input: StopVmInput!) {
  stopVm(input: $input) {
    vm {
      ...VmRow
    }
  }
}
    ${VmRow}` as unknown as DocumentNode<StopVm, StopVmVariables>;
export const PauseVmDocument = gql`
    mutation PauseVm($input: PauseVmInput!) {
  pauseVm(input: $input) {
    vm {
      ...VmRow
    }
  }
}
    ${VmRow}` as unknown as DocumentNode<PauseVm, PauseVmVariables>;
export const ResumeVmDocument = gql`
    mutation ResumeVm($input: ResumeVmInput!) {
  resumeVm(input: $input) {
    vm {
      ...VmRow
    }
  }
}
    ${VmRow}` as unknown as DocumentNode<ResumeVm, ResumeVmVariables>;
export const UpdateVmDocument = gql`
    mutation UpdateVm($input: UpdateVmInput!) {
  updateVm(input: $input) {
    vm {
      ...VmRow
      diskMb
    }
  }
}
    ${VmRow}` as unknown as DocumentNode<UpdateVm, UpdateVmVariables>;
export const CreateVmFileUrlDocument = gql`
    mutation CreateVmFileUrl($input: CreateVmFileUrlInput!) {
  createVmFileUrl(input: $input) {
    fileUrl {
      url
    }
  }
}
    ` as unknown as DocumentNode<CreateVmFileUrl, CreateVmFileUrlVariables>;
export const DeleteVmDocument = gql`
    mutation DeleteVm($input: DeleteVmInput!) {
  deleteVm(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteVm, DeleteVmVariables>;
export const ExecInVmDocument = gql`
    mutation ExecInVm($input: ExecInVmInput!) {
  execInVm(input: $input) {
    result {
      exitCode
      stdout
      stderr
      error
      duration
      hasTimedOut
      isBackground
    }
  }
}
    ` as unknown as DocumentNode<ExecInVm, ExecInVmVariables>;
export const WebhooksDocument = gql`
    query Webhooks($first: Int!, $after: String) {
  webhookEndpoints(first: $first, after: $after) {
    totalCount
    nodes {
      ...WebhookRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    ${WebhookRow}` as unknown as DocumentNode<Webhooks, WebhooksVariables>;
export const WebhookDocument = gql`
    query Webhook($id: ID!) {
  webhookEndpoint(id: $id) {
    ...WebhookRow
    heldUntil
    previousSecretUntil
    deliveries(first: 50) {
      totalCount
      nodes {
        ...DeliveryRow
      }
    }
  }
}
    ${WebhookRow}
${DeliveryRow}` as unknown as DocumentNode<Webhook, WebhookVariables>;
export const WebhookEventTypesDocument = gql`
    query WebhookEventTypes {
  __type(name: "WebhookEventType") {
    enumValues {
      name
      description
    }
  }
}
    ` as unknown as DocumentNode<WebhookEventTypes, WebhookEventTypesVariables>;
export const WebhookAttemptsDocument = gql`
    subscription WebhookAttempts($id: ID!, $after: String) {
  webhookDeliveryEvents(endpointId: $id, after: $after) {
    __typename
    ... on WebhookDeliveryEvent {
      cursor
      delivery {
        ...DeliveryRow
      }
    }
  }
}
    ${DeliveryRow}` as unknown as DocumentNode<WebhookAttempts, WebhookAttemptsVariables>;
export const CreateWebhookDocument = gql`
    mutation CreateWebhook($input: CreateWebhookEndpointInput!) {
  createWebhookEndpoint(input: $input) {
    secret
    webhookEndpoint {
      ...WebhookRow
    }
  }
}
    ${WebhookRow}` as unknown as DocumentNode<CreateWebhook, CreateWebhookVariables>;
export const UpdateWebhookDocument = gql`
    mutation UpdateWebhook($input: UpdateWebhookEndpointInput!) {
  updateWebhookEndpoint(input: $input) {
    webhookEndpoint {
      ...WebhookRow
    }
  }
}
    ${WebhookRow}` as unknown as DocumentNode<UpdateWebhook, UpdateWebhookVariables>;
export const RotateWebhookSecretDocument = gql`
    mutation RotateWebhookSecret($input: RotateWebhookEndpointSecretInput!) {
  rotateWebhookEndpointSecret(input: $input) {
    secret
    webhookEndpoint {
      id
      previousSecretUntil
    }
  }
}
    ` as unknown as DocumentNode<RotateWebhookSecret, RotateWebhookSecretVariables>;
export const DeleteWebhookDocument = gql`
    mutation DeleteWebhook($input: DeleteWebhookEndpointInput!) {
  deleteWebhookEndpoint(input: $input) {
    deletedId
  }
}
    ` as unknown as DocumentNode<DeleteWebhook, DeleteWebhookVariables>;
export const TestWebhookDocument = gql`
    mutation TestWebhook($input: SendTestWebhookEventInput!) {
  sendTestWebhookEvent(input: $input) {
    webhookDelivery {
      ...DeliveryRow
    }
  }
}
    ${DeliveryRow}` as unknown as DocumentNode<TestWebhook, TestWebhookVariables>;
export const ReplayDeliveryDocument = gql`
    mutation ReplayDelivery($input: ReplayWebhookDeliveryInput!) {
  replayWebhookDelivery(input: $input) {
    webhookDelivery {
      ...DeliveryRow
    }
  }
}
    ${DeliveryRow}` as unknown as DocumentNode<ReplayDelivery, ReplayDeliveryVariables>;