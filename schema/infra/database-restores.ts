/** Restores of databases in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { encodeId } from '#src/platform/ids.ts'
import { createRestore, findRestores, getRestore, pageRestoresOfEach } from '#src/resources/infra/database-restores.ts'
import { followRestore } from '#src/resources/infra/database-restores/events.ts'
import type { Restore, RestoreEvent, RestoreStatus, RestoreStep } from '#src/resources/infra/database-restores/rows.ts'
import { userType } from '../identity/users.ts'
import { backupType } from './database-backups.ts'
import { databaseType } from './databases.ts'
import { forRest } from '../rest-fields.ts'

const restoreStatus = enumOf('DatabaseRestoreStatus', 'The status of a restore. The last two are final.', {
  pending: 'It is waiting for its turn.',
  running: 'It is running; `step` says what it does.',
  completed: 'The database has the data of the backup.',
  failed: '`error` says why. The database has the data that it had before.',
} satisfies Record<RestoreStatus, string>)

const restoreStep = enumOf('DatabaseRestoreStep', 'What a restore does.', {
  backup: 'It backs up the data that it is going to replace.',
  load: 'It loads the backup beside the data that is there.',
  swap: 'It replaces that data with what it loaded.',
  finished: 'It is complete.',
} satisfies Record<RestoreStep, string>)

const restoreProgress = builder
  .objectRef<Pick<Restore, 'step' | 'loadedBytes' | 'backupBytes'>>('DatabaseRestoreProgress')
  .implement({
    description: 'The progress of a restore.',
    fields: (t) => ({
      step: t.field({ type: restoreStep, description: 'What it is doing.', resolve: ({ step }) => step }),
      loadedBytes: t.field({
        type: 'BigInt',
        description: 'Bytes of the backup that are loaded.',
        resolve: ({ loadedBytes }) => loadedBytes,
      }),
      backupBytes: t.field({
        type: 'BigInt',
        description: 'The size of the backup in bytes.',
        resolve: ({ backupBytes }) => backupBytes,
      }),
    }),
  })

const restoreType = nodeOf('DatabaseRestore', findRestores)

builder.objectType(restoreType, {
  description:
    'A restore: it replaces the data of a database with that of a backup. Clients are disconnected until it has ended. The data that it replaced stays on the database’s disk for a day.',
  fields: (t) => ({
    ...organizationOf(t),
    ...linkTo(t, 'database', {
      type: databaseType,
      description: 'The database whose data it replaces.',
      id: (restore) => restore.databaseId,
    }),
    ...linkTo(t, 'backup', {
      type: backupType,
      nullable: true,
      description: 'The backup that it restores; null once that is deleted.',
      id: (restore) => restore.backupId,
    }),
    ...linkTo(t, 'safetyBackup', {
      type: backupType,
      nullable: true,
      description: 'The backup of the data as it was before; null once that is deleted.',
      id: (restore) => restore.safetyBackupId,
    }),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who asked for it.',
      id: (restore) => restore.userId,
    }),
    status: t.field({ type: restoreStatus, description: 'Its current status.', resolve: ({ status }) => status }),
    progress: t.field({
      type: restoreProgress,
      description: 'Which step it is at, and how much of the backup is loaded.',
      resolve: (restore) => restore,
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed, as a sentence.' }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `databaseRestoreEvents` to follow what happens from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was requested.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When it began.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

const restoreEvent = builder.objectRef<RestoreEvent>('DatabaseRestoreEvent').implement({
  description: 'The state of a restore after a change.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'restoreId' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ position }) => String(position),
    }),
    restoreId: t.id({
      description: 'The id of the restore.',
      resolve: ({ restoreId }) => encodeId('restore', restoreId),
    }),
    restore: t.field({
      type: restoreType,
      nullable: true,
      description: 'The restore as it is now.',
      resolve: ({ restoreId }) => restoreId,
    }),
    status: t.field({
      type: restoreStatus,
      description: 'Its status after this event.',
      resolve: ({ status }) => status,
    }),
    step: t.field({ type: restoreStep, description: 'What it did then.', resolve: ({ step }) => step }),
    loadedBytes: t.field({
      type: 'BigInt',
      description: 'Bytes of the backup that were loaded by then.',
      resolve: ({ loadedBytes }) => loadedBytes,
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed.' }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const restoreEventOrHeartbeat = builder.unionType('DatabaseRestoreEventOrHeartbeat', {
  description: 'An event of a restore, or a heartbeat.',
  types: [restoreEvent, heartbeat],
})

builder.queryFields((t) => ({
  databaseRestore: t.field({
    type: restoreType,
    description: 'One restore. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getRestore(call, id),
  }),
}))

type RestoresGiven = Parameters<typeof pageRestoresOfEach>[2] & OrderGiven
const restoresOf = pagesOfEach((call, ids, { order, ...window }: RestoresGiven) =>
  pageRestoresOfEach(call, ids, window, order),
)

builder.objectField(databaseType, 'restores', (t) =>
  t.field({
    type: connectionOf('DatabaseRestore', restoreType),
    nullable: true,
    description: 'The restores of its data, newest first.',
    args: {
      ...pageArguments,
      ...builder.args((arg) => ({
        order: arg.field(newestFirst),
      })),
    },
    resolve: ({ id }, given, call) => restoresOf(call, id, given),
  }),
)

builder.relayMutationField(
  'restoreBackup',
  {
    description: 'What `restoreBackup` takes.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The backup.' }),
      databaseId: t.id({ description: 'The database that the backup must be of; any if omitted.' }),
      targetDatabaseId: t.id({
        description: 'The database whose data is replaced; that of the backup if omitted.',
      }),
    }),
  },
  {
    description:
      'Starts a restore: the data of a database is backed up, then replaced with that of a backup. Its clients are disconnected until it has ended; when it fails, the data is as before. Requires the admin role. Errors: NOT_FOUND, BACKUP_NOT_USABLE, RESTORE_IN_PROGRESS, INVALID_REQUEST when the database is not ready.',
    resolve: async (_, { input }, call) => ({
      restore: await createRestore(call, input),
      message: 'Restore started',
    }),
  },
  {
    description: 'What `restoreBackup` answers.',
    outputFields: (t) => ({
      databaseRestore: t.field({
        type: restoreType,
        description: 'The restore.',
        resolve: ({ restore }) => restore,
      }),
      message: t.exposeString('message', { description: 'The same as a sentence.', ...forRest }),
    }),
  },
)

builder.subscriptionFields((t) => ({
  databaseRestoreEvents: t.field({
    type: restoreEventOrHeartbeat,
    description:
      'A restore’s events, with its progress: those after the cursor (without a cursor, its current state), then live ones, until it ends. Errors: NOT_FOUND.',
    args: {
      databaseRestoreId: t.arg.id({ required: true, description: 'The restore.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { databaseRestoreId, after }, call) =>
      withHeartbeats(await followRestore(call, databaseRestoreId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
