/**
 * Builds the template `base`: a new machine's disk, its kernel and an empty folder disk. It is stored under the hash of
 * its recipe (the folder guest/, the versions of Node and npm, this host's extra certificate authorities), so a changed
 * recipe is another template; it is built in a separate folder and renamed when complete.
 */
import { execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { arch } from 'node:process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isRoot } from '#src/platform/settings/places.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { hostAuthorities, hostPackages } from './host-packages.ts'
import { withHostLock } from './host-lock.ts'
import type { Progress } from './machine.ts'
import { templatePlaces, type TemplatePlaces } from './places.ts'

const run = promisify(execFile)
const guestFolder = fileURLToPath(new URL('guest/image', import.meta.url))
const require = createRequire(import.meta.url)

/** Every disk of a machine has this size unless it asks for more; all folder disks have it. Nothing is allocated ahead. */
export const baseDiskMb = 10 * 1024
const buildTimeoutMs = 30 * 60_000
/** The end of what the build printed is kept for its error. Unit: lines. */
const keptLines = 20

/** The lines of the build's output that mark progress, and how far each is. */
const steps: readonly [begins: string, fraction: number, sentence: string][] = [
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

/** A built template and its hash. */
export type Template = { hash: string; places: TemplatePlaces }

/** The template that the current recipe makes, whether or not it is built. */
export function currentTemplate(cacheDir: string): Template {
  const hash = recipeHash()
  return { hash, places: templatePlaces(cacheDir, hash) }
}

/** Whether the current template is there, and how much it takes on disk; for the doctor. Unit: bytes. */
export function templateStatus(cacheDir: string): { built: boolean; sizeBytes: number } {
  const { places } = currentTemplate(cacheDir)
  if (!existsSync(places.made)) return { built: false, sizeBytes: 0 }
  const sizes = readdirSync(places.folder).map((name) => statSync(join(places.folder, name)).blocks * 512)
  return { built: true, sizeBytes: sizes.reduce((sum, size) => sum + size, 0) }
}

/**
 * Builds the template unless it exists.
 * @throws Error with the end of what the build printed.
 */
export async function ensureTemplate(cacheDir: string, progress: Progress): Promise<Template> {
  const template = currentTemplate(cacheDir)
  if (existsSync(template.places.made)) return template
  const folder = dirname(template.places.folder)
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  await withHostLock(
    join(folder, 'lock'),
    () => progress(0, 'Waiting for another Berth on this host that builds templates'),
    async () => {
      if (existsSync(template.places.made)) return
      // We hold the lock, so anything half built was left by a build that died.
      for (const name of readdirSync(folder))
        if (name.startsWith('building-')) rmSync(join(folder, name), { recursive: true, force: true })
      const building = join(folder, `building-${process.pid}`)
      mkdirSync(building)
      try {
        await build(building, progress)
        rmSync(template.places.folder, { recursive: true, force: true })
        renameSync(building, template.places.folder)
      } finally {
        rmSync(building, { recursive: true, force: true })
      }
    },
  )
  return template
}

async function build(out: string, progress: Progress): Promise<void> {
  const certificates = join(out, 'certificates')
  mkdirSync(certificates)
  hostAuthorities().forEach((certificate, index) => writeFileSync(join(certificates, `host-${index}.crt`), certificate))
  // Without root, the hook runs as a user of mmdebstrap's own, who must be able to write here.
  chmodSync(out, isRoot() ? 0o755 : 0o777)
  const packages = await hostPackages()
  const hook = 'sh "$GUEST/build.sh" "$1"'
  await runBuild(
    'mmdebstrap',
    [
      `--mode=${isRoot() ? 'root' : 'unshare'}`,
      '--variant=minbase',
      '--format=null',
      '--skip=cleanup', // the hook has done it, before the image was made
      `--include=${readFileSync(join(guestFolder, 'packages.txt'), 'utf8').trim().split('\n').join(',')}`,
      ...packages.options.map((option) => `--aptopt=${option}`),
      ...['doc', 'man', 'info', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
      `--customize-hook=${hook}`,
      'trixie',
      '/dev/null',
      '-',
    ],
    packages.sources,
    {
      GUEST: guestFolder,
      OUT: out,
      CERTIFICATES: certificates,
      NODE: nodeProgram(),
      NPM: dirname(require.resolve('npm/package.json')),
      KERNEL: `linux-image-cloud-${arch === 'arm64' ? 'arm64' : 'amd64'}`,
      BUSYBOX: '/bin/busybox',
      IMAGE_SIZE: `${baseDiskMb}M`,
    },
    progress,
  )
  progress(0.96, 'Making the disk image')
  await run('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', join(out, 'folder.img'), join(out, 'folder.qcow2')], {
    timeout: buildTimeoutMs,
  })
  chmodSync(join(out, 'folder.qcow2'), 0o444)
  rmSync(join(out, 'folder.img'))
  rmSync(certificates, { recursive: true })
  chmodSync(out, 0o755)
  writeFileSync(join(out, 'made.json'), JSON.stringify({ diskMb: baseDiskMb }))
}

async function runBuild(
  program: string,
  args: readonly string[],
  input: string,
  env: Record<string, string>,
  progress: Progress,
): Promise<void> {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const child = spawn('env', [...settings, program, ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: buildTimeoutMs,
  })
  const last: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    last.push(line)
    if (last.length > keptLines) last.shift()
    const step = steps.find(([begins]) => line.startsWith(begins))
    if (step) progress(step[1], step[2])
  })
  child.stdin.end(input)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`${program} failed (${code ?? 'killed'}): ${last.join('\n')}`)
}

function recipeHash(): string {
  const parts: string[] = [arch, String(baseDiskMb)]
  for (const name of readdirSync(guestFolder, { recursive: true, encoding: 'utf8' }).sort()) {
    const path = join(guestFolder, name)
    if (statSync(path).isFile()) parts.push(name, readFileSync(path, 'latin1'))
  }
  for (const name of [`node-linux-${arch}/package.json`, 'npm/package.json'])
    parts.push((require(name) as { version: string }).version) // every package.json has it
  return sha256(JSON.stringify([...parts, ...hostAuthorities()]))
    .toString('hex')
    .slice(0, 16)
}

/** The Node of our own package, which is the one that the guests get. */
function nodeProgram(): string {
  return join(dirname(require.resolve(`node-linux-${arch}/package.json`)), 'bin', 'node')
}
