/** The table of permissions: which role of a person and which scope of a key has each of them, and whether the token inside a VM does. */

/** The roles of people in an organization, lowest first. */
export const roles = ['viewer', 'member', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]

/** Whether a text is a role. */
export function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text)
}

/** The scopes of an organization's API key. */
export const keyScopes = ['models:read', 'chat:stateless', 'agents:use', 'compute:use'] as const
export type KeyScope = (typeof keyScopes)[number]

/**
 * The scopes of a program that a person lets in: what a viewer sees and nothing that changes; what a member may; all that the
 * person may. Each never more than the person's own role.
 */
export const programScopes = ['read', 'write', 'admin'] as const
export type ProgramScope = (typeof programScopes)[number]

/** The role that a program has for a person of this role. */
export function roleWithin(role: Role, scope: ProgramScope): Role {
  return scope === 'admin' ? role : lesserRole(role, scope === 'write' ? 'member' : 'viewer')
}

/** The lesser of two roles. */
export function lesserRole(one: Role, other: Role): Role {
  return roles.indexOf(one) < roles.indexOf(other) ? one : other
}

/** Whether a role is at least this one. */
export function isAtLeast(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least)
}

/**
 * Every permission: the lowest role that has it; the key scope that also grants it (`any`: every key; null: people
 * only); and whether the token that Berth puts into a VM has it: for VMs, builds, agents and sessions, but for nothing
 * that belongs to one person or manages the organization.
 */
export const permissions = {
  'vms:read': ['viewer', 'compute:use', 'vm'],
  'vms:write': ['member', 'compute:use', 'vm'],
  'inside-vms:read': ['member', 'compute:use', 'vm'], // files, processes and their output: the same as commands can show
  'env:read': ['viewer', 'compute:use', 'vm'],
  'env:write': ['member', 'compute:use', 'vm'],
  'folders:read': ['viewer', 'compute:use', 'vm'],
  'folders:write': ['member', 'compute:use', 'vm'],
  'templates:read': ['viewer', 'compute:use', 'vm'],
  'templates:write': ['member', 'compute:use', null],
  'machines:read': ['admin', null, null], // the hosts of the operator, where no VM of one's own shows one
  'projects:read': ['viewer', 'compute:use', null],
  'projects:write': ['member', 'compute:use', null],
  'databases:read': ['viewer', null, null],
  'databases:write': ['admin', null, null],
  'backups:read': ['viewer', null, null],
  'backups:write': ['admin', null, null],
  'backups:delete': ['admin', null, null],
  'restore:write': ['admin', null, null],
  'builds:read': ['viewer', 'compute:use', 'vm'],
  'builds:write': ['member', 'compute:use', 'vm'],
  'build-secrets:write': ['admin', null, null],
  'uploads:write': ['member', 'compute:use', 'vm'],
  'proxies:read': ['viewer', 'compute:use', null],
  'proxies:write': ['member', 'compute:use', null],
  'domains:read': ['viewer', null, null],
  'domains:write': ['admin', null, null],
  'domains:delete': ['admin', null, null],
  'functions:read': ['viewer', 'compute:use', null],
  'functions:write': ['member', 'compute:use', null],
  'codehost:read': ['viewer', null, null], // a person's own account at the code host
  'codehost:write': ['viewer', null, null],
  'webhooks:read': ['admin', null, null], // endpoints are told of everything in the organization
  'webhooks:write': ['admin', null, null], // and go on being told when the caller is gone, so a VM's token makes none
  'usage:read': ['viewer', null, null],
  'sessions-in-vm:write': ['member', null, null], // puts the caller's own token into a VM: a key has none, and a token that is already there could renew itself forever
  'account:read': ['viewer', 'any', 'vm'],
  'events:read': ['viewer', 'any', null], // and of each object the permission that reads it
  // The agents service. A key gives access to the definitions of agents and nothing else.
  'agents:read': ['viewer', 'agents:use', 'vm'],
  'agents:write': ['member', 'agents:use', 'vm'],
  'agents:delete': ['member', null, 'vm'],
  'agent-tools:read': ['viewer', null, 'vm'],
  'environments:read': ['viewer', null, null],
  'environments:write': ['member', null, null],
  'sessions:read': ['viewer', null, 'vm'],
  'sessions:write': ['member', null, 'vm'],
  'vaults:read': ['viewer', null, null],
  'vaults:write': ['member', null, null],
  'connectors:read': ['viewer', null, null], // a person's own connections
  'connectors:write': ['member', null, null],
  'memories:read': ['viewer', null, null],
  'memories:write': ['member', null, null],
  'shared-memories:write': ['admin', null, null], // those that colleagues wrote
  'runs:write': ['member', null, 'vm'],
  'groups:read': ['viewer', null, null], // members may have vaults, and what they say goes on to the others
  'groups:write': ['member', null, null],
  // What agents asked one another: nothing for the token inside a VM, whose sessions ask no others and are not asked.
  'peers:read': ['viewer', null, null],
  'peers:write': ['member', null, null],
  'files:read': ['viewer', null, null],
  'files:write': ['member', null, null],
  'skills:read': ['viewer', null, null],
  'skills:write': ['member', null, null],
  // What runs later on a person's behalf is not for the token inside a VM, which it would outlive.
  'deployments:read': ['viewer', null, null],
  'deployments:write': ['member', null, null],
  'triggers:read': ['viewer', null, null],
  'triggers:write': ['member', null, null],
  'schedules:read': ['viewer', null, null],
  'schedules:write': ['member', null, null],
  'organization:write': ['owner', null, null],
  'members:read': ['viewer', null, null],
  'members:write': ['admin', null, null],
  'audit:read': ['admin', null, null],
  'keys:read': ['viewer', null, null],
  'keys:write': ['admin', null, null],
  'models:read': ['viewer', 'models:read', 'vm'],
  'chat:write': ['member', 'chat:stateless', null],
  'inference-usage:read': ['viewer', null, null],
  'budgets:write': ['admin', null, null],
} as const satisfies Record<string, readonly [Role, KeyScope | 'any' | null, 'vm' | null]>

/** The name of a permission. */
export type Permission = keyof typeof permissions
