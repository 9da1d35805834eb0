/** Skills over REST, as Anthropic's client asks for them. */
import type { FastifyRequest } from 'fastify'
import { encodeId } from '#src/platform/ids.ts'
import type { Call } from '#src/platform/services.ts'
import {
  createSkill,
  createSkillVersion,
  openSkillVersion,
  skillTooLarge,
  type Arrival,
} from '#src/resources/agents/skills.ts'
import { skillLimits } from '#src/resources/agents/skills/limits.ts'
import { asCaller } from '#src/resources/identity/audit-events/recording.ts'
import { lingerAfter, send } from '../answers.ts'
import { cutSlowReader, handleAdmitted, refuseEncoding, streamOf } from '../byte-streams.ts'
import { pageInfo } from '../lists.ts'
import type { HandWritten, HandWrittenParts, JsonSchema, Routes } from '../routes.ts'
import { admitted, attach, refuseIdempotencyKey } from './byte-streams.ts'
import { readSkillForm } from './skill-forms.ts'

const skill =
  'id type display_name: displayName latest_version_id: latestVersionId source { type } created_at: createdAt updated_at: updatedAt'
const version = 'id type skill_id: skillId name description created_at: createdAt'
const list = { shape: 'page', most: 100, usual: 20 } as const

/** Lists, reads and deletes skills and their versions. */
export const skillRoutes: Routes = {
  'GET /v1/skills': {
    status: 200,
    errors: [400],
    additive: true,
    summary: 'The caller’s skills, newest first',
    list,
    filter: { source: 'source' },
    operation: `query listSkills ($first: Int, $after: String, $filter: SkillFilter) {
      body: skills(first: $first, after: $after, filter: $filter) { nodes { ${skill} } ${pageInfo} } }`,
  },
  'GET /v1/skills/{id}': {
    status: 200,
    errors: [404],
    additive: true,
    summary: 'One skill',
    operation: `query getSkill ($id: ID!) { body: skill(id: $id) { ${skill} } }`,
  },
  'DELETE /v1/skills/{id}': {
    status: 200,
    errors: [404],
    additive: true,
    deletes: 'skill',
    summary: 'Deletes a skill with its versions',
    operation: 'mutation deleteSkill ($input: DeleteSkillInput!) { deleteSkill(input: $input) { deletedId } }',
  },
  'GET /v1/skills/{id}/versions': {
    status: 200,
    errors: [400, 404],
    additive: true,
    summary: 'A skill’s versions, newest first',
    list,
    operation: `query listSkillVersions ($id: ID!, $first: Int, $after: String) {
      body: skillVersions(skillId: $id, first: $first, after: $after) { nodes { ${version} } ${pageInfo} } }`,
  },
  'GET /v1/skills/{id}/versions/{vid}': {
    status: 200,
    errors: [404],
    additive: true,
    summary: 'One version of a skill',
    operation: `query getSkillVersion ($id: ID!, $vid: ID!) { body: skillVersion(skillId: $id, id: $vid) { ${version} } }`,
  },
  'DELETE /v1/skills/{id}/versions/{vid}': {
    status: 200,
    errors: [400, 404],
    additive: true,
    deletes: 'skill_version',
    summary: 'Deletes a version of a skill',
    into: { id: 'skillId', vid: 'id' },
    operation:
      'mutation deleteSkillVersion ($input: DeleteSkillVersionInput!) { deleteSkillVersion(input: $input) { deletedId } }',
  },
}

const bytes: JsonSchema = { type: 'string', format: 'binary' }
const files: JsonSchema = {
  type: 'array',
  items: bytes,
  description:
    'The files, each named with its path from the skill’s folder on, such as my-skill/SKILL.md; or one zip of the folder.',
}
const displayName: JsonSchema = {
  type: 'string',
  description: `A name to show: one line, at most ${skillLimits.displayNameLength} characters.`,
}
const reason = 'Files pass as bytes, in a form or as an archive.'

