/** Statements of SQL in a text, which a server takes one by one. */

/**
 * What a text is made of, longest first: comments, strings, quoted names, bodies between dollars, and single characters. A string
 * or body that does not end goes up to the end.
 */
const pieces =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\b[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|(?<![\w$])\$(\w*)\$[\s\S]*?(?:\$\1\$|$)|[\s\S]/g

/** Each statement of a text, without its semicolon. What has comments only is none. */
export function statementsOf(text: string): string[] {
  const statements: string[] = []
  let statement = ''
  let hasWords = false
  const end = (): void => {
    if (hasWords) statements.push(statement.trim())
    statement = ''
    hasWords = false
  }
  for (const [piece] of text.matchAll(pieces)) {
    if (piece === ';') end()
    else {
      statement += piece
      hasWords ||= !/^(?:\s|--|\/\*)/.test(piece)
    }
  }
  end()
  return statements
}
