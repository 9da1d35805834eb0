/** The types of the objects whose changes an organization's stream has. The database's triggers write them: migrations 0065 and 0071. */
import type { Permission } from '#src/platform/access/permissions.ts'

/** Each type, as the graph names it, with the permission that its changes need: that of reading one. */
export const watchedTypes = {
  Agent: 'agents:read',
  ApiKey: 'keys:read',
  Backup: 'backups:read',
  BackupSchedule: 'backups:read',
  Build: 'builds:read',
  ConnectedService: 'connectors:read',
  Database: 'databases:read',
  DatabaseRestore: 'backups:read',
  Deployment: 'deployments:read',
  DeploymentRun: 'deployments:read',
  Domain: 'domains:read',
  Environment: 'environments:read',
  File: 'files:read',
  Folder: 'folders:read',
  Function: 'functions:read',
  Group: 'groups:read',
  Invitation: 'members:write',
  Member: 'members:read',
  Memory: 'memories:read',
  Organization: 'account:read',
  PeerExchange: 'peers:read',
  Project: 'projects:read',
  Proxy: 'proxies:read',
  Schedule: 'schedules:read',
  Session: 'sessions:read',
  Skill: 'skills:read',
  Template: 'templates:read',
  Trigger: 'triggers:read',
  TriggerFire: 'triggers:read',
  Vault: 'vaults:read',
  Vm: 'vms:read',
  WebhookEndpoint: 'webhooks:read',
} as const satisfies Record<string, Permission>

/** The name of such a type. */
export type WatchedType = keyof typeof watchedTypes

/** All of them. */
export const watchedTypeNames = Object.keys(watchedTypes) as WatchedType[] // the keys of the table
