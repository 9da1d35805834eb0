/**
 * What is missing on this host to run VMs: programs (with the Debian packages that contain them) and users for
 * machines.
 */
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { arch, platform } from 'node:process'
import { isRoot } from '../platform/settings/places.ts'
import type { UidRange } from '../platform/settings/readers.ts'
import { takenUids } from './system-users.ts'

/**
 * What is missing: the packages that would install it (none, if a package is not the remedy), and a sentence for
 * people.
 */
export type MissingRequirements = { packages: readonly string[]; sentence: string }

const programFolders: readonly string[] = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
]
const headerBytes = 4096

/** Debian package -> the program whose presence shows that it, or another system's equivalent, is installed. */
const needed: Readonly<Record<string, string>> = {
  ...(arch === 'arm64' ? { 'qemu-system-arm': 'qemu-system-aarch64' } : { 'qemu-system-x86': 'qemu-system-x86_64' }),
  'qemu-utils': 'qemu-img',
  mmdebstrap: 'mmdebstrap',
  'busybox-static': 'busybox',
  cpio: 'cpio',
  'xz-utils': 'xz',
  e2fsprogs: 'mke2fs',
  'util-linux': 'setpriv',
  ...(isRoot() ? {} : { uidmap: 'newuidmap' }), // how mmdebstrap makes root's files without being root
}

/**
 * What is missing here before a VM can run, or null when nothing is. Cheap: it looks at a few files.
 * `uids` are the users of machines, null when Berth is not root; the folders are where programs are looked for. The sentence is what a refused VM creation answers (503) and what the doctor prints.
 */
export function missingRequirements(uids: UidRange | null, folders = programFolders): MissingRequirements | null {
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64')) {
    return { packages: [], sentence: 'VMs run on Linux on x64 or arm64 only; start Berth on such a host.' }
  }
  const packages = Object.keys(needed).filter((name) => !isHere(needed[name]!, folders))
  if (packages.length > 0) {
    const command = `apt-get install -y ${packages.join(' ')}`
    return {
      packages,
      sentence: isDebianFamily()
        ? `VMs need Debian packages that are missing here. Run \`${isRoot() ? '' : 'sudo '}${command}\` and start Berth again.`
        : `VMs need programs that are missing here (${packages.map((name) => needed[name]!).join(', ')}). Install them (on Debian: \`${command}\`) and start Berth again.`,
    }
  }
  const taken = uids && takenUids(uids)
  if (uids && taken) {
    return {
      packages: [],
      sentence: `Each VM runs as a user of its own, numbered ${uids.first} to ${uids.last}, and ${taken}. Set BERTH_VM_UIDS to numbers that are free, such as 50000-59999, and start Berth again.`,
    }
  }
  return null
}

/** Whether packages are installed with apt-get here. */
export function isDebianFamily(): boolean {
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/etc/os-release')) return false
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(readFileSync('/etc/os-release', 'utf8'))
}

function isHere(program: string, folders: readonly string[]): boolean {
  const path = folders.map((folder) => `${folder}/${program}`).find((candidate) => existsSync(candidate))
  if (!path) return false
  return program !== 'busybox' || isStatic(path)
}

/** The initial RAM disk holds no libraries, so busybox must need none: a dynamic program names its loader in its header. */
function isStatic(path: string): boolean {
  const header = Buffer.alloc(headerBytes)
  const file = openSync(path, 'r')
  try {
    readSync(file, header, 0, headerBytes, 0)
  } finally {
    closeSync(file)
  }
  return !header.includes('/ld-linux')
}
