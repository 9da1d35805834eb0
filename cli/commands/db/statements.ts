/** Statements of SQL in a text, which a server takes one by one. */

const dollars = /\$\w*\$/y

/** Each statement of a text, without its semicolon. What has comments only is none. */
export function statementsOf(text: string): string[] {
  const statements: string[] = []
  let start = 0
  let hasWords = false
  const end = (at: number): void => {
    if (hasWords) statements.push(text.slice(start, at).trim())
    start = at + 1
    hasWords = false
  }
  let at = 0
  while (at < text.length) {
    if (text[at] === ';') end(at)
    const next = behindPiece(text, at)
    hasWords ||= !/^(?:[\s;]|--|\/\*)/.test(text.slice(at, at + 2))
    at = next
  }
  end(text.length)
  return statements
}

/** Where the comment, string, quoted name, body between dollars or character ends that begins there. */
function behindPiece(text: string, at: number): number {
  if (text.startsWith('--', at)) return behind(text, '\n', at)
  if (text.startsWith('/*', at)) return behind(text, '*/', at + 2)
  if (text[at] === '"') return behind(text, '"', at + 1)
  if (text[at] === "'") return hasEscapes(text, at) ? behindEscaped(text, at + 1) : behind(text, "'", at + 1)
  if (text[at] === '$' && !/[\w$]/.test(text[at - 1] ?? '')) {
    dollars.lastIndex = at
    const [tag] = dollars.exec(text) ?? []
    if (tag !== undefined) return behind(text, tag, at + tag.length)
  }
  return at + 1
}

/** Behind the next of these; at the end where there is none. */
function behind(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found < 0 ? text.length : found + mark.length
}

/** Whether a string is one of E'…', in which a backslash escapes a quote. */
function hasEscapes(text: string, at: number): boolean {
  return /[eE]/.test(text[at - 1] ?? '') && !/\w/.test(text[at - 2] ?? '')
}

function behindEscaped(text: string, from: number): number {
  let at = from
  while (at < text.length && text[at] !== "'") at += text[at] === '\\' ? 2 : 1
  return Math.min(at + 1, text.length)
}
