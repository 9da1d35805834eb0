/** Mutations of databases in GraphQL. */
import type { InputFieldBuilder } from '@pothos/core'
import { builder } from '../builder.ts'
import { actionOn, deletionWithMessage, idField, mutationOf } from '../mutations.ts'
import { linkTo } from '../nodes.ts'
import { setClientAccess } from '#src/resources/infra/databases/client-access.ts'
import { moveDatabaseToProject } from '#src/resources/infra/databases/project-changes.ts'
import { ownerAddress } from '#src/resources/infra/databases/addresses.ts'
import { hostOf } from '#src/resources/infra/databases/rows.ts'
import { wakeOwnDatabase } from '#src/resources/infra/databases/sleep.ts'
import {
  createDatabase,
  deleteDatabase,
  rotateDatabaseToken,
  undeleteDatabase,
  updateDatabase,
  type DatabaseWithToken,
} from '#src/resources/infra/databases.ts'
import { organizationType } from '../identity/organizations.ts'
import { databaseStatus, databaseType } from './databases.ts'

type Types = (typeof builder)['$inferSchemaTypes']
type InputFields = InputFieldBuilder<Types, 'InputObject'>
type PayloadFields = PothosSchemaTypes.ObjectFieldBuilder<Types, DatabaseWithToken>

const database = { field: 'database', type: databaseType }

const credentials = builder.objectRef<DatabaseWithToken>('DatabaseCredentials').implement({
  description:
    'How its owner connects to a database. The token is shown only this once; the mutation rotateDatabaseToken makes a new one.',
  fields: (t) => ({
    ...linkTo(t, 'database', { type: databaseType, description: 'The database.', id: (made) => made.database.id }),
    name: t.string({ description: 'Its name.', resolve: (made) => made.database.name }),
    ...linkTo(t, 'organization', {
      type: organizationType,
      description: 'The organization that owns it.',
      id: (made) => made.database.organizationId,
    }),
    host: t.string({
      description: 'The host name at which clients reach it.',
      resolve: (made, _, { config }) => hostOf(config, made.database),
    }),
    pgDatabase: t.string({
      description: 'The name of the database in Postgres.',
      resolve: (made) => made.database.pgDatabase,
    }),
    pgUser: t.string({ description: 'The user whose password the token is.', resolve: (made) => made.database.pgUser }),
    isClientModeEnabled: t.boolean({
      description: 'Whether clients get in with a JWT or anonymously.',
      resolve: (made) => made.database.clientModeEnabled,
    }),
    status: t.field({
      type: databaseStatus,
      description:
        'Its status when this was answered: `CREATING` if it was not there after 25 s. It takes connections once it is `ACTIVE`.',
      resolve: (made) => made.database.status,
    }),
    token: t.string({ description: 'The password of `pgUser`.', resolve: (made) => made.token }),
    connectionUri: t.string({
      description: 'All of it in one line, as psql and every other client of Postgres takes it.',
      resolve: ({ database, token }, _, { config }) => ownerAddress(config, database, token),
    }),
  }),
})

const payload = (t: PayloadFields) => ({
  database: t.field({
    type: databaseType,
    description: 'The object after the change.',
    resolve: (made) => made.database,
  }),
  credentials: t.field({ type: credentials, description: 'How its owner connects.', resolve: (made) => made }),
})

const sizeFields = (t: InputFields) => ({
  vcpuCount: t.int({ description: 'Virtual processors, 1 to 16; 2 by default.' }),
  memoryMb: t.int({ description: 'Memory in MB, 512 to 65536; 1024 by default.' }),
  diskMb: t.int({ description: 'The disk of its data in MB, 10240 to 204800; 10240 by default. It only grows.' }),
  sleepAfterSeconds: t.int({
    description:
      'After how many seconds without a client it sleeps, 10 to 2592000, or 0 for never; as the operator says by default.',
  }),
})
const nameRule = '1 to 63 lower-case letters, digits and hyphens, beginning with a letter'
const networkRule = `The host name at which the VMs of the project reach it: ${nameRule}; by default the project’s id with \`prj-\` in place of \`prj_\`.`

