/** The ids of nodes. They are the ids that REST shows; the prefix tells the type. */
import { decodeId, encodeId, idPrefixes, type IdKind } from '#src/platform/ids.ts'

/** The types that are nodes, each with the kind of its ids; null where ids have no prefix. */
const kinds = {
  Agent: 'agent',
  ApiKey: null,
  AuditEvent: 'auditEvent',
  Authorization: 'authorization',
  Backup: 'backup',
  BackupSchedule: 'backupSchedule',
  BrowserSession: 'browserSession',
  Build: 'build',
  CodeHostAccount: 'codeHostLink',
  ConnectedService: 'mcpConnection',
  Database: 'database',
  DatabaseRestore: 'restore',
  Deployment: 'deployment',
  DeploymentRun: 'deploymentRun',
  Domain: 'domain',
  Environment: 'environment',
  File: 'file',
  Skill: 'skill',
  SkillVersion: 'skillVersion',
  Folder: 'folder',
  Function: 'function',
  FunctionVersion: 'functionVersion',
  Group: 'group',
  GroupMessage: 'groupMessage',
  GroupRun: 'groupRun',
  InferenceRequest: 'inferenceRequest',
  Invitation: 'invitation',
  Machine: 'node',
  Member: 'membership',
  Memory: 'memory',
  Model: null,
  Organization: 'organization',
  PeerExchange: 'peerExchange',
  Project: 'project',
  Proxy: 'proxy',
  Schedule: 'schedule',
  ScheduleRun: 'scheduleRun',
  Session: 'session',
  Template: 'template',
  Terminal: 'terminal',
  Trigger: 'trigger',
  TriggerFire: 'triggerFire',
  User: 'user',
  Vault: 'vault',
  VaultCredential: 'credential',
  Vm: 'vm',
  VmProcess: 'process',
  WebhookDelivery: 'webhookDelivery',
  WebhookEndpoint: 'webhookEndpoint',
  WebhookEvent: 'webhookEvent',
} as const satisfies Record<string, IdKind | null>

/** The name of a type that is a node. */
export type NodeName = keyof typeof kinds

const names = new Map<string, { name: string; kind: IdKind }>(
  Object.entries(kinds).flatMap(([name, kind]) => (kind ? [[idPrefixes[kind], { name, kind }] as const] : [])),
)
const keyId = /^[A-Za-z0-9]{16}$/

/** Whether a type is a node. */
export function isNodeName(name: string): name is NodeName {
  return name in kinds
}

/** The public id of a node. */
export function encodeNodeId(name: string, id: string): string {
  return nodeIdEncoder(name as NodeName)(id) // only nodes are encoded
}

/** What makes the public ids of the nodes of one type. */
export function nodeIdEncoder(name: NodeName): (id: string) => string {
  const kind = kinds[name]
  return kind ? (id) => encodeId(kind, id) : (id) => id
}

/** What is said of the ids of such nodes. */
export function idFormOf(name: NodeName): string {
  const kind = kinds[name]
  if (!kind) throw new Error(`ids of ${name} have no prefix`)
  return `\`${idPrefixes[kind]}_\` and 26 characters.`
}

/** The type and the stored id that a public id stands for, judged by its form; undefined for anything else. */
export function decodeNodeId(id: string): { typename: NodeName; id: string } | undefined {
  const known = names.get(id.slice(0, id.lastIndexOf('_')))
  if (known) {
    const stored = decodeId(known.kind, id)
    return stored === undefined ? undefined : { typename: known.name as NodeName, id: stored } // from the table above
  }
  return { typename: keyId.test(id) ? 'ApiKey' : 'Model', id }
}
