/** Skills and their versions in GraphQL. Their files pass over REST, or as uploads. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf, times } from '../nodes.ts'
import { nounOf, organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { always } from '../words.ts'
import type { PageWindow } from '#src/platform/pages.ts'
import {
  arrivalOfUpload,
  createSkill,
  createSkillVersion,
  deleteSkill,
  deleteSkillVersion,
  findSkillVersions,
  getSkillVersion,
  pageSkillVersions,
  pageSkillVersionsOfEach,
  skillReads,
  skillSources,
} from '#src/resources/agents/skills.ts'
import type { SkillFile } from '#src/resources/agents/skills/rows.ts'

const source = enumOf('SkillSourceType', 'Where a skill comes from.', {
  custom: 'A person made it.',
  anthropic: 'Anthropic published it; there are none of these here.',
} satisfies Record<(typeof skillSources)[number], string>)

const sourceType = builder.objectRef<{ type: 'custom' }>('SkillSource').implement({
  description: 'Where a skill comes from.',
  fields: (t) => ({
    type: t.field({ type: source, description: 'Who made it.', resolve: ({ type }) => type }),
  }),
})

const skillFilter = builder.inputType('SkillFilter', {
  description: 'Narrows a list of skills.',
  fields: (t) => ({
    source: t.field({ type: source, description: 'Only those from there.' }),
  }),
})

/** A version of a skill. */
export const skillVersionType = nodeOf('SkillVersion', findSkillVersions)

/** A skill. */
export const skillType = nounOf('Skill', skillReads, {
  description: 'A folder of instructions and files that a person’s agents may have, in versions that never change.',
  list: {
    description: 'The caller’s skills, newest first.',
    inOrganization: 'The caller’s skills in it, newest first. Not available to API keys.',
    filter: skillFilter,
  },
  fields: (t) => ({
    type: t.string(always('skill')),
    name: t.exposeString('name', {
      description: 'The name in every version’s `SKILL.md`; also that of the folder in a download and in VMs.',
    }),
    displayName: t.exposeString('displayName', { description: 'The name to show.' }),
    source: t.field({
      type: sourceType,
      description: 'Where it comes from.',
      resolve: () => ({ type: 'custom' as const }),
    }),
    ...linkTo(t, 'latestVersion', {
      type: skillVersionType,
      description: 'The newest version.',
      id: ({ latestVersionId }) => latestVersionId,
    }),
    ...organizationOf(t, 'The organization that it counts for.'),
    ...times(t, 'createdAt'),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When its versions last changed.' }),
  }),
})

const fileType = builder.objectRef<SkillFile>('SkillFile').implement({
  description: 'A file of a skill.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'Its path from the skill’s folder on.' }),
    sizeBytes: t.int({ description: 'Its size.', resolve: (file) => file.size_bytes }),
  }),
})

builder.objectType(skillVersionType, {
  description:
    'A skill’s files as they were at one time. They are at `GET /agents/v1/skills/{id}/versions/{version}/content`.',
  fields: (t) => ({
    type: t.string(always('skill_version')),
    ...linkTo(t, 'skill', { type: skillType, description: 'The skill.', id: ({ skillId }) => skillId }),
    name: t.exposeString('name', { description: 'The skill’s name in `SKILL.md`.' }),
    description: t.exposeString('description', {
      description: 'What the skill does and when to use it, as `SKILL.md` says.',
    }),
    files: t.field({ type: [fileType], description: 'Its files, by path.', resolve: ({ files }) => files }),
    unpackedBytes: t.field({
      type: 'BigInt',
      description: 'The size of all files.',
      resolve: ({ unpackedBytes }) => unpackedBytes,
    }),
    archiveBytes: t.field({
      type: 'BigInt',
      description: 'The size of the zip.',
      resolve: ({ archiveBytes }) => archiveBytes,
    }),
    ...times(t, 'createdAt'),
  }),
})

const versionConnection = connectionOf('SkillVersion', skillVersionType)
const versionArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    order: t.field(newestFirst),
  })),
}
const skillIfGiven = { description: 'Its skill. If given, a version of another skill is not found.' }
const ofSkill = builder.args((t) => ({ skillId: t.id({ required: true, description: 'The skill’s id.' }) }))

builder.queryFields((t) => ({
  skillVersion: t.field({
    type: skillVersionType,
    description: 'One version of a skill. Errors: NOT_FOUND.',
    args: { skillId: t.arg.id(skillIfGiven), ...idArguments },
    resolve: (_, { skillId, id }, call) => getSkillVersion(call, skillId, id),
  }),
  skillVersions: t.field({
    type: versionConnection,
    description: 'A skill’s versions, newest first. Errors: NOT_FOUND.',
    args: { ...ofSkill, ...versionArguments },
    resolve: (_, { skillId, order, ...window }, call) => pageSkillVersions(call, skillId, window, order),
  }),
}))

const versionsOf = pagesOfEach((call, ids, { order, ...window }: PageWindow & OrderGiven) =>
  pageSkillVersionsOfEach(call, ids, window, order),
)
builder.objectField(skillType, 'versions', (t) =>
  t.field({
    type: versionConnection,
    nullable: true,
    description: 'Its versions, newest first.',
    args: versionArguments,
    resolve: ({ id }, given, call) => versionsOf(call, id, given),
  }),
)

const binaryUrl = 'The `binaryUrl` of `createUpload`, once a zip of the skill’s folder was PUT.'
mutationOf(
  'createSkill',
  { field: 'skill', type: skillType, description: 'The skill.' },
  'Makes a skill with its first version from an upload, which is a zip. Over REST files are sent directly, to `POST /agents/v1/skills`. Errors: INVALID_REQUEST, REQUEST_TOO_LARGE.',
  (t) => ({
    binaryUrl: t.string({ required: true, description: binaryUrl }),
    displayName: t.string({ description: 'The name to show; that in `SKILL.md` without it.' }),
  }),
  (call, input) => createSkill(call, arrivalOfUpload(call, input.binaryUrl, input.displayName)),
)
const whichVersion = (t: Parameters<typeof idField>[0]) => ({
  skillId: t.id(skillIfGiven),
  ...idField(t),
})
const inSkill = (t: Parameters<typeof idField>[0]) => ({
  skillId: t.id({ required: true, description: 'The skill’s id.' }),
})
mutationOf(
  'createSkillVersion',
  { field: 'skillVersion', type: skillVersionType, description: 'The version.' },
  'Adds a version to a skill from an upload, which is a zip. It becomes the latest. Errors: NOT_FOUND, INVALID_REQUEST, REQUEST_TOO_LARGE.',
  (t) => ({ ...inSkill(t), binaryUrl: t.string({ required: true, description: binaryUrl }) }),
  (call, input) => createSkillVersion(call, input.skillId, arrivalOfUpload(call, input.binaryUrl)),
)
deletionOf('deleteSkill', 'Deletes a skill with its versions. Errors: NOT_FOUND.', deleteSkill)
deletionOf(
  'deleteSkillVersion',
  'Deletes a version; the newest that is left becomes the latest. Errors: NOT_FOUND, INVALID_REQUEST for the only one.',
  (call, { skillId, id }) => deleteSkillVersion(call, skillId, id),
  whichVersion,
)
