/** Build jobs in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { actionOn, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArgumentsUpTo, type OrderGiven } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { followBuild } from '#src/resources/infra/builds/events.ts'
import { readTail, type BuildEvent, type BuildOutput, type BuildStatus } from '#src/resources/infra/builds/rows.ts'
import { cancelBuild, createBuild, findBuilds, getBuild, outputUrl, pageBuilds } from '#src/resources/infra/builds.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { buildSpecInput, outputType, wireSpec } from './builds/specs.ts'
import { machineType } from './machines.ts'
import { templateType } from './templates.ts'
import { forRest } from '../rest-fields.ts'

const buildStatus = enumOf('BuildStatus', 'The status of a build. The last three are final.', {
  queued: 'It is waiting for a machine.',
  running: 'It is running on a machine.',
  succeeded: 'Every command exited with 0, and the output is stored.',
  failed: '`error` says why.',
  cancelled: 'A user cancelled it.',
} satisfies Record<BuildStatus, string>)

/** What a build produced. */
export const buildOutput = builder.objectRef<BuildOutput>('BuildOutput').implement({
  description: 'What a build produced.',
  fields: (t) => ({
    type: t.field({
      type: outputType,
      description: 'As what the output is published.',
      resolve: (output) => output.type,
    }),
    name: t.exposeString('name', { description: 'Its name in the spec.' }),
    url: t.string({
      nullable: true,
      description:
        'A URL that serves the file, a tar.gz, for one hour; null for a template, and once the artifact has expired.',
      resolve: (output, _arguments, call) => outputUrl(call, output),
    }),
    templateId: t.id({
      nullable: true,
      description: 'The template, for `createVm`.',
      resolve: ({ templateId }) => templateId && encodeId('template', templateId),
    }),
    template: t.field({
      type: templateType,
      nullable: true,
      description: 'The template.',
      resolve: ({ templateId }) => templateId,
    }),
    sizeBytes: t.field({
      type: 'BigInt',
      description: 'The size of the file, or of the template’s disk.',
      resolve: ({ sizeBytes }) => sizeBytes,
    }),
    sha256: t.exposeString('sha256', { nullable: true, description: 'The file’s SHA-256 digest in hexadecimal.' }),
  }),
})

/** A build. */
export const buildType = nodeOf('Build', findBuilds)

builder.objectType(buildType, {
  description:
    'A build job: a repository or an upload, built in a VM of its own that is deleted afterwards. That VM is no `Vm`: it has no id, and nothing but the build uses it.',
  fields: (t) => ({
    ...organizationOf(t),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who submitted it; null for an API key.',
      id: (build) => build.createdBy,
    }),
    ...linkTo(t, 'template', {
      type: templateType,
      description: 'The template that its VM starts from.',
      id: (build) => build.templateId,
    }),
    ...linkTo(t, 'machine', {
      type: machineType,
      nullable: true,
      description: 'The machine on which it runs or ran; null before it starts.',
      id: (build) => build.nodeId,
    }),
    status: t.field({ type: buildStatus, description: 'Its current status.', resolve: (build) => build.status }),
    repoUrl: t.exposeString('repoUrl', { nullable: true, description: 'The repository, without credentials.' }),
    gitRef: t.exposeString('gitRef', { nullable: true, description: 'The requested branch or tag.' }),
    commitSha: t.exposeString('commitSha', {
      nullable: true,
      description: 'The requested commit; after the checkout, the commit that is built.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: '`timed_out`, `builder_lost`, `no_capacity`, or a sentence that says what to do.',
    }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description: 'The exit code of the command that ended the build, or 0; null when no command ended it.',
    }),
    failingStep: t.exposeInt('failingStep', {
      nullable: true,
      description: 'The position of the command that ended the build, counted from 1.',
    }),
    isCancelRequested: t.exposeBoolean('cancelRequested', {
      description: 'Whether it was asked to stop while it was running.',
    }),
    output: t.field({
      type: buildOutput,
      nullable: true,
      description: 'What it produced, once it has succeeded.',
      resolve: (build) => build.output,
    }),
    lastLines: t.stringList({
      description: 'The last 200 lines of its log; empty until it has ended, and again after 1,000 later builds.',
      resolve: ({ id }, _arguments, { db }) => readTail(db, id),
    }),
    vcpuCount: t.exposeInt('vcpuCount', { description: 'Virtual processors of its VM.' }),
    memoryMb: t.exposeInt('memoryMb', { description: 'Memory of its VM in MB.' }),
    timeoutSeconds: t.exposeInt('timeoutSeconds', { description: 'How many seconds its commands may take together.' }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `buildEvents` to follow what happens from here on.',
      resolve: (build) => String(build.eventPosition),
    }),
    queuedAt: t.expose('queuedAt', { type: 'DateTime', description: 'When it was submitted.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it started on a machine.',
    }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

const buildEvent = builder.objectRef<BuildEvent>('BuildEvent').implement({
  description: 'The state of a build after a change.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: (event) => String(event.position),
    }),
    buildId: t.id({ description: 'Which build.', resolve: (event) => encodeId('build', event.jobId) }),
    build: t.field({
      type: buildType,
      nullable: true,
      description: 'The build as it is now.',
      resolve: (event) => event.jobId,
    }),
    status: t.field({
      type: buildStatus,
      description: 'Its status after this event.',
      resolve: (event) => event.status,
    }),
    isCancelRequested: t.exposeBoolean('cancelRequested', { description: 'Whether it has been asked to stop.' }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed.' }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const buildEventOrHeartbeat = builder.unionType('BuildEventOrHeartbeat', {
  description: 'An event of a build, or a heartbeat.',
  types: [buildEvent, heartbeat],
})
const buildConnection = connectionOf('Build', buildType)
const buildFilter = builder.inputType('BuildFilter', {
  description: 'Narrows a list of builds.',
  fields: (t) => ({
    statuses: t.field({ type: [buildStatus], description: 'Only those with one of these statuses.' }),
    text: t.string({
      description:
        'Only those with this piece of text in their output’s name, repository or reference, in upper or lower case.',
    }),
  }),
})
const buildArguments = {
  ...pageArgumentsUpTo(limits.buildListMax),
  ...builder.args((t) => ({
    offset: t.int({ description: 'How many to skip.', ...forRest }),
    filter: t.field({ type: buildFilter, description: 'Narrows the list.' }),
    order: t.field(newestFirst),
  })),
}

