/** Databases in GraphQL: the type, queries and subscriptions. Mutations are in database-changes.ts. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, pageArgumentsUpTo, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { rowsOfEach } from '../rows-of-each.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { followDatabase } from '#src/resources/infra/databases/events.ts'
import { pageLinkedDatabasesOfEach } from '#src/resources/infra/databases/links.ts'
import { ownerAddress } from '#src/resources/infra/databases/addresses.ts'
import { hostOf, type DatabaseEvent, type DatabaseStatus } from '#src/resources/infra/databases/rows.ts'
import {
  findDatabases,
  getDatabase,
  pageDatabases,
  pageDatabasesOfEach,
  type DatabaseFilter,
} from '#src/resources/infra/databases.ts'
import { findDatabaseVms } from '#src/resources/infra/vms/databases.ts'
import { callIn, listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { functionType } from './functions.ts'
import { projectType } from './projects.ts'
import { vmType } from './vms.ts'
import { forRest } from '../rest-fields.ts'

/** The statuses of databases. */
export const databaseStatus = enumOf(
  'DatabaseStatus',
  'The status of a database. A steady status lasts; the others are on the way to one.',
  {
    creating: 'It is being created.',
    active: 'It takes connections; one that sleeps wakes for them. Steady.',
    updating: 'A change is being applied.',
    restoring: 'A backup is being restored; it takes no connections.',
    deleting: 'It is being deleted.',
    deleted: 'It is deleted; its data is kept for 7 days. Steady.',
    error: 'It failed; `statusReason` says why. Steady.',
  } satisfies Record<DatabaseStatus, string>,
)

/** A database. */
export const databaseType = nodeOf('Database', findDatabases)
const vmOf = rowsOfEach(findDatabaseVms, ({ id }) => id)

builder.objectType(databaseType, {
  description: 'A managed Postgres 17 in a VM of its own.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'Unique in the organization: 1 to 63 lower-case letters, digits and hyphens.',
    }),
    status: t.field({ type: databaseStatus, description: 'Its current status.', resolve: ({ status }) => status }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'More about the status, as a sentence, when there is more.',
    }),
    ...organizationOf(t),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who created it.',
      id: (database) => database.userId,
    }),
    ...linkTo(t, 'project', {
      type: projectType,
      nullable: true,
      description: 'The project whose VMs reach it.',
      id: (database) => database.projectId,
    }),
    ...linkTo(t, 'function', {
      type: functionType,
      nullable: true,
      description: 'The function that it is linked to, whose programs get its address and a password as variables.',
      id: (database) => database.functionId,
    }),
    networkName: t.exposeString('networkName', {
      nullable: true,
      description: 'The host name at which the VMs of its project reach it; null outside of a project.',
    }),
    nativeCredentialGeneration: t.exposeInt('nativeCredentialGeneration', {
      description: 'Starts at 1, and grows by one with each change of its project or network name.',
    }),
    host: t.string({
      description: 'The host name at which clients reach it.',
      resolve: (database, _, { config }) => hostOf(config, database),
    }),
    connectionUri: t.string({
      description: 'The address that its owner gives to psql and every other client of Postgres, without the password.',
      resolve: (database, _, { config }) => ownerAddress(config, database, null),
    }),
    pgDatabase: t.exposeString('pgDatabase', { description: 'The name of the database in Postgres.' }),
    pgUser: t.exposeString('pgUser', { description: 'The user of its token, who owns everything in it.' }),
    isClientModeEnabled: t.exposeBoolean('clientModeEnabled', {
      description: 'Whether clients get in with a JWT or anonymously; otherwise only with its token.',
    }),
    vmId: t.id({
      nullable: true,
      description: 'The VM that it runs in; null once it is deleted.',
      resolve: ({ vmId }) => vmId && encodeId('vm', vmId),
    }),
    vm: t.field({
      type: vmType,
      nullable: true,
      description: 'The VM that it runs in, to look at: no operation on VMs reaches it.',
      resolve: ({ vmId }, _, call) => (vmId === null ? null : vmOf(call, vmId)),
    }),
    isAsleep: t.boolean({
      description: 'Whether it sleeps: its VM is not running, and starts at the next connection.',
      resolve: async ({ vmId, status }, _, call) => {
        const vm = vmId !== null && status === 'active' ? await vmOf(call, vmId) : null
        return vm?.status === 'paused' || vm?.status === 'stopped'
      },
    }),
    vcpuCount: t.exposeInt('vcpuCount', { description: 'Virtual processors.' }),
    memoryMb: t.exposeInt('memoryMb', { description: 'Memory in MB.' }),
    diskMb: t.exposeInt('diskMb', { description: 'The capacity of the disk of its data in MB.' }),
    settings: t.field({
      type: 'TextMap',
      description: 'The settings of Postgres that were chosen for it.',
      resolve: ({ settings }) =>
        Object.fromEntries(Object.entries(settings).filter((entry): entry is [string, string] => entry[1] !== null)),
    }),
    sleepAfterSeconds: t.exposeInt('sleepAfterSeconds', {
      nullable: true,
      description: 'After how many seconds without a client it sleeps; null: never.',
    }),
    activeAt: t.expose('activeAt', { type: 'DateTime', description: 'When a client last used it, to some seconds.' }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `databaseEvents` to follow what happens from here on.',
      resolve: (database) => String(database.eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When its creation was requested.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
    deletedAt: t.expose('deletedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its deletion was requested.',
    }),
    purgeAfter: t.expose('purgeAfter', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when a deleted one can be brought back.',
    }),
  }),
})

