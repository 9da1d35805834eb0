/** Audit events in GraphQL: for admins and owners. */
import { momentFilter } from '#schema/arguments.ts'
import { builder } from '#schema/builder.ts'
import { enumOf, enumOfTypes } from '#schema/enums.ts'
import { decodeNodeId, encodeNodeId, isNodeName } from '#schema/node-ids.ts'
import { linkTo } from '#schema/nodes.ts'
import { nounOf, organizationOf } from '#schema/nouns.ts'
import { encodeId } from '#src/platform/ids.ts'
import { auditedTypes, type AuditedType } from '#src/resources/identity/audit-events/audited.ts'
import { auditLimits } from '#src/resources/identity/audit-events/limits.ts'
import {
  auditEventReads,
  type AuditedNode,
  type AuditEvent,
  type AuditEventFilter,
} from '#src/resources/identity/audit-events.ts'
import { userType } from './users.ts'

const actorKind = enumOf('AuditActorKind', 'What made a call.', {
  person: 'A person, by a token or by a session in a browser.',
  api_key: 'An API key of the organization.',
  vm_token: 'The token inside a VM, in the name of a person.',
  operator:
    'Whoever operates this host: by a command, or by the sign-in of this machine before it is known who signs in.',
})
const changeType = enumOf('AuditChange', 'What was done to an object.', {
  created: 'It was created.',
  updated: 'It, or a part of it, was changed.',
  deleted: 'It was deleted, or removed, or ended.',
  used: 'It was used without a change of it here: a statement was run in a database, or a token was made for a member.',
})
const nodeType = enumOfTypes('AuditNodeType', 'The types of the objects that audit events are about.', auditedTypes)

/** The type and the stored id of whoever acted; null for the operator. */
export function actorNodeOf({ actorKind: kind, actorUserId, actorKeyId, actorVmId }: AuditEvent): AuditedNode | null {
  if (kind === 'api_key') return actorKeyId === null ? null : { type: 'ApiKey', id: actorKeyId }
  if (kind === 'vm_token') return actorVmId === null ? null : { type: 'Vm', id: actorVmId }
  return actorUserId === null ? null : { type: 'User', id: actorUserId }
}

/** The public id of a node. */
export function publicIdOf({ type, id }: AuditedNode): string {
  return type !== null && isNodeName(type) ? encodeNodeId(type, id) : id
}

const actor = builder.objectRef<AuditEvent>('AuditActor').implement({
  description: 'Who made a call.',
  fields: (t) => ({
    kind: t.field({ type: actorKind, description: 'What it was.', resolve: (event) => event.actorKind }),
    id: t.id({
      nullable: true,
      description: 'The id of the person, the key or the VM; null for the operator.',
      resolve: (event) => idOrNull(actorNodeOf(event)),
    }),
    name: t.exposeString('actorName', {
      nullable: true,
      description: 'The name that it has now; null when it is gone, and for the operator.',
    }),
    node: t.node({
      description: 'The person, the key or the VM; null when it is gone, or you may not see it.',
      id: (event) => idOrNull(actorNodeOf(event)),
    }),
    program: t.exposeString('actorProgram', {
      nullable: true,
      description: 'The name that the program had which acted for the person; null when they acted themselves.',
    }),
    authorizationId: t.id({
      nullable: true,
      description: 'The id of what let that program in, which may have ended since.',
      resolve: ({ actorAuthorizationId: id }) => (id === null ? null : encodeId('authorization', id)),
    }),
    ...linkTo(t, 'user', {
      type: userType,
      nullable: true,
      description: 'The person, also the one in whose name the token inside a VM acts.',
      id: ({ actorUserId }) => actorUserId,
    }),
  }),
})

function idOrNull(node: AuditedNode | null): string | null {
  return node === null ? null : publicIdOf(node)
}

const auditEventFilter = builder.inputType('AuditEventFilter', {
  description: 'Narrows a list of audit events.',
  fields: (t) => ({
    actorId: t.id({
      description:
        'Only what this person, API key or VM did; a person’s includes what tokens in VMs did in their name.',
    }),
    nodeId: t.id({ description: 'Only what was done to this object, which need not be there any more.' }),
    nodeTypes: t.field({
      type: [nodeType],
      description: `Only what was done to objects of these types, at most ${auditLimits.nodeTypesMax}.`,
    }),
    operations: t.stringList({
      description: `Only these operations, such as \`createVm\`, at most ${auditLimits.operationsMax}.`,
    }),
    at: t.field({ type: momentFilter, description: 'Only what was done within these bounds.' }),
  }),
})
type Given = Omit<AuditEventFilter, 'actor' | 'node'> & { actorId?: string | null; nodeId?: string | null }

function filterOf({ actorId, nodeId, ...rest }: Given): AuditEventFilter {
  return {
    ...rest,
    actor: typeof actorId === 'string' ? nodeIn(actorId) : null,
    node: typeof nodeId === 'string' ? nodeIn(nodeId) : null,
  }
}

/** The node of a public id. What has the form of none may be the name of a secret of builds. */
function nodeIn(id: string): AuditedNode {
  const node = decodeNodeId(id)
  return !node || node.typename === 'Model' ? { type: null, id } : { type: node.typename, id: node.id }
}

const { get, find, page } = auditEventReads
nounOf<AuditEvent, Given>(
  'AuditEvent',
  { get, find, page: (call, window, filter, direction) => page(call, window, filterOf(filter ?? {}), direction) },
  {
    description:
      'What one operation did to one object. Only what happened is here, not what failed; only what callers did, not what Berth did by itself; and nothing that was only read.',
    one: 'One audit event. Requires the admin role. Errors: NOT_FOUND.',
    list: {
      description:
        'The active organization’s audit events, newest first. Requires the admin role. Errors: INVALID_REQUEST.',
      inOrganization: 'Its audit events, newest first. Requires the admin role.',
      filter: auditEventFilter as never, // its enum is of the same words
    },
    fields: (t) => ({
      ...organizationOf(t, 'The organization.'),
      at: t.expose('createdAt', { type: 'DateTime', description: 'When it was done.' }),
      actor: t.field({ type: actor, description: 'Who did it.', resolve: (event) => event }),
      operation: t.exposeString('operation', {
        description:
          'What was asked for: the mutation, also for what came by REST; `signIn`, `signOut` and `issueToken`; or a command of this host, such as `npm run key`.',
      }),
      change: t.field({ type: changeType, description: 'What it did to the object.', resolve: ({ change }) => change }),
      nodeType: t.field({
        type: nodeType,
        description: 'The type of the object.',
        resolve: (event): AuditedType => event.objectType,
      }),
      nodeId: t.id({
        description: 'Which object. For a secret of builds, its name.',
        resolve: ({ objectType: type, objectId: id }) => publicIdOf({ type, id }),
      }),
      nodeName: t.exposeString('objectName', {
        nullable: true,
        description: 'The name that it had then; of a member, the name of the person now.',
      }),
      node: t.node({
        description: 'The object as it is now; null once it is deleted, and when only its owner may see it.',
        id: ({ objectType: type, objectId: id }) => (isNodeName(type) ? encodeNodeId(type, id) : null),
      }),
      address: t.exposeString('address', {
        nullable: true,
        description: 'The network address that the call came from; null for a command of this host.',
      }),
      requestId: t.id({
        description: 'The request, as its answer said in `x-request-id`.',
        resolve: ({ requestId }) => encodeId('request', requestId),
      }),
    }),
  },
)