builder.queryFields((t) => ({
  build: t.field({
    type: buildType,
    description: 'One build. Errors: NOT_FOUND, FORBIDDEN.',
    args: idArguments,
    resolve: (_, { id }, call) => getBuild(call, id),
  }),
  builds: t.field({
    type: buildConnection,
    description: 'The active organization’s builds, newest first.',
    args: buildArguments,
    resolve: (_, { filter, order, ...window }, call) => pageBuilds(call, window, filter, order),
  }),
}))
type BuildsGiven = Parameters<typeof pageBuilds>[1] & OrderGiven & { filter?: Parameters<typeof pageBuilds>[2] }
const buildsOf = listOfOrganizations((call, { filter, order, ...window }: BuildsGiven) =>
  pageBuilds(call, window, filter, order),
)
builder.objectField(organizationType, 'builds', (t) =>
  t.field({
    type: buildConnection,
    nullable: true,
    description: 'Its builds, newest first.',
    args: buildArguments,
    resolve: ({ id }, given, call) => buildsOf(call, id, given),
  }),
)
builder.objectField(templateType, 'build', (t) =>
  t.field({
    type: buildType,
    nullable: true,
    description: 'The build that made it; null for one that comes with Berth.',
    resolve: (template) => template.buildJobId,
  }),
)

const build = { field: 'build', type: buildType }
mutationOf(
  'createBuild',
  build,
  'Queues a build. Errors: INVALID_REQUEST, INVALID_SPEC, INVALID_TEMPLATE, INVALID_ENV_KEY, INVALID_ENV_VALUE, FORBIDDEN, BUILD_QUOTA_EXCEEDED.',
  (t) => ({
    organizationId: t.id({
      description: 'An organization that the caller belongs to; by default the active one.',
      extensions: { word: 'org_id' },
    }),
    spec: t.field({
      type: buildSpecInput,
      description: 'What to build, and how.',
      extensions: { word: null }, // REST has one key for both
    }),
    specBytes: t.field({
      type: 'ByteList',
      description:
        'What to build, and how: a JSON object of the schema `berth.build/v1`, or the list of its UTF-8 bytes.',
      extensions: { word: 'spec', or: 'spec' },
    }),
    repoUrl: t.string({ description: 'The repository: https:// or ssh://, or http:// for host.berth.internal.' }),
    gitRef: t.string({ description: 'A branch or tag; the default branch if omitted.' }),
    commitSha: t.string({ description: 'A commit; it takes precedence over `gitRef`.' }),
  }),
  (call, { spec, ...order }) => createBuild(call, { ...order, spec: wireSpec(spec) }),
)
actionOn(
  'cancelBuild',
  build,
  'Cancels a queued build immediately and asks a running one to stop; one that has ended stays as it is. Errors: NOT_FOUND, FORBIDDEN.',
  cancelBuild,
)

builder.subscriptionFields((t) => ({
  buildEvents: t.field({
    type: buildEventOrHeartbeat,
    description:
      'A build’s events: those after the cursor (without a cursor, its current state), then live ones, until it ends. Errors: NOT_FOUND, FORBIDDEN.',
    args: {
      buildId: t.arg.id({ required: true, description: 'The build.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { buildId, after }, call) => withHeartbeats(await followBuild(call, buildId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
