/** Mutations of functions in GraphQL. */
import type { InputFieldBuilder } from '@pothos/core'
import { builder } from '../../builder.ts'
import { actionOn, deletionOf, idField, mutationOf } from '../../mutations.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { startOwnFunction } from '#src/resources/infra/functions/waking.ts'
import { deployFunction, rollBackFunction } from '#src/resources/infra/functions/versions.ts'
import { createFunction, deleteFunction, updateFunction } from '#src/resources/infra/functions.ts'
import { functionType } from '../functions.ts'

type InputFields = InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>

const one = { field: 'function', type: functionType }
const nameRule = '1 to 63 lower-case letters, digits and hyphens, beginning with a letter; unique in the organization.'
const { idleSecondsDefault, idleSecondsMin, idleSecondsMax, vcpuMax, memoryMbMin, memoryMbMax, defaultPort } =
  functionLimits
const { startSecondsDefault, startSecondsMin, startSecondsMax } = functionLimits

const settingFields = (t: InputFields) => ({
  variables: t.field({
    type: 'TextMapPatch',
    description:
      'Environment variables of its program to set, or with null to remove; the others stay. Values are kept sealed, hidden from viewers, and masked in the log.',
  }),
  vcpuCount: t.int({ description: `Virtual processors, 1 to ${vcpuMax}; 2 by default.` }),
  memoryMb: t.int({
    description: `Memory in MB, ${memoryMbMin} to ${memoryMbMax}; 2048 by default, for which machines are kept warm.`,
  }),
  idleSeconds: t.int({
    description: `After how many seconds without a request it sleeps, ${idleSecondsMin} to ${idleSecondsMax}; ${idleSecondsDefault} by default.`,
  }),
  startSeconds: t.int({
    description: `How many seconds its program may take until it listens, and a request waits for it, ${startSecondsMin} to ${startSecondsMax}; ${startSecondsDefault} by default.`,
  }),
})
const deploymentFields = (t: InputFields) => ({
  binaryUrl: t.string({
    description:
      'What to run: the binary URL of an upload, or the output URL of a build. A tar or zip archive is unpacked; any other file is the program itself.',
  }),
  buildId: t.id({ description: 'The build whose output to run, instead of `binaryUrl`.' }),
  revision: t.string({
    description:
      'Your own mark of what this is, such as a commit or a digest: 1 to 255 characters. Berth only keeps it.',
  }),
  startCommand: t.string({
    description:
      'The command that starts it, in the unpacked folder. Without one: the `web:` line of a `Procfile`, `npm start` where `package.json` has it, or the program `app`, `server` or `main`.',
  }),
  port: t.int({
    description: `The port at which it listens, 1 to 65535; ${defaultPort} by default. Its program finds it in the variable \`PORT\`.`,
  }),
})

mutationOf(
  'createFunction',
  one,
  'Creates a function; with `binaryUrl` or `buildId` it is deployed at once. It starts at its first request. Errors: INVALID_REQUEST, INVALID_ENV_KEY, INVALID_ENV_VALUE, RATE_LIMITED.',
  (t) => ({
    name: t.string({ description: `${nameRule} By default \`fn-\` and six random characters.` }),
    ...settingFields(t),
    ...deploymentFields(t),
  }),
  (call, input) => createFunction(call, input),
)
mutationOf(
  'updateFunction',
  one,
  'Changes a function. Other variables, memory or processors start its program again, in another VM. Errors: NOT_FOUND, INVALID_REQUEST, INVALID_ENV_KEY, INVALID_ENV_VALUE.',
  (t) => ({ ...idField(t), name: t.string({ description: nameRule }), ...settingFields(t) }),
  (call, { id, ...changes }) => updateFunction(call, id, changes),
)
mutationOf(
  'deployFunction',
  one,
  `Deploys a version: new requests go to it. The one before finishes what it has begun, for up to ${functionLimits.drainSeconds} s. What is not given is as in the current version. Errors: NOT_FOUND, INVALID_REQUEST.`,
  (t) => ({ ...idField(t), ...deploymentFields(t) }),
  (call, { id, ...deployment }) => deployFunction(call, id, deployment),
)
mutationOf(
  'rollBackFunction',
  one,
  'Makes an earlier version the current one again; no new version is made. Errors: NOT_FOUND, INVALID_REQUEST.',
  (t) => ({
    ...idField(t),
    to: t.id({ required: true, description: 'The version: one of the function’s `versions`.' }),
  }),
  (call, { id, to }) => rollBackFunction(call, id, to),
)
actionOn(
  'startFunction',
  one,
  `Starts a function, as a request does too, and waits up to its startSeconds for it. One that has failed starts at once. Errors: NOT_FOUND, SERVICE_UNAVAILABLE, RATE_LIMITED, CAPACITY_UNAVAILABLE.`,
  startOwnFunction,
)
deletionOf(
  'deleteFunction',
  'Deletes a function with its versions and its log; domains that lead to it lead nowhere then. Errors: NOT_FOUND.',
  deleteFunction,
)
