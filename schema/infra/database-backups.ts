/** Backups of databases in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { deletionWithMessage, idField, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArgumentsUpTo, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import {
  createBackup,
  deleteBackup,
  findBackups,
  getBackup,
  pageBackups,
  pageBackupsOfEach,
  type BackupFilter,
} from '#src/resources/infra/database-backups.ts'
import { downloadUrlOf } from '#src/resources/infra/database-backups/downloads.ts'
import { followBackup } from '#src/resources/infra/database-backups/events.ts'
import type { Backup, BackupEvent, BackupStatus, BackupTrigger } from '#src/resources/infra/database-backups/rows.ts'
import { userType } from '../identity/users.ts'
import { databaseType } from './databases.ts'
import { forRest } from '../rest-fields.ts'

const backupStatus = enumOf('BackupStatus', 'The status of a backup.', {
  pending: 'It is waiting for its turn.',
  running: 'The database is being dumped.',
  completed: 'It is stored, was read back, and can be restored.',
  failed: '`error` says why. Nothing of it is stored.',
  deleting: 'Its file is being removed.',
} satisfies Record<BackupStatus, string>)

const backupTrigger = enumOf('BackupTrigger', 'Why a backup was made.', {
  manual: 'Somebody asked for it.',
  schedule: 'A schedule was due.',
  pre_restore: 'A restore was about to replace the data.',
  pre_delete: 'The data was about to be deleted. None is made now: a deleted database keeps its data for 7 days.',
} satisfies Record<BackupTrigger, string>)

/** How far a backup is. */
const backupProgress = builder.objectRef<Pick<Backup, 'storedBytes' | 'databaseBytes'>>('BackupProgress').implement({
  description: 'The progress of a backup. A dump is compressed, so it is smaller than the database.',
  fields: (t) => ({
    storedBytes: t.field({
      type: 'BigInt',
      description: 'Bytes that are stored so far.',
      resolve: ({ storedBytes }) => storedBytes,
    }),
    databaseBytes: t.field({
      type: 'BigInt',
      nullable: true,
      description: 'The size of the database when its dump began; null before.',
      resolve: ({ databaseBytes }) => databaseBytes,
    }),
  }),
})

/** A backup. */
export const backupType = nodeOf('Backup', findBackups)

builder.objectType(backupType, {
  description: 'A backup of a database: what `pg_dump -Fc` writes, compressed with Zstandard, in the object store.',
  fields: (t) => ({
    ...organizationOf(t),
    ...linkTo(t, 'database', {
      type: databaseType,
      description: 'The database that it is of.',
      id: (backup) => backup.databaseId,
    }),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who asked for it, or made its schedule.',
      id: (backup) => backup.userId,
    }),
    status: t.field({ type: backupStatus, description: 'Its current status.', resolve: ({ status }) => status }),
    triggeredBy: t.field({
      type: backupTrigger,
      description: 'Why it was made.',
      resolve: ({ triggeredBy }) => triggeredBy,
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed, as a sentence.' }),
    progress: t.field({
      type: backupProgress,
      description: 'How much of it is stored so far.',
      resolve: (backup) => backup,
    }),
    sizeBytes: t.field({
      type: 'BigInt',
      description: 'The size of its file; 0 until it is completed.',
      resolve: ({ sizeBytes }) => sizeBytes,
    }),
    sha256: t.exposeString('sha256', { nullable: true, description: 'The SHA-256 digest of its file in hexadecimal.' }),
    downloadUrl: t.string({
      nullable: true,
      description:
        'Where to get its file, by ranges if need be: a signed URL for an hour, for whoever has it. Null until it is completed, and for whoever may not restore it.',
      resolve: (backup, _, call) => downloadUrlOf(call, backup),
    }),
    pgVersion: t.exposeString('pgVersion', { nullable: true, description: 'The version of Postgres that dumped it.' }),
    verifiedAt: t.expose('verifiedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last restored for a test, successfully. Each night the newest backups are tested.',
    }),
    verificationError: t.exposeString('verificationError', {
      nullable: true,
      description: 'Why the last test failed; null when it did not, and before the first.',
    }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `backupEvents` to follow what happens from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was requested.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When the dump began.' }),
    completedAt: t.expose('completedAt', { type: 'DateTime', nullable: true, description: 'When it was completed.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it may be removed; null for one that is kept until somebody deletes it.',
    }),
  }),
})

