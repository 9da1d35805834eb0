/** Generated from src/client/documents: npm run generate. */
import { documentOf } from '../documents.ts'

/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
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

/** What `archiveAgent` takes. */
export type ArchiveAgentInput = {
  /** Its id. */
  id: string | number;
};

/** What `archiveSession` takes. */
export type ArchiveSessionInput = {
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

/** What `createInvitation` takes. */
export type CreateInvitationInput = {
  /** An address to send the link to, where `instance` says that e-mail can be sent. The link is answered all the same. */
  email?: string | null | undefined;
  /** Whom it is for, to tell it from others: at most 255 characters. */
  note?: string | null | undefined;
  /** The role that its receiver gets. */
  role: Role;
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

/** What `createTunnelTicket` takes. */
export type CreateTunnelTicketInput = {
  /** A port of its loopback address, 1 to 65535. 22 is the SSH server of `user`, which `openVmSsh` starts. */
  port: number;
  /** The VM. */
  vmId: string | number;
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

/** What `deleteBackup` takes. */
export type DeleteBackupInput = {
  /** The database that it must be of; any if omitted. */
  databaseId?: string | number | null | undefined;
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

/** What `deleteFunction` takes. */
export type DeleteFunctionInput = {
  /** Its id. */
  id: string | number;
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

/** What `deleteSession` takes. */
export type DeleteSessionInput = {
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

/** What `deleteVmEnvVariable` takes. */
export type DeleteVmEnvVariableInput = {
  /** Its key. */
  key: string;
  /** The VM. */
  vmId: string | number;
};

/** What `deleteVm` takes. */
export type DeleteVmInput = {
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

/** Who set a variable. */
export type EnvSource =
  /** A linked database or service. No variable has it yet. */
  | 'LINK'
  /** Whoever created the VM. */
  | 'PROVISION'
  /** The session that the VM works for. */
  | 'SESSION'
  /** Berth. */
  | 'SYSTEM'
  /** A caller, through the API. */
  | 'USER'
  /** A credential of a vault. */
  | 'VAULT';

/** How much of a variable’s value readers see. */
export type EnvVisibility =
  /** The whole value. */
  | 'PLAINTEXT'
  /** Never anything. */
  | 'SECRET'
  /** The whole value, except for viewers. */
  | 'SENSITIVE';

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

/** What `killVmProcess` takes. */
export type KillVmProcessInput = {
  /** The process. */
  processId: string | number;
  /** TERM (the default), KILL or INT. */
  signal?: string | null | undefined;
  /** Its VM. If given, a process of another VM is not found. */
  vmId?: string | number | null | undefined;
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

/** How to reach a tool server. */
export type McpServerType =
  /** By its URL. */
  | 'URL';

/** The tools of a tool server (MCP). */
export type McpToolsetInput = {
  /** The settings of individual tools. */
  configs?: Array<ToolConfigInput> | null | undefined;
  /** The settings of tools that `configs` does not name. */
  defaultConfig?: ToolSettingInput | null | undefined;
  /** One of `mcpServers`. */
  mcpServerName: string;
};

/** Narrows a list of members. */
export type MemberFilter = {
  /** Only those with one of these roles. */
  roles?: Array<Role> | null | undefined;
  /** Only those with this piece of text in their name or address, in upper or lower case. */
  text?: string | null | undefined;
};

/** An amount of money. */
export type MoneyInput = {
  /** Such as `"2.50"`. */
  amount: string;
  /** `USD`. */
  currency: string;
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

/** What `openVmSsh` takes. */
export type OpenVmSshInput = {
  /** A public key, as a line of a `.pub` file: at most 4096 characters, without options. */
  publicKey: string;
  /** The VM. */
  vmId: string | number;
};

/** The stream on which a process printed something. */
export type OutputStream =
  /** Standard error. */
  | 'STDERR'
  /** Standard output. */
  | 'STDOUT';

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

/** What `removeMember` takes. */
export type RemoveMemberInput = {
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

/** What `rotateDatabaseToken` takes. */
export type RotateDatabaseTokenInput = {
  /** Its id. */
  id: string | number;
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

/** Narrows a list of schedules. */
export type ScheduleFilter = {
  /** Only those that start this agent. */
  agentId?: string | number | null | undefined;
  /** Only those that run this deployment. */
  deploymentId?: string | number | null | undefined;
};

/** What happens while the session of the run before is still at work. */
export type ScheduleOverlap =
  /** Another session starts beside it. */
  | 'ALLOW'
  /** Nothing starts, and the run is recorded as skipped. */
  | 'SKIP';

/** What `sendSessionEvents` takes. */
export type SendSessionEventsInput = {
  /** 1 to 100 events. */
  events: Array<SessionEventInput>;
  /** The session. */
  sessionId: string | number;
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

/** The kinds of events that can be previewed. */
export type SessionPreviewType =
  /** The agent’s messages. */
  | 'AGENT_MESSAGE'
  /** The agent’s thinking. */
  | 'AGENT_THINKING';

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

/** What `setVmEnv` takes. */
export type SetVmEnvInput = {
  /** The variables, as a map from key to value. */
  env: Record<string, string>;
  /** If omitted, existing keys keep theirs and new ones are `SENSITIVE`. */
  visibility?: EnvVisibility | null | undefined;
  /** The VM. */
  vmId: string | number;
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

/** Narrows a list of triggers. */
export type TriggerFilter = {
  /** Only those that start this agent. */
  agentId?: string | number | null | undefined;
  /** Only those that name this deployment. */
  deploymentId?: string | number | null | undefined;
};

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

/** What `updateMember` takes. */
export type UpdateMemberInput = {
  /** Its id. */
  id: string | number;
  /** The new role. */
  role: Role;
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

export type AgentRow = { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } };

export type SessionRow = { id: string, title: string | null, status: SessionStatus, agentId: string, environmentId: string | null, deploymentId: string | null, eventCursor: string, createdAt: string, updatedAt: string, archivedAt: string | null, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } }, stopReason:
    | { __typename: 'BudgetReached', type: StopReasonType }
    | { __typename: 'EndTurn', type: StopReasonType }
    | { __typename: 'RequiresAction', eventIds: Array<string>, type: StopReasonType }
    | { __typename: 'RetriesExhausted', type: StopReasonType }
   | null };

type Blocks_DocumentBlock = { __typename: 'DocumentBlock' };

type Blocks_ImageBlock = { __typename: 'ImageBlock' };

type Blocks_TextBlock = { __typename: 'TextBlock', text: string };

export type Blocks =
  | Blocks_DocumentBlock
  | Blocks_ImageBlock
  | Blocks_TextBlock
;

type TranscriptEvent_AgentCustomToolUse = { __typename: 'AgentCustomToolUse', name: string, input: unknown, id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_AgentMcpToolResult = { __typename: 'AgentMcpToolResult', mcpToolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_AgentMcpToolUse = { __typename: 'AgentMcpToolUse', name: string, input: unknown, evaluatedPermission: EvaluatedPermission, mcpServerName: string, id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_AgentMessage = { __typename: 'AgentMessage', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_AgentThinking = { __typename: 'AgentThinking', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_AgentThreadContextCompacted = { __typename: 'AgentThreadContextCompacted', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_AgentToolResult = { __typename: 'AgentToolResult', toolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_AgentToolUse = { __typename: 'AgentToolUse', name: string, input: unknown, evaluatedPermission: EvaluatedPermission, id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SessionDeleted = { __typename: 'SessionDeleted', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SessionError = { __typename: 'SessionError', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, error: { message: string } };

type TranscriptEvent_SessionStatusIdle = { __typename: 'SessionStatusIdle', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, stopReason:
    | { __typename: 'BudgetReached', type: StopReasonType }
    | { __typename: 'EndTurn', type: StopReasonType }
    | { __typename: 'RequiresAction', eventIds: Array<string>, type: StopReasonType }
    | { __typename: 'RetriesExhausted', type: StopReasonType }
   | null };

type TranscriptEvent_SessionStatusRescheduled = { __typename: 'SessionStatusRescheduled', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SessionStatusRunning = { __typename: 'SessionStatusRunning', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SessionStatusTerminated = { __typename: 'SessionStatusTerminated', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SessionUpdated = { __typename: 'SessionUpdated', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SessionUsageReport = { __typename: 'SessionUsageReport', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SpanModelRequestEnd = { __typename: 'SpanModelRequestEnd', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SpanModelRequestStart = { __typename: 'SpanModelRequestStart', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SpanOutcomeEvaluationEnd = { __typename: 'SpanOutcomeEvaluationEnd', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SpanOutcomeEvaluationStart = { __typename: 'SpanOutcomeEvaluationStart', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_SystemMessage = { __typename: 'SystemMessage', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_UserCustomToolResult = { __typename: 'UserCustomToolResult', customToolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_UserDefineOutcome = { __typename: 'UserDefineOutcome', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_UserInterrupt = { __typename: 'UserInterrupt', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_UserMessage = { __typename: 'UserMessage', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
    | { __typename: 'DocumentBlock' }
    | { __typename: 'ImageBlock' }
    | { __typename: 'TextBlock', text: string }
  > };

type TranscriptEvent_UserToolConfirmation = { __typename: 'UserToolConfirmation', toolUseId: string, result: ToolConfirmationResult, denyMessage: string | null, id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

type TranscriptEvent_UserToolResult = { __typename: 'UserToolResult', id: string, type: SessionEventType, createdAt: string, processedAt: string | null };

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

export type AgentsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: AgentFilter | null | undefined;
}>;


export type Agents = { agents: { nodes: Array<{ id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type AgentVariables = Exact<{
  id: string | number;
}>;


export type Agent = { agent: { system: string | null, metadata: Record<string, string>, id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } | null };

export type CreateAgentVariables = Exact<{
  input: CreateAgentInput;
}>;


export type CreateAgent = { createAgent: { agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } } | null };

export type UpdateAgentVariables = Exact<{
  input: UpdateAgentInput;
}>;


export type UpdateAgent = { updateAgent: { agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } } | null };

export type ArchiveAgentVariables = Exact<{
  input: ArchiveAgentInput;
}>;


export type ArchiveAgent = { archiveAgent: { agent: { id: string, name: string, description: string | null, version: number, createdAt: string, updatedAt: string, archivedAt: string | null, model: { id: string } } } | null };

export type DeleteAgentVariables = Exact<{
  input: DeleteAgentInput;
}>;


export type DeleteAgent = { deleteAgent: { deletedId: string } | null };

export type SessionsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: SessionFilter | null | undefined;
}>;


export type Sessions = { sessions: { nodes: Array<{ id: string, title: string | null, status: SessionStatus, agentId: string, environmentId: string | null, deploymentId: string | null, eventCursor: string, createdAt: string, updatedAt: string, archivedAt: string | null, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } }, stopReason:
        | { __typename: 'BudgetReached', type: StopReasonType }
        | { __typename: 'EndTurn', type: StopReasonType }
        | { __typename: 'RequiresAction', eventIds: Array<string>, type: StopReasonType }
        | { __typename: 'RetriesExhausted', type: StopReasonType }
       | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type SessionVariables = Exact<{
  id: string | number;
}>;


export type Session = { session: { id: string, title: string | null, status: SessionStatus, agentId: string, environmentId: string | null, deploymentId: string | null, eventCursor: string, createdAt: string, updatedAt: string, archivedAt: string | null, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } }, stopReason:
      | { __typename: 'BudgetReached', type: StopReasonType }
      | { __typename: 'EndTurn', type: StopReasonType }
      | { __typename: 'RequiresAction', eventIds: Array<string>, type: StopReasonType }
      | { __typename: 'RetriesExhausted', type: StopReasonType }
     | null } | null };

export type CreateSessionVariables = Exact<{
  input: CreateSessionInput;
}>;


export type CreateSession = { createSession: { session: { id: string, title: string | null, status: SessionStatus, agentId: string, environmentId: string | null, deploymentId: string | null, eventCursor: string, createdAt: string, updatedAt: string, archivedAt: string | null, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } }, stopReason:
        | { __typename: 'BudgetReached', type: StopReasonType }
        | { __typename: 'EndTurn', type: StopReasonType }
        | { __typename: 'RequiresAction', eventIds: Array<string>, type: StopReasonType }
        | { __typename: 'RetriesExhausted', type: StopReasonType }
       | null } } | null };

export type SendSessionEventsVariables = Exact<{
  input: SendSessionEventsInput;
}>;


export type SendSessionEvents = { sendSessionEvents: { sessionEvents: Array<
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
      | { id: string, type: SessionEventType, createdAt: string }
    > } | null };

export type ArchiveSessionVariables = Exact<{
  input: ArchiveSessionInput;
}>;


export type ArchiveSession = { archiveSession: { session: { id: string, title: string | null, status: SessionStatus, agentId: string, environmentId: string | null, deploymentId: string | null, eventCursor: string, createdAt: string, updatedAt: string, archivedAt: string | null, activity: { isActionRequired: boolean, lastEventAt: string | null }, definition: { name: string }, usage: { inputTokens: string, outputTokens: string, listCost: { amount: string, currency: string } }, stopReason:
        | { __typename: 'BudgetReached', type: StopReasonType }
        | { __typename: 'EndTurn', type: StopReasonType }
        | { __typename: 'RequiresAction', eventIds: Array<string>, type: StopReasonType }
        | { __typename: 'RetriesExhausted', type: StopReasonType }
       | null } } | null };

export type DeleteSessionVariables = Exact<{
  input: DeleteSessionInput;
}>;


export type DeleteSession = { deleteSession: { deletedId: string } | null };

export type SessionTranscriptVariables = Exact<{
  sessionId: string | number;
  first: number;
  after?: string | null | undefined;
}>;


export type SessionTranscript = { sessionEvents: { nodes: Array<
      | { __typename: 'AgentCustomToolUse', name: string, input: unknown, id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'AgentMcpToolResult', mcpToolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > }
      | { __typename: 'AgentMcpToolUse', name: string, input: unknown, evaluatedPermission: EvaluatedPermission, mcpServerName: string, id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'AgentMessage', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > }
      | { __typename: 'AgentThinking', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'AgentThreadContextCompacted', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'AgentToolResult', toolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > }
      | { __typename: 'AgentToolUse', name: string, input: unknown, evaluatedPermission: EvaluatedPermission, id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SessionDeleted', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SessionError', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, error: { message: string } }
      | { __typename: 'SessionStatusIdle', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, stopReason:
          | { __typename: 'BudgetReached', type: StopReasonType }
          | { __typename: 'EndTurn', type: StopReasonType }
          | { __typename: 'RequiresAction', eventIds: Array<string>, type: StopReasonType }
          | { __typename: 'RetriesExhausted', type: StopReasonType }
         | null }
      | { __typename: 'SessionStatusRescheduled', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SessionStatusRunning', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SessionStatusTerminated', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SessionUpdated', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SessionUsageReport', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SpanModelRequestEnd', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SpanModelRequestStart', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SpanOutcomeEvaluationEnd', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SpanOutcomeEvaluationStart', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'SystemMessage', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > }
      | { __typename: 'UserCustomToolResult', customToolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > }
      | { __typename: 'UserDefineOutcome', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'UserInterrupt', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'UserMessage', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
          | { __typename: 'DocumentBlock' }
          | { __typename: 'ImageBlock' }
          | { __typename: 'TextBlock', text: string }
        > }
      | { __typename: 'UserToolConfirmation', toolUseId: string, result: ToolConfirmationResult, denyMessage: string | null, id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
      | { __typename: 'UserToolResult', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
    >, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type SessionEventsVariables = Exact<{
  sessionId: string | number;
  after?: string | null | undefined;
  previews?: Array<SessionPreviewType> | SessionPreviewType | null | undefined;
}>;


export type SessionEvents = { sessionEvents:
    | { __typename: 'Heartbeat' }
    | { __typename: 'SessionEmission', cursor: string | null, event:
        | { __typename: 'AgentCustomToolUse', name: string, input: unknown, id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'AgentMcpToolResult', mcpToolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'AgentMcpToolUse', name: string, input: unknown, evaluatedPermission: EvaluatedPermission, mcpServerName: string, id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'AgentMessage', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'AgentThinking', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'AgentThreadContextCompacted', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'AgentToolResult', toolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'AgentToolUse', name: string, input: unknown, evaluatedPermission: EvaluatedPermission, id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SessionDeleted', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SessionError', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, error: { message: string } }
        | { __typename: 'SessionStatusIdle', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, stopReason:
            | { __typename: 'BudgetReached', type: StopReasonType }
            | { __typename: 'EndTurn', type: StopReasonType }
            | { __typename: 'RequiresAction', eventIds: Array<string>, type: StopReasonType }
            | { __typename: 'RetriesExhausted', type: StopReasonType }
           | null }
        | { __typename: 'SessionStatusRescheduled', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SessionStatusRunning', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SessionStatusTerminated', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SessionUpdated', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SessionUsageReport', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SpanModelRequestEnd', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SpanModelRequestStart', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SpanOutcomeEvaluationEnd', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SpanOutcomeEvaluationStart', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'SystemMessage', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'UserCustomToolResult', customToolUseId: string, isError: boolean, id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'UserDefineOutcome', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'UserInterrupt', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'UserMessage', id: string, type: SessionEventType, createdAt: string, processedAt: string | null, content: Array<
            | { __typename: 'DocumentBlock' }
            | { __typename: 'ImageBlock' }
            | { __typename: 'TextBlock', text: string }
          > }
        | { __typename: 'UserToolConfirmation', toolUseId: string, result: ToolConfirmationResult, denyMessage: string | null, id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
        | { __typename: 'UserToolResult', id: string, type: SessionEventType, createdAt: string, processedAt: string | null }
       | null, preview:
        | { __typename: 'SessionPreviewStart', previewOf: string, type: SessionEventType }
        | { __typename: 'SessionPreviewText', previewOf: string, index: number, text: string }
       | null }
   };

export type ScheduleRow = { id: string, name: string | null, cron: string, timezone: string, isEnabled: boolean, overlap: ScheduleOverlap, deploymentId: string | null, ownAgentId: string | null, nextRunAt: string | null, lastRunAt: string | null, lastError: string | null };

export type TriggerRow = { id: string, name: string | null, repo: string, events: Array<TriggerEvent>, isEnabled: boolean, agentId: string, deploymentId: string | null, lastFiredAt: string | null, createdAt: string };

export type DeploymentRow = { id: string, name: string, description: string | null, status: DeploymentStatus, agentId: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string };

export type VaultRow = { id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null };

export type CredentialRow = { id: string, vaultId: string, displayName: string | null, createdAt: string, archivedAt: string | null, auth:
    | { __typename: 'EnvironmentVariableAuth', secretName: string }
    | { __typename: 'McpOauthAuth', mcpServerUrl: string }
    | { __typename: 'StaticBearerAuth', mcpServerUrl: string }
   };

export type EnvironmentRow = { id: string, name: string, description: string | null, status: EnvironmentStatus, statusReason: string | null, vmId: string | null, createdAt: string, archivedAt: string | null };

export type SchedulesVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: ScheduleFilter | null | undefined;
}>;


export type Schedules = { schedules: { nodes: Array<{ id: string, name: string | null, cron: string, timezone: string, isEnabled: boolean, overlap: ScheduleOverlap, deploymentId: string | null, ownAgentId: string | null, nextRunAt: string | null, lastRunAt: string | null, lastError: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type ScheduleVariables = Exact<{
  id: string | number;
}>;


export type Schedule = { schedule: { upcomingRunsAt: Array<string>, id: string, name: string | null, cron: string, timezone: string, isEnabled: boolean, overlap: ScheduleOverlap, deploymentId: string | null, ownAgentId: string | null, nextRunAt: string | null, lastRunAt: string | null, lastError: string | null } | null };

export type CreateScheduleVariables = Exact<{
  input: CreateScheduleInput;
}>;


export type CreateSchedule = { createSchedule: { schedule: { id: string, name: string | null, cron: string, timezone: string, isEnabled: boolean, overlap: ScheduleOverlap, deploymentId: string | null, ownAgentId: string | null, nextRunAt: string | null, lastRunAt: string | null, lastError: string | null } } | null };

export type UpdateScheduleVariables = Exact<{
  input: UpdateScheduleInput;
}>;


export type UpdateSchedule = { updateSchedule: { schedule: { id: string, name: string | null, cron: string, timezone: string, isEnabled: boolean, overlap: ScheduleOverlap, deploymentId: string | null, ownAgentId: string | null, nextRunAt: string | null, lastRunAt: string | null, lastError: string | null } } | null };

export type DeleteScheduleVariables = Exact<{
  input: DeleteScheduleInput;
}>;


export type DeleteSchedule = { deleteSchedule: { deletedId: string } | null };

export type TriggersVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: TriggerFilter | null | undefined;
}>;


export type Triggers = { triggers: { nodes: Array<{ id: string, name: string | null, repo: string, events: Array<TriggerEvent>, isEnabled: boolean, agentId: string, deploymentId: string | null, lastFiredAt: string | null, createdAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type TriggerVariables = Exact<{
  id: string | number;
}>;


export type Trigger = { trigger: { id: string, name: string | null, repo: string, events: Array<TriggerEvent>, isEnabled: boolean, agentId: string, deploymentId: string | null, lastFiredAt: string | null, createdAt: string } | null };

export type CreateTriggerVariables = Exact<{
  input: CreateTriggerInput;
}>;


export type CreateTrigger = { createTrigger: { trigger: { id: string, name: string | null, repo: string, events: Array<TriggerEvent>, isEnabled: boolean, agentId: string, deploymentId: string | null, lastFiredAt: string | null, createdAt: string } } | null };

export type UpdateTriggerVariables = Exact<{
  input: UpdateTriggerInput;
}>;


export type UpdateTrigger = { updateTrigger: { trigger: { id: string, name: string | null, repo: string, events: Array<TriggerEvent>, isEnabled: boolean, agentId: string, deploymentId: string | null, lastFiredAt: string | null, createdAt: string } } | null };

export type DeleteTriggerVariables = Exact<{
  input: DeleteTriggerInput;
}>;


export type DeleteTrigger = { deleteTrigger: { deletedId: string } | null };

export type TryTriggerVariables = Exact<{
  input: TryTriggerInput;
}>;


export type TryTrigger = { tryTrigger: { outcome: TriggerTrialOutcome, reason: string | null, skipReason: TriggerSkipReason | null, errorType: string | null, kickoff: { text: string | null } | null } | null };

export type DeploymentsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: DeploymentFilter | null | undefined;
}>;


export type Deployments = { deployments: { nodes: Array<{ id: string, name: string, description: string | null, status: DeploymentStatus, agentId: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type DeploymentVariables = Exact<{
  id: string | number;
}>;


export type Deployment = { deployment: { vaultIds: Array<string>, environmentId: string | null, id: string, name: string, description: string | null, status: DeploymentStatus, agentId: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string } | null };

export type CreateDeploymentVariables = Exact<{
  input: CreateDeploymentInput;
}>;


export type CreateDeployment = { createDeployment: { deployment: { id: string, name: string, description: string | null, status: DeploymentStatus, agentId: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string } } | null };

export type RunDeploymentVariables = Exact<{
  input: RunDeploymentInput;
}>;


export type RunDeployment = { runDeployment: { session: { id: string } | null, deploymentRun: { id: string, sessionId: string | null, error: { type: StartErrorType, message: string } | null } | null } | null };

export type PauseDeploymentVariables = Exact<{
  input: PauseDeploymentInput;
}>;


export type PauseDeployment = { pauseDeployment: { deployment: { id: string, name: string, description: string | null, status: DeploymentStatus, agentId: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string } } | null };

export type ResumeDeploymentVariables = Exact<{
  input: ResumeDeploymentInput;
}>;


export type ResumeDeployment = { resumeDeployment: { deployment: { id: string, name: string, description: string | null, status: DeploymentStatus, agentId: string, lastRunAt: string | null, archivedAt: string | null, createdAt: string } } | null };

export type DeleteDeploymentVariables = Exact<{
  input: DeleteDeploymentInput;
}>;


export type DeleteDeployment = { deleteDeployment: { deletedId: string } | null };

export type VaultsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: VaultFilter | null | undefined;
}>;


export type Vaults = { vaults: { nodes: Array<{ id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type VaultVariables = Exact<{
  id: string | number;
}>;


export type Vault = { vault: { id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null, credentials: { nodes: Array<{ id: string, vaultId: string, displayName: string | null, createdAt: string, archivedAt: string | null, auth:
          | { __typename: 'EnvironmentVariableAuth', secretName: string }
          | { __typename: 'McpOauthAuth', mcpServerUrl: string }
          | { __typename: 'StaticBearerAuth', mcpServerUrl: string }
         }> } } | null };

export type CreateVaultVariables = Exact<{
  input: CreateVaultInput;
}>;


export type CreateVault = { createVault: { vault: { id: string, displayName: string, createdAt: string, updatedAt: string, archivedAt: string | null } } | null };

export type DeleteVaultVariables = Exact<{
  input: DeleteVaultInput;
}>;


export type DeleteVault = { deleteVault: { deletedId: string } | null };

export type CreateVaultCredentialVariables = Exact<{
  input: CreateVaultCredentialInput;
}>;


export type CreateVaultCredential = { createVaultCredential: { vaultCredential: { id: string, vaultId: string, displayName: string | null, createdAt: string, archivedAt: string | null, auth:
        | { __typename: 'EnvironmentVariableAuth', secretName: string }
        | { __typename: 'McpOauthAuth', mcpServerUrl: string }
        | { __typename: 'StaticBearerAuth', mcpServerUrl: string }
       } } | null };

export type UpdateVaultCredentialVariables = Exact<{
  input: UpdateVaultCredentialInput;
}>;


export type UpdateVaultCredential = { updateVaultCredential: { vaultCredential: { id: string, vaultId: string, displayName: string | null, createdAt: string, archivedAt: string | null, auth:
        | { __typename: 'EnvironmentVariableAuth', secretName: string }
        | { __typename: 'McpOauthAuth', mcpServerUrl: string }
        | { __typename: 'StaticBearerAuth', mcpServerUrl: string }
       } } | null };

export type DeleteVaultCredentialVariables = Exact<{
  input: DeleteVaultCredentialInput;
}>;


export type DeleteVaultCredential = { deleteVaultCredential: { deletedId: string } | null };

export type EnvironmentsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: EnvironmentFilter | null | undefined;
}>;


export type Environments = { environments: { nodes: Array<{ id: string, name: string, description: string | null, status: EnvironmentStatus, statusReason: string | null, vmId: string | null, createdAt: string, archivedAt: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type EnvironmentVariables = Exact<{
  id: string | number;
}>;


export type Environment = { environment: { metadata: Record<string, string>, id: string, name: string, description: string | null, status: EnvironmentStatus, statusReason: string | null, vmId: string | null, createdAt: string, archivedAt: string | null } | null };

export type CreateEnvironmentVariables = Exact<{
  input: CreateEnvironmentInput;
}>;


export type CreateEnvironment = { createEnvironment: { environment: { id: string, name: string, description: string | null, status: EnvironmentStatus, statusReason: string | null, vmId: string | null, createdAt: string, archivedAt: string | null } } | null };

export type DeleteEnvironmentVariables = Exact<{
  input: DeleteEnvironmentInput;
}>;


export type DeleteEnvironment = { deleteEnvironment: { deletedId: string } | null };

export type BuildRow = { id: string, status: BuildStatus, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null };

export type FunctionRow = { id: string, name: string, status: FunctionStatus, statusReason: string | null, url: string, createdAt: string, currentVersion: { id: string, number: number } | null };

export type DomainRow = { id: string, name: string, path: string, status: DomainStatus, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, vmId: string | null, vmPort: number | null, functionId: string | null, createdAt: string, records: Array<{ name: string, type: DomainRecordType, purpose: DomainRecordPurpose, expected: string, seen: Array<string>, isRight: boolean, reason: string | null }> };

export type BuildsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: BuildFilter | null | undefined;
}>;


export type Builds = { builds: { nodes: Array<{ id: string, status: BuildStatus, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type BuildVariables = Exact<{
  id: string | number;
}>;


export type Build = { build: { failingStep: number | null, isCancelRequested: boolean, vcpuCount: number, memoryMb: number, id: string, status: BuildStatus, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null, output: { type: BuildOutputType, name: string, sizeBytes: string, url: string | null } | null } | null };

export type CreateBuildVariables = Exact<{
  input: CreateBuildInput;
}>;


export type CreateBuild = { createBuild: { build: { id: string, status: BuildStatus, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null } } | null };

export type CancelBuildVariables = Exact<{
  input: CancelBuildInput;
}>;


export type CancelBuild = { cancelBuild: { build: { id: string, status: BuildStatus, repoUrl: string | null, gitRef: string | null, commitSha: string | null, error: string | null, exitCode: number | null, queuedAt: string, startedAt: string | null, finishedAt: string | null } } | null };

export type BuildLogVariables = Exact<{
  buildId: string | number;
  after?: string | null | undefined;
}>;


export type BuildLog = { buildLogEvents:
    | { __typename: 'BuildLogEntry', id: string, output: string, isDone: boolean }
    | { __typename: 'Heartbeat' }
   };

export type BuildEventsVariables = Exact<{
  buildId: string | number;
  after?: string | null | undefined;
}>;


export type BuildEvents = { buildEvents:
    | { __typename: 'BuildEvent', cursor: string, at: string, status: BuildStatus, error: string | null, isCancelRequested: boolean }
    | { __typename: 'Heartbeat' }
   };

export type CreateUploadVariables = Exact<{
  input: CreateUploadInput;
}>;


export type CreateUpload = { createUpload: { upload: { uploadUrl: string, binaryUrl: string, expiresAt: string } } | null };

export type FunctionsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: FunctionFilter | null | undefined;
}>;


export type Functions = { functions: { nodes: Array<{ id: string, name: string, status: FunctionStatus, statusReason: string | null, url: string, createdAt: string, currentVersion: { id: string, number: number } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type FunctionVariables = Exact<{
  id: string | number;
}>;


export type Function = { function: { idleSeconds: number, vcpuCount: number, memoryMb: number, failures: number, id: string, name: string, status: FunctionStatus, statusReason: string | null, url: string, createdAt: string, currentVersion: { id: string, number: number } | null } | null };

export type FunctionEnvVariables = Exact<{
  id: string | number;
}>;


export type FunctionEnv = { function: { variables: Array<{ key: string, value: string }> | null } | null };

export type UpdateFunctionVariables = Exact<{
  input: UpdateFunctionInput;
}>;


export type UpdateFunction = { updateFunction: { function: { id: string, name: string, status: FunctionStatus, statusReason: string | null, url: string, createdAt: string, currentVersion: { id: string, number: number } | null } } | null };

export type CreateFunctionVariables = Exact<{
  input: CreateFunctionInput;
}>;


export type CreateFunction = { createFunction: { function: { id: string, name: string, status: FunctionStatus, statusReason: string | null, url: string, createdAt: string, currentVersion: { id: string, number: number } | null } } | null };

export type DeployFunctionVariables = Exact<{
  input: DeployFunctionInput;
}>;


export type DeployFunction = { deployFunction: { function: { id: string, name: string, status: FunctionStatus, statusReason: string | null, url: string, createdAt: string, currentVersion: { id: string, number: number } | null } } | null };

export type DeleteFunctionVariables = Exact<{
  input: DeleteFunctionInput;
}>;


export type DeleteFunction = { deleteFunction: { deletedId: string } | null };

export type FunctionLogVariables = Exact<{
  functionId: string | number;
  after?: string | null | undefined;
}>;


export type FunctionLog = { functionLogEvents:
    | { __typename: 'FunctionLogEntry', cursor: string, at: string, output: string, versionNumber: number | null, isDone: boolean }
    | { __typename: 'Heartbeat' }
   };

export type DomainsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: DomainFilter | null | undefined;
}>;


export type Domains = { domains: { nodes: Array<{ id: string, name: string, path: string, status: DomainStatus, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, vmId: string | null, vmPort: number | null, functionId: string | null, createdAt: string, records: Array<{ name: string, type: DomainRecordType, purpose: DomainRecordPurpose, expected: string, seen: Array<string>, isRight: boolean, reason: string | null }> }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type DomainVariables = Exact<{
  id: string | number;
}>;


export type Domain = { domain: { instructions: string, id: string, name: string, path: string, status: DomainStatus, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, vmId: string | null, vmPort: number | null, functionId: string | null, createdAt: string, certificate: { status: CertificateStatus, reason: string | null, notAfter: string | null } | null, records: Array<{ name: string, type: DomainRecordType, purpose: DomainRecordPurpose, expected: string, seen: Array<string>, isRight: boolean, reason: string | null }> } | null };

export type CreateDomainVariables = Exact<{
  input: CreateDomainInput;
}>;


export type CreateDomain = { createDomain: { domain: { id: string, name: string, path: string, status: DomainStatus, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, vmId: string | null, vmPort: number | null, functionId: string | null, createdAt: string, records: Array<{ name: string, type: DomainRecordType, purpose: DomainRecordPurpose, expected: string, seen: Array<string>, isRight: boolean, reason: string | null }> } } | null };

export type CheckDomainVariables = Exact<{
  input: CheckDomainInput;
}>;


export type CheckDomain = { checkDomain: { domain: { id: string, name: string, path: string, status: DomainStatus, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, vmId: string | null, vmPort: number | null, functionId: string | null, createdAt: string, records: Array<{ name: string, type: DomainRecordType, purpose: DomainRecordPurpose, expected: string, seen: Array<string>, isRight: boolean, reason: string | null }> } } | null };

export type LinkDomainVariables = Exact<{
  input: LinkDomainInput;
}>;


export type LinkDomain = { linkDomain: { domain: { id: string, name: string, path: string, status: DomainStatus, statusReason: string | null, message: string, externalUrl: string, targetType: DomainTargetType | null, vmId: string | null, vmPort: number | null, functionId: string | null, createdAt: string, records: Array<{ name: string, type: DomainRecordType, purpose: DomainRecordPurpose, expected: string, seen: Array<string>, isRight: boolean, reason: string | null }> } } | null };

export type DeleteDomainVariables = Exact<{
  input: DeleteDomainInput;
}>;


export type DeleteDomain = { deleteDomain: { deletedId: string } | null };

export type DatabaseRow = { id: string, name: string, status: DatabaseStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, projectId: string | null, createdAt: string };

export type BackupRow = { id: string, databaseId: string, status: BackupStatus, error: string | null, sizeBytes: string, triggeredBy: BackupTrigger, createdAt: string, completedAt: string | null, verifiedAt: string | null };

export type RestoreRow = { id: string, databaseId: string, backupId: string | null, status: DatabaseRestoreStatus, error: string | null, createdAt: string, finishedAt: string | null, progress: { step: DatabaseRestoreStep, backupBytes: string, loadedBytes: string } };

export type DatabasesVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: DatabaseFilter | null | undefined;
}>;


export type Databases = { databases: { nodes: Array<{ id: string, name: string, status: DatabaseStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, projectId: string | null, createdAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type DatabaseVariables = Exact<{
  id: string | number;
}>;


export type Database = { database: { connectionUri: string, host: string, pgDatabase: string, pgUser: string, sleepAfterSeconds: number | null, settings: Record<string, string>, eventCursor: string, id: string, name: string, status: DatabaseStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, projectId: string | null, createdAt: string } | null };

export type CreateDatabaseVariables = Exact<{
  input: CreateDatabaseInput;
}>;


export type CreateDatabase = { createDatabase: { database: { id: string, name: string, status: DatabaseStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, projectId: string | null, createdAt: string }, credentials: { connectionUri: string, host: string, pgDatabase: string, pgUser: string, token: string } } | null };

export type RotateDatabaseTokenVariables = Exact<{
  input: RotateDatabaseTokenInput;
}>;


export type RotateDatabaseToken = { rotateDatabaseToken: { credentials: { connectionUri: string, host: string, pgDatabase: string, pgUser: string, token: string } } | null };

export type DeleteDatabaseVariables = Exact<{
  input: DeleteDatabaseInput;
}>;


export type DeleteDatabase = { deleteDatabase: { deletedId: string } | null };

export type RunSqlVariables = Exact<{
  input: RunSqlInput;
}>;


export type RunSql = { runSql: { result: { command: string | null, rowCount: number | null, rows: unknown, columns: Array<{ name: string, typeOid: number }> } | null, failure: { message: string, detail: string | null, hint: string | null, position: number | null, sqlState: string | null } | null } | null };

export type DatabaseTablesVariables = Exact<{
  databaseId: string | number;
  first: number;
  after?: string | null | undefined;
}>;


export type DatabaseTables = { database: { tables: { nodes: Array<{ schema: string, name: string, kind: DatabaseTableKind, estimatedRows: string | null, sizeBytes: string | null, columns: Array<{ name: string, type: string, isNullable: boolean, isPrimaryKey: boolean, default: string | null }> }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null } | null };

export type BackupsVariables = Exact<{
  databaseId: string | number;
  first: number;
  after?: string | null | undefined;
}>;


export type Backups = { database: { backups: { nodes: Array<{ id: string, databaseId: string, status: BackupStatus, error: string | null, sizeBytes: string, triggeredBy: BackupTrigger, createdAt: string, completedAt: string | null, verifiedAt: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null } | null };

export type BackupVariables = Exact<{
  id: string | number;
}>;


export type Backup = { backup: { downloadUrl: string | null, sha256: string | null, id: string, databaseId: string, status: BackupStatus, error: string | null, sizeBytes: string, triggeredBy: BackupTrigger, createdAt: string, completedAt: string | null, verifiedAt: string | null } | null };

export type CreateBackupVariables = Exact<{
  input: CreateBackupInput;
}>;


export type CreateBackup = { createBackup: { backup: { id: string, databaseId: string, status: BackupStatus, error: string | null, sizeBytes: string, triggeredBy: BackupTrigger, createdAt: string, completedAt: string | null, verifiedAt: string | null } } | null };

export type DeleteBackupVariables = Exact<{
  input: DeleteBackupInput;
}>;


export type DeleteBackup = { deleteBackup: { deletedId: string } | null };

export type RestoreBackupVariables = Exact<{
  input: RestoreBackupInput;
}>;


export type RestoreBackup = { restoreBackup: { databaseRestore: { id: string, databaseId: string, backupId: string | null, status: DatabaseRestoreStatus, error: string | null, createdAt: string, finishedAt: string | null, progress: { step: DatabaseRestoreStep, backupBytes: string, loadedBytes: string } } } | null };

export type DatabaseRestoreVariables = Exact<{
  id: string | number;
}>;


export type DatabaseRestore = { databaseRestore: { id: string, databaseId: string, backupId: string | null, status: DatabaseRestoreStatus, error: string | null, createdAt: string, finishedAt: string | null, progress: { step: DatabaseRestoreStep, backupBytes: string, loadedBytes: string } } | null };

export type DatabaseEventsVariables = Exact<{
  databaseId: string | number;
  after?: string | null | undefined;
}>;


export type DatabaseEvents = { databaseEvents:
    | { __typename: 'DatabaseEvent', cursor: string, at: string, status: DatabaseStatus, statusReason: string | null }
    | { __typename: 'Heartbeat' }
   };

export type BackupEventsVariables = Exact<{
  backupId: string | number;
  after?: string | null | undefined;
}>;


export type BackupEvents = { backupEvents:
    | { __typename: 'BackupEvent', cursor: string, at: string, status: BackupStatus, error: string | null, storedBytes: string, verifiedAt: string | null, verificationError: string | null }
    | { __typename: 'Heartbeat' }
   };

export type RestoreEventsVariables = Exact<{
  restoreId: string | number;
  after?: string | null | undefined;
}>;


export type RestoreEvents = { databaseRestoreEvents:
    | { __typename: 'DatabaseRestoreEvent', cursor: string, at: string, status: DatabaseRestoreStatus, error: string | null, step: DatabaseRestoreStep, loadedBytes: string }
    | { __typename: 'Heartbeat' }
   };

export type ApiKeyRow = { id: string, name: string, lastFour: string, scopes: Array<KeyScope>, createdAt: string, lastUsedAt: string | null, expiresAt: string | null, revokedAt: string | null };

export type MemberRow = { id: string, role: Role, email: string | null, createdAt: string, user: { id: string, name: string } | null };

export type ProjectRow = { id: string, name: string, createdAt: string };

export type InstanceVariables = Exact<{ [key: string]: never; }>;


export type Instance = { instance: { version: string, hasLocalSignIn: boolean, signInProviders: Array<string>, issuers: Array<string> } | null };

export type ViewerVariables = Exact<{ [key: string]: never; }>;


export type Viewer = { viewer: { role: Role | null, keyId: string | null, user: { id: string, name: string } | null, organization: { id: string, name: string, eventCursor: string | null } | null, organizations: { nodes: Array<{ id: string, name: string }> } } | null };

export type ApiKeysVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type ApiKeys = { apiKeys: { nodes: Array<{ id: string, name: string, lastFour: string, scopes: Array<KeyScope>, createdAt: string, lastUsedAt: string | null, expiresAt: string | null, revokedAt: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type CreateApiKeyVariables = Exact<{
  input: CreateApiKeyInput;
}>;


export type CreateApiKey = { createApiKey: { key: string, apiKey: { id: string, name: string, lastFour: string, scopes: Array<KeyScope>, createdAt: string, lastUsedAt: string | null, expiresAt: string | null, revokedAt: string | null } } | null };

export type RevokeApiKeyVariables = Exact<{
  input: RevokeApiKeyInput;
}>;


export type RevokeApiKey = { revokeApiKey: { apiKey: { id: string, name: string, lastFour: string, scopes: Array<KeyScope>, createdAt: string, lastUsedAt: string | null, expiresAt: string | null, revokedAt: string | null } } | null };

export type CreateOrganizationVariables = Exact<{
  input: CreateOrganizationInput;
}>;


export type CreateOrganization = { createOrganization: { organization: { id: string, name: string } } | null };

export type MembersVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: MemberFilter | null | undefined;
}>;


export type Members = { members: { nodes: Array<{ id: string, role: Role, email: string | null, createdAt: string, user: { id: string, name: string } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type CreateInvitationVariables = Exact<{
  input: CreateInvitationInput;
}>;


export type CreateInvitation = { createInvitation: { url: string, invitation: { id: string, role: Role, email: string | null, expiresAt: string } } | null };

export type RemoveMemberVariables = Exact<{
  input: RemoveMemberInput;
}>;


export type RemoveMember = { removeMember: { member: { id: string, role: Role, email: string | null, createdAt: string, user: { id: string, name: string } | null } } | null };

export type UpdateMemberVariables = Exact<{
  input: UpdateMemberInput;
}>;


export type UpdateMember = { updateMember: { member: { id: string, role: Role, email: string | null, createdAt: string, user: { id: string, name: string } | null } } | null };

export type ProjectsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type Projects = { projects: { nodes: Array<{ id: string, name: string, createdAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type ProjectVariables = Exact<{
  id: string | number;
}>;


export type Project = { project: { id: string, name: string, createdAt: string } | null };

export type CreateProjectVariables = Exact<{
  input: CreateProjectInput;
}>;


export type CreateProject = { createProject: { project: { id: string, name: string, createdAt: string } } | null };

export type DeleteProjectVariables = Exact<{
  input: DeleteProjectInput;
}>;


export type DeleteProject = { deleteProject: { deletedId: string } | null };

export type InferenceUsageVariables = Exact<{
  dimensions?: Array<InferenceUsageGroupBy> | InferenceUsageGroupBy | null | undefined;
  from?: string | null | undefined;
  to?: string | null | undefined;
}>;


export type InferenceUsage = { inferenceUsage: { from: string, to: string, hasMoreGroups: boolean, totals: { requests: string, inputTokens: string, outputTokens: string, costUsd: string }, groups: Array<{ day: string | null, modelId: string | null, keyId: string | null, key: { name: string } | null, totals: { requests: string, inputTokens: string, outputTokens: string, costUsd: string } }> } | null };

export type InferenceSum = { requests: string, inputTokens: string, outputTokens: string, costUsd: string };

export type VmUsageVariables = Exact<{
  dimensions?: Array<VmUsageDimension> | VmUsageDimension | null | undefined;
  from?: string | null | undefined;
  to?: string | null | undefined;
}>;


export type VmUsage = { vmUsage: { from: string, to: string, hasMoreGroups: boolean, totals: { hours: number, sessions: number, costUsd: string }, groups: Array<{ day: string | null, vmId: string | null, buildId: string | null, vm: { name: string } | null, totals: { hours: number, sessions: number, costUsd: string } }> } | null };

export type VmSum = { hours: number, sessions: number, costUsd: string };

export type OrganizationEventsVariables = Exact<{
  after?: string | null | undefined;
  nodeTypes?: Array<NodeType> | NodeType | null | undefined;
}>;


export type OrganizationEvents = { organizationEvents:
    | { __typename: 'Heartbeat' }
    | { __typename: 'OrganizationEvent', cursor: string, at: string, change: ChangeType, nodeType: NodeType, nodeId: string }
   };

export type VmRow = { id: string, name: string, status: VmStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, templateId: string, projectId: string | null, metadata: Record<string, string>, expiresAt: string | null, createdAt: string };

export type VmDetails = { externalRef: string | null, folderId: string | null, idleSeconds: number | null, idleAction: IdleAction, ipAddress: string | null, machineId: string, startedAt: string | null, stoppedAt: string | null, eventCursor: string, warnings: Array<string>, id: string, name: string, status: VmStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, templateId: string, projectId: string | null, metadata: Record<string, string>, expiresAt: string | null, createdAt: string, networkPolicy:
    | { type: NetworkPolicyType }
    | { type: NetworkPolicyType }
    | { type: NetworkPolicyType }
   };

export type ProcessRow = { id: string, vmId: string, command: string, status: VmProcessStatus, exitCode: number | null, startedAt: string, finishedAt: string | null };

export type TerminalRow = { id: string, vmId: string, status: TerminalStatus, command: string | null, exitCode: number | null };

export type VmsVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  filter?: VmFilter | null | undefined;
}>;


export type Vms = { vms: { nodes: Array<{ id: string, name: string, status: VmStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, templateId: string, projectId: string | null, metadata: Record<string, string>, expiresAt: string | null, createdAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type VmVariables = Exact<{
  id: string | number;
}>;


export type Vm = { vm: { externalRef: string | null, folderId: string | null, idleSeconds: number | null, idleAction: IdleAction, ipAddress: string | null, machineId: string, startedAt: string | null, stoppedAt: string | null, eventCursor: string, warnings: Array<string>, id: string, name: string, status: VmStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, templateId: string, projectId: string | null, metadata: Record<string, string>, expiresAt: string | null, createdAt: string, networkPolicy:
      | { type: NetworkPolicyType }
      | { type: NetworkPolicyType }
      | { type: NetworkPolicyType }
     } | null };

export type CreateVmVariables = Exact<{
  input: CreateVmInput;
}>;


export type CreateVm = { createVm: { vm: { externalRef: string | null, folderId: string | null, idleSeconds: number | null, idleAction: IdleAction, ipAddress: string | null, machineId: string, startedAt: string | null, stoppedAt: string | null, eventCursor: string, warnings: Array<string>, id: string, name: string, status: VmStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, templateId: string, projectId: string | null, metadata: Record<string, string>, expiresAt: string | null, createdAt: string, networkPolicy:
        | { type: NetworkPolicyType }
        | { type: NetworkPolicyType }
        | { type: NetworkPolicyType }
       } } | null };

export type UpdateVmVariables = Exact<{
  input: UpdateVmInput;
}>;


export type UpdateVm = { updateVm: { vm: { externalRef: string | null, folderId: string | null, idleSeconds: number | null, idleAction: IdleAction, ipAddress: string | null, machineId: string, startedAt: string | null, stoppedAt: string | null, eventCursor: string, warnings: Array<string>, id: string, name: string, status: VmStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, templateId: string, projectId: string | null, metadata: Record<string, string>, expiresAt: string | null, createdAt: string, networkPolicy:
        | { type: NetworkPolicyType }
        | { type: NetworkPolicyType }
        | { type: NetworkPolicyType }
       } } | null };

export type StartVmVariables = Exact<{
  input: StartVmInput;
}>;


export type StartVm = { startVm: { vm: { id: string, name: string, status: VmStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, templateId: string, projectId: string | null, metadata: Record<string, string>, expiresAt: string | null, createdAt: string } } | null };

export type StopVmVariables = Exact<{
  input: StopVmInput;
}>;


export type StopVm = { stopVm: { vm: { id: string, name: string, status: VmStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, templateId: string, projectId: string | null, metadata: Record<string, string>, expiresAt: string | null, createdAt: string } } | null };

export type PauseVmVariables = Exact<{
  input: PauseVmInput;
}>;


export type PauseVm = { pauseVm: { vm: { id: string, name: string, status: VmStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, templateId: string, projectId: string | null, metadata: Record<string, string>, expiresAt: string | null, createdAt: string } } | null };

export type ResumeVmVariables = Exact<{
  input: ResumeVmInput;
}>;


export type ResumeVm = { resumeVm: { vm: { id: string, name: string, status: VmStatus, statusReason: string | null, isAsleep: boolean, vcpuCount: number, memoryMb: number, diskMb: number, templateId: string, projectId: string | null, metadata: Record<string, string>, expiresAt: string | null, createdAt: string } } | null };

export type DeleteVmVariables = Exact<{
  input: DeleteVmInput;
}>;


export type DeleteVm = { deleteVm: { deletedId: string } | null };

export type ExecInVmVariables = Exact<{
  input: ExecInVmInput;
}>;


export type ExecInVm = { execInVm: { result: { exitCode: number, stdout: string, stderr: string, error: string | null, duration: string, hasTimedOut: boolean, isBackground: boolean, processId: string | null } } | null };

export type VmProcessesVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  vmId: string | number;
}>;


export type VmProcesses = { vmProcesses: { nodes: Array<{ id: string, vmId: string, command: string, status: VmProcessStatus, exitCode: number | null, startedAt: string, finishedAt: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type VmProcessVariables = Exact<{
  vmId: string | number;
  processId: string | number;
}>;


export type VmProcess = { vmProcess: { stdout: string, stderr: string, process: { id: string, vmId: string, command: string, status: VmProcessStatus, exitCode: number | null, startedAt: string, finishedAt: string | null } } | null };

export type KillVmProcessVariables = Exact<{
  input: KillVmProcessInput;
}>;


export type KillVmProcess = { killVmProcess: { output: { process: { id: string, vmId: string, command: string, status: VmProcessStatus, exitCode: number | null, startedAt: string, finishedAt: string | null } } } | null };

export type VmProcessOutputVariables = Exact<{
  vmId?: string | number | null | undefined;
  processId: string | number;
  after?: string | null | undefined;
}>;


export type VmProcessOutput = { vmProcessOutputEvents:
    | { __typename: 'Heartbeat' }
    | { __typename: 'ProcessOutputEvent', cursor: string, stream: OutputStream | null, text: string, hasEnded: boolean, exitCode: number | null }
   };

export type VmEventsVariables = Exact<{
  vmId: string | number;
  after?: string | null | undefined;
}>;


export type VmEvents = { vmEvents:
    | { __typename: 'Heartbeat' }
    | { __typename: 'VmEvent', cursor: string, at: string, status: VmStatus, statusReason: string | null }
   };

export type VmFolderVariables = Exact<{
  vmId: string | number;
  path: string;
}>;


export type VmFolder = { vmFolder: { path: string, entries: Array<{ name: string, type: VmFileEntryType, sizeBytes: string, modifiedAt: string }> } | null };

export type VmPortsVariables = Exact<{
  id: string | number;
}>;


export type VmPorts = { vm: { ports: Array<{ port: number, address: string, isReachable: boolean, processName: string | null, pid: number | null }> | null } | null };

export type VmKernelLogVariables = Exact<{
  id: string | number;
}>;


export type VmKernelLog = { vm: { kernelLog: string | null } | null };

export type VmPreviewVariables = Exact<{
  id: string | number;
  port: number;
  ttlSeconds?: number | null | undefined;
}>;


export type VmPreview = { vm: { previewUrl: string | null } | null };

export type OpenTerminalVariables = Exact<{
  input: OpenTerminalInput;
}>;


export type OpenTerminal = { openTerminal: { ticket: string, terminal: { id: string, vmId: string, status: TerminalStatus, command: string | null, exitCode: number | null } } | null };

export type CreateTerminalTicketVariables = Exact<{
  input: CreateTerminalTicketInput;
}>;


export type CreateTerminalTicket = { createTerminalTicket: { ticket: string, terminal: { id: string, vmId: string, status: TerminalStatus, command: string | null, exitCode: number | null } } | null };

export type CloseTerminalVariables = Exact<{
  input: CloseTerminalInput;
}>;


export type CloseTerminal = { closeTerminal: { terminal: { id: string, vmId: string, status: TerminalStatus, command: string | null, exitCode: number | null } } | null };

export type RunSandboxVariables = Exact<{
  input: RunSandboxInput;
}>;


export type RunSandbox = { runSandbox: { sandbox: { command: { exitCode: number, stdout: string, stderr: string }, vm: { id: string } } } | null };

export type CreateTunnelTicketVariables = Exact<{
  input: CreateTunnelTicketInput;
}>;


export type CreateTunnelTicket = { createTunnelTicket: { ticket: string } | null };

export type OpenVmSshVariables = Exact<{
  input: OpenVmSshInput;
}>;


export type OpenVmSsh = { openVmSsh: { user: string, hostKey: string, ticket: string } | null };

export type VmEnvVariables = Exact<{
  id: string | number;
}>;


export type VmEnv = { vm: { env: Array<{ key: string, value: string, visibility: EnvVisibility, source: EnvSource }> | null } | null };

export type SetVmEnvVariables = Exact<{
  input: SetVmEnvInput;
}>;


export type SetVmEnv = { setVmEnv: { vmId: string, warning: string | null } | null };

export type DeleteVmEnvVariableVariables = Exact<{
  input: DeleteVmEnvVariableInput;
}>;


export type DeleteVmEnvVariable = { deleteVmEnvVariable: { vmId: string } | null };

export const AgentsDocument = documentOf<Agents, AgentsVariables>(
  "query Agents($first: Int!, $after: String, $filter: AgentFilter) { agents(first: $first, after: $after, filter: $filter) { nodes { ...AgentRow } pageInfo { hasNextPage endCursor } } } fragment AgentRow on Agent { id name description version model { id } createdAt updatedAt archivedAt }",
)
export const AgentDocument = documentOf<Agent, AgentVariables>(
  "query Agent($id: ID!) { agent(id: $id) { ...AgentRow system metadata } } fragment AgentRow on Agent { id name description version model { id } createdAt updatedAt archivedAt }",
)
export const CreateAgentDocument = documentOf<CreateAgent, CreateAgentVariables>(
  "mutation CreateAgent($input: CreateAgentInput!) { createAgent(input: $input) { agent { ...AgentRow } } } fragment AgentRow on Agent { id name description version model { id } createdAt updatedAt archivedAt }",
)
export const UpdateAgentDocument = documentOf<UpdateAgent, UpdateAgentVariables>(
  "mutation UpdateAgent($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { ...AgentRow } } } fragment AgentRow on Agent { id name description version model { id } createdAt updatedAt archivedAt }",
)
export const ArchiveAgentDocument = documentOf<ArchiveAgent, ArchiveAgentVariables>(
  "mutation ArchiveAgent($input: ArchiveAgentInput!) { archiveAgent(input: $input) { agent { ...AgentRow } } } fragment AgentRow on Agent { id name description version model { id } createdAt updatedAt archivedAt }",
)
export const DeleteAgentDocument = documentOf<DeleteAgent, DeleteAgentVariables>(
  "mutation DeleteAgent($input: DeleteAgentInput!) { deleteAgent(input: $input) { deletedId } }",
)
export const SessionsDocument = documentOf<Sessions, SessionsVariables>(
  "query Sessions($first: Int!, $after: String, $filter: SessionFilter) { sessions(first: $first, after: $after, filter: $filter) { nodes { ...SessionRow } pageInfo { hasNextPage endCursor } } } fragment SessionRow on Session { id title status agentId environmentId deploymentId eventCursor createdAt updatedAt archivedAt activity { isActionRequired lastEventAt } definition { name } usage { inputTokens outputTokens listCost { amount currency } } stopReason { __typename type ... on RequiresAction { eventIds } } }",
)
export const SessionDocument = documentOf<Session, SessionVariables>(
  "query Session($id: ID!) { session(id: $id) { ...SessionRow } } fragment SessionRow on Session { id title status agentId environmentId deploymentId eventCursor createdAt updatedAt archivedAt activity { isActionRequired lastEventAt } definition { name } usage { inputTokens outputTokens listCost { amount currency } } stopReason { __typename type ... on RequiresAction { eventIds } } }",
)
export const CreateSessionDocument = documentOf<CreateSession, CreateSessionVariables>(
  "mutation CreateSession($input: CreateSessionInput!) { createSession(input: $input) { session { ...SessionRow } } } fragment SessionRow on Session { id title status agentId environmentId deploymentId eventCursor createdAt updatedAt archivedAt activity { isActionRequired lastEventAt } definition { name } usage { inputTokens outputTokens listCost { amount currency } } stopReason { __typename type ... on RequiresAction { eventIds } } }",
)
export const SendSessionEventsDocument = documentOf<SendSessionEvents, SendSessionEventsVariables>(
  "mutation SendSessionEvents($input: SendSessionEventsInput!) { sendSessionEvents(input: $input) { sessionEvents { id type createdAt } } }",
)
export const ArchiveSessionDocument = documentOf<ArchiveSession, ArchiveSessionVariables>(
  "mutation ArchiveSession($input: ArchiveSessionInput!) { archiveSession(input: $input) { session { ...SessionRow } } } fragment SessionRow on Session { id title status agentId environmentId deploymentId eventCursor createdAt updatedAt archivedAt activity { isActionRequired lastEventAt } definition { name } usage { inputTokens outputTokens listCost { amount currency } } stopReason { __typename type ... on RequiresAction { eventIds } } }",
)
export const DeleteSessionDocument = documentOf<DeleteSession, DeleteSessionVariables>(
  "mutation DeleteSession($input: DeleteSessionInput!) { deleteSession(input: $input) { deletedId } }",
)
export const SessionTranscriptDocument = documentOf<SessionTranscript, SessionTranscriptVariables>(
  "query SessionTranscript($sessionId: ID!, $first: Int!, $after: String) { sessionEvents(sessionId: $sessionId, first: $first, after: $after) { nodes { ...TranscriptEvent } pageInfo { hasNextPage endCursor } } } fragment TranscriptEvent on SessionEvent { __typename id type createdAt processedAt ... on UserMessage { content { ...Blocks } } ... on SystemMessage { content { ...Blocks } } ... on AgentMessage { content { ...Blocks } } ... on AgentToolUse { name input evaluatedPermission } ... on AgentMcpToolUse { name input evaluatedPermission mcpServerName } ... on AgentCustomToolUse { name input } ... on AgentToolResult { toolUseId isError content { ...Blocks } } ... on AgentMcpToolResult { mcpToolUseId isError content { ...Blocks } } ... on UserToolConfirmation { toolUseId result denyMessage } ... on UserCustomToolResult { customToolUseId isError content { ...Blocks } } ... on SessionError { error { message } } ... on SessionStatusIdle { stopReason { __typename type ... on RequiresAction { eventIds } } } } fragment Blocks on ContentBlock { __typename ... on TextBlock { text } }",
)
export const SessionEventsDocument = documentOf<SessionEvents, SessionEventsVariables>(
  "subscription SessionEvents($sessionId: ID!, $after: String, $previews: [SessionPreviewType!]) { sessionEvents( sessionId: $sessionId after: $after replay: true previews: $previews ) { __typename ... on SessionEmission { cursor event { ...TranscriptEvent } preview { __typename ... on SessionPreviewStart { previewOf type } ... on SessionPreviewText { previewOf index text } } } } } fragment TranscriptEvent on SessionEvent { __typename id type createdAt processedAt ... on UserMessage { content { ...Blocks } } ... on SystemMessage { content { ...Blocks } } ... on AgentMessage { content { ...Blocks } } ... on AgentToolUse { name input evaluatedPermission } ... on AgentMcpToolUse { name input evaluatedPermission mcpServerName } ... on AgentCustomToolUse { name input } ... on AgentToolResult { toolUseId isError content { ...Blocks } } ... on AgentMcpToolResult { mcpToolUseId isError content { ...Blocks } } ... on UserToolConfirmation { toolUseId result denyMessage } ... on UserCustomToolResult { customToolUseId isError content { ...Blocks } } ... on SessionError { error { message } } ... on SessionStatusIdle { stopReason { __typename type ... on RequiresAction { eventIds } } } } fragment Blocks on ContentBlock { __typename ... on TextBlock { text } }",
)
export const SchedulesDocument = documentOf<Schedules, SchedulesVariables>(
  "query Schedules($first: Int!, $after: String, $filter: ScheduleFilter) { schedules(first: $first, after: $after, filter: $filter) { nodes { ...ScheduleRow } pageInfo { hasNextPage endCursor } } } fragment ScheduleRow on Schedule { id name cron timezone isEnabled overlap deploymentId ownAgentId nextRunAt lastRunAt lastError }",
)
export const ScheduleDocument = documentOf<Schedule, ScheduleVariables>(
  "query Schedule($id: ID!) { schedule(id: $id) { ...ScheduleRow upcomingRunsAt } } fragment ScheduleRow on Schedule { id name cron timezone isEnabled overlap deploymentId ownAgentId nextRunAt lastRunAt lastError }",
)
export const CreateScheduleDocument = documentOf<CreateSchedule, CreateScheduleVariables>(
  "mutation CreateSchedule($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { ...ScheduleRow } } } fragment ScheduleRow on Schedule { id name cron timezone isEnabled overlap deploymentId ownAgentId nextRunAt lastRunAt lastError }",
)
export const UpdateScheduleDocument = documentOf<UpdateSchedule, UpdateScheduleVariables>(
  "mutation UpdateSchedule($input: UpdateScheduleInput!) { updateSchedule(input: $input) { schedule { ...ScheduleRow } } } fragment ScheduleRow on Schedule { id name cron timezone isEnabled overlap deploymentId ownAgentId nextRunAt lastRunAt lastError }",
)
export const DeleteScheduleDocument = documentOf<DeleteSchedule, DeleteScheduleVariables>(
  "mutation DeleteSchedule($input: DeleteScheduleInput!) { deleteSchedule(input: $input) { deletedId } }",
)
export const TriggersDocument = documentOf<Triggers, TriggersVariables>(
  "query Triggers($first: Int!, $after: String, $filter: TriggerFilter) { triggers(first: $first, after: $after, filter: $filter) { nodes { ...TriggerRow } pageInfo { hasNextPage endCursor } } } fragment TriggerRow on Trigger { id name repo events isEnabled agentId deploymentId lastFiredAt createdAt }",
)
export const TriggerDocument = documentOf<Trigger, TriggerVariables>(
  "query Trigger($id: ID!) { trigger(id: $id) { ...TriggerRow } } fragment TriggerRow on Trigger { id name repo events isEnabled agentId deploymentId lastFiredAt createdAt }",
)
export const CreateTriggerDocument = documentOf<CreateTrigger, CreateTriggerVariables>(
  "mutation CreateTrigger($input: CreateTriggerInput!) { createTrigger(input: $input) { trigger { ...TriggerRow } } } fragment TriggerRow on Trigger { id name repo events isEnabled agentId deploymentId lastFiredAt createdAt }",
)
export const UpdateTriggerDocument = documentOf<UpdateTrigger, UpdateTriggerVariables>(
  "mutation UpdateTrigger($input: UpdateTriggerInput!) { updateTrigger(input: $input) { trigger { ...TriggerRow } } } fragment TriggerRow on Trigger { id name repo events isEnabled agentId deploymentId lastFiredAt createdAt }",
)
export const DeleteTriggerDocument = documentOf<DeleteTrigger, DeleteTriggerVariables>(
  "mutation DeleteTrigger($input: DeleteTriggerInput!) { deleteTrigger(input: $input) { deletedId } }",
)
export const TryTriggerDocument = documentOf<TryTrigger, TryTriggerVariables>(
  "mutation TryTrigger($input: TryTriggerInput!) { tryTrigger(input: $input) { outcome reason skipReason errorType kickoff { text } } }",
)
export const DeploymentsDocument = documentOf<Deployments, DeploymentsVariables>(
  "query Deployments($first: Int!, $after: String, $filter: DeploymentFilter) { deployments(first: $first, after: $after, filter: $filter) { nodes { ...DeploymentRow } pageInfo { hasNextPage endCursor } } } fragment DeploymentRow on Deployment { id name description status agentId lastRunAt archivedAt createdAt }",
)
export const DeploymentDocument = documentOf<Deployment, DeploymentVariables>(
  "query Deployment($id: ID!) { deployment(id: $id) { ...DeploymentRow vaultIds environmentId } } fragment DeploymentRow on Deployment { id name description status agentId lastRunAt archivedAt createdAt }",
)
export const CreateDeploymentDocument = documentOf<CreateDeployment, CreateDeploymentVariables>(
  "mutation CreateDeployment($input: CreateDeploymentInput!) { createDeployment(input: $input) { deployment { ...DeploymentRow } } } fragment DeploymentRow on Deployment { id name description status agentId lastRunAt archivedAt createdAt }",
)
export const RunDeploymentDocument = documentOf<RunDeployment, RunDeploymentVariables>(
  "mutation RunDeployment($input: RunDeploymentInput!) { runDeployment(input: $input) { session { id } deploymentRun { id sessionId error { type message } } } }",
)
export const PauseDeploymentDocument = documentOf<PauseDeployment, PauseDeploymentVariables>(
  "mutation PauseDeployment($input: PauseDeploymentInput!) { pauseDeployment(input: $input) { deployment { ...DeploymentRow } } } fragment DeploymentRow on Deployment { id name description status agentId lastRunAt archivedAt createdAt }",
)
export const ResumeDeploymentDocument = documentOf<ResumeDeployment, ResumeDeploymentVariables>(
  "mutation ResumeDeployment($input: ResumeDeploymentInput!) { resumeDeployment(input: $input) { deployment { ...DeploymentRow } } } fragment DeploymentRow on Deployment { id name description status agentId lastRunAt archivedAt createdAt }",
)
export const DeleteDeploymentDocument = documentOf<DeleteDeployment, DeleteDeploymentVariables>(
  "mutation DeleteDeployment($input: DeleteDeploymentInput!) { deleteDeployment(input: $input) { deletedId } }",
)
export const VaultsDocument = documentOf<Vaults, VaultsVariables>(
  "query Vaults($first: Int!, $after: String, $filter: VaultFilter) { vaults(first: $first, after: $after, filter: $filter) { nodes { ...VaultRow } pageInfo { hasNextPage endCursor } } } fragment VaultRow on Vault { id displayName createdAt updatedAt archivedAt }",
)
export const VaultDocument = documentOf<Vault, VaultVariables>(
  "query Vault($id: ID!) { vault(id: $id) { ...VaultRow credentials(first: 100) { nodes { ...CredentialRow } } } } fragment VaultRow on Vault { id displayName createdAt updatedAt archivedAt } fragment CredentialRow on VaultCredential { id vaultId displayName createdAt archivedAt auth { __typename ... on EnvironmentVariableAuth { secretName } ... on McpOauthAuth { mcpServerUrl } ... on StaticBearerAuth { mcpServerUrl } } }",
)
export const CreateVaultDocument = documentOf<CreateVault, CreateVaultVariables>(
  "mutation CreateVault($input: CreateVaultInput!) { createVault(input: $input) { vault { ...VaultRow } } } fragment VaultRow on Vault { id displayName createdAt updatedAt archivedAt }",
)
export const DeleteVaultDocument = documentOf<DeleteVault, DeleteVaultVariables>(
  "mutation DeleteVault($input: DeleteVaultInput!) { deleteVault(input: $input) { deletedId } }",
)
export const CreateVaultCredentialDocument = documentOf<CreateVaultCredential, CreateVaultCredentialVariables>(
  "mutation CreateVaultCredential($input: CreateVaultCredentialInput!) { createVaultCredential(input: $input) { vaultCredential { ...CredentialRow } } } fragment CredentialRow on VaultCredential { id vaultId displayName createdAt archivedAt auth { __typename ... on EnvironmentVariableAuth { secretName } ... on McpOauthAuth { mcpServerUrl } ... on StaticBearerAuth { mcpServerUrl } } }",
)
export const UpdateVaultCredentialDocument = documentOf<UpdateVaultCredential, UpdateVaultCredentialVariables>(
  "mutation UpdateVaultCredential($input: UpdateVaultCredentialInput!) { updateVaultCredential(input: $input) { vaultCredential { ...CredentialRow } } } fragment CredentialRow on VaultCredential { id vaultId displayName createdAt archivedAt auth { __typename ... on EnvironmentVariableAuth { secretName } ... on McpOauthAuth { mcpServerUrl } ... on StaticBearerAuth { mcpServerUrl } } }",
)
export const DeleteVaultCredentialDocument = documentOf<DeleteVaultCredential, DeleteVaultCredentialVariables>(
  "mutation DeleteVaultCredential($input: DeleteVaultCredentialInput!) { deleteVaultCredential(input: $input) { deletedId } }",
)
export const EnvironmentsDocument = documentOf<Environments, EnvironmentsVariables>(
  "query Environments($first: Int!, $after: String, $filter: EnvironmentFilter) { environments(first: $first, after: $after, filter: $filter) { nodes { ...EnvironmentRow } pageInfo { hasNextPage endCursor } } } fragment EnvironmentRow on Environment { id name description status statusReason vmId createdAt archivedAt }",
)
export const EnvironmentDocument = documentOf<Environment, EnvironmentVariables>(
  "query Environment($id: ID!) { environment(id: $id) { ...EnvironmentRow metadata } } fragment EnvironmentRow on Environment { id name description status statusReason vmId createdAt archivedAt }",
)
export const CreateEnvironmentDocument = documentOf<CreateEnvironment, CreateEnvironmentVariables>(
  "mutation CreateEnvironment($input: CreateEnvironmentInput!) { createEnvironment(input: $input) { environment { ...EnvironmentRow } } } fragment EnvironmentRow on Environment { id name description status statusReason vmId createdAt archivedAt }",
)
export const DeleteEnvironmentDocument = documentOf<DeleteEnvironment, DeleteEnvironmentVariables>(
  "mutation DeleteEnvironment($input: DeleteEnvironmentInput!) { deleteEnvironment(input: $input) { deletedId } }",
)
export const BuildsDocument = documentOf<Builds, BuildsVariables>(
  "query Builds($first: Int!, $after: String, $filter: BuildFilter) { builds(first: $first, after: $after, filter: $filter) { nodes { ...BuildRow } pageInfo { hasNextPage endCursor } } } fragment BuildRow on Build { id status repoUrl gitRef commitSha error exitCode queuedAt startedAt finishedAt }",
)
export const BuildDocument = documentOf<Build, BuildVariables>(
  "query Build($id: ID!) { build(id: $id) { ...BuildRow failingStep isCancelRequested vcpuCount memoryMb output { type name sizeBytes url } } } fragment BuildRow on Build { id status repoUrl gitRef commitSha error exitCode queuedAt startedAt finishedAt }",
)
export const CreateBuildDocument = documentOf<CreateBuild, CreateBuildVariables>(
  "mutation CreateBuild($input: CreateBuildInput!) { createBuild(input: $input) { build { ...BuildRow } } } fragment BuildRow on Build { id status repoUrl gitRef commitSha error exitCode queuedAt startedAt finishedAt }",
)
export const CancelBuildDocument = documentOf<CancelBuild, CancelBuildVariables>(
  "mutation CancelBuild($input: CancelBuildInput!) { cancelBuild(input: $input) { build { ...BuildRow } } } fragment BuildRow on Build { id status repoUrl gitRef commitSha error exitCode queuedAt startedAt finishedAt }",
)
export const BuildLogDocument = documentOf<BuildLog, BuildLogVariables>(
  "subscription BuildLog($buildId: ID!, $after: String) { buildLogEvents(buildId: $buildId, after: $after) { __typename ... on BuildLogEntry { id output isDone } } }",
)
export const BuildEventsDocument = documentOf<BuildEvents, BuildEventsVariables>(
  "subscription BuildEvents($buildId: ID!, $after: String) { buildEvents(buildId: $buildId, after: $after) { __typename ... on BuildEvent { cursor at status error isCancelRequested } } }",
)
export const CreateUploadDocument = documentOf<CreateUpload, CreateUploadVariables>(
  "mutation CreateUpload($input: CreateUploadInput!) { createUpload(input: $input) { upload { uploadUrl binaryUrl expiresAt } } }",
)
export const FunctionsDocument = documentOf<Functions, FunctionsVariables>(
  "query Functions($first: Int!, $after: String, $filter: FunctionFilter) { functions(first: $first, after: $after, filter: $filter) { nodes { ...FunctionRow } pageInfo { hasNextPage endCursor } } } fragment FunctionRow on Function { id name status statusReason url createdAt currentVersion { id number } }",
)
export const FunctionDocument = documentOf<Function, FunctionVariables>(
  "query Function($id: ID!) { function(id: $id) { ...FunctionRow idleSeconds vcpuCount memoryMb failures } } fragment FunctionRow on Function { id name status statusReason url createdAt currentVersion { id number } }",
)
export const FunctionEnvDocument = documentOf<FunctionEnv, FunctionEnvVariables>(
  "query FunctionEnv($id: ID!) { function(id: $id) { variables { key value } } }",
)
export const UpdateFunctionDocument = documentOf<UpdateFunction, UpdateFunctionVariables>(
  "mutation UpdateFunction($input: UpdateFunctionInput!) { updateFunction(input: $input) { function { ...FunctionRow } } } fragment FunctionRow on Function { id name status statusReason url createdAt currentVersion { id number } }",
)
export const CreateFunctionDocument = documentOf<CreateFunction, CreateFunctionVariables>(
  "mutation CreateFunction($input: CreateFunctionInput!) { createFunction(input: $input) { function { ...FunctionRow } } } fragment FunctionRow on Function { id name status statusReason url createdAt currentVersion { id number } }",
)
export const DeployFunctionDocument = documentOf<DeployFunction, DeployFunctionVariables>(
  "mutation DeployFunction($input: DeployFunctionInput!) { deployFunction(input: $input) { function { ...FunctionRow } } } fragment FunctionRow on Function { id name status statusReason url createdAt currentVersion { id number } }",
)
export const DeleteFunctionDocument = documentOf<DeleteFunction, DeleteFunctionVariables>(
  "mutation DeleteFunction($input: DeleteFunctionInput!) { deleteFunction(input: $input) { deletedId } }",
)
export const FunctionLogDocument = documentOf<FunctionLog, FunctionLogVariables>(
  "subscription FunctionLog($functionId: ID!, $after: String) { functionLogEvents(functionId: $functionId, after: $after) { __typename ... on FunctionLogEntry { cursor at output versionNumber isDone } } }",
)
export const DomainsDocument = documentOf<Domains, DomainsVariables>(
  "query Domains($first: Int!, $after: String, $filter: DomainFilter) { domains(first: $first, after: $after, filter: $filter) { nodes { ...DomainRow } pageInfo { hasNextPage endCursor } } } fragment DomainRow on Domain { id name path status statusReason message externalUrl targetType vmId vmPort functionId createdAt records { name type purpose expected seen isRight reason } }",
)
export const DomainDocument = documentOf<Domain, DomainVariables>(
  "query Domain($id: ID!) { domain(id: $id) { ...DomainRow instructions certificate { status reason notAfter } } } fragment DomainRow on Domain { id name path status statusReason message externalUrl targetType vmId vmPort functionId createdAt records { name type purpose expected seen isRight reason } }",
)
export const CreateDomainDocument = documentOf<CreateDomain, CreateDomainVariables>(
  "mutation CreateDomain($input: CreateDomainInput!) { createDomain(input: $input) { domain { ...DomainRow } } } fragment DomainRow on Domain { id name path status statusReason message externalUrl targetType vmId vmPort functionId createdAt records { name type purpose expected seen isRight reason } }",
)
export const CheckDomainDocument = documentOf<CheckDomain, CheckDomainVariables>(
  "mutation CheckDomain($input: CheckDomainInput!) { checkDomain(input: $input) { domain { ...DomainRow } } } fragment DomainRow on Domain { id name path status statusReason message externalUrl targetType vmId vmPort functionId createdAt records { name type purpose expected seen isRight reason } }",
)
export const LinkDomainDocument = documentOf<LinkDomain, LinkDomainVariables>(
  "mutation LinkDomain($input: LinkDomainInput!) { linkDomain(input: $input) { domain { ...DomainRow } } } fragment DomainRow on Domain { id name path status statusReason message externalUrl targetType vmId vmPort functionId createdAt records { name type purpose expected seen isRight reason } }",
)
export const DeleteDomainDocument = documentOf<DeleteDomain, DeleteDomainVariables>(
  "mutation DeleteDomain($input: DeleteDomainInput!) { deleteDomain(input: $input) { deletedId } }",
)
export const DatabasesDocument = documentOf<Databases, DatabasesVariables>(
  "query Databases($first: Int!, $after: String, $filter: DatabaseFilter) { databases(first: $first, after: $after, filter: $filter) { nodes { ...DatabaseRow } pageInfo { hasNextPage endCursor } } } fragment DatabaseRow on Database { id name status statusReason isAsleep vcpuCount memoryMb diskMb projectId createdAt }",
)
export const DatabaseDocument = documentOf<Database, DatabaseVariables>(
  "query Database($id: ID!) { database(id: $id) { ...DatabaseRow connectionUri host pgDatabase pgUser sleepAfterSeconds settings eventCursor } } fragment DatabaseRow on Database { id name status statusReason isAsleep vcpuCount memoryMb diskMb projectId createdAt }",
)
export const CreateDatabaseDocument = documentOf<CreateDatabase, CreateDatabaseVariables>(
  "mutation CreateDatabase($input: CreateDatabaseInput!) { createDatabase(input: $input) { database { ...DatabaseRow } credentials { connectionUri host pgDatabase pgUser token } } } fragment DatabaseRow on Database { id name status statusReason isAsleep vcpuCount memoryMb diskMb projectId createdAt }",
)
export const RotateDatabaseTokenDocument = documentOf<RotateDatabaseToken, RotateDatabaseTokenVariables>(
  "mutation RotateDatabaseToken($input: RotateDatabaseTokenInput!) { rotateDatabaseToken(input: $input) { credentials { connectionUri host pgDatabase pgUser token } } }",
)
export const DeleteDatabaseDocument = documentOf<DeleteDatabase, DeleteDatabaseVariables>(
  "mutation DeleteDatabase($input: DeleteDatabaseInput!) { deleteDatabase(input: $input) { deletedId } }",
)
export const RunSqlDocument = documentOf<RunSql, RunSqlVariables>(
  "mutation RunSql($input: RunSqlInput!) { runSql(input: $input) { result { columns { name typeOid } command rowCount rows } failure { message detail hint position sqlState } } }",
)
export const DatabaseTablesDocument = documentOf<DatabaseTables, DatabaseTablesVariables>(
  "query DatabaseTables($databaseId: ID!, $first: Int!, $after: String) { database(id: $databaseId) { tables(first: $first, after: $after) { nodes { schema name kind estimatedRows sizeBytes columns { name type isNullable isPrimaryKey default } } pageInfo { hasNextPage endCursor } } } }",
)
export const BackupsDocument = documentOf<Backups, BackupsVariables>(
  "query Backups($databaseId: ID!, $first: Int!, $after: String) { database(id: $databaseId) { backups(first: $first, after: $after) { nodes { ...BackupRow } pageInfo { hasNextPage endCursor } } } } fragment BackupRow on Backup { id databaseId status error sizeBytes triggeredBy createdAt completedAt verifiedAt }",
)
export const BackupDocument = documentOf<Backup, BackupVariables>(
  "query Backup($id: ID!) { backup(id: $id) { ...BackupRow downloadUrl sha256 } } fragment BackupRow on Backup { id databaseId status error sizeBytes triggeredBy createdAt completedAt verifiedAt }",
)
export const CreateBackupDocument = documentOf<CreateBackup, CreateBackupVariables>(
  "mutation CreateBackup($input: CreateBackupInput!) { createBackup(input: $input) { backup { ...BackupRow } } } fragment BackupRow on Backup { id databaseId status error sizeBytes triggeredBy createdAt completedAt verifiedAt }",
)
export const DeleteBackupDocument = documentOf<DeleteBackup, DeleteBackupVariables>(
  "mutation DeleteBackup($input: DeleteBackupInput!) { deleteBackup(input: $input) { deletedId } }",
)
export const RestoreBackupDocument = documentOf<RestoreBackup, RestoreBackupVariables>(
  "mutation RestoreBackup($input: RestoreBackupInput!) { restoreBackup(input: $input) { databaseRestore { ...RestoreRow } } } fragment RestoreRow on DatabaseRestore { id databaseId backupId status error createdAt finishedAt progress { step backupBytes loadedBytes } }",
)
export const DatabaseRestoreDocument = documentOf<DatabaseRestore, DatabaseRestoreVariables>(
  "query DatabaseRestore($id: ID!) { databaseRestore(id: $id) { ...RestoreRow } } fragment RestoreRow on DatabaseRestore { id databaseId backupId status error createdAt finishedAt progress { step backupBytes loadedBytes } }",
)
export const DatabaseEventsDocument = documentOf<DatabaseEvents, DatabaseEventsVariables>(
  "subscription DatabaseEvents($databaseId: ID!, $after: String) { databaseEvents(databaseId: $databaseId, after: $after) { __typename ... on DatabaseEvent { cursor at status statusReason } } }",
)
export const BackupEventsDocument = documentOf<BackupEvents, BackupEventsVariables>(
  "subscription BackupEvents($backupId: ID!, $after: String) { backupEvents(backupId: $backupId, after: $after) { __typename ... on BackupEvent { cursor at status error storedBytes verifiedAt verificationError } } }",
)
export const RestoreEventsDocument = documentOf<RestoreEvents, RestoreEventsVariables>(
  "subscription RestoreEvents($restoreId: ID!, $after: String) { databaseRestoreEvents(databaseRestoreId: $restoreId, after: $after) { __typename ... on DatabaseRestoreEvent { cursor at status error step loadedBytes } } }",
)
export const InstanceDocument = documentOf<Instance, InstanceVariables>(
  "query Instance { instance { version hasLocalSignIn signInProviders issuers } }",
)
export const ViewerDocument = documentOf<Viewer, ViewerVariables>(
  "query Viewer { viewer { role user { id name } keyId organization { id name eventCursor } organizations(first: 100) { nodes { id name } } } }",
)
export const ApiKeysDocument = documentOf<ApiKeys, ApiKeysVariables>(
  "query ApiKeys($first: Int!, $after: String) { apiKeys(first: $first, after: $after) { nodes { ...ApiKeyRow } pageInfo { hasNextPage endCursor } } } fragment ApiKeyRow on ApiKey { id name lastFour scopes createdAt lastUsedAt expiresAt revokedAt }",
)
export const CreateApiKeyDocument = documentOf<CreateApiKey, CreateApiKeyVariables>(
  "mutation CreateApiKey($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { ...ApiKeyRow } } } fragment ApiKeyRow on ApiKey { id name lastFour scopes createdAt lastUsedAt expiresAt revokedAt }",
)
export const RevokeApiKeyDocument = documentOf<RevokeApiKey, RevokeApiKeyVariables>(
  "mutation RevokeApiKey($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { ...ApiKeyRow } } } fragment ApiKeyRow on ApiKey { id name lastFour scopes createdAt lastUsedAt expiresAt revokedAt }",
)
export const CreateOrganizationDocument = documentOf<CreateOrganization, CreateOrganizationVariables>(
  "mutation CreateOrganization($input: CreateOrganizationInput!) { createOrganization(input: $input) { organization { id name } } }",
)
export const MembersDocument = documentOf<Members, MembersVariables>(
  "query Members($first: Int!, $after: String, $filter: MemberFilter) { members(first: $first, after: $after, filter: $filter) { nodes { ...MemberRow } pageInfo { hasNextPage endCursor } } } fragment MemberRow on Member { id role email createdAt user { id name } }",
)
export const CreateInvitationDocument = documentOf<CreateInvitation, CreateInvitationVariables>(
  "mutation CreateInvitation($input: CreateInvitationInput!) { createInvitation(input: $input) { url invitation { id role email expiresAt } } }",
)
export const RemoveMemberDocument = documentOf<RemoveMember, RemoveMemberVariables>(
  "mutation RemoveMember($input: RemoveMemberInput!) { removeMember(input: $input) { member { ...MemberRow } } } fragment MemberRow on Member { id role email createdAt user { id name } }",
)
export const UpdateMemberDocument = documentOf<UpdateMember, UpdateMemberVariables>(
  "mutation UpdateMember($input: UpdateMemberInput!) { updateMember(input: $input) { member { ...MemberRow } } } fragment MemberRow on Member { id role email createdAt user { id name } }",
)
export const ProjectsDocument = documentOf<Projects, ProjectsVariables>(
  "query Projects($first: Int!, $after: String) { projects(first: $first, after: $after) { nodes { ...ProjectRow } pageInfo { hasNextPage endCursor } } } fragment ProjectRow on Project { id name createdAt }",
)
export const ProjectDocument = documentOf<Project, ProjectVariables>(
  "query Project($id: ID!) { project(id: $id) { ...ProjectRow } } fragment ProjectRow on Project { id name createdAt }",
)
export const CreateProjectDocument = documentOf<CreateProject, CreateProjectVariables>(
  "mutation CreateProject($input: CreateProjectInput!) { createProject(input: $input) { project { ...ProjectRow } } } fragment ProjectRow on Project { id name createdAt }",
)
export const DeleteProjectDocument = documentOf<DeleteProject, DeleteProjectVariables>(
  "mutation DeleteProject($input: DeleteProjectInput!) { deleteProject(input: $input) { deletedId } }",
)
export const InferenceUsageDocument = documentOf<InferenceUsage, InferenceUsageVariables>(
  "query InferenceUsage($dimensions: [InferenceUsageGroupBy!], $from: String, $to: String) { inferenceUsage(dimensions: $dimensions, from: $from, to: $to) { from to hasMoreGroups totals { ...InferenceSum } groups { day modelId keyId key { name } totals { ...InferenceSum } } } } fragment InferenceSum on InferenceTotals { requests inputTokens outputTokens costUsd }",
)
export const VmUsageDocument = documentOf<VmUsage, VmUsageVariables>(
  "query VmUsage($dimensions: [VmUsageDimension!], $from: String, $to: String) { vmUsage(dimensions: $dimensions, from: $from, to: $to) { from to hasMoreGroups totals { ...VmSum } groups { day vmId vm { name } buildId totals { ...VmSum } } } } fragment VmSum on VmUsageTotals { hours sessions costUsd }",
)
export const OrganizationEventsDocument = documentOf<OrganizationEvents, OrganizationEventsVariables>(
  "subscription OrganizationEvents($after: String, $nodeTypes: [NodeType!]) { organizationEvents(after: $after, nodeTypes: $nodeTypes) { __typename ... on OrganizationEvent { cursor at change nodeType nodeId } } }",
)
export const VmsDocument = documentOf<Vms, VmsVariables>(
  "query Vms($first: Int!, $after: String, $filter: VmFilter) { vms(first: $first, after: $after, filter: $filter) { nodes { ...VmRow } pageInfo { hasNextPage endCursor } } } fragment VmRow on Vm { id name status statusReason isAsleep vcpuCount memoryMb diskMb templateId projectId metadata expiresAt createdAt }",
)
export const VmDocument = documentOf<Vm, VmVariables>(
  "query Vm($id: ID!) { vm(id: $id) { ...VmDetails } } fragment VmDetails on Vm { ...VmRow externalRef folderId idleSeconds idleAction ipAddress machineId startedAt stoppedAt eventCursor warnings networkPolicy { type } } fragment VmRow on Vm { id name status statusReason isAsleep vcpuCount memoryMb diskMb templateId projectId metadata expiresAt createdAt }",
)
export const CreateVmDocument = documentOf<CreateVm, CreateVmVariables>(
  "mutation CreateVm($input: CreateVmInput!) { createVm(input: $input) { vm { ...VmDetails } } } fragment VmDetails on Vm { ...VmRow externalRef folderId idleSeconds idleAction ipAddress machineId startedAt stoppedAt eventCursor warnings networkPolicy { type } } fragment VmRow on Vm { id name status statusReason isAsleep vcpuCount memoryMb diskMb templateId projectId metadata expiresAt createdAt }",
)
export const UpdateVmDocument = documentOf<UpdateVm, UpdateVmVariables>(
  "mutation UpdateVm($input: UpdateVmInput!) { updateVm(input: $input) { vm { ...VmDetails } } } fragment VmDetails on Vm { ...VmRow externalRef folderId idleSeconds idleAction ipAddress machineId startedAt stoppedAt eventCursor warnings networkPolicy { type } } fragment VmRow on Vm { id name status statusReason isAsleep vcpuCount memoryMb diskMb templateId projectId metadata expiresAt createdAt }",
)
export const StartVmDocument = documentOf<StartVm, StartVmVariables>(
  "mutation StartVm($input: StartVmInput!) { startVm(input: $input) { vm { ...VmRow } } } fragment VmRow on Vm { id name status statusReason isAsleep vcpuCount memoryMb diskMb templateId projectId metadata expiresAt createdAt }",
)
export const StopVmDocument = documentOf<StopVm, StopVmVariables>(
  "mutation StopVm($input: StopVmInput!) { stopVm(input: $input) { vm { ...VmRow } } } fragment VmRow on Vm { id name status statusReason isAsleep vcpuCount memoryMb diskMb templateId projectId metadata expiresAt createdAt }",
)
export const PauseVmDocument = documentOf<PauseVm, PauseVmVariables>(
  "mutation PauseVm($input: PauseVmInput!) { pauseVm(input: $input) { vm { ...VmRow } } } fragment VmRow on Vm { id name status statusReason isAsleep vcpuCount memoryMb diskMb templateId projectId metadata expiresAt createdAt }",
)
export const ResumeVmDocument = documentOf<ResumeVm, ResumeVmVariables>(
  "mutation ResumeVm($input: ResumeVmInput!) { resumeVm(input: $input) { vm { ...VmRow } } } fragment VmRow on Vm { id name status statusReason isAsleep vcpuCount memoryMb diskMb templateId projectId metadata expiresAt createdAt }",
)
export const DeleteVmDocument = documentOf<DeleteVm, DeleteVmVariables>(
  "mutation DeleteVm($input: DeleteVmInput!) { deleteVm(input: $input) { deletedId } }",
)
export const ExecInVmDocument = documentOf<ExecInVm, ExecInVmVariables>(
  "mutation ExecInVm($input: ExecInVmInput!) { execInVm(input: $input) { result { exitCode stdout stderr error duration hasTimedOut isBackground processId } } }",
)
export const VmProcessesDocument = documentOf<VmProcesses, VmProcessesVariables>(
  "query VmProcesses($first: Int!, $after: String, $vmId: ID!) { vmProcesses(first: $first, after: $after, vmId: $vmId) { nodes { ...ProcessRow } pageInfo { hasNextPage endCursor } } } fragment ProcessRow on VmProcess { id vmId command status exitCode startedAt finishedAt }",
)
export const VmProcessDocument = documentOf<VmProcess, VmProcessVariables>(
  "query VmProcess($vmId: ID!, $processId: ID!) { vmProcess(vmId: $vmId, processId: $processId) { process { ...ProcessRow } stdout stderr } } fragment ProcessRow on VmProcess { id vmId command status exitCode startedAt finishedAt }",
)
export const KillVmProcessDocument = documentOf<KillVmProcess, KillVmProcessVariables>(
  "mutation KillVmProcess($input: KillVmProcessInput!) { killVmProcess(input: $input) { output { process { ...ProcessRow } } } } fragment ProcessRow on VmProcess { id vmId command status exitCode startedAt finishedAt }",
)
export const VmProcessOutputDocument = documentOf<VmProcessOutput, VmProcessOutputVariables>(
  "subscription VmProcessOutput($vmId: ID, $processId: ID!, $after: String) { vmProcessOutputEvents(vmId: $vmId, processId: $processId, after: $after) { __typename ... on ProcessOutputEvent { cursor stream text hasEnded exitCode } } }",
)
export const VmEventsDocument = documentOf<VmEvents, VmEventsVariables>(
  "subscription VmEvents($vmId: ID!, $after: String) { vmEvents(vmId: $vmId, after: $after) { __typename ... on VmEvent { cursor at status statusReason } } }",
)
export const VmFolderDocument = documentOf<VmFolder, VmFolderVariables>(
  "query VmFolder($vmId: ID!, $path: String!) { vmFolder(vmId: $vmId, path: $path) { path entries { name type sizeBytes modifiedAt } } }",
)
export const VmPortsDocument = documentOf<VmPorts, VmPortsVariables>(
  "query VmPorts($id: ID!) { vm(id: $id) { ports { port address isReachable processName pid } } }",
)
export const VmKernelLogDocument = documentOf<VmKernelLog, VmKernelLogVariables>(
  "query VmKernelLog($id: ID!) { vm(id: $id) { kernelLog } }",
)
export const VmPreviewDocument = documentOf<VmPreview, VmPreviewVariables>(
  "query VmPreview($id: ID!, $port: Int!, $ttlSeconds: Int) { vm(id: $id) { previewUrl(port: $port, ttlSeconds: $ttlSeconds) } }",
)
export const OpenTerminalDocument = documentOf<OpenTerminal, OpenTerminalVariables>(
  "mutation OpenTerminal($input: OpenTerminalInput!) { openTerminal(input: $input) { ticket terminal { ...TerminalRow } } } fragment TerminalRow on Terminal { id vmId status command exitCode }",
)
export const CreateTerminalTicketDocument = documentOf<CreateTerminalTicket, CreateTerminalTicketVariables>(
  "mutation CreateTerminalTicket($input: CreateTerminalTicketInput!) { createTerminalTicket(input: $input) { ticket terminal { ...TerminalRow } } } fragment TerminalRow on Terminal { id vmId status command exitCode }",
)
export const CloseTerminalDocument = documentOf<CloseTerminal, CloseTerminalVariables>(
  "mutation CloseTerminal($input: CloseTerminalInput!) { closeTerminal(input: $input) { terminal { ...TerminalRow } } } fragment TerminalRow on Terminal { id vmId status command exitCode }",
)
export const RunSandboxDocument = documentOf<RunSandbox, RunSandboxVariables>(
  "mutation RunSandbox($input: RunSandboxInput!) { runSandbox(input: $input) { sandbox { command { exitCode stdout stderr } vm { id } } } }",
)
export const CreateTunnelTicketDocument = documentOf<CreateTunnelTicket, CreateTunnelTicketVariables>(
  "mutation CreateTunnelTicket($input: CreateTunnelTicketInput!) { createTunnelTicket(input: $input) { ticket } }",
)
export const OpenVmSshDocument = documentOf<OpenVmSsh, OpenVmSshVariables>(
  "mutation OpenVmSsh($input: OpenVmSshInput!) { openVmSsh(input: $input) { user hostKey ticket } }",
)
export const VmEnvDocument = documentOf<VmEnv, VmEnvVariables>(
  "query VmEnv($id: ID!) { vm(id: $id) { env { key value visibility source } } }",
)
export const SetVmEnvDocument = documentOf<SetVmEnv, SetVmEnvVariables>(
  "mutation SetVmEnv($input: SetVmEnvInput!) { setVmEnv(input: $input) { vmId warning } }",
)
export const DeleteVmEnvVariableDocument = documentOf<DeleteVmEnvVariable, DeleteVmEnvVariableVariables>(
  "mutation DeleteVmEnvVariable($input: DeleteVmEnvVariableInput!) { deleteVmEnvVariable(input: $input) { vmId } }",
)
