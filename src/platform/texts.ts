/** Small things about texts. Trimming does without regular expressions, which would scan the same characters again from every position. */

/** A number and its noun: `1 VM`, `2 VMs`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** The text without this character at its end, however often it is repeated there. */
export function withoutEnding(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}

/** The text without this character at its beginning. */
export function withoutBeginning(text: string, character: string): string {
  let start = 0
  while (text[start] === character) start++
  return text.slice(start)
}

/** A text from outside that Postgres can store, also in JSON: without NUL characters and lone surrogates. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\u{fffd}').toWellFormed()
}
