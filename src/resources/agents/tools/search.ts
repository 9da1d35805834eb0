/** `glob` and `grep`: finding files and lines in the session's VM. */
import type { GuestTool } from './guest-shapes.ts'
import { enterFolder, refusedCode, unfit } from './guest-scripts.ts'
import { refusal } from './files.ts'
import { answered } from './results.ts'

const timeoutMs = 60_000
/** How many matches are shown, and how many characters of a line. */
const foundMax = 500
const lineCharacters = 500
/** Folders that are skipped, unless the path or the pattern names them. */
const passedOver = ['.git', 'node_modules', '.venv', '__pycache__']

const globScript = `import glob, os, sys
folder, pattern, path, most, over = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]
try:
    os.chdir(open(folder).read().rstrip('\\n'))
except OSError:
    pass
if not os.path.isdir(path):
    sys.stderr.write('%s is not a folder.\\n' % path)
    sys.exit(${refusedCode})
found = []
for name in glob.iglob(os.path.join(path, pattern), recursive=True, include_hidden=True):
    if any(part in over and part not in pattern for part in name.split(os.sep)):
        continue
    try:
        about = os.lstat(name)
    except OSError:
        continue
    if not os.path.isdir(name):
        found.append((-about.st_mtime_ns, name))
found.sort()
for _, name in found[:most]:
    print(os.path.normpath(name))
if len(found) > most:
    print('[Cut: %d more.]' % (len(found) - most))`

/** `glob`. */
export const globTool: GuestTool = {
  order({ pattern, path = '.' }, { folderFile }) {
    const wrong = unfit({ pattern: String(pattern), path: String(path) })
    return (
      wrong ?? {
        argv: [
          '/usr/bin/python3',
          '-ISc',
          globScript,
          folderFile,
          String(pattern),
          String(path),
          String(foundMax),
          ...passedOver,
        ],
        timeoutMs,
      }
    )
  },
  result(end) {
    return end.exitCode === 0
      ? answered(end.stdout.trimEnd() || 'No files match.')
      : refusal(end, 'The files could not be listed.')
  },
}

const grepScript = `${enterFolder}
pattern=$1 path=$2 most=$3 wide=$4; shift 4
[ -e "$path" ] || { echo "There is nothing at $path." >&2; exit ${refusedCode}; }
grep -rnIE "$@" -e "$pattern" -- "$path" | head -n "$((most + 1))" | cut -c "1-$wide"
code=\${PIPESTATUS[0]}
[ "$code" = 141 ] && code=0
exit "$code"`

/** `grep`. */
export const grepTool: GuestTool = {
  order({ pattern, path = '.' }, { folderFile }) {
    const wrong = unfit({ pattern: String(pattern), path: String(path) })
    return (
      wrong ?? {
        argv: [
          '/bin/bash',
          '-c',
          grepScript,
          'grep',
          folderFile,
          String(pattern),
          String(path),
          String(foundMax),
          String(lineCharacters),
          ...passedOver.map((name) => `--exclude-dir=${name}`),
        ],
        timeoutMs,
      }
    )
  },
  result(end) {
    if (end.exitCode === 1 && end.stderr === '') return answered('No lines match.')
    if (end.exitCode !== 0 && end.stdout === '') return refusal(end, 'The search failed.')
    const lines = end.stdout.trimEnd().split('\n')
    return answered(
      lines.length > foundMax
        ? [
            ...lines.slice(0, foundMax),
            `[Cut: more than ${foundMax} lines match; search for something more specific.]`,
          ].join('\n')
        : lines.join('\n'),
    )
  },
}
