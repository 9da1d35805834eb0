/**
 * `read`, `write` and `edit`: files in the session's VM. Writing is atomic: a reader sees the old file or the new one.
 */
import type { GuestEnd, GuestTool } from './guest-shapes.ts'
import { enterFolder, inPieces, refusedCode, unfit } from './guest-scripts.ts'
import { answered, failed, resultLimits, type ToolResult } from './results.ts'
import { startOf } from '#src/platform/texts.ts'

const timeoutMs = 60_000
/** More than a result shows, so that it can tell whether there is more. */
const readBytesMax = 4 * resultLimits.characters

const readScript = `${enterFolder}
[ -e "$1" ] || { echo "There is nothing at $1." >&2; exit ${refusedCode}; }
[ -d "$1" ] && { echo "$1 is a folder; list it with glob or bash." >&2; exit ${refusedCode}; }
if [ "$2" = 1 ] && [ "$3" = '$' ]; then exec head -c "$4" -- "$1"; fi
sed -n "$2,$3p;$3q" -- "$1" | head -c "$4"
exit "\${PIPESTATUS[0]}"`

/** `read`. */
export const readTool: GuestTool = {
  order({ file_path: path, view_range: range }, { folderFile }) {
    const wrong = unfit({ file_path: String(path) })
    if (wrong) return wrong
    const [first, last] = Array.isArray(range) ? (range as number[]) : [1, 0] // the schema guarantees it
    if (first === undefined || last === undefined || first < 1 || (last > 0 && last < first))
      return failed(
        'view_range must be [first line, last line], counted from 1; a last line of 0 or less means the end.',
      )
    return {
      argv: [
        '/bin/bash',
        '-c',
        readScript,
        'read',
        folderFile,
        String(path),
        String(first),
        last > 0 ? String(last) : '$',
        String(readBytesMax),
      ],
      timeoutMs,
    }
  },
  result(end, { view_range: range }) {
    if (end.exitCode !== 0) return refusal(end, 'The file could not be read.')
    if (end.stdout.includes('\0'))
      return failed('This is not a text file. Inspect it with bash: with file, xxd or a program for its format.')
    if (end.stdout.length <= resultLimits.characters)
      return answered(end.stdout === '' ? '(nothing: the file is empty, or has no such lines)' : end.stdout)
    const shown =
      end.stdout.slice(0, end.stdout.lastIndexOf('\n', resultLimits.characters) + 1) ||
      startOf(end.stdout, resultLimits.characters)
    const next = (Array.isArray(range) ? Number(range[0]) : 1) + shown.split('\n').length - 1
    return {
      text: `${shown}[Cut here: a result has at most ${resultLimits.characters} characters. Read on with view_range [${next}, 0].]`,
      isError: false,
    }
  },
}

const writeScript = `${enterFolder}
path=$1; shift
[ -d "$path" ] && { echo "$path is a folder." >&2; exit ${refusedCode}; }
case $path in */) echo "$path is the name of a folder." >&2; exit ${refusedCode} ;; esac
[ -L "$path" ] && path=$(readlink -f -- "$path")
mkdir -p -- "$(dirname -- "$path")" || exit ${refusedCode}
next=$path.berth.$$
printf %s "$@" > "$next" && { [ ! -e "$path" ] || chmod --reference="$path" -- "$next"; } && mv -f -- "$next" "$path" || { rm -f -- "$next"; exit ${refusedCode}; }`

/** `write`. */
export const writeTool: GuestTool = {
  order({ file_path: path, content }, { folderFile }) {
    const wrong = unfit({ file_path: String(path), content: String(content) })
    return (
      wrong ?? {
        argv: ['/bin/bash', '-c', writeScript, 'write', folderFile, String(path), ...inPieces(String(content))],
        timeoutMs,
      }
    )
  },
  result(end, { file_path: path, content }) {
    return end.exitCode === 0
      ? answered(`Wrote ${Buffer.byteLength(String(content))} bytes to ${String(path)}.`)
      : refusal(end, 'The file could not be written.')
  },
}

/** Works on bytes, so that parts of the file that are not UTF-8 stay as they are. */
const editScript = `import os, sys
folder, path, every, olds = sys.argv[1], sys.argv[2], sys.argv[3] == 'yes', int(sys.argv[4])
pieces = [os.fsencode(piece) for piece in sys.argv[5:]]
old, new = b''.join(pieces[:olds]), b''.join(pieces[olds:])
def refuse(sentence):
    sys.stderr.write(sentence + '\\n')
    sys.exit(${refusedCode})
try:
    os.chdir(open(folder).read().rstrip('\\n'))
except OSError:
    pass
path = os.path.realpath(path)
try:
    with open(path, 'rb') as file:
        before = file.read()
    found = before.count(old)
    if found == 0:
        refuse('old_string does not occur in the file. Read it, and give the text exactly as it appears there.')
    if found > 1 and not every:
        refuse('old_string occurs %d times. Give more of its surroundings, or set replace_all.' % found)
    following = '%s.berth.%d' % (path, os.getpid())
    with open(following, 'wb') as file:
        file.write(before.replace(old, new))
        os.fchmod(file.fileno(), os.stat(path).st_mode & 0o7777)
    os.replace(following, path)
    print(found)
except OSError as error:
    refuse('%s: %s.' % (path, error.strerror))`

/** `edit`. */
export const editTool: GuestTool = {
  order({ file_path: path, old_string: before, new_string: after, replace_all: every }, { folderFile }) {
    if (before === '') return failed('old_string must not be empty; write the whole file with the write tool instead.')
    if (before === after) return failed('old_string and new_string are the same, so there is nothing to do.')
    const wrong = unfit({ file_path: String(path), old_string: String(before), new_string: String(after) })
    const old = inPieces(String(before))
    return (
      wrong ?? {
        argv: [
          '/usr/bin/python3',
          '-ISc',
          editScript,
          folderFile,
          String(path),
          every === true ? 'yes' : 'no',
          String(old.length),
          ...old,
          ...inPieces(String(after)),
        ],
        timeoutMs,
      }
    )
  },
  result(end, { file_path: path }) {
    const count = end.stdout.trim()
    return end.exitCode === 0
      ? answered(`Replaced ${count} ${count === '1' ? 'occurrence' : 'occurrences'} in ${String(path)}.`)
      : refusal(end, 'The file could not be changed.')
  },
}

/** The error message of a script, or a general one. */
export function refusal({ exitCode, timedOut, stderr }: GuestEnd, otherwise: string): ToolResult {
  if (timedOut) return failed(`${otherwise} It took too long.`)
  const message = stderr.trim()
  return failed(
    message === ''
      ? `${otherwise} (exit code ${exitCode})`
      : exitCode === refusedCode
        ? message
        : `${otherwise} ${message}`,
  )
}
