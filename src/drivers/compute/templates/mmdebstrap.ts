/** Runs mmdebstrap, which unpacks a Debian and has a recipe's own script turn it into disk images. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { isRoot } from '#src/platform/settings/places.ts'
import { hostPackages } from '#src/drivers/compute/host-packages.ts'
import type { Progress } from '#src/drivers/compute/machine.ts'

/** The time limit for building a template. */
export const buildTimeoutMs = 30 * 60_000
/** The end of what the build printed is kept for its error. Unit: lines. */
const keptLines = 20

/**
 * As root, a build and all that it has started end with us, even by kill -9, and so do its mounts: what it had unpacked is in
 * the folder of what it makes, and whoever builds next removes that. Without root only mmdebstrap itself could; and in a
 * container whose root may not mount, which mmdebstrap copes with, it cleans up itself, unless it is killed.
 */
const apart = ['unshare', '--pid', '--mount-proc', '--kill-child']
const dyingWithUs = ['setpriv', '--pdeathsig', 'KILL', ...apart]

function mayBeApart(): boolean {
  return isRoot() && spawnSync(apart[0]!, [...apart.slice(1), 'true']).status === 0 // there is a first word
}

/** A line of the output that marks progress, how far that is, and what is being done. */
export type Step = readonly [begins: string, fraction: number, sentence: string]

/** One build. */
export type DebianBuild = {
  /** Files with the names of packages, one a line. */
  packagesFiles: readonly string[]
  /** Run by sh before packages other than the essential ones are unpacked, and after all are; $1 is the system's folder. */
  hooks: { essential?: string; customize: string }
  /** What the hooks read; OUT is the folder of what is made. */
  variables: Readonly<Record<string, string>> & { OUT: string }
  steps: readonly Step[]
  /** How much it gives way to other programs of this host, 0 to 19. */
  niceness: number
}

/** @throws Error with the end of what the build printed. */
export async function buildDebian(build: DebianBuild, progress: Progress): Promise<void> {
  const packages = await hostPackages()
  const args = [
    `--mode=${isRoot() ? 'root' : 'unshare'}`,
    '--variant=minbase',
    '--format=null',
    '--skip=cleanup', // the hook has done it, before the image was made
    `--include=${build.packagesFiles.flatMap((file) => readFileSync(file, 'utf8').trim().split('\n')).join(',')}`,
    ...packages.options.map((option) => `--aptopt=${option}`),
    ...['doc', 'man', 'info', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
    ...(build.hooks.essential ? [`--essential-hook=${build.hooks.essential}`] : []),
    `--customize-hook=${build.hooks.customize}`,
    'trixie',
    '/dev/null',
    '-',
  ]
  await run(build, args, packages.sources, progress)
}

async function run(
  { variables, steps, niceness }: DebianBuild,
  args: readonly string[],
  input: string,
  progress: Progress,
): Promise<void> {
  const endsWithUs = mayBeApart()
  const settings = Object.entries({ ...variables, ...(isRoot() ? { TMPDIR: variables.OUT } : {}) })
  const environment = settings.map(([name, value]) => `${name}=${value}`)
  const command = ['nice', '-n', String(niceness), 'env', ...environment, 'mmdebstrap', ...args]
  const [program = '', ...words] = endsWithUs ? [...dyingWithUs, ...command] : command
  const child = spawn(program, words, {
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: buildTimeoutMs,
    killSignal: endsWithUs ? 'SIGKILL' : 'SIGTERM', // unshare holds the other one back
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
  if (code !== 0) throw new Error(`mmdebstrap failed (${code ?? 'killed'}): ${last.join('\n')}`)
}
