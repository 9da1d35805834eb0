/** Issuers of a database in GraphQL. */
import { builder } from '../builder.ts'
import { mutationOf } from '../mutations.ts'
import { rowsOfEach } from '../rows-of-each.ts'
import {
  createDatabaseAuthIssuer,
  deleteDatabaseAuthIssuer,
  listAuthIssuersOfEach,
  type DatabaseAuthIssuer,
} from '#src/resources/infra/database-auth-issuers.ts'
import { databaseType } from './databases.ts'

const issuerType = builder.objectRef<DatabaseAuthIssuer>('DatabaseAuthIssuer').implement({
  description: 'An issuer whose tokens let clients in to one database, while client access is on.',
  fields: (t) => ({
    issuer: t.exposeString('issuer', { description: 'What its tokens have as `iss`.' }),
    jwksUri: t.exposeString('jwksUri', { description: 'Where its public keys are, as a JWK set.' }),
    audience: t.exposeString('audience', { description: 'What its tokens must have as `aud`.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was added.' }),
  }),
})
const issuersOf = rowsOfEach(listAuthIssuersOfEach, ({ databaseId }) => databaseId)

builder.objectField(databaseType, 'authIssuers', (t) =>
  t.field({
    type: [issuerType],
    nullable: true,
    description: 'The issuers whose tokens let clients in, besides those of the platform; the oldest first.',
    resolve: async ({ id }, _, call) => (await issuersOf(call, id))?.issuers ?? [],
  }),
)

const issuer = { field: 'authIssuer', type: issuerType }
mutationOf(
  'createDatabaseAuthIssuer',
  issuer,
  'Adds an issuer of JWTs to a database, up to 10. Requires the admin role. Errors: NOT_FOUND, INVALID_REQUEST.',
  (t) => ({
    databaseId: t.id({ required: true, description: 'The database.' }),
    issuer: t.string({ required: true, description: 'What its tokens have as `iss`.' }),
    jwksUri: t.string({ required: true, description: 'The https:// address of its public keys, as a JWK set.' }),
    audience: t.string({ required: true, description: 'What its tokens must have as `aud`.' }),
  }),
  (call, input) => createDatabaseAuthIssuer(call, input),
)
mutationOf(
  'deleteDatabaseAuthIssuer',
  { ...issuer, description: 'The issuer as it was.' },
  'Takes an issuer from a database: its tokens let nobody in any more; open sessions stay. Requires the admin role. Errors: NOT_FOUND.',
  (t) => ({
    databaseId: t.id({ required: true, description: 'The database.' }),
    issuer: t.string({ required: true, description: 'What its tokens have as `iss`.' }),
  }),
  (call, input) => deleteDatabaseAuthIssuer(call, input),
)