/** Makes a skill from the files in a form. */
export const uploadSkillRoute: HandWritten = {
  ...uploading({ 'files[]': files, display_name: displayName }, 'createSkill', [400, 413, 415, 503, 504]),
  answersAs: 'GET /v1/skills/{id}',
  summary: 'Makes a skill from the files in a form, of at most 30 MiB',
  make: (parts) =>
    receiver(parts, true, async (call, arrival) => {
      const made = await asCaller(call, 'createSkill', () => createSkill(call, arrival))
      return { id: encodeId('skill', made.id) }
    }),
}

/** Adds a version to a skill from the files in a form. */
export const uploadSkillVersionRoute: HandWritten = {
  ...uploading({ 'files[]': files }, 'createSkillVersion', [400, 404, 413, 415, 503, 504]),
  answersAs: 'GET /v1/skills/{id}/versions/{vid}',
  summary: 'Adds a version to a skill, from the files in a form',
  make: (parts) =>
    receiver(parts, false, async (call, arrival, { id = '' }) => {
      const made = await asCaller(call, 'createSkillVersion', () => createSkillVersion(call, id, arrival))
      return { id, vid: encodeId('skillVersion', made.id) }
    }),
}

/** Gets the files of a version. */
export const downloadSkillVersionRoute: HandWritten = {
  reason,
  name: 'downloadSkillVersion',
  status: 200,
  errors: [400, 404],
  summary: 'The files of a version as a zip. HEAD answers the same headers',
  requests: {},
  responses: { 'application/zip': bytes },
  headers: { 'Content-Disposition': '`attachment`, with the skill’s name.' },
  additive: true,
  make: (parts) =>
    handleAdmitted(
      (request, reply) => admitted(parts, request, reply, 'skills:read'),
      async (call, request, reply) => {
        const { id = '', vid = '' } = request.params as Parameters // the route's pattern has them
        const { version: found, body } = await openSkillVersion(call, id, vid, request.method === 'HEAD')
        attach(reply, { filename: `${found.name}.zip`, mimeType: 'application/zip', sizeBytes: found.archiveBytes })
        if (body === null) return reply.send()
        cutSlowReader(request, reply, body)
        return reply.send(body)
      },
    ),
}

type Parameters = { id?: string; vid?: string }

function uploading(
  properties: Readonly<Record<string, JsonSchema>>,
  name: string,
  errors: HandWritten['errors'],
): Omit<HandWritten, 'summary' | 'make'> {
  return {
    reason,
    name,
    status: 200,
    errors,
    requests: { 'multipart/form-data': { type: 'object', properties, required: ['files[]'] } },
    responses: {},
    headers: {},
    takesStream: true,
    additive: true,
  }
}

function receiver(
  parts: HandWrittenParts,
  isNew: boolean,
  make: (call: Call, arrival: Arrival, parameters: Parameters) => Promise<Record<string, string>>,
): ReturnType<HandWritten['make']> {
  return handleAdmitted(
    async (request, reply) => {
      lingerAfter(request, reply)
      const call = await admitted(parts, request, reply, 'skills:write')
      refuseHeaders(request)
      return call
    },
    async (call, request, reply) => {
      const { headers } = request
      const length = headers['content-length']
      const bytesMax = length === undefined ? skillLimits.bytes : Number(length)
      const receive = () => readSkillForm(streamOf(request), headers['content-type'] ?? '', isNew)
      const arrival: Arrival = () => Promise.resolve({ bytesMax, receive })
      const made = await make(call, arrival, request.params as Parameters) // as above
      return send(reply, 200, await parts.show(made, call))
    },
  )
}

function refuseHeaders({ headers }: FastifyRequest): void {
  refuseIdempotencyKey(headers, 'delete a skill that was made twice.')
  refuseEncoding(headers, 'A skill is read as it is sent. Send it without a content-encoding.')
  if (Number(headers['content-length'] ?? 0) > skillLimits.bytes + skillLimits.formBytes) throw skillTooLarge()
}
