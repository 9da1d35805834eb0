/** The linked repositories of functions in GraphQL. */
import { builder } from '../../builder.ts'
import { actionOn, idField } from '../../mutations.ts'
import { linkTo } from '../../nodes.ts'
import { rowsOfEach } from '../../rows-of-each.ts'
import { userType } from '../../identity/users.ts'
import { webhookUrl, type Push, type ShownRepository } from '#src/resources/infra/functions/repositories/rows.ts'
import {
  findRepositories,
  linkRepository,
  unlinkRepository,
  type LinkedFunction,
} from '#src/resources/infra/functions/repositories.ts'
import { buildType } from '../builds.ts'
import { buildSpecInput, wireSpec } from '../builds/specs.ts'
import { functionType } from '../functions.ts'

const pushType = builder.objectRef<Push>('FunctionPush').implement({
  description: 'A push to the repository of a function.',
  fields: (t) => ({
    commitSha: t.exposeString('commitSha', { description: 'The commit that was pushed, and nothing else, is built.' }),
    ...linkTo(t, 'build', {
      type: buildType,
      nullable: true,
      description: 'The build whose success deploys it; null when nothing is built.',
      id: ({ buildId }) => buildId,
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why it is not built, or not deployed, as a sentence; null when nothing stands in the way.',
    }),
    receivedAt: t.expose('receivedAt', { type: 'DateTime', description: 'When it was received first.' }),
    deployedAt: t.expose('deployedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was deployed; null as long as it is not.',
    }),
  }),
})

const repositoryType = builder.objectRef<ShownRepository>('FunctionRepository').implement({
  description: 'The repository at the code host that a function is linked to.',
  fields: (t) => ({
    fullName: t.exposeString('fullName', { description: 'Its owner and its name when it was linked: `owner/name`.' }),
    branch: t.exposeString('branch', { description: 'Pushes to this branch are built and deployed.' }),
    ...linkTo(t, 'linkedBy', {
      type: userType,
      description: 'Who linked it: builds have their rights, and use their account.',
      id: ({ userId }) => userId,
    }),
    webhookUrl: t.string({
      description: 'Where the code host tells of pushes.',
      resolve: (one, _, { config }) => webhookUrl(config, one),
    }),
    hasOwnWebhook: t.boolean({
      description:
        'Whether Berth made the webhook at the code host, and removes it; false for one to be added by hand.',
      resolve: ({ hookId }) => hookId !== null,
    }),
    lastPush: t.field({
      type: pushType,
      nullable: true,
      description: 'The last push to the branch; null before the first.',
      resolve: ({ lastPush }) => lastPush,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was linked.' }),
  }),
})

const repositoryOf = rowsOfEach(findRepositories, ({ functionId }) => functionId)
builder.objectField(functionType, 'repository', (t) =>
  t.field({
    type: repositoryType,
    nullable: true,
    description: 'The repository from which pushes are deployed; null without one.',
    resolve: ({ id }, _, call) => repositoryOf(call, id),
  }),
)

builder.relayMutationField(
  'linkFunctionRepository',
  {
    description: 'What `linkFunctionRepository` takes.',
    inputFields: (t) => ({
      ...idField(t),
      repository: t.string({
        required: true,
        description: 'One that your connected account at the code host sees: `owner/name`.',
      }),
      branch: t.string({ description: 'The branch to deploy; the repository’s default branch if omitted.' }),
      spec: t.field({
        type: buildSpecInput,
        description:
          'How a push is built, as for `createBuild`. Its output is this function; name a `path` there to deploy a part of the checkout only.',
      }),
    }),
  },
  {
    description:
      'Links a function to a repository, in place of the one before: from now on, each push to the branch is built and deployed, with your rights and your account at the code host. Errors: NOT_FOUND, PROVIDER_NOT_CONNECTED, PROVIDER_TOKEN_INVALID, INVALID_REQUEST, INVALID_SPEC, INVALID_ENV_KEY, INVALID_ENV_VALUE, NOT_PERMITTED_FOR_ROLE, UPSTREAM_ERROR, TIMEOUT.',
    resolve: (_, { input: { id, spec, ...order } }, call) =>
      linkRepository(call, id, { ...order, spec: wireSpec(spec) ?? null }),
  },
  {
    description: 'What `linkFunctionRepository` answers.',
    outputFields: (t) => ({
      function: t.field({
        type: functionType,
        description: 'The function.',
        resolve: (linked: LinkedFunction) => linked.function,
      }),
      webhookUrl: t.exposeString('webhookUrl', {
        description: 'The address of the webhook: where the code host tells of pushes.',
      }),
      webhookSecret: t.exposeString('webhookSecret', {
        nullable: true,
        description:
          'The secret with which the code host must sign what it sends, if the webhook is to be added by hand; it is never shown again. Null when Berth made the webhook.',
      }),
      webhookReason: t.exposeString('webhookReason', {
        nullable: true,
        description: 'Why the webhook is to be added by hand, as a sentence; null when Berth made it.',
      }),
    }),
  },
)
actionOn(
  'unlinkFunctionRepository',
  { field: 'function', type: functionType },
  'Unlinks the repository of a function, if it has one: builds that wait are cancelled, one that runs is not deployed, and the webhook that Berth made is removed. Errors: NOT_FOUND.',
  unlinkRepository,
)