const databaseConnection = connectionOf('Database', databaseType)
const databaseFilter = builder.inputType('DatabaseFilter', {
  description: 'Narrows a list of databases.',
  fields: (t) => ({
    statuses: t.field({
      type: [databaseStatus],
      description: 'Only those with one of these statuses; by default all but `DELETED`.',
    }),
    projectId: t.id({ description: 'Only those of this project.' }),
    text: t.string({ description: 'Only those with this piece of text in their name, in upper or lower case.' }),
  }),
})
const listArguments = builder.args((t) => ({
  filter: t.field({ type: databaseFilter, description: 'Narrows the list.' }),
  order: t.field(newestFirst),
}))
const databaseArguments = {
  ...pageArgumentsUpTo(limits.infraListMax),
  ...listArguments,
  ...builder.args((t) => ({
    offset: t.int({ description: 'How many to skip.', ...forRest }),
  })),
}
type OrderAndFilter = OrderGiven & { filter?: DatabaseFilter | null }
type DatabasesGiven = Parameters<typeof pageDatabases>[1] & OrderAndFilter
const databasesOf = listOfOrganizations((call, { filter, order, ...window }: DatabasesGiven) =>
  pageDatabases(call, window, filter, order),
)
type OfEachGiven = Parameters<typeof pageDatabasesOfEach>[2] & OrderAndFilter & { organizationId: string }
const databasesOfProjects = pagesOfEach((call, ids, { organizationId, filter, order, ...window }: OfEachGiven) =>
  pageDatabasesOfEach(callIn(call, { id: organizationId }), ids, window, filter, order),
)

builder.queryFields((t) => ({
  database: t.field({
    type: databaseType,
    description: 'One database. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getDatabase(call, id),
  }),
  databases: t.field({
    type: databaseConnection,
    description: 'The active organization’s databases, newest first. Errors: ORG_MISMATCH.',
    args: {
      organizationId: t.arg.id({ description: 'As a check: the active organization. Any other is an error.' }),
      ...databaseArguments,
    },
    resolve: (_, { organizationId, filter, order, ...window }, call) =>
      pageDatabases(call, window, filter, order, organizationId),
  }),
}))
builder.objectField(organizationType, 'databases', (t) =>
  t.field({
    type: databaseConnection,
    nullable: true,
    description: 'Its databases, newest first. Not available to API keys.',
    args: databaseArguments,
    resolve: ({ id }, given, call) => databasesOf(call, id, given),
  }),
)
const databasesOfFunctions = pagesOfEach(
  (
    call,
    ids,
    { organizationId, ...window }: Parameters<typeof pageLinkedDatabasesOfEach>[2] & { organizationId: string },
  ) => pageLinkedDatabasesOfEach(callIn(call, { id: organizationId }), ids, window),
)
builder.objectField(functionType, 'databases', (t) =>
  t.field({
    type: databaseConnection,
    nullable: true,
    description: 'The databases that are linked to it, newest first. Not available to API keys.',
    args: pageArguments,
    resolve: ({ id, organizationId }, window, call) => databasesOfFunctions(call, id, { ...window, organizationId }),
  }),
)
builder.objectField(projectType, 'databases', (t) =>
  t.field({
    type: databaseConnection,
    nullable: true,
    description: 'Its databases, newest first. Not available to API keys.',
    args: { ...pageArguments, ...listArguments },
    resolve: ({ id, organizationId }, given, call) => databasesOfProjects(call, id, { ...given, organizationId }),
  }),
)

const databaseEvent = builder.objectRef<DatabaseEvent>('DatabaseEvent').implement({
  description: 'A change of a database: of its status, or of something else.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: (event) => String(event.position),
    }),
    ...linkTo(t, 'database', {
      type: databaseType,
      description: 'The database, as it is now; null once it is deleted.',
      id: (event) => event.databaseId,
    }),
    status: t.field({
      type: databaseStatus,
      description: 'Its status after this event.',
      resolve: (event) => event.status,
    }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'More about the event, as a sentence, when there is more.',
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})
const databaseEventOrHeartbeat = builder.unionType('DatabaseEventOrHeartbeat', {
  description: 'An event of a database, or a heartbeat.',
  types: [databaseEvent, heartbeat],
})

builder.subscriptionFields((t) => ({
  databaseEvents: t.field({
    type: databaseEventOrHeartbeat,
    description:
      'A database’s events: those after the cursor (without a cursor, its current status), then live ones, until it is deleted. Errors: NOT_FOUND.',
    args: {
      databaseId: t.arg.id({ required: true, description: 'The database.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { databaseId, after }, call) => withHeartbeats(await followDatabase(call, databaseId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
