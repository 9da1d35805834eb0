/** Files of a guest, handled as `user` by small scripts there. Content is base64 text. */
import { timestamp } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { FileEntry } from '#src/drivers/node.ts'
import { collect, execInGuest, type GuestResult } from './exec.ts'
import { runOnce } from './once.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'

const timeoutMs = 20_000
/** The scripts' exit codes besides success. */
const codes = {
  absent: 20,
  folder: 21,
  refused: 22,
  notFolder: 23,
  taken: 24,
  noParent: 25,
  inside: 26,
  incomplete: 27,
} as const

const readScript = `[ -e "$1" ] || exit ${codes.absent}
[ -d "$1" ] && exit ${codes.folder}
exec head -c "$2" -- "$1"`

/** The file changes once all of `$2` bytes are here: a connection that ends, and a time limit, leave it as it was. */
const writeScript = `[ -d "$1" ] && exit ${codes.folder}
whole=$(mktemp) || exit 1
trap 'rm -f -- "$whole"' EXIT
trap 'exit ${codes.incomplete}' HUP INT TERM
cat > "$whole"
[ "$(stat -c %s -- "$whole")" = "$2" ] || exit ${codes.incomplete}
mkdir -p -- "$(dirname -- "$1")" && cat -- "$whole" > "$1"`

const listScript = `[ -e "$1" ] || exit ${codes.absent}
[ -d "$1" ] || exit ${codes.notFolder}
export LC_ALL=C
find -H "$1" -mindepth 1 -maxdepth 1 -printf '%f/%y/%s/%T@\\0' | sort -z | head -z -n "$2"`

/** Makes a folder, and those above it; one that is there stays. */
const makeScript = `[ -e "$1" ] && [ ! -d "$1" ] && exit ${codes.notFolder}
exec mkdir -p -- "$1"`

/**
 * Sets `target` to what is at the path `$1`. A path is resolved through its real parent folder, so neither .. nor a link
 * circumvents the rules; a link at the end is meant itself. Refused: /, /proc, /sys, /dev, mount points and whatever has one
 * below it.
 */
const findTarget = `path=$1
while [ "$path" != / ] && [ "\${path%/}" != "$path" ]; do path=\${path%/}; done
name=\${path##*/}
case $name in
  ''|.|..) target=$(realpath -e -- "$path" 2> /dev/null) || exit ${codes.absent} ;;
  *) parent=$(realpath -e -- "\${path%/*}/" 2> /dev/null) || exit ${codes.absent}
     target=\${parent%/}/$name ;;
esac
[ -e "$target" ] || [ -L "$target" ] || exit ${codes.absent}
case $target in /|/proc|/proc/*|/sys|/sys/*|/dev|/dev/*) exit ${codes.refused} ;; esac
if [ ! -L "$target" ] && [ -d "$target" ]; then
  while read -r _ mount _; do
    case $mount in "$target"|"$target"/*) exit ${codes.refused} ;; esac
  done < /proc/self/mounts
fi`

const removeScript = `${findTarget}
if [ ! -L "$target" ] && [ -d "$target" ]; then [ "$2" = yes ] || exit ${codes.folder}; fi
exec rm -rf -- "$target"`

/** The folder of the new path must be there, and nothing at the path itself: `mv -n` leaves what came there meanwhile. */
const renameScript = `${findTarget}
path=$2
while [ "$path" != / ] && [ "\${path%/}" != "$path" ]; do path=\${path%/}; done
name=\${path##*/}
case $name in ''|.|..) exit ${codes.taken} ;; esac
parent=$(realpath -e -- "\${path%/*}/" 2> /dev/null) || exit ${codes.noParent}
wanted=\${parent%/}/$name
case $wanted in /proc/*|/sys/*|/dev/*) exit ${codes.refused} ;; esac
if [ -e "$wanted" ] || [ -L "$wanted" ]; then exit ${codes.taken}; fi
case $wanted in "$target"/*) exit ${codes.inside} ;; esac
mv -n -T -- "$target" "$wanted" || exit 1
if [ -e "$target" ] || [ -L "$target" ]; then exit ${codes.taken}; fi`

/** Reads a file of at most 700 KiB. @throws BerthError invalid_request when it is absent, a folder, larger, or not readable. */
export async function readFile(machine: Machine, path: string): Promise<{ content: string; sizeBytes: number }> {
  const channel = await machine.run({
    argv: ['/bin/dash', '-c', readScript, 'read', path, String(limits.fileBytes + 1)],
    timeoutMs,
  })
  const { stdout, stderr, exit } = await collect(channel, '', timeoutMs * 2)
  check(exit, path, stderr.text())
  const bytes = stdout.bytes()
  if (bytes.length > limits.fileBytes)
    throw new BerthError(
      'invalid_request',
      `The file is larger than ${limits.fileBytes / 1024} KiB. Get it as a stream: GET /api/v1/vms/{vm_id}/files?path=… (docs/vms.md).`,
    )
  return { content: bytes.toString('base64'), sizeBytes: bytes.length }
}

