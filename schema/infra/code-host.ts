/** The caller's account at the code host in GraphQL. */
import { builder } from '../builder.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import type { CodeHostBranch, CodeHostRepository } from '#src/drivers/code-host.ts'
import { encodeId } from '#src/platform/ids.ts'
import { beginConnection, connectAccount, disconnectAccount } from '#src/resources/infra/code-host/connections.ts'
import {
  createAccountRepository,
  findAccount,
  findAccounts,
  getAccount,
  getCodeHostApp,
  getStatus,
  listRepositoryBranches,
  pageRepositories,
  type CodeHostAppInfo,
  type CodeHostPage,
  type CodeHostStatus,
} from '#src/resources/infra/code-host.ts'
import { userType } from '../identity/users.ts'
import { viewerType } from '../identity/viewer.ts'
import { mutationOf } from '../mutations.ts'
import { forRest } from '../rest-fields.ts'

const app = builder.objectRef<CodeHostAppInfo>('CodeHostApp').implement({
  description: 'The app at the code host that people authorize to connect their accounts.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'The code host.' }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'Its name, as in its address; null when the operator has not set it.',
    }),
    clientId: t.exposeString('clientId', {
      nullable: true,
      description: 'Its client id; null when no accounts can be connected here.',
    }),
    installationUrl: t.exposeString('installationUrl', {
      nullable: true,
      description: 'Where people install it on their accounts; null without a name.',
    }),
  }),
})

const status = builder.objectRef<CodeHostStatus>('CodeHostStatus').implement({
  description: 'Whether the caller has connected an account at the code host.',
  fields: (t) => ({
    isConnected: t.exposeBoolean('connected', { description: 'Whether there is one.' }),
    isInstalled: t.exposeBoolean('installed', {
      description:
        'Whether the app is installed on an account that it sees; as last seen while the code host does not answer.',
    }),
    username: t.exposeString('username', { nullable: true, description: 'The name of the account; null without one.' }),
  }),
})

const accountType = nodeOf('CodeHostAccount', findAccounts)
const repositoryType = builder.objectRef<CodeHostRepository>('CodeHostRepository').implement({
  description: 'A repository at the code host.',
  fields: (t) => ({
    id: t.id({ description: 'The code host’s own id.', resolve: ({ id }) => String(id) }),
    number: t.field({
      type: 'BigInt',
      description: 'The code host’s own id.',
      ...forRest,
      resolve: ({ id }) => id,
    }),
    name: t.exposeString('name', { description: 'Its name.' }),
    fullName: t.exposeString('fullName', { description: 'Its owner and its name: `owner/name`.' }),
    url: t.exposeString('url', { description: 'Its page at the code host.' }),
    cloneUrl: t.exposeString('cloneUrl', { description: 'Where git clones it from.' }),
    isPrivate: t.exposeBoolean('isPrivate', { description: 'Whether only some people see it.' }),
    defaultBranch: t.exposeString('defaultBranch', {
      nullable: true,
      description: 'Its default branch, as the code host says.',
    }),
    description: t.exposeString('description', { nullable: true, description: 'What it is about.' }),
  }),
})
const repositoryPage = builder.objectRef<CodeHostPage<CodeHostRepository>>('CodeHostRepositoryPage').implement({
  description: 'A page of repositories, as the code host numbers them.',
  fields: (t) => ({
    page: t.exposeInt('page', { description: 'Its number, from 1.' }),
    perPage: t.exposeInt('perPage', { description: 'How many a page has at most.' }),
    nodes: t.field({ type: [repositoryType], description: 'The repositories.', resolve: ({ nodes }) => nodes }),
    hasNextPage: t.exposeBoolean('hasNextPage', {
      description: 'Whether the page is full, so that another may follow.',
    }),
  }),
})
const branchType = builder.objectRef<CodeHostBranch>('CodeHostBranch').implement({
  description: 'A branch of a repository at the code host.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    isProtected: t.exposeBoolean('isProtected', { description: 'Whether the code host protects it.' }),
    commitSha: t.exposeString('commitSha', { description: 'Its latest commit.' }),
  }),
})
const branchList = builder
  .objectRef<{ owner: string; repo: string; nodes: CodeHostBranch[] }>('CodeHostBranches')
  .implement({
    description: 'The branches of a repository: the first thousand.',
    fields: (t) => ({
      owner: t.exposeString('owner', { description: 'The repository’s owner.' }),
      repo: t.exposeString('repo', { description: 'Its name.' }),
      nodes: t.field({ type: [branchType], description: 'The branches.', resolve: ({ nodes }) => nodes }),
    }),
  })

builder.objectType(accountType, {
  description:
    'The account at the code host that a person has connected. Only they see it. Its token is never shown; git in the VMs and builds that they order uses it.',
  fields: (t) => ({
    ...linkTo(t, 'user', { type: userType, description: 'The person.', id: ({ userId }) => userId }),
    url: t.exposeString('url', { description: 'The code host.' }),
    username: t.exposeString('username', { description: 'The account’s name there.' }),
    scopes: t.exposeStringList('scopes', {
      description: 'What the token may do, in the code host’s words; empty where the app’s permissions decide that.',
    }),
    scopesText: t.string({
      description: 'All of `scopes`, joined by commas.',
      ...forRest,
      resolve: ({ scopes }) => scopes.join(','),
    }),
    tokenPreview: t.exposeString('tokenPreview', {
      description: 'The first four characters of the token, and the last four.',
    }),
    isInstalled: t.exposeBoolean('installed', {
      description: 'Whether the app was installed on an account that it sees, when that was looked up last.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the token ends; it is renewed before. Null for one that does not end.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the account was first connected.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When its token last changed.' }),
  }),
})
builder.objectField(viewerType, 'codeHostAccount', (t) =>
  t.field({
    type: accountType,
    nullable: true,
    description: 'The person’s connected account at the code host; null without one, and for an API key.',
    resolve: (_, _arguments, call) => findAccount(call),
  }),
)

