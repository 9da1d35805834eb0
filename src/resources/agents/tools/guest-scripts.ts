/** What the scripts of guest tools share. */
import { failed, type ToolResult } from './results.ts'

/** The largest text that a call may pass to the guest, in bytes: it must fit into one message. */
export const guestTextBytesMax = 384 * 1024
/** Linux allows 128 KiB for one argument; a longer text is passed in pieces. */
const argumentBytes = 96 * 1024

/** With this exit code, a script's standard error is a message for the model. */
export const refusedCode = 20
/** A shell function that ends a script so, with its argument as the message. */
export const refuseFunction = `refuse() { printf '%s\\n' "$1" >&2; exit ${refusedCode}; }\n`

/** Changes to the folder where the session's last command ended, so that relative paths mean the same in every tool. */
export const enterFolder = 'folder=$1; shift; [ -s "$folder" ] && cd -- "$(cat -- "$folder")" 2> /dev/null\n'

/** A text split into arguments that are short enough; joined, they are the text. */
export function inPieces(text: string): string[] {
  const bytes = Buffer.from(text)
  const pieces: string[] = []
  for (let at = 0; at < bytes.length; ) {
    let end = Math.min(at + argumentBytes, bytes.length)
    while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end-- // not inside a character
    pieces.push(bytes.toString('utf8', at, end))
    at = end
  }
  return pieces
}

/** The error about texts that cannot be passed to the guest; undefined when they can. */
export function unfit(texts: Readonly<Record<string, string>>): ToolResult | undefined {
  let bytes = 0
  for (const [name, text] of Object.entries(texts)) {
    if (text.includes('\0')) return failed(`${name} contains a NUL character, which cannot be passed on. Remove it.`)
    bytes += Buffer.byteLength(text)
  }
  return bytes > guestTextBytesMax
    ? failed(
        `${Object.keys(texts).join(' and ')} may have at most ${guestTextBytesMax / 1024} KiB together; use several smaller calls.`,
      )
    : undefined
}
