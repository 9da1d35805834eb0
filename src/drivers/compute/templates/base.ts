/** The template `base`: a new machine's disk with languages and tools, its kernel and an empty folder disk. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch } from 'node:process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hostAuthorities } from '#src/drivers/compute/host-packages.ts'
import type { Progress } from '#src/drivers/compute/machine.ts'
import { toQcow2 } from './images.ts'
import { buildDebian, type DebianBuild, type Step } from './mmdebstrap.ts'
import { hashOfParts, type Recipe } from './recipe.ts'

/** The files that its guest and its build script consist of. */
export const baseGuestFolder = fileURLToPath(new URL('../guest/image', import.meta.url))
/** The packages of its guest. */
export const basePackagesFile = join(baseGuestFolder, 'packages.txt')
const require = createRequire(import.meta.url)

/** Every disk of a machine has this size unless it asks for more; all folder disks have it. Nothing is allocated ahead. */
export const baseDiskMb = 10 * 1024

/** The lines of the build's output that mark progress, and how far each is. */
const steps: readonly Step[] = [
  ['I: running apt-get update', 0.01, 'Reading Debian’s package lists'],
  ['I: downloading packages', 0.04, 'Downloading packages'],
  ['I: extracting archives', 0.1, 'Unpacking the base system'],
  ['I: installing essential', 0.15, 'Installing the base system'],
  ['I: installing remaining', 0.25, 'Installing git, Python, Ruby, Go and tools'],
  ['berth: copying Node', 0.6, 'Copying Node and npm'],
  ['berth: compiling', 0.62, 'Compiling the guest’s program'],
  ['berth: unpacking the kernel', 0.64, 'Unpacking the kernel'],
  ['berth: setting up', 0.7, 'Setting up the guest'],
  ['berth: warming', 0.73, 'Warming Go’s build cache'],
  ['berth: making the disks', 0.88, 'Making the disk image'],
]

/** How `base` is made. */
export const baseRecipe: Recipe = {
  name: 'base',
  diskMb: baseDiskMb,
  hash: hashBase,
  build: (out, _cacheDir, progress) =>
    buildLikeBase(
      out,
      {
        packagesFiles: [basePackagesFile],
        hooks: { customize: 'sh "$GUEST/build.sh" "$1"' },
        variables: {},
        steps,
        niceness: 0,
      },
      progress,
    ),
}

/** Builds `base`, or what is `base` and more by a script that ends with its own, into an empty folder. @throws Error as buildDebian. */
export async function buildLikeBase(
  out: string,
  build: Omit<DebianBuild, 'variables'> & { variables: Readonly<Record<string, string>> },
  progress: Progress,
): Promise<void> {
  const certificates = join(out, 'certificates')
  mkdirSync(certificates)
  hostAuthorities().forEach((certificate, index) => writeFileSync(join(certificates, `host-${index}.crt`), certificate))
  const variables = {
    GUEST: baseGuestFolder,
    OUT: out,
    CERTIFICATES: certificates,
    NODE: nodeProgram(),
    NPM: dirname(require.resolve('npm/package.json')),
    KERNEL: `linux-image-cloud-${arch === 'arm64' ? 'arm64' : 'amd64'}`,
    BUSYBOX: '/bin/busybox',
    IMAGE_SIZE: `${baseDiskMb}M`,
    ...build.variables,
  }
  await buildDebian({ ...build, variables }, progress)
  progress(0.96, 'Making the disk image')
  await toQcow2(join(out, 'folder.img'), join(out, 'folder.qcow2'))
  rmSync(certificates, { recursive: true })
  chmodSync(out, 0o755)
}

function hashBase(): string {
  const parts: string[] = [arch, String(baseDiskMb)]
  parts.push(...contentsOf(baseGuestFolder))
  for (const name of [`node-linux-${arch}/package.json`, 'npm/package.json'])
    parts.push((require(name) as { version: string }).version) // every package.json has it
  return hashOfParts([...parts, ...hostAuthorities()])
}

/** The names and contents of all files below a folder. */
export function contentsOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .flatMap((name) => {
      const path = join(folder, name)
      return statSync(path).isFile() ? [name, readFileSync(path, 'latin1')] : []
    })
}

/** The Node of our own package, which is the one that the guests get. */
function nodeProgram(): string {
  return join(dirname(require.resolve(`node-linux-${arch}/package.json`)), 'bin', 'node')
}
