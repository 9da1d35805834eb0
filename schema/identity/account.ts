/** Who the caller is, in GraphQL. */
import { builder } from '#schema/builder.ts'
import { encodeId } from '#src/platform/ids.ts'
import { getAccount, type Account } from '#src/resources/identity/account.ts'

const named = (name: string, kind: 'user' | 'organization', description: string) =>
  builder.objectRef<{ id: string; name: string }>(name).implement({
    description,
    fields: (t) => ({
      id: t.id({ description: 'Its id.', resolve: (one) => encodeId(kind, one.id) }),
      name: t.exposeString('name', { description: 'Its name.' }),
    }),
  })
/** A person. */
export const user = named('User', 'user', 'A person.')
const organization = named('Organization', 'organization', 'Whose everything is.')

const callingKey = builder.objectRef<NonNullable<Account['key']>>('CallingKey').implement({
  description: 'The organization key that is calling.',
  fields: (t) => ({
    id: t.exposeID('keyId', { description: 'The 16 characters in its middle.' }),
    name: t.exposeString('name', { description: 'What it is for.' }),
    scopes: t.exposeStringList('scopes', { description: 'What it opens.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when it is good; null: until it is revoked.',
    }),
  }),
})

const account = builder.objectRef<Account>('Account').implement({
  description: 'The caller, as Berth sees them.',
  fields: (t) => ({
    user: t.field({
      type: user,
      nullable: true,
      description: 'The person; null for an organization key.',
      resolve: (one) => one.user,
    }),
    organization: t.field({
      type: organization,
      description: 'The active organization.',
      resolve: (one) => one.organization,
    }),
    role: t.exposeString('role', {
      nullable: true,
      description: 'owner, admin, member or viewer; null for an organization key.',
    }),
    key: t.field({
      type: callingKey,
      nullable: true,
      description: 'The organization key; null for a person.',
      resolve: (one) => one.key,
    }),
  }),
})
builder.queryFields((t) => ({
  me: t.field({ type: account, description: 'Who is calling.', resolve: (_, _arguments, call) => getAccount(call) }),
}))
