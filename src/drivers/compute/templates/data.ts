/** The template `data`: `base` with what people who work with data use, such as pandas and the kernel of Jupyter. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { baseDiskMb, basePackagesFile, baseRecipe, buildLikeBase, contentsOf } from './base.ts'
import type { Step } from './mmdebstrap.ts'
import { hashOfParts, type Recipe } from './recipe.ts'

const guestFolder = fileURLToPath(new URL('../guest/data-image', import.meta.url))
/** It is built while other machines run. */
const niceness = 10

/** As of `base`, with other shares of the time. */
const steps: readonly Step[] = [
  ['I: running apt-get update', 0.01, 'Reading Debian’s package lists'],
  ['I: downloading packages', 0.04, 'Downloading packages'],
  ['I: extracting archives', 0.1, 'Unpacking the base system'],
  ['I: installing essential', 0.15, 'Installing the base system'],
  ['I: installing remaining', 0.2, 'Installing pandas, matplotlib, Jupyter’s kernel and what base has'],
  ['berth: listing the fonts', 0.7, 'Listing the fonts'],
  ['berth: copying Node', 0.73, 'Copying Node and npm'],
  ['berth: compiling', 0.75, 'Compiling the guest’s program'],
  ['berth: unpacking the kernel', 0.76, 'Unpacking the kernel'],
  ['berth: setting up', 0.78, 'Setting up the guest'],
  ['berth: warming', 0.8, 'Warming Go’s build cache'],
  ['berth: making the disks', 0.9, 'Making the disk image'],
]

/** How `data` is made. */
export const dataRecipe: Recipe = {
  name: 'data',
  diskMb: baseDiskMb,
  hash: () => hashOfParts([baseRecipe.hash(), ...contentsOf(guestFolder)]),
  build: (out, _cacheDir, progress) =>
    buildLikeBase(
      out,
      {
        packagesFiles: [basePackagesFile, join(guestFolder, 'packages.txt')],
        hooks: { customize: 'sh "$DATA/build.sh" "$1"' },
        variables: { DATA: guestFolder },
        steps,
        niceness,
      },
      progress,
    ),
}
