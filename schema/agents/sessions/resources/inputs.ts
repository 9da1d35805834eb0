/** What of a repository is checked out, and the inputs of resources. */
import { builder } from '../../../builder.ts'
import { always } from '../../../words.ts'
import type { Checkout } from '#src/resources/agents/sessions/resources/rows.ts'

const branchCheckout = builder.objectRef<Checkout & { type: 'branch' }>('BranchCheckout').implement({
  description: 'A branch.',
  fields: (t) => ({
    type: t.string(always('branch')),
    name: t.exposeString('name', { description: 'Its name.' }),
  }),
})
const commitCheckout = builder.objectRef<Checkout & { type: 'commit' }>('CommitCheckout').implement({
  description: 'A commit.',
  fields: (t) => ({
    type: t.string(always('commit')),
    sha: t.exposeString('sha', { description: 'Its full SHA.' }),
  }),
})
/** What of a repository is checked out. */
export const repositoryCheckout = builder.unionType('RepositoryCheckout', {
  description: 'What of a repository is checked out.',
  types: [branchCheckout, commitCheckout],
  resolveType: ({ type }: Checkout) => (type === 'branch' ? 'BranchCheckout' : 'CommitCheckout'),
})

const branchInput = builder.inputType('BranchCheckoutInput', {
  description: 'A branch.',
  fields: (t) => ({ name: t.string({ required: true, description: 'Its name.' }) }),
})
const commitInput = builder.inputType('CommitCheckoutInput', {
  description: 'A commit.',
  fields: (t) => ({ sha: t.string({ required: true, description: 'Its full SHA.' }) }),
})
/** The same as clients send it. */
export const checkoutInput = builder.inputType('RepositoryCheckoutInput', {
  description: 'What to check out of a repository: exactly one of these.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    branch: t.field({ type: branchInput, description: 'A branch.' }),
    commit: t.field({ type: commitInput, description: 'A commit, which is checked out without a branch.' }),
  }),
})

const mountPath = (usual: string) => ({ description: `Where to put it, an absolute path: \`${usual}\` by default.` })
const fileInput = builder.inputType('SessionFileInput', {
  description: 'A file to put into the VM.',
  fields: (t) => ({
    fileId: t.id({ required: true, description: 'Which one of the caller’s files.' }),
    mountPath: t.string(mountPath('/mnt/session/uploads/<file id>')),
  }),
})
const repositoryInput = builder.inputType('SessionRepositoryInput', {
  description: 'A repository of git to clone in the VM.',
  fields: (t) => ({
    url: t.string({ required: true, description: 'Its URL, with https:// and without a credential.' }),
    authorizationToken: t.string({
      description: 'A token for git at this repository, which never enters the VM. It is never shown again.',
    }),
    checkout: t.field({ type: checkoutInput, description: 'What to check out; its default branch if omitted.' }),
    mountPath: t.string(mountPath('/workspace/<name of the repository>')),
  }),
})
const memoryStoreInput = builder.inputType('SessionMemoryStoreInput', {
  description: 'A memory store, which is always refused: agents have the tools `remember` and `recall`.',
  fields: (t) => ({
    memoryStoreId: t.id({ required: true, description: 'Which one.' }),
    access: t.string({ description: 'How it would be used.' }),
    instructions: t.string({ description: 'What the agent would be told of it.' }),
  }),
})
/** A resource of a session that is started. */
export const sessionResourceInput = builder.inputType('SessionResourceInput', {
  description: 'Something to put into the VM of a session: exactly one of these.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    file: t.field({ type: fileInput, description: 'A file.' }),
    githubRepository: t.field({ type: repositoryInput, description: 'A repository.' }),
    memoryStore: t.field({ type: memoryStoreInput, description: 'Always refused.' }),
  }),
})
