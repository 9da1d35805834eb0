/** Others' text stays text: its control characters are shown, so that they change neither the page nor what it says. */

/** Escape sequences of terminals, for logs: colours are left out. */
// eslint-disable-next-line no-control-regex
const sequences = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|.)/g
/** Control characters but tab and line break, and those that change the direction of what follows. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** A name or value with its control characters shown. */
export function plain(text: string): string {
  return text.replace(controls, shown)
}

/** Output of a program: without the sequences of terminals, other control characters shown. */
export function plainOutput(text: string): string {
  return text.replace(sequences, '').replaceAll('\r\n', '\n').replace(controls, shown)
}

function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code < 0x20 ? String.fromCodePoint(0x2400 + code) : `\\u${code.toString(16).padStart(4, '0')}`
}
