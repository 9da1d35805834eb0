/** What an organization has: keys, members, projects, usage, and its events. */
import { actionOf, byId, callOf, listOf, mutationOf, withCursor, type Base } from '../calls.ts'
import type { CallOptions } from '../connection.ts'
import {
  ApiKeysDocument,
  CreateApiKeyDocument,
  CreateInvitationDocument,
  CreateOrganizationDocument,
  CreateProjectDocument,
  DeleteProjectDocument,
  InferenceUsageDocument,
  InstanceDocument,
  MembersDocument,
  OrganizationEventsDocument,
  ProjectDocument,
  ProjectsDocument,
  RemoveMemberDocument,
  RevokeApiKeyDocument,
  UpdateMemberDocument,
  ViewerDocument,
  VmUsageDocument,
  type NodeType,
  type OrganizationEvents,
} from '../generated/documents.ts'
import { follow, type StreamOptions } from '../streams.ts'

/** `berth.keys`. */
export function keysOf(base: Base) {
  return {
    ...listOf(base, ApiKeysDocument, (data) => data.apiKeys),
    /** Makes one. `key` is shown once. */
    create: mutationOf(base, CreateApiKeyDocument, (data) => data.createApiKey),
    revoke: actionOf(base, RevokeApiKeyDocument, (data) => data.revokeApiKey?.apiKey),
  }
}

/** `berth.members`. */
export function membersOf(base: Base) {
  return {
    ...listOf(base, MembersDocument, (data) => data.members),
    /** Makes a link for one person, and sends it where an `email` is given and Berth sends mail. */
    invite: mutationOf(base, CreateInvitationDocument, (data) => data.createInvitation),
    update: mutationOf(base, UpdateMemberDocument, (data) => data.updateMember?.member),
    remove: actionOf(base, RemoveMemberDocument, (data) => data.removeMember?.member),
  }
}

/** `berth.organizations`. Those that one is in are `viewer().organizations`. */
export function organizationsOf(base: Base) {
  return {
    /** Makes one, whose owner one is. */
    create: mutationOf(base, CreateOrganizationDocument, (data) => data.createOrganization?.organization),
  }
}

/** `berth.projects`. */
export function projectsOf(base: Base) {
  return {
    ...listOf(base, ProjectsDocument, (data) => data.projects),
    get: byId(base, ProjectDocument, (data) => data.project),
    create: mutationOf(base, CreateProjectDocument, (data) => data.createProject?.project),
    delete: actionOf(base, DeleteProjectDocument, (data) => data.deleteProject?.deletedId),
  }
}

/** `berth.usage`: sums of at most 366 days, by the dimensions that are asked for. */
export function usageOf(base: Base) {
  return {
    models: callOf(base, InferenceUsageDocument, (data) => data.inferenceUsage),
    vms: callOf(base, VmUsageDocument, (data) => data.vmUsage),
  }
}

/** What asks who is there: `berth.instance()` needs no token, `berth.viewer()` says whose it is. */
export function askersOf(base: Base) {
  const instance = callOf(base, InstanceDocument, (data) => data.instance)
  const viewer = callOf(base, ViewerDocument, (data) => data.viewer)
  return {
    instance: (options?: CallOptions) => instance({}, options),
    viewer: (options?: CallOptions) => viewer({}, options),
  }
}

/** An object of the organization was created, changed or deleted. */
export type OrganizationEvent = Exclude<OrganizationEvents['organizationEvents'], { __typename: 'Heartbeat' }>

/** Everything that changes in the organization, from now on or after a cursor. */
export async function* organizationEventsOf(
  base: Base,
  { nodeTypes, ...options }: StreamOptions & { nodeTypes?: NodeType[] } = {},
): AsyncGenerator<OrganizationEvent, void, undefined> {
  const variables = nodeTypes ? { nodeTypes } : {}
  // The cursor of now is read first: a connection that is lost before the first event would otherwise leave a gap.
  const after = options.after ?? (await askersOf(base).viewer({ signal: options.signal })).organization?.eventCursor
  yield* follow(
    base.sockets,
    {
      query: OrganizationEventsDocument,
      variables,
      read: (data) => withCursor((data as OrganizationEvents).organizationEvents), // the document says so
    },
    { ...options, after: after ?? undefined },
  )
}
