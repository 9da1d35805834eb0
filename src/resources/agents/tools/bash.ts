/**
 * `bash`: a command in the session's VM. Each command gets a new shell, which starts in the folder where the last one
 * ended.
 */
import type { GuestTool } from './guest-shapes.ts'
import { cutMiddle, failed } from './results.ts'
import { unfit } from './guest-scripts.ts'

/**
 * The time limit of a command in seconds, and its maximum length in bytes, which is that of one argument of a program.
 */
export const bashLimits = { secondsDefault: 120, secondsMax: 600, commandBytes: 96 * 1024 } as const

const script = `exec 2>&1
folder=$1
[ -s "$folder" ] && cd -- "$(cat -- "$folder")" 2> /dev/null
trap 'pwd > "$folder.$$" && mv -f -- "$folder.$$" "$folder"' EXIT
eval "$2"`

/** `bash`. */
export const bashTool: GuestTool = {
  order({ command, restart, timeout_ms: timeoutMs }, { folderFile }) {
    if (restart === true) return { argv: ['/bin/rm', '-f', '--', folderFile], timeoutMs: 10_000 }
    if (typeof command !== 'string' || command.trim() === '')
      return failed('command is required and must not be empty.')
    if (Buffer.byteLength(command) > bashLimits.commandBytes)
      return failed(
        `command may have at most ${bashLimits.commandBytes / 1024} KiB; write a script with the write tool, and run that.`,
      )
    const wrong = unfit({ command })
    if (wrong) return wrong
    const wantedMs = typeof timeoutMs === 'number' && timeoutMs > 0 ? timeoutMs : bashLimits.secondsDefault * 1000
    return {
      argv: ['/bin/bash', '-lc', script, 'bash', folderFile, command],
      timeoutMs: Math.min(wantedMs, bashLimits.secondsMax * 1000),
    }
  },
  result({ exitCode, timedOut, stdout }, { restart }, timeoutMs) {
    if (restart === true) return { text: 'The shell was restarted; it begins in /home/user.', isError: false }
    const printed = cutMiddle(stdout)
    const lines = [
      ...(printed === '' ? [] : [printed.replace(/\n$/, '')]),
      ...(timedOut
        ? [`[Stopped: it did not end within ${timeoutMs / 1000} s.]`]
        : exitCode !== 0
          ? [`[exit code ${exitCode}]`]
          : []),
    ]
    return { text: lines.length > 0 ? lines.join('\n') : '(no output)', isError: timedOut || exitCode !== 0 }
  },
}
