/** What the scripts of guest tools share. */
import { failed, type ToolResult } from './results.ts'

/** Largest text that a call may bring into the guest, bytes: what one message to it takes, with room for the rest. */
export const guestTextBytesMax = 384 * 1024
/** Linux takes 128 KiB for one argument; a longer text comes in pieces. */
const argumentBytes = 96 * 1024

/** What a script says on standard error when it ends with this code is for the model. */
export const refusedCode = 20

/** Goes to where the session's last command ended, so that paths mean the same to every tool. */
export const enterFolder = 'folder=$1; shift; [ -s "$folder" ] && cd -- "$(cat -- "$folder")" 2> /dev/null\n'

/** A text as arguments, each short enough; joined again they are the text. */
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

/** What is wrong with texts that are to be given to the guest; undefined when nothing is. */
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
