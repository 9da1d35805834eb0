/** The readable text of an HTML page: without markup, scripts and styles, in linear time. */
import { Tokenizer } from 'htmlparser2'
import { withoutBeginning, withoutEnding } from '#src/platform/texts.ts'

/** Elements that start a new line. */
const blocks = new Set([
  'p',
  'div',
  'br',
  'li',
  'ul',
  'ol',
  'tr',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'section',
  'article',
  'header',
  'footer',
  'pre',
  'blockquote',
  'table',
])
/** Elements whose content is not visible. */
const hidden = new Set(['script', 'style', 'noscript', 'template', 'svg'])
const longestName = 16 // characters of a tag's name that are looked at
const noBreakSpace = '\u00a0'

/** The page's text. */
export function textOfHtml(html: string): string {
  const pieces: string[] = []
  let hiddenBy: string | null = null
  const nameAt = (start: number, end: number): string =>
    html.slice(start, Math.min(end, start + longestName)).toLowerCase()
  const add = (text: string): void => {
    if (hiddenBy === null) pieces.push(text)
  }
  const breakLine = (name: string): void => {
    if (blocks.has(name)) add('\n')
  }
  const ignore = (): void => undefined
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => add(html.slice(start, end).replace(/[ \t\r\n]+/g, ' ')),
      ontextentity: (codePoint) => add(String.fromCodePoint(codePoint)),
      onopentagname(start, end) {
        const name = nameAt(start, end)
        breakLine(name)
        if (hidden.has(name)) hiddenBy ??= name
      },
      onclosetag(start, end) {
        const name = nameAt(start, end)
        if (name === hiddenBy) hiddenBy = null
        else breakLine(name)
      },
      onattribdata: ignore,
      onattribentity: ignore,
      onattribend: ignore,
      onattribname: ignore,
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onprocessinginstruction: ignore,
      onselfclosingtag: ignore,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return tidy(pieces.join(''))
}

/** Lines without spaces at their ends, and at most one empty line between two. */
function tidy(text: string): string {
  const lines: string[] = []
  for (const line of text.split('\n')) {
    const trimmed = withoutEnding(withoutBeginning(line.replaceAll(noBreakSpace, ' '), ' '), ' ').replace(/ +/g, ' ')
    if (trimmed !== '' || lines.at(-1) !== '') lines.push(trimmed)
  }
  return lines.join('\n').trim()
}