const backupEvent = builder.objectRef<BackupEvent>('BackupEvent').implement({
  description: 'The state of a backup after a change.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'backupId' in value && 'storedBytes' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ position }) => String(position),
    }),
    backupId: t.id({ description: 'The id of the backup.', resolve: ({ backupId }) => encodeId('backup', backupId) }),
    backup: t.field({
      type: backupType,
      nullable: true,
      description: 'The backup as it is now; null once it is deleted.',
      resolve: ({ backupId }) => backupId,
    }),
    status: t.field({
      type: backupStatus,
      description: 'Its status after this event.',
      resolve: ({ status }) => status,
    }),
    storedBytes: t.field({
      type: 'BigInt',
      description: 'Bytes that were stored by then.',
      resolve: ({ storedBytes }) => storedBytes,
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed.' }),
    verifiedAt: t.expose('verifiedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last restored for a test, successfully.',
    }),
    verificationError: t.exposeString('verificationError', {
      nullable: true,
      description: 'Why it could not be restored for a test.',
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const backupEventOrHeartbeat = builder.unionType('BackupEventOrHeartbeat', {
  description: 'An event of a backup, or a heartbeat.',
  types: [backupEvent, heartbeat],
})

const backupFilter = builder.inputType('BackupFilter', {
  description: 'Narrows a list of backups.',
  fields: (t) => ({
    statuses: t.field({ type: [backupStatus], description: 'Only those with one of these statuses.' }),
  }),
})

builder.queryFields((t) => ({
  backup: t.field({
    type: backupType,
    description: 'One backup. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getBackup(call, id),
  }),
}))

type BackupsGiven = Parameters<typeof pageBackupsOfEach>[2] & OrderGiven & { filter: BackupFilter | null }
const backupsOf = pagesOfEach((call, ids, { filter, order, ...window }: BackupsGiven) =>
  pageBackupsOfEach(call, ids, window, { filter, direction: order }),
)

builder.objectFields(databaseType, (t) => ({
  backup: t.field({
    type: backupType,
    description: 'One of its backups. Errors: NOT_FOUND.',
    nullable: true,
    args: idArguments,
    resolve: (database, { id }, call) => getBackup(call, id, encodeId('database', database.id)),
  }),
  backups: t.field({
    type: connectionOf('Backup', backupType),
    nullable: true,
    description: 'Its backups, newest first.',
    args: {
      ...pageArgumentsUpTo(limits.infraListMax),
      ...builder.args((arg) => ({
        offset: arg.int({ description: 'How many to skip.', ...forRest }),
        filter: arg.field({ type: backupFilter, description: 'Narrows the list.' }),
        order: arg.field(newestFirst),
      })),
    },
    resolve: ({ id }, { offset, filter, order, ...window }, call) =>
      offset
        ? pageBackups(call, id, { ...window, offset }, { filter: filter ?? null, direction: order })
        : backupsOf(call, id, { ...window, filter: filter ?? null, order }),
  }),
}))

mutationOf(
  'createBackup',
  { field: 'backup', type: backupType },
  'Starts a backup of a database. Requires the admin role. Errors: NOT_FOUND, INVALID_REQUEST without a VM that runs, DATABASE_NOT_READY, BACKUP_IN_PROGRESS, RATE_LIMITED.',
  (t) => ({
    databaseId: t.id({ required: true, description: 'The database to back up.' }),
  }),
  (call, { databaseId }) => createBackup(call, databaseId),
)
deletionWithMessage(
  'deleteBackup',
  'Deletes a backup and its file; one that is being made is cancelled first. While a restore from it is running, it stays `DELETING`. Requires the admin role. Errors: NOT_FOUND.',
  'Backup deleted',
  (t) => ({
    ...idField(t),
    databaseId: t.id({ description: 'The database that it must be of; any if omitted.' }),
  }),
  (call, { id, databaseId }) => deleteBackup(call, id, databaseId),
)

builder.subscriptionFields((t) => ({
  backupEvents: t.field({
    type: backupEventOrHeartbeat,
    description:
      'A backup’s events, with its progress: those after the cursor (without a cursor, its current state), then live ones, until it has failed or is deleted. Errors: NOT_FOUND.',
    args: {
      backupId: t.arg.id({ required: true, description: 'The backup.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { backupId, after }, call) => withHeartbeats(await followBackup(call, backupId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
