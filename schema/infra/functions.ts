/** Functions in GraphQL: the types and queries. Mutations are in functions/changes.ts, logs and events in functions/logs.ts. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { readInTurn } from '../large-reads.ts'
import type { FunctionStatus } from '#src/resources/infra/functions/rows.ts'
import type { FunctionVariable } from '#src/resources/infra/functions/variables.ts'
import { findVersions, pageVersionsOfEach } from '#src/resources/infra/functions/versions.ts'
import {
  findFunctions,
  getFunction,
  pageFunctions,
  readVariables,
  urlOf,
  type FunctionFilter,
} from '#src/resources/infra/functions.ts'
import { callIn, listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { buildType } from './builds.ts'

/** The statuses of functions. */
export const functionStatus = enumOf('FunctionStatus', 'The status of a function.', {
  stopped: 'It sleeps, or was never started; the next request starts it. Steady.',
  starting: 'It is being started; requests wait for it.',
  running: 'It answers requests. Steady.',
  stopping: 'It is going to sleep, because nobody asks for it.',
  error: 'It failed; `statusReason` says why, and `retryAt` when it may start again. Steady.',
  deleting: 'It is being deleted.',
  deleted: 'It is deleted. Steady.',
} satisfies Record<FunctionStatus, string>)

/** A version of a function. */
export const versionType = nodeOf('FunctionVersion', findVersions)

/** A function. */
export const functionType = nodeOf('Function', findFunctions)

builder.objectType(versionType, {
  description: 'A version of a function: what was deployed to it. It never changes.',
  fields: (t) => ({
    number: t.exposeInt('number', { description: 'Its number in the function, from 1.' }),
    ...linkTo(t, 'function', {
      type: functionType,
      description: 'The function.',
      id: (version) => version.functionId,
    }),
    binaryUrl: t.exposeString('binaryUrl', { description: 'The stored file that it runs.' }),
    ...linkTo(t, 'build', {
      type: buildType,
      nullable: true,
      description: 'The build whose output it runs; null for an upload.',
      id: (version) => version.buildId,
    }),
    revision: t.exposeString('revision', {
      nullable: true,
      description: 'The mark that whoever deployed it gave it; null for none.',
    }),
    startCommand: t.exposeString('startCommand', {
      nullable: true,
      description: 'The command that starts it; null where the deployed files say it.',
    }),
    port: t.exposeInt('port', {
      description: 'The port at which its program listens, which is also its variable `PORT`.',
    }),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who deployed it; null for an API key.',
      id: (version) => version.userId,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was deployed.' }),
  }),
})

const variableType = builder.objectRef<FunctionVariable>('FunctionVariable').implement({
  description: 'An environment variable of a function.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'Letters, digits and underscores, at most 128.' }),
    value: t.exposeString('value', { description: 'The value; `********` for viewers.' }),
  }),
})

const versionConnection = connectionOf('FunctionVersion', versionType)
type VersionsGiven = Parameters<typeof pageVersionsOfEach>[2] & { organizationId: string }
const versionsOf = pagesOfEach((call, ids, { organizationId, ...window }: VersionsGiven) =>
  pageVersionsOfEach(callIn(call, { id: organizationId }), ids, window),
)

builder.objectType(functionType, {
  description: 'A program that starts in a VM of its own at the first request, and sleeps when nobody asks.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'Unique in the organization: 1 to 63 lower-case letters, digits and hyphens.',
    }),
    url: t.string({
      description: 'Its own address, which stays when the name changes; domains may lead to it too.',
      resolve: (one, _, { config }) => urlOf(config, one),
    }),
    status: t.field({ type: functionStatus, description: 'Its current status.', resolve: ({ status }) => status }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'More about the status, as a sentence, when there is more.',
    }),
    retryAt: t.expose('retryAt', {
      type: 'DateTime',
      nullable: true,
      description: 'After a failure: when it may start again.',
    }),
    failures: t.exposeInt('failures', { description: 'How often it failed in a row.' }),
    ...organizationOf(t),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who created it; null for an API key.',
      id: (one) => one.userId,
    }),
    ...linkTo(t, 'currentVersion', {
      type: versionType,
      nullable: true,
      description: 'The version to which requests go; null as long as nothing is deployed.',
      id: (one) => one.versionId,
    }),
    versions: t.field({
      type: versionConnection,
      description: 'Its versions, newest first: the last 20, and the current one.',
      args: pageArguments,
      resolve: ({ id, organizationId }, window, call) => versionsOf(call, id, { ...window, organizationId }),
    }),
    variables: t.field({
      type: [variableType],
      nullable: true,
      description: 'Its environment variables, by key.',
      resolve: (one, _, call, info) => readInTurn(call, info, () => readVariables(call, one)),
    }),
    vcpuCount: t.exposeInt('vcpuCount', { description: 'Virtual processors.' }),
    memoryMb: t.exposeInt('memoryMb', { description: 'Memory in MB.' }),
    idleSeconds: t.exposeInt('idleSeconds', { description: 'After how many seconds without a request it sleeps.' }),
    startSeconds: t.exposeInt('startSeconds', {
      description: 'How many seconds its program may take until it listens, and a request waits for it.',
    }),
    activeAt: t.expose('activeAt', { type: 'DateTime', description: 'When a request last came, to some seconds.' }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `functionEvents` to follow what happens from here on.',
      resolve: (one) => String(one.eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
  }),
})

const functionConnection = connectionOf('Function', functionType)
const functionFilter = builder.inputType('FunctionFilter', {
  description: 'Narrows a list of functions.',
  fields: (t) => ({
    statuses: t.field({ type: [functionStatus], description: 'Only those with one of these statuses.' }),
    text: t.string({ description: 'Only those with this piece of text in their name, in upper or lower case.' }),
  }),
})
const functionArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    filter: t.field({ type: functionFilter, description: 'Narrows the list.' }),
    order: t.field(newestFirst),
  })),
}
type FunctionsGiven = Parameters<typeof pageFunctions>[1] & OrderGiven & { filter?: FunctionFilter | null }
const functionsOf = listOfOrganizations((call, { filter, order, ...window }: FunctionsGiven) =>
  pageFunctions(call, window, filter, order),
)

builder.queryFields((t) => ({
  function: t.field({
    type: functionType,
    description: 'One function. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getFunction(call, id),
  }),
  functions: t.field({
    type: functionConnection,
    description: 'The active organization’s functions, newest first.',
    args: functionArguments,
    resolve: (_, { filter, order, ...window }, call) => pageFunctions(call, window, filter, order),
  }),
}))
builder.objectField(organizationType, 'functions', (t) =>
  t.field({
    type: functionConnection,
    nullable: true,
    description: 'Its functions, newest first.',
    args: functionArguments,
    resolve: ({ id }, given, call) => functionsOf(call, id, given),
  }),
)
