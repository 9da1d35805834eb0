/** Metrics about the whole installation, read from the database: every process reports the same values. */
import { diskRoom } from '#src/drivers/disk-room.ts'
import { readQueues } from '#src/platform/jobs.ts'
import { reportLastBackup } from '#src/platform/metrics/last-backup.ts'
import { reportOwnPostgres } from '#src/platform/metrics/own-postgres.ts'
import { readAllRooms } from '#src/platform/metrics/rooms.ts'
import { addMetricSource, type Sample } from '#src/platform/metrics/sources.ts'
import { findAll, getOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { readBackupLateness } from './infra/backup-schedules/lateness.ts'
import { countCertificates, readCertificateExpiry } from './infra/certificates/expiry.ts'
import { readPromises } from './infra/organization-room.ts'

const bytesPerMb = 1024 * 1024

/** Adds them to this process's metrics, with those of the disks that it uses. */
export function reportState({ config, db }: Pick<Background, 'config' | 'db'>): void {
  addMetricSource(
    'database',
    {
      berth_databases: { help: 'Databases that are not deleted, by status.', labels: ['status'] },
      berth_vms: { help: 'VMs that are not deleted, by status.', labels: ['status'] },
      berth_node_up: {
        help: 'Whether the node’s worker has sent a heartbeat recently and runs VMs.',
        labels: ['node'],
      },
      berth_node_memory_bytes: { help: 'Memory that may be committed to machines of the node.', labels: ['node'] },
      berth_node_memory_promised_bytes: { help: 'Memory that is committed to them.', labels: ['node'] },
      berth_node_disk_bytes: {
        help: 'Disk that may be committed to machines, folders and templates of the node.',
        labels: ['node'],
      },
      berth_node_disk_promised_bytes: { help: 'Disk that is committed to them.', labels: ['node'] },
      berth_jobs: {
        help: 'Jobs by queue and state: queued, active, failed in the last hour.',
        labels: ['queue', 'state'],
      },
      berth_job_oldest_age_seconds: {
        help: 'How long the oldest queued job of a queue has been due.',
        labels: ['queue'],
      },
      berth_builds: { help: 'Builds that are queued or running.', labels: ['status'] },
      berth_build_oldest_queued_age_seconds: {
        help: 'How long the oldest queued build has been waiting; 0 when none is.',
      },
      berth_sessions: { help: 'Agents’ sessions by status.', labels: ['status'] },
      berth_environments_provisioning: { help: 'Environments whose VM is starting.' },
      berth_domains: { help: 'Custom domains by status.', labels: ['status'] },
      berth_domain_check_late_seconds: { help: 'For how long the check of a domain has been due; 0 when none is.' },
      berth_backups: { help: 'Backups of databases that are pending or running.', labels: ['status'] },
      berth_backup_verification_failed: { help: 'Backups whose last restore for a test failed.' },
      berth_backup_oldest_age_seconds: {
        help: 'How long ago the last good backup was made, of the database with a schedule for which it is longest.',
      },
      berth_backup_schedules_failing: { help: 'Schedules of backups whose last moment made no good one.' },
      berth_certificates: { help: 'Certificates of domains by status.', labels: ['status'] },
      berth_certificate_left_seconds: { help: 'How long the first certificate of a domain to end is still good.' },
      berth_certificate_renewal_late_seconds: {
        help: 'For how long the renewal of a certificate has been due; 0 when none is.',
      },
      berth_uploads_under_way: { help: 'PUTs to uploads that are in progress.' },
      berth_uploads_reserved_bytes: { help: 'What those PUTs may store.' },
    },
    () => readState(db),
  )
  reportOwnPostgres(db)
  reportLastBackup(config.dataDir)
  reportRooms({ config, db })
  reportDisks(config)
}

function reportDisks(config: Background['config']): void {
  addMetricSource(
    'disks',
    {
      berth_disk_size_bytes: { help: 'Size of the file system that holds the folder.', labels: ['folder'] },
      berth_disk_free_bytes: { help: 'Its free space.', labels: ['folder'] },
      berth_disk_floor_bytes: {
        help: 'Below this much free space nothing large is stored any more.',
        labels: ['folder'],
      },
    },
    async () => {
      const rooms = await Promise.all(
        (
          [
            ['data', config.dataDir],
            ['cache', config.cacheDir],
          ] as const
        ).map(async ([folder, place]) => ({ folder, room: await diskRoom(config, place) })),
      )
      const each = (value: (room: (typeof rooms)[number]['room']) => number): Sample[] =>
        rooms.map(({ folder, room }) => ({ labels: { folder }, value: value(room) }))
      return {
        berth_disk_size_bytes: each(({ totalBytes }) => totalBytes),
        berth_disk_free_bytes: each(({ freeBytes }) => freeBytes),
        berth_disk_floor_bytes: each(({ floorBytes }) => floorBytes),
      }
    },
  )
}

function reportRooms({ config, db }: Pick<Background, 'config' | 'db'>): void {
  addMetricSource(
    'rooms',
    {
      berth_stored_bytes: { help: 'What organizations store in the database, by room.', labels: ['room'] },
      berth_full_rooms: { help: 'Organizations whose room is full.', labels: ['room'] },
    },
    async () => {
      const rooms = await readAllRooms({ config, db })
      return {
        berth_stored_bytes: rooms.map(({ name, bytes }) => ({ labels: { room: name }, value: bytes })),
        berth_full_rooms: rooms.map(({ name, full }) => ({ labels: { room: name }, value: full })),
      }
    },
  )
}

type Counted = { label: string; count: number }

/** What has no status of its own. */
function readRest(db: Db) {
  return getOne<{
    domainLateSeconds: number
    buildAgeSeconds: number
    provisioning: number
    unverified: number
    writers: number
    reservedBytes: number
  }>(
    db,
    sql`
    select
      coalesce((select extract(epoch from now() - min(queued_at)) from build_jobs where status = 'queued'), 0)::float8 as build_age_seconds,
      greatest(0, (select extract(epoch from now() - min(next_check_at)) from domains where next_check_at is not null))::float8 as domain_late_seconds,
      (select count(*) from environments where status = 'provisioning') as provisioning,
      (select count(*) from database_backups where status = 'completed' and verification_error is not null) as unverified,
      count(*) as writers, coalesce(sum(reserved_bytes), 0)::bigint as reserved_bytes
    from uploads where writer is not null and writing_until > now()`,
  )
}

async function readState(db: Db) {
  // Sequentially: a scrape takes one connection, not all.
  const vms = await findAll<Counted>(
    db,
    sql`select status as label, count(*) from vms where status <> 'deleted' group by status`,
  )
  const databases = await findAll<Counted>(
    db,
    sql`select status as label, count(*) from databases where status <> 'deleted' group by status`,
  )
  const nodes = await readPromises(db)
  const queues = await readQueues(db)
  const builds = await findAll<Counted>(
    db,
    sql`
      select status as label, count(*) from build_jobs where status = 'queued' group by status
      union all select status, count(*) from build_jobs where status = 'running' group by status`,
  )
  const sessions = await findAll<Counted>(db, sql`select status as label, count(*) from sessions group by status`)
  const backups = await findAll<Counted>(
    db,
    sql`select status as label, count(*) from database_backups where status in ('pending', 'running') group by status`,
  )
  const schedules = await readBackupLateness(db)
  const certificates = await countCertificates(db)
  const { leftSeconds, renewalLateSeconds } = await readCertificateExpiry(db)
  const domains = await findAll<Counted>(db, sql`select status as label, count(*) from domains group by status`)
  const rest = await readRest(db)
  const byStatus = (rows: readonly Counted[]): Sample[] =>
    rows.map(({ label, count }) => ({ labels: { status: label }, value: count }))
  const byNode = (value: (node: (typeof nodes)[number]) => number | null): Sample[] =>
    nodes.flatMap((node) => (value(node) === null ? [] : [{ labels: { node: node.name }, value: value(node) ?? 0 }]))
  return {
    berth_databases: byStatus(databases),
    berth_vms: byStatus(vms),
    berth_node_up: byNode(({ isUp }) => (isUp ? 1 : 0)),
    berth_node_memory_bytes: byNode(({ memoryMb }) => memoryMb * bytesPerMb),
    berth_node_memory_promised_bytes: byNode(({ promisedMemoryMb }) => promisedMemoryMb * bytesPerMb),
    berth_node_disk_bytes: byNode(({ diskMb }) => (diskMb === null ? null : diskMb * bytesPerMb)),
    berth_node_disk_promised_bytes: byNode(({ promisedDiskMb }) => promisedDiskMb * bytesPerMb),
    berth_jobs: queues.flatMap(({ queue, queued, active, failed }) =>
      Object.entries({ queued, active, failed }).map(([state, value]) => ({ labels: { queue, state }, value })),
    ),
    berth_job_oldest_age_seconds: queues.map(({ queue, oldestSeconds }) => ({
      labels: { queue },
      value: oldestSeconds,
    })),
    berth_builds: byStatus(builds),
    berth_build_oldest_queued_age_seconds: [{ value: rest.buildAgeSeconds }],
    berth_sessions: byStatus(sessions),
    berth_environments_provisioning: [{ value: rest.provisioning }],
    berth_domains: byStatus(domains),
    berth_domain_check_late_seconds: [{ value: rest.domainLateSeconds }],
    berth_backups: byStatus(backups),
    berth_backup_verification_failed: [{ value: rest.unverified }],
    berth_backup_oldest_age_seconds: [{ value: schedules.oldestSeconds }],
    berth_backup_schedules_failing: [{ value: schedules.failing }],
    berth_certificates: byStatus(certificates),
    berth_certificate_left_seconds: leftSeconds === null ? [] : [{ value: leftSeconds }],
    berth_certificate_renewal_late_seconds: [{ value: renewalLateSeconds }],
    berth_uploads_under_way: [{ value: rest.writers }],
    berth_uploads_reserved_bytes: [{ value: rest.reservedBytes }],
  }
}
