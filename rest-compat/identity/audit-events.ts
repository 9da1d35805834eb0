/** Audit events as lines of JSON: `GET /api/v1/audit-events/export`. */
import { Readable } from 'node:stream'
import { bearerOf } from '#schema/context.ts'
import { actorNodeOf, publicIdOf } from '#schema/identity/audit-events.ts'
import { BerthError } from '#src/platform/errors.ts'
import { setAllowance } from '#src/platform/http/headers.ts'
import { encodeId } from '#src/platform/ids.ts'
import { spendRequest } from '#src/platform/rate-limits.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import { auditLimits } from '#src/resources/identity/audit-events/limits.ts'
import { exportAuditEvents, type AuditEvent, type ExportOrder } from '#src/resources/identity/audit-events.ts'
import { contextOf } from '../answers.ts'
import { cutSlowReader, handleAdmitted } from '../byte-streams.ts'
import type { HandWritten, JsonSchema } from '../routes.ts'

const { exportMax } = auditLimits
const text: JsonSchema = { type: 'string' }
const textOrNull: JsonSchema = { type: ['string', 'null'] }
const parameters: Readonly<Record<string, JsonSchema>> = {
  after: { ...text, description: 'The id of the last event that you have; without it from the oldest on.' },
  since: { ...text, format: 'date-time', description: 'Only what was done at or after this moment.' },
  until: { ...text, format: 'date-time', description: 'Only what was done before this moment.' },
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: exportMax,
    default: exportMax,
    description: 'How many events the answer has at most. Ask again, after the last one, until one has fewer.',
  },
}

/** The organization's events, oldest first. */
export const exportAuditEventsRoute: HandWritten = {
  reason:
    'The answer is many lines of JSON, which pass as they are read; a GraphQL answer would have to be in memory as a whole.',
  name: 'exportAuditEvents',
  status: 200,
  errors: [400],
  summary: 'Who did what, oldest first: a line of JSON for each audit event. For admins and owners',
  requests: {},
  responses: {
    'application/x-ndjson': {
      type: 'object',
      description: 'One of the lines.',
      properties: {
        id: text,
        at: { ...text, format: 'date-time' },
        organization_id: text,
        actor: {
          type: 'object',
          properties: {
            kind: text,
            id: textOrNull,
            name: textOrNull,
            user_id: textOrNull,
            program: textOrNull,
            authorization_id: textOrNull,
          },
          required: ['kind', 'id', 'name', 'user_id', 'program', 'authorization_id'],
        },
        operation: text,
        change: text,
        object: {
          type: 'object',
          properties: { type: text, id: text, name: textOrNull },
          required: ['type', 'id', 'name'],
        },
        address: textOrNull,
        request_id: text,
      },
      required: ['id', 'at', 'organization_id', 'actor', 'operation', 'change', 'object', 'address', 'request_id'],
    },
  },
  headers: {},
  parameters: Object.entries(parameters).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema,
  })),
  additive: true,
  make: ({ services, authenticator }) =>
    handleAdmitted(
      async (request, reply) => {
        const caller = await authenticator.authenticate(bearerOf(request.headers))
        setAllowance(reply, await spendRequest(services.limiter, caller, false))
        return contextOf(services, caller, request)
      },
      async (call, request, reply) => {
        const parts = exportAuditEvents(call, readOrder(request.query as object)) // as Fastify reads it
        reply.headers({ 'content-type': 'application/x-ndjson; charset=utf-8', 'cache-control': 'private, no-store' })
        if (request.method === 'HEAD') return reply.send()
        const body = Readable.from(linesOf(parts), { objectMode: false })
        cutSlowReader(request, reply, body)
        return reply.send(body)
      },
    ),
}

/** @throws BerthError invalid_request. */
function readOrder(query: object): ExportOrder {
  const names = Object.keys(parameters)
  const unknown = findUnknownKey(query, new Set(names))
  if (unknown !== undefined)
    throw new BerthError('invalid_request', unknownKeySentence('query parameter', unknown, names))
  const { after, since, until, limit } = query as Record<string, unknown> // of these names alone
  return {
    after: one('after', after),
    since: moment('since', since),
    until: moment('until', until),
    limit: limit === undefined ? undefined : Number(one('limit', limit)),
  }
}

function one(field: string, given: unknown): string | undefined {
  if (given === undefined || (typeof given === 'string' && given !== '')) return given
  throw new BerthError('invalid_request', `${field} must be given once, and not be empty.`, { field })
}

function moment(field: string, given: unknown): string | undefined {
  const asked = one(field, given)
  if (
    asked === undefined ||
    (/^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(asked) && !Number.isNaN(Date.parse(asked)))
  )
    return asked
  throw new BerthError('invalid_request', `${field} must be a moment such as 2026-04-07T04:27:43Z.`, { field })
}

async function* linesOf(parts: AsyncIterable<AuditEvent[]>): AsyncGenerator<string> {
  for await (const part of parts) yield part.map((event) => `${JSON.stringify(lineOf(event))}\n`).join('')
}

function lineOf(event: AuditEvent): Record<string, unknown> {
  const { objectType: type, objectId, objectName, actorUserId, actorAuthorizationId } = event
  const actor = actorNodeOf(event)
  return {
    id: encodeId('auditEvent', event.id),
    at: event.createdAt,
    organization_id: encodeId('organization', event.organizationId),
    actor: {
      kind: event.actorKind,
      id: actor && publicIdOf(actor),
      name: event.actorName,
      user_id: actorUserId === null ? null : encodeId('user', actorUserId),
      program: event.actorProgram,
      authorization_id: actorAuthorizationId === null ? null : encodeId('authorization', actorAuthorizationId),
    },
    operation: event.operation,
    change: event.change,
    object: { type, id: publicIdOf({ type, id: objectId }), name: objectName },
    address: event.address,
    request_id: encodeId('request', event.requestId),
  }
}
