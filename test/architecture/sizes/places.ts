/** Where the product writes files, and what bounds them. */
import { limits } from '#src/platform/limits.ts'
import { agentFileLimits } from '#src/resources/agents/files/limits.ts'
import { skillLimits } from '#src/resources/agents/skills/limits.ts'

const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toLocaleString('en')} MiB`
const count = (most: number): string => most.toLocaleString('en')

/** A place that callers fill: where it is, what is in it, and its limit. */
export type Place = { where: string; what: string; limit: string }

const files = 'all of these together: `BERTH_ORG_FILES_GB`'
const disks = '`disk_mb` of each; all together: a quarter of the nodes’ disks stays free'

/** By the file of the product that writes there: callers' places. */
export const callersPlaces: Readonly<Record<string, readonly Place[]>> = {
  'src/resources/infra/uploads.ts': [
    {
      where: 'objects `compute/`',
      what: 'uploads',
      limit: `${count(limits.uploadsMax)} of ${mib(limits.uploadBytes)}; ${files}`,
    },
  ],
  'src/resources/infra/uploads/writes.ts': [
    {
      where: '`objects/incoming`',
      what: 'uploads and files that are arriving',
      limit: `${mib(limits.stagedBytesPerOrganization)} of an organization, ${mib(limits.stagedBytes)} of all`,
    },
  ],
  'workers/infra/builds/outputs.ts': [
    { where: 'objects `builds/`', what: 'artifacts', limit: `${mib(limits.buildOutputBytes)} each; ${files}` },
  ],
  'workers/infra/databases/dumps.ts': [
    {
      where: 'objects `backups/`',
      what: 'backups of databases',
      limit: `${count(limits.backupsMax)} of ${mib(limits.backupBytes)}; ${files}`,
    },
  ],
  'src/resources/agents/files/receiving.ts': [
    {
      where: 'objects `agents/`',
      what: 'files of agents',
      limit: `${count(agentFileLimits.filesMax)} of ${mib(agentFileLimits.bytes)}; ${files}`,
    },
  ],
  'src/resources/agents/skills/archives.ts': [
    {
      where: 'objects `agents/`',
      what: 'versions of skills',
      limit: `${count(skillLimits.skillsMax)} skills, ${skillLimits.versionsMax} versions of ${mib(skillLimits.bytes)} each; ${files}`,
    },
  ],
  'src/drivers/compute/qemu/disk-images.ts': [
    {
      where: '`machines/`',
      what: 'disks of VMs, with what is in them: uploads in progress, logs, Postgres',
      limit: disks,
    },
    {
      where: '`folders/`',
      what: 'workspace folders, caches of builds and data of databases',
      limit: `${count(limits.foldersMax)} workspace folders, ${count(limits.buildCachesMax)} caches; ${disks}`,
    },
  ],
  'src/drivers/compute/qemu/saving.ts': [
    { where: '`machines/`', what: 'memory of paused VMs', limit: 'as much as the VM has memory' },
  ],
  'src/drivers/compute/kept-templates.ts': [
    {
      where: '`templates/`',
      what: 'templates that builds make',
      limit: `${count(limits.templatesMax)}; ${mib(limits.buildDiskMb * 1024 * 1024)} each, reserved as disks of VMs`,
    },
  ],
}

/** What else writes files: nothing of callers', or in the places above. */
export const ownPlaces: Readonly<Record<string, string>> = {
  'cli/commands/db/dump.ts': 'what a person dumps, on their own machine',
  'cli/commands/vm/files.ts': 'what a person copies out of a VM, on their own machine',
  'cli/json-files.ts': 'a person’s contexts and tokens, on their own machine',
  'cli/lock.ts': 'the lock of those tokens',
  'cli/ssh/config.ts': 'the host key of each VM that a person reaches, on their own machine',
  'cli/ssh/keys.ts': 'a person’s key for VMs, on their own machine',
  'src/start/pack-cli.ts': 'the package of the command line',
  'schema/print.ts': 'the printed schema',
  'src/backup.ts': 'the operator’s backups',
  'src/backup/archive.ts': 'the operator’s backups',
  'src/backup/contents.ts': 'the operator’s backups',
  'src/backup/tables.ts': 'the operator’s backups',
  'src/console/build.ts': 'the two last builds of the console',
  'src/drivers/compute/folder-copies.ts': 'copies of folders, beside them',
  'src/drivers/compute/preparation.ts': 'the folders themselves',
  'src/drivers/compute/qemu/acceleration.ts': 'one small file',
  'src/drivers/compute/qemu/launch.ts': 'disks of machines',
  'src/drivers/compute/qemu/machine-users.ts': 'a name for each machine',
  'src/drivers/compute/qemu/snapshots.ts': 'snapshots of each size',
  'src/drivers/compute/records.ts': 'a small record of each machine',
  'src/drivers/compute/templates.ts': 'templates of the installation',
  'src/drivers/compute/templates/base.ts': 'templates of the installation',
  'src/drivers/compute/templates/postgres.ts': 'templates of the installation',
  'src/drivers/objects/local.ts': 'the object store: whoever puts something there is above',
  'src/drivers/objects/staging.ts': 'the object store: whoever puts something there is above',
  'src/drivers/private-sockets.ts': 'the folder of a socket',
  'src/platform/metrics/last-backup.ts': 'one small file',
  'src/platform/secrets.ts': 'the sealing key',
  'src/restore.ts': 'the operator’s backups',
  'src/start/background/detached.ts': 'the log of a Berth in the background',
  'src/start/background/log-file.ts': 'that log: two files of 16 MiB',
  'src/start/instance.ts': 'the folders themselves',
  'src/start/postgres-binaries.ts': 'Postgres',
  'src/start/postgres-cluster.ts': 'the database, whose tables are above',
  'src/start/run-file.ts': 'one small file',
  'workers/infra/node.ts': 'one small file',
  'workers/predecessor.ts': 'one small file',
  'workers/worker.ts': 'the folders themselves',
}