builder.queryFields((t) => ({
  codeHostApp: t.field({
    type: app,
    description: 'The app that people authorize to connect their accounts at the code host.',
    resolve: (_, _arguments, call) => getCodeHostApp(call),
  }),
  codeHostStatus: t.field({
    type: status,
    description:
      'Whether the caller has connected an account, after asking the code host. Errors: PROVIDER_TOKEN_INVALID.',
    resolve: (_, _arguments, call) => getStatus(call),
  }),
  codeHostAccount: t.field({
    type: accountType,
    description: 'The caller’s connected account. Errors: NOT_FOUND.',
    resolve: (_, _arguments, call) => getAccount(call),
  }),
  codeHostRepositories: t.field({
    type: repositoryPage,
    description:
      'The repositories that the caller’s account reaches, those that changed last first. Errors: PROVIDER_NOT_CONNECTED, PROVIDER_TOKEN_INVALID, INVALID_REQUEST, UPSTREAM_ERROR, TIMEOUT.',
    args: {
      page: t.arg.int({ description: 'The number of the page, from 1; 1 by default.' }),
      perPage: t.arg.int({ description: 'How many at once: 1 to 100, 30 by default.' }),
    },
    resolve: (_, window, call) => pageRepositories(call, window),
  }),
  codeHostBranches: t.field({
    type: branchList,
    description:
      'The branches of a repository. Errors: PROVIDER_NOT_CONNECTED, PROVIDER_TOKEN_INVALID, INVALID_REQUEST, UPSTREAM_ERROR, TIMEOUT.',
    args: {
      owner: t.arg.string({ required: true, description: 'The repository’s owner.' }),
      repo: t.arg.string({ required: true, description: 'Its name.' }),
    },
    resolve: async (_, { owner, repo }, call) => ({
      owner,
      repo,
      nodes: await listRepositoryBranches(call, owner, repo),
    }),
  }),
}))

builder.relayMutationField(
  'startCodeHostAuthorization',
  {
    description: 'What `startCodeHostAuthorization` takes.',
    inputFields: (t) => ({
      redirectUrl: t.string({
        description: 'Where the person comes back to: one of the app’s callback URLs, the first of them by default.',
      }),
    }),
  },
  {
    description: 'Begins an authorization: send the person’s browser to its URL. Errors: INVALID_REQUEST.',
    resolve: (_, { input }, call) => beginConnection(call, input),
  },
  {
    description: 'What `startCodeHostAuthorization` answers.',
    outputFields: (t) => ({
      authorizationUrl: t.exposeString('authorizationUrl', {
        description: 'Where the person authorizes the app at the code host.',
      }),
      state: t.exposeString('state', {
        description: 'Comes back with the code; good once, for this person, for ten minutes.',
      }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the state ends.' }),
    }),
  },
)
builder.relayMutationField(
  'connectCodeHost',
  {
    description: 'What `connectCodeHost` takes.',
    inputFields: (t) => ({
      code: t.string({ required: true, description: 'The code that the authorization gave.' }),
      state: t.string({
        description: 'The state that came back with it. Send it whenever `startCodeHostAuthorization` gave one.',
      }),
    }),
  },
  {
    description:
      'Connects the account whose authorization gave this code, in place of the one before. Errors: INVALID_CODE, INVALID_REQUEST, UPSTREAM_ERROR, TIMEOUT.',
    resolve: (_, { input }, call) => connectAccount(call, input),
  },
  {
    description: 'What `connectCodeHost` answers.',
    outputFields: (t) => ({
      codeHostAccount: t.field({ type: accountType, description: 'The connected account.', resolve: (link) => link }),
      message: t.string({
        description: 'What happened, as a sentence.',
        ...forRest,
        resolve: ({ username }) => `The account ${username} is connected.`,
      }),
    }),
  },
)
builder.relayMutationField(
  'disconnectCodeHost',
  {
    description: 'What `disconnectCodeHost` takes.',
    inputFields: (t) => ({
      id: t.id({ description: 'The account, where only this one is meant; whichever is connected by default.' }),
    }),
  },
  {
    description:
      'Disconnects the caller’s account, if there is one: its token is deleted, withdrawn at the code host, and no VM uses it any more.',
    resolve: (_, { input }, call) => disconnectAccount(call, input),
  },
  {
    description: 'What `disconnectCodeHost` answers.',
    outputFields: (t) => ({
      deletedId: t.id({
        nullable: true,
        description: 'The account that was connected; null when there was none.',
        resolve: ({ id }) => id && encodeId('codeHostLink', id),
      }),
      message: t.string({
        description: 'What happened, as a sentence.',
        ...forRest,
        resolve: ({ id }) => (id ? 'The account is disconnected.' : 'No account was connected.'),
      }),
    }),
  },
)
mutationOf(
  'createCodeHostRepository',
  { field: 'codeHostRepository', type: repositoryType, description: 'The repository.' },
  'Creates an empty repository of the caller’s account. Errors: PROVIDER_NOT_CONNECTED, PROVIDER_TOKEN_INVALID, INVALID_REQUEST, UPSTREAM_ERROR, TIMEOUT.',
  (t) => ({
    name: t.string({
      required: true,
      description: '1 to 100 letters, digits, dots, hyphens and underscores.',
    }),
    description: t.string({ description: 'What it is about: one line of at most 350 characters.' }),
    private: t.boolean({ description: 'Whether only some people see it; true by default.' }),
  }),
  (call, { private: isPrivate, ...order }) => createAccountRepository(call, { ...order, isPrivate }),
)
