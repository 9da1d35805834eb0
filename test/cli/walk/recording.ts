/** The recording of a walk: a text with what a person types and what is printed, and how it is compared with what happens. */
import { stripVTControlCharacters } from 'node:util'

/** A command with what it prints. What a person types at a question stands in « ». */
export type Step = { command: string; printed: string[]; exit: number }

/** A piece of the recording: text, or commands. Those of `atTerminal` mean something at a terminal only. */
export type Piece =
  | { kind: 'text'; lines: string[] }
  | { kind: 'steps'; steps: Step[]; atTerminal: boolean; section: string }

const fence = /^```(console|terminal)$/

/** Reads a recording. @throws Error for one whose fences do not fit. */
export function readRecording(text: string): Piece[] {
  const pieces: Piece[] = []
  let section = ''
  let open: Extract<Piece, { kind: 'steps' }> | undefined
  let written: string[] = []
  for (const line of text.replace(/\n$/, '').split('\n')) {
    if (open) {
      if (line === '```') open = undefined
      else readLine(open.steps, line)
      continue
    }
    section = /^## (.*)$/.exec(line)?.[1] ?? section
    const [, kind] = fence.exec(line) ?? []
    if (kind === undefined) {
      written.push(line)
      continue
    }
    pieces.push({ kind: 'text', lines: written })
    written = []
    open = { kind: 'steps', steps: [], atTerminal: kind === 'terminal', section }
    pieces.push(open)
  }
  if (open) throw new Error(`A fence of '${section}' is not closed.`)
  return [...pieces, { kind: 'text', lines: written }]
}

function readLine(steps: Step[], line: string): void {
  const [, command] = /^\$ (.*)$/.exec(line) ?? []
  const [, exit] = /^# ends with (\d+)$/.exec(line) ?? []
  const last = steps.at(-1)
  if (command !== undefined) steps.push({ command, printed: [], exit: 0 })
  else if (!last) throw new Error(`'${line}' stands before any command.`)
  else if (exit === undefined) last.printed.push(line)
  else last.exit = Number(exit)
}

/** Writes it again. */
export function writeRecording(pieces: readonly Piece[]): string {
  const lines = pieces.flatMap((piece) =>
    piece.kind === 'text'
      ? piece.lines
      : [
          piece.atTerminal ? '```terminal' : '```console',
          ...piece.steps.flatMap(({ command, printed, exit }) => [
            `$ ${command}`,
            ...printed,
            ...(exit === 0 ? [] : [`# ends with ${exit}`]),
          ]),
          '```',
        ],
  )
  return `${lines.join('\n')}\n`
}

/** Each thing that differs from one walk to the next, by a placeholder that says what it is. */
const placeholders: readonly (readonly [RegExp, string])[] = [
  [/\b([a-z]{2,8})_[0-9a-z]{26}\b/g, '$1_<id>'],
  [/\bprj-[0-9a-z]{26}\b/g, 'prj-<id>'],
  [/\bsvc_live_ak_[\w.-]+/g, 'svc_live_ak_<secret>'],
  [/^[0-9a-z]{16}(?=\. The key)/gm, '<id>'],
  [/\bpostgresql:\/\/\S+/g, 'postgresql://<user>:<password>@<host>/<name>'],
  [/\bhttps?:\/\/\S*berth\.localhost:\d+\S*/g, 'https://<address>/'],
  [/\/invitations\/\S+|\/join\S+/g, '/<invitation>'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
  [/\b[0-9a-zA-Z_-]{32,}\b/g, '<secret>'],
  [/(?<=^|\s)\d+[smhd](?=\s|$)/gm, '<age>'],
  [/\b\d+(?:\.\d+)? (?:B|kB|MB|GB)(?=\s|$)/gm, '<size>'],
  [/(?<![\d.])\d+\.\d+\.\d+(?![\d.])/g, '<version>'],
  [/(?<=\S) {2,}/g, '  '],
]

/** Output without what moves a cursor, and with placeholders; `port` is where Berth is, which the recording calls 4000. */
export function plainOf(output: string, port: number): string[] {
  const lines = stripVTControlCharacters(output)
    .replace(/\r+\n/g, '\n')
    .split('\n')
    .map((line) => line.split('\r').at(-1) ?? '') // what was written over has gone
  while (lines.at(-1) === '') lines.pop()
  let text = lines
    .join('\n')
    .replaceAll(`localhost:${port}`, 'localhost:4000')
    .replaceAll(`127.0.0.1:${port}`, 'localhost:4000')
  for (const [pattern, placeholder] of placeholders) text = text.replace(pattern, placeholder)
  return text === '' ? [] : text.split('\n').map((line) => line.trimEnd())
}
