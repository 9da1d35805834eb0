/** Build jobs in GraphQL. */
import { idArguments, organizationArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { followBuild } from '#src/resources/infra/builds/events.ts'
import {
  readTail,
  type BuildEvent,
  type BuildOutput,
  type BuildStatus,
  type ShownBuild,
} from '#src/resources/infra/builds/rows.ts'
import { cancelBuild, createBuild, getBuild, listBuilds, outputUrl, pageBuilds } from '#src/resources/infra/builds.ts'

const buildStatus = builder.enumType('BuildStatus', {
  description: 'Where a build is. The last three are for ever.',
  values: {
    queued: { description: 'It waits for its turn and for a node.' },
    running: { description: 'It has a node.' },
    succeeded: { description: 'Every command ended with 0, and the output is kept.' },
    failed: { description: '`error` says why.' },
    cancelled: { description: 'Somebody asked for it.' },
  } satisfies Record<BuildStatus, { description: string }>,
})

const buildOutput = builder.objectRef<BuildOutput>('BuildOutput').implement({
  description: 'What a build left behind.',
  fields: (t) => ({
    type: t.exposeString('type', { description: '`artifact`, `template` or `function`.' }),
    name: t.exposeString('name', { description: 'As the spec names it.' }),
    url: t.string({
      nullable: true,
      description:
        'An address that reads the file, a tar.gz, for an hour; null for a template, and once an artifact is too old to be kept.',
      resolve: (output, _arguments, call) => outputUrl(call, output),
    }),
    templateId: t.id({
      nullable: true,
      description: 'The template, for `createVm`.',
      resolve: ({ templateId }) => templateId && encodeId('template', templateId),
    }),
    sizeBytes: t.float({
      description: 'How large the file or the template’s disk is.',
      resolve: ({ sizeBytes }) => sizeBytes,
    }),
    sha256: t.exposeString('sha256', { nullable: true, description: 'The file’s digest in hexadecimal digits.' }),
  }),
})

const buildType = builder.objectRef<ShownBuild>('Build').implement({
  description: 'A build job: a repository or an upload, built in a VM of its own that is gone afterwards.',
  fields: (t) => ({
    id: t.id({ description: '`bld_` and 26 characters.', resolve: (build) => encodeId('build', build.id) }),
    organizationId: t.id({
      description: 'Whose it is.',
      resolve: (build) => encodeId('organization', build.organizationId),
    }),
    createdBy: t.id({
      nullable: true,
      description: 'Who submitted it; null for an organization key.',
      resolve: (build) => build.createdBy && encodeId('user', build.createdBy),
    }),
    status: t.field({ type: buildStatus, description: 'Where it is.', resolve: (build) => build.status }),
    repoUrl: t.exposeString('repoUrl', { nullable: true, description: 'The repository, without credentials.' }),
    gitRef: t.exposeString('gitRef', { nullable: true, description: 'The branch or tag that was asked for.' }),
    commitSha: t.exposeString('commitSha', {
      nullable: true,
      description: 'The commit that was asked for; once it is checked out, the one that is built.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: '`timed_out`, `builder_lost`, `no_capacity`, or a sentence that says what to do.',
    }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description: 'Of the command that ended the build, or 0; null when none did.',
    }),
    failingStep: t.exposeInt('failingStep', {
      nullable: true,
      description: 'Which command ended the build, counted from 1.',
    }),
    cancelRequested: t.exposeBoolean('cancelRequested', { description: 'Whether it was asked to end while it ran.' }),
    output: t.field({
      type: buildOutput,
      nullable: true,
      description: 'What it left behind, once it has succeeded.',
      resolve: (build) => build.output,
    }),
    lastLines: t.stringList({
      description: 'The last 200 lines of its log, kept for ever; empty until it is over.',
      resolve: ({ id }, _arguments, { db }) => readTail(db, id),
    }),
    vcpuCount: t.exposeInt('vcpuCount', { description: 'Virtual processors of its VM.' }),
    memoryMb: t.exposeInt('memoryMb', { description: 'Memory of its VM in MB.' }),
    timeoutSeconds: t.exposeInt('timeoutSeconds', { description: 'How long its commands may take.' }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `buildEvents` to hear what happens from here on.',
      resolve: (build) => String(build.eventPosition),
    }),
    queuedAt: t.expose('queuedAt', { type: 'DateTime', description: 'When it was submitted.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When it was given a node.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it was over.' }),
  }),
})