/** Writes a file, creating the folders above it. @throws BerthError invalid_request when the path cannot be written. */
export async function writeFile(machine: Machine, path: string, content: string): Promise<{ sizeBytes: number }> {
  const bytes = Buffer.from(content, 'base64')
  const { exitCode, stderr, timedOut } = await execInGuest(machine, {
    argv: ['/bin/dash', '-c', writeScript, 'write', path, String(bytes.length)],
    timeoutMs,
    stdin: bytes,
  })
  check({ exitCode, timedOut }, path, stderr)
  return { sizeBytes: bytes.length }
}

/**
 * Lists a folder: 1000 entries at most, ordered by name.
 * @throws BerthError invalid_request when it is absent or not a folder.
 */
export async function listFolder(machine: Machine, path: string): Promise<FileEntry[]> {
  const { exitCode, stdout, stderr, timedOut } = await execInGuest(machine, {
    argv: ['/bin/dash', '-c', listScript, 'list', path, String(limits.fileListMax)],
    timeoutMs,
  })
  check({ exitCode, timedOut }, path, stderr)
  return stdout.split('\0').filter(Boolean).map(readEntry)
}

/**
 * Removes a file, or with `recursive` a folder; returns whether there was one. A retry with the same id gets the same
 * answer, until it is acknowledged.
 * @throws BerthError invalid_request when that is refused.
 */
export async function removePath(
  machine: Machine,
  requestId: string,
  path: string,
  recursive: boolean,
): Promise<{ removed: boolean; taken: () => void }> {
  const { exitCode, stderr, timedOut, taken } = await runOnce(machine, requestId, {
    argv: ['/bin/dash', '-c', removeScript, 'remove', path, recursive ? 'yes' : 'no'],
    timeoutMs,
  })
  if (exitCode === codes.absent) return { removed: false, taken }
  if (exitCode !== 0) taken() // it changed nothing: a retry is refused again
  if (exitCode === codes.folder)
    throw new BerthError('invalid_request', 'The path is a folder; set recursive to delete it with everything in it.')
  check({ exitCode, timedOut }, path, stderr)
  return { removed: true, taken }
}

/**
 * Gives a file or a folder another path. A retry with the same id gets the same answer, until it is acknowledged.
 * @throws BerthError invalid_request when there is nothing to rename, or something at the new path, or that is refused.
 */
export async function renamePath(
  machine: Machine,
  requestId: string,
  path: string,
  newPath: string,
): Promise<{ taken: () => void }> {
  const { exitCode, stderr, timedOut, taken } = await runOnce(machine, requestId, {
    argv: ['/bin/dash', '-c', renameScript, 'rename', path, newPath],
    timeoutMs,
  })
  if (exitCode === 0) return { taken }
  taken() // it changed nothing: a retry is refused again
  const refusal: Readonly<Record<number, string>> = {
    [codes.taken]: `There is something at ${newPath} already. Delete it first, or choose another path.`,
    [codes.noParent]: `The folder of ${newPath} is not there. Create it first.`,
    [codes.inside]: `${newPath} is inside of ${path}, which cannot be moved into itself.`,
    [codes.refused]: `${path} or ${newPath} is a part of the system, or ${path} is or holds a mount point; it is not renamed.`,
  }
  const sentence = refusal[exitCode ?? -1]
  if (sentence !== undefined) throw new BerthError('invalid_request', sentence)
  check({ exitCode: exitCode ?? 1, timedOut }, path, stderr)
  return { taken }
}

/** Makes a folder, and those above it; one that is there stays as it is. @throws BerthError invalid_request when it cannot be made. */
export async function makeFolder(machine: Machine, path: string): Promise<void> {
  const { exitCode, stderr, timedOut } = await execInGuest(machine, {
    argv: ['/bin/dash', '-c', makeScript, 'make', path],
    timeoutMs,
  })
  check({ exitCode, timedOut }, path, stderr)
}

function readEntry(text: string): FileEntry {
  // A name holds no slash, so the fields after it are safe.
  const [name = '', kind = '', size = '', changed = ''] = text.split('/')
  const types: Record<string, FileEntry['type']> = { f: 'file', d: 'directory', l: 'symlink' }
  return {
    name,
    type: types[kind] ?? 'other',
    sizeBytes: Number(size),
    modifiedAt: timestamp(Math.trunc(Number(changed) * 1000)),
  }
}

function check({ exitCode, timedOut }: Pick<GuestResult, 'exitCode' | 'timedOut'>, path: string, stderr: string): void {
  if (exitCode === 0) return
  if (timedOut || exitCode === codes.incomplete)
    throw new BerthError(
      'vm_unreachable',
      `The VM does not answer right now: it was not done with ${path} in ${timeoutMs / 1000} s. Try again in a few seconds.`,
    )
  if (exitCode === codes.absent) throw new BerthError('invalid_request', `There is nothing at ${path}.`)
  if (exitCode === codes.folder) throw new BerthError('invalid_request', `${path} is a folder.`)
  if (exitCode === codes.notFolder) throw new BerthError('invalid_request', `${path} is not a folder.`)
  if (exitCode === codes.refused)
    throw new BerthError(
      'invalid_request',
      `${path} is, or holds, a mount point or a part of the system; it is not deleted.`,
    )
  const reason = stderr.trim().split('\n').at(-1)?.split(': ').at(-1)
  throw new BerthError('invalid_request', reason ? `${path}: ${reason}.` : `${path} could not be used.`)
}
