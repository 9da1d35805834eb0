/**
 * Scripts of the built-in model: lines in the conversation that tell it what to do. "The built-in model" in
 * docs/models.md describes them. A line counts when it begins with one of the words; all other text of the message is
 * for people.
 */
import { BerthError } from '#src/platform/errors.ts'
import type { Message, UserPart } from './model.ts'

/** One step of a script; `paceMs` is how long to wait between its pieces. */
export type DemoStep =
  | { type: 'reason' | 'say'; text: string; paceMs: number }
  | { type: 'repeat'; count: number; text: string; paceMs: number }
  | { type: 'tool'; name: string; arguments: string; paceMs: number }

/** One answer of the model: everything up to and with the next group of tool calls. */
export type DemoTurn = readonly DemoStep[]

/** The next turn, or null when there is no script or all of it is done; and the number of turns done before. */
export type DemoDue = { turn: DemoTurn | null; turnsDone: number; scriptAt: number }

const linesMax = 10_000
const repeatsMax = 10_000_000
const paceMsMax = 60_000
/** The maximum length of a line; no answer is that long. Unit: characters. */
const lineLengthMax = 4 * 1024 * 1024
const scriptWord = /^!(reason|say|tool\+?|repeat|forever|pace)(?:[ \t]+|$)/

/**
 * The next turn. The script is in the last user message, or else in the last system message that has one. Done turns
 * are counted by the assistant messages that follow it.
 * @throws BerthError invalid_messages naming the script line that cannot be read.
 */
export function dueTurn(messages: readonly Message[]): DemoDue {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  const scriptAt = isScript(messages[lastUser])
    ? lastUser
    : messages.findLastIndex((message) => message.role === 'system' && isScript(message))
  if (scriptAt < 0) return { turn: null, turnsDone: 0, scriptAt: messages.length }
  const { turns, forever } = readTurns(linesOf(messages[scriptAt]))
  const turnsDone = messages.slice(scriptAt + 1).filter(({ role }) => role === 'assistant').length
  return { turn: turns[turnsDone] ?? (forever ? [forever] : null), turnsDone, scriptAt }
}

/** The beginning of a message's text without its script lines: `most` characters and the line that they end in. */
export function textForPeople(message: Message | undefined, most: number): string {
  let text = ''
  for (const line of linesOf(message)) {
    const isEmpty = line.trim() === ''
    if (scriptWord.test(line) || (text === '' && isEmpty)) continue
    text += text === '' ? line.trimStart() : `\n${line}`
    if (!isEmpty && text.length > most) break
  }
  return text.trimEnd()
}

function isScript(message: Message | undefined): boolean {
  return linesOf(message).some((line) => scriptWord.test(line))
}

function textsOf(message: Message): string[] {
  if (message.role !== 'user') return [message.text]
  return message.parts
    .filter((part): part is Extract<UserPart, { type: 'text' }> => part.type === 'text')
    .map(({ text }) => text)
}

/** The lines of a message, one after the other: to split or join its texts, which may have 32 MiB, takes too long. */
function* linesOf(message: Message | undefined): Generator<string> {
  let lines = 0
  for (const text of message ? textsOf(message) : []) {
    for (let start = 0; start <= text.length; ) {
      if (++lines > linesMax) return
      const found = text.indexOf('\n', start)
      const next = found < 0 ? text.length : found
      const end = next > start && text[next - 1] === '\r' ? next - 1 : next
      yield text.slice(start, Math.min(end, start + lineLengthMax))
      start = next + 1
    }
  }
}

function readTurns(lines: Iterable<string>): { turns: DemoTurn[]; forever: DemoStep | null } {
  const turns: DemoStep[][] = [[]]
  let paceMs = 0
  let number = 0
  for (const line of lines) {
    number++
    const match = scriptWord.exec(line)
    if (!match) continue
    const [begin, word = ''] = match
    const rest = line.slice(begin.length)
    const wrong = (wanted: string): BerthError =>
      new BerthError(
        'invalid_messages',
        `Line ${number} of the script must be: ${wanted}. See "The built-in demo model" in docs/models.md.`,
      )
    const current = turns.at(-1) ?? []
    const afterTool = current.at(-1)?.type === 'tool'
    if (word === 'pace') {
      if (!/^\d{1,5}$/.test(rest) || Number(rest) > paceMsMax) throw wrong(`!pace <milliseconds, ${paceMsMax} at most>`)
      paceMs = Number(rest)
      continue
    }
    const step = readStep(word, rest, paceMs, wrong)
    // A tool call ends the turn, unless the next line joins it.
    if (afterTool && word !== 'tool+') turns.push([step])
    else current.push(step)
    if (word === 'forever') return { turns, forever: step }
  }
  return { turns: turns.filter((turn) => turn.length > 0), forever: null }
}

function readStep(word: string, rest: string, paceMs: number, wrong: (wanted: string) => BerthError): DemoStep {
  if (word === 'reason' || word === 'say') return { type: word, text: rest, paceMs }
  if (word === 'repeat') {
    const [, count = '', text = ''] = /^(\d{1,8}) (.+)$/.exec(rest) ?? []
    if (text === '' || Number(count) > repeatsMax) throw wrong(`!repeat <times, ${repeatsMax} at most> <text>`)
    return { type: 'repeat', count: Number(count), text, paceMs }
  }
  // The arguments are passed as they are: a model may write no JSON at all.
  const [, name = '', given = ''] = /^(\S{1,256})(?: (.*))?$/.exec(rest) ?? []
  if (name === '') throw wrong(`!${word} <name> <JSON>`)
  return { type: 'tool', name, arguments: given === '' ? '{}' : given, paceMs }
}