const buildEvent = builder.objectRef<BuildEvent>('BuildEvent').implement({
  description: 'A build’s state as it became.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume behind this event.',
      resolve: (event) => String(event.position),
    }),
    buildId: t.id({ description: 'Which build.', resolve: (event) => encodeId('build', event.jobId) }),
    status: t.field({ type: buildStatus, description: 'Its status from then on.', resolve: (event) => event.status }),
    cancelRequested: t.exposeBoolean('cancelRequested', { description: 'Whether it has been asked to end.' }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed.' }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const buildEventOrHeartbeat = builder.unionType('BuildEventOrHeartbeat', {
  description: 'An event of a build, or a sign of life.',
  types: [buildEvent, heartbeat],
})
const buildConnection = connectionOf('Build', buildType)

builder.queryFields((t) => ({
  build: t.field({
    type: buildType,
    description: 'One build. Errors: NOT_FOUND, FORBIDDEN.',
    args: idArguments,
    resolve: (_, { id }, call) => getBuild(call, id),
  }),
  builds: t.field({
    type: buildConnection,
    description: 'The organization’s builds, newest first. Errors: FORBIDDEN.',
    args: { ...organizationArguments, ...pageArguments },
    resolve: (_, { organizationId, ...page }, call) => pageBuilds(call, organizationId, page) as never,
  }), // see pages.ts
  buildList: t.field({
    type: [buildType],
    description: 'The organization’s builds as the REST list shows them, newest first: 200 at most. Errors: FORBIDDEN.',
    args: {
      ...organizationArguments,
      limit: t.arg.int({ description: '1 to 200; 200 without it.' }),
      offset: t.arg.int({ description: 'How many to pass over.' }),
    },
    resolve: (_, { organizationId, ...window }, call) => listBuilds(call, organizationId, window),
  }),
}))

builder.mutationFields((t) => ({
  createBuild: t.field({
    type: buildType,
    description:
      'Queues a build. Errors: INVALID_REQUEST, INVALID_SPEC, INVALID_TEMPLATE, INVALID_ENV_KEY, INVALID_ENV_VALUE, FORBIDDEN, BUILD_QUOTA_EXCEEDED.',
    args: {
      ...organizationArguments,
      spec: t.arg({
        type: 'JSON',
        description: 'What to do: an object of the schema `berth.build/v1`; every key is optional, so `{}` is one.',
      }),
      specBytes: t.arg({ type: 'ByteList', description: 'The same as its UTF-8 bytes, instead of `spec`.' }),
      repoUrl: t.arg.string({ description: 'The repository: https:// or ssh://, or http:// for host.berth.internal.' }),
      gitRef: t.arg.string({ description: 'A branch or tag; the default branch without it.' }),
      commitSha: t.arg.string({ description: 'A commit; it goes before `gitRef`.' }),
    },
    resolve: (_, order, call) => createBuild(call, order),
  }),
  cancelBuild: t.field({
    type: buildType,
    description:
      'Cancels a queued build at once, and asks a running one to end; one that is over stays as it is. Errors: NOT_FOUND, FORBIDDEN.',
    args: idArguments,
    resolve: (_, { id }, call) => cancelBuild(call, id),
  }),
}))

builder.subscriptionFields((t) => ({
  buildEvents: t.field({
    type: buildEventOrHeartbeat,
    description:
      'What happens to a build: first what happened after the cursor (without one, its state now), then live, until it is over. Errors: NOT_FOUND, FORBIDDEN.',
    args: { ...idArguments, after: t.arg.string({ description: 'The cursor of the last event seen.' }) },
    subscribe: async (_, { id, after }, call) => withHeartbeats(await followBuild(call, id, after)),
    resolve: (event) => event as never, // the union's own types tell them apart
  }),
}))
