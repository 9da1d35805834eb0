/** Schedules of backups in GraphQL. */
import type { InputFieldBuilder } from '@pothos/core'
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import {
  createBackupSchedule,
  deleteBackupSchedule,
  findBackupSchedules,
  getBackupSchedule,
  pageBackupSchedulesOfEach,
  upcomingRuns,
  updateBackupSchedule,
} from '#src/resources/infra/backup-schedules.ts'
import { limits } from '#src/platform/limits.ts'
import { timestamp } from '#src/platform/clock.ts'
import { userType } from '../identity/users.ts'
import { backupType } from './database-backups.ts'
import { databaseType } from './databases.ts'

const scheduleType = nodeOf('BackupSchedule', findBackupSchedules)

builder.objectType(scheduleType, {
  description: 'When Berth backs a database up by itself, and how many of these backups it keeps.',
  fields: (t) => ({
    ...organizationOf(t),
    ...linkTo(t, 'database', {
      type: databaseType,
      description: 'The database that it backs up.',
      id: (schedule) => schedule.databaseId,
    }),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who made it.',
      id: (schedule) => schedule.userId,
    }),
    cron: t.exposeString('cron', { description: 'Minute, hour, day of the month, month, day of the week.' }),
    timezone: t.exposeString('timezone', { description: 'The time zone of these, such as `Europe/Berlin`.' }),
    isEnabled: t.exposeBoolean('enabled', { description: 'Whether it makes backups.' }),
    keepCount: t.exposeInt('keepCount', {
      nullable: true,
      description: 'How many of its completed backups are kept, the newest; null for any number.',
    }),
    keepDays: t.exposeInt('keepDays', {
      nullable: true,
      description: 'For how many days each is kept; null for ever. The newest completed backup of a database stays.',
    }),
    nextRunAt: t.expose('nextRunAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Its next moment; null while it is disabled.',
    }),
    upcomingRunsAt: t.field({
      type: ['DateTime'],
      description: 'Its next moments, five at most.',
      resolve: async (schedule) => (await upcomingRuns(schedule)).map(timestamp),
    }),
    lastRunAt: t.expose('lastRunAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it last made a backup.',
    }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'Why it made none at its last moment; null when it made one.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
})

builder.objectField(backupType, 'schedule', (t) =>
  t.field({
    type: scheduleType,
    nullable: true,
    description: 'The schedule that made it; null for another backup, and once the schedule is deleted.',
    resolve: ({ scheduleId }) => scheduleId,
  }),
)

builder.queryFields((t) => ({
  backupSchedule: t.field({
    type: scheduleType,
    description: 'One schedule. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getBackupSchedule(call, id),
  }),
}))

type SchedulesGiven = Parameters<typeof pageBackupSchedulesOfEach>[2] & OrderGiven
const schedulesOf = pagesOfEach((call, ids, { order, ...window }: SchedulesGiven) =>
  pageBackupSchedulesOfEach(call, ids, window, order),
)

builder.objectField(databaseType, 'backupSchedules', (t) =>
  t.field({
    type: connectionOf('BackupSchedule', scheduleType),
    nullable: true,
    description: 'The schedules of its backups, newest first.',
    args: {
      ...pageArguments,
      ...builder.args((arg) => ({
        order: arg.field(newestFirst),
      })),
    },
    resolve: ({ id }, given, call) => schedulesOf(call, id, given),
  }),
)

type Types = (typeof builder)['$inferSchemaTypes']

const kept = (t: InputFieldBuilder<Types, 'InputObject'>) => ({
  enabled: t.boolean({ description: 'Whether it makes backups; true by default.' }),
  keepCount: t.int({
    description: `How many of its completed backups are kept, 1 to ${limits.scheduleKeepCountMax}; 7 by default, null for any number.`,
  }),
  keepDays: t.int({
    description: `For how many days each is kept, 1 to ${limits.scheduleKeepDaysMax}; 30 by default, null for ever.`,
  }),
})
const cronField = 'Minute, hour, day of the month, month, day of the week, such as `0 3 * * *`.'
const zoneField = 'A name of the IANA time zone database, such as `Europe/Berlin`; `UTC` by default.'

const backupSchedule = { field: 'backupSchedule', type: scheduleType }
mutationOf(
  'createBackupSchedule',
  backupSchedule,
  'Adds a schedule to a database. Requires the admin role. Errors: NOT_FOUND, INVALID_CRON, INVALID_TIMEZONE, INVALID_REQUEST, RATE_LIMITED.',
  (t) => ({
    databaseId: t.id({ required: true, description: 'The database to back up.' }),
    cron: t.string({ required: true, description: cronField }),
    timezone: t.string({ description: zoneField }),
    ...kept(t),
  }),
  (call, { databaseId, ...input }) => createBackupSchedule(call, databaseId, input),
)
mutationOf(
  'updateBackupSchedule',
  backupSchedule,
  'Changes a schedule; fields that are left out stay. Requires the admin role. Errors: NOT_FOUND, INVALID_CRON, INVALID_TIMEZONE, INVALID_REQUEST.',
  (t) => ({
    ...idField(t),
    cron: t.string({ description: cronField }),
    timezone: t.string({ description: zoneField }),
    ...kept(t),
  }),
  (call, { id, ...changes }) => updateBackupSchedule(call, id, changes),
)
deletionOf(
  'deleteBackupSchedule',
  'Deletes a schedule; the backups that it made stay until they expire. Requires the admin role. Errors: NOT_FOUND.',
  deleteBackupSchedule,
)
