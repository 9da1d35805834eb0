/**
 * The template `postgres`: a guest that does nothing but run a Postgres, whose cluster is on the folder's disk. It boots
 * with the kernel and the guest's program of `base`, which must be built before.
 */
import { execFile } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { templatePlaces } from '#src/drivers/compute/places.ts'
import { baseDiskMb, baseGuestFolder, baseRecipe, contentsOf } from './base.ts'
import { rootDiskMbOf } from './database-disks.ts'
import { toQcow2 } from './images.ts'
import { buildDebian, type Step } from './mmdebstrap.ts'
import { hashOfParts, type Recipe } from './recipe.ts'

const guestFolder = fileURLToPath(new URL('../guest/postgres-image', import.meta.url))
const dumpTimeoutMs = 60_000

/** The size of the disk with the data of a new database. Nothing is allocated ahead. */
export const dataDiskMb = baseDiskMb
const diskMb = rootDiskMbOf(dataDiskMb)
/** It is built while machines of `base` run. */
const niceness = 10

const steps: readonly Step[] = [
  ['I: running apt-get update', 0.05, 'Reading Debian’s package lists'],
  ['I: downloading packages', 0.1, 'Downloading packages'],
  ['I: extracting archives', 0.3, 'Unpacking the base system'],
  ['I: installing essential', 0.4, 'Installing the base system'],
  ['I: installing remaining', 0.5, 'Installing Postgres'],
  ['berth: setting up', 0.75, 'Setting up the guest'],
  ['berth: making the cluster', 0.8, 'Making the cluster that databases start from'],
  ['berth: making the disks', 0.9, 'Making the disk images'],
]

/** How `postgres` is made. */
export const postgresRecipe: Recipe = {
  name: 'postgres',
  diskMb,
  hash: () => hashOfParts([baseRecipe.hash(), String(diskMb), String(dataDiskMb), ...contentsOf(guestFolder)]),
  async build(out, cacheDir, progress) {
    const base = templatePlaces(cacheDir, 'base', baseRecipe.hash())
    if (!existsSync(base.made)) throw new Error('the template base is not built')
    const program = join(out, 'berth')
    await promisify(execFile)('debugfs', ['-R', `dump /usr/lib/berth/berth "${program}"`, base.baseImage], {
      timeout: dumpTimeoutMs,
    })
    chmodSync(program, 0o755)
    const variables = {
      GUEST: guestFolder,
      BASE: baseGuestFolder,
      PROGRAM: program,
      OUT: out,
      IMAGE_SIZE: `${diskMb}M`,
      DATA_SIZE: `${dataDiskMb}M`,
    }
    const hooks = {
      // Debian's own cluster, which would be made and thrown away.
      essential:
        'mkdir -p "$1/etc/postgresql-common/createcluster.d" && echo "create_main_cluster = false" > "$1/etc/postgresql-common/createcluster.d/berth.conf"',
      customize: 'sh "$GUEST/build.sh" "$1"',
    }
    const packagesFiles = [join(guestFolder, 'packages.txt')]
    await buildDebian({ packagesFiles, hooks, variables, steps, niceness }, progress)
    progress(0.96, 'Making the disk images')
    await toQcow2(join(out, 'folder.img'), join(out, 'folder.qcow2'))
    for (const name of ['kernel', 'initramfs', 'lend.so'] as const)
      copyFileSync(join(base.folder, name), join(out, name))
    rmSync(program)
    chmodSync(out, 0o755)
  },
}