builder.relayMutationField(
  'createDatabase',
  {
    description: 'What `createDatabase` takes.',
    inputFields: (t) => ({
      organizationId: t.id({ description: 'As a check: the organization of your token. Any other is an error.' }),
      name: t.string({ description: `${nameRule}; by default \`db-\` and six random characters.` }),
      functionId: t.id({ description: 'A function of the organization to link it to.' }),
      wait: t.boolean({
        description:
          'False for an answer at once, still `CREATING`; `databaseEvents` says when it is active. True by default.',
      }),
      clientModeEnabled: t.boolean({ description: 'Whether client access is on; off by default.' }),
      projectId: t.id({ description: 'The project whose VMs reach it; none by default.' }),
      networkName: t.string({ description: networkRule }),
      settings: t.field({
        type: 'TextMap',
        description: 'Settings of Postgres for its sessions, such as `work_mem` or `statement_timeout`.',
      }),
      ...sizeFields(t),
    }),
  },
  {
    description:
      'Creates a database and waits up to 25 s until it is active; after that the answer shows it as it is, still `CREATING`. Requires the admin role. Errors: INVALID_REQUEST, DATABASE_NAME_TAKEN, CLIENT_ACCESS_UNAVAILABLE, CAPACITY_UNAVAILABLE.',
    resolve: (_, { input }, call) => createDatabase(call, input),
  },
  { description: 'What `createDatabase` answers.', outputFields: payload },
)
builder.relayMutationField(
  'rotateDatabaseToken',
  { description: 'What `rotateDatabaseToken` takes.', inputFields: idField },
  {
    description:
      'Makes a new token for a database, in place of one that was lost or is known to others; sessions of the old one are ended. Requires the admin role. Errors: NOT_FOUND, DATABASE_NOT_READY.',
    resolve: (_, { input }, call) => rotateDatabaseToken(call, input.id),
  },
  { description: 'What `rotateDatabaseToken` answers.', outputFields: payload },
)
mutationOf(
  'updateDatabase',
  database,
  'Changes a database. Another size or setting is applied while it is `UPDATING`; other memory or processors start its VM again, which ends connections. Requires the admin role. Errors: NOT_FOUND, INVALID_REQUEST, DATABASE_NAME_TAKEN, DATABASE_NOT_READY.',
  (t) => ({
    ...idField(t),
    name: t.string({ description: nameRule }),
    functionId: t.id({ description: 'A function of the organization to link it to, or null for none.' }),
    settings: t.field({
      type: 'TextMapPatch',
      description: 'Settings of Postgres to set, or with null to reset; the others stay.',
    }),
    ...sizeFields(t),
  }),
  (call, { id, ...changes }) => updateDatabase(call, id, changes),
)
mutationOf(
  'moveDatabaseToProject',
  database,
  'Moves a database into a project, or with null out of its project. Requires the admin role. Errors: NOT_FOUND, FORBIDDEN, INVALID_REQUEST, DATABASE_NOT_READY.',
  (t) => ({
    ...idField(t),
    projectId: t.id({ description: 'The project, or null for none. It must be given.' }),
    networkName: t.string({ description: networkRule }),
  }),
  (call, { id, ...target }) => moveDatabaseToProject(call, id, target),
)
deletionWithMessage(
  'deleteDatabase',
  'Deletes a database; its data is kept for 7 days. Requires the admin role. Errors: NOT_FOUND.',
  'Database deleted',
  idField,
  (call, { id }) => deleteDatabase(call, id),
)
actionOn(
  'undeleteDatabase',
  database,
  'Brings a deleted database back with its name, data, token, settings and size, and client access as it was, and waits for it as `createDatabase` does. Its deletion took it out of its project, and it comes back outside of any: see `moveDatabaseToProject`. Requires the admin role. Errors: NOT_FOUND, DATABASE_NOT_READY, DATABASE_NAME_TAKEN, CAPACITY_UNAVAILABLE.',
  undeleteDatabase,
)
actionOn(
  'enableDatabaseClientAccess',
  database,
  'Lets clients in with a JWT or anonymously. Requires the admin role. Errors: NOT_FOUND, CLIENT_ACCESS_UNAVAILABLE, CLIENT_ACCESS_IN_TRANSITION, DATABASE_NOT_READY, INTERNAL_ERROR.',
  (call, id) => setClientAccess(call, id, true),
)
actionOn(
  'disableDatabaseClientAccess',
  database,
  'Lets nobody in but with the token; sessions of clients are ended. Requires the admin role. Errors: NOT_FOUND, CLIENT_ACCESS_IN_TRANSITION, DATABASE_NOT_READY, INTERNAL_ERROR.',
  (call, id) => setClientAccess(call, id, false),
)
actionOn(
  'wakeDatabase',
  database,
  'Wakes a database that sleeps, as a connection does too, or starts one in `ERROR` again; waits for it. Requires the admin role. Errors: NOT_FOUND, DATABASE_NOT_READY, SERVICE_UNAVAILABLE, CAPACITY_UNAVAILABLE.',
  wakeOwnDatabase,
)
