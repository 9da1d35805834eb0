/** The sections of a document: each heading with what stands below it. */

/** One of them. `anchor` is that of its heading. */
export type Section = { path: string; title: string; heading: string; anchor: string; text: string }

const heading = /^(#{1,6}) (.+)$/
const leadsTo = ']('

/** The addresses to which a text of Markdown leads. */
export function linksIn(text: string): string[] {
  const [, ...parts] = text.split(leadsTo)
  return parts.map((part) => part.slice(0, Math.max(0, part.indexOf(')'))))
}

/** A text of Markdown as one reads it: what its links say, without where they lead, and without marks. */
export function plainText(text: string): string {
  const [first = '', ...parts] = text.split(leadsTo)
  return [first, ...parts.map((part) => part.slice(part.indexOf(')') + 1))].join('').replace(/[`*_|[\]]/g, '')
}

/** As GitHub makes the anchor of a heading. @param seen how often each was made in this document, which is counted on */
export function anchorOf(text: string, seen: Map<string, number>): string {
  const plain = plainText(text)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\- ]/gu, '')
    .replaceAll(' ', '-')
  const before = seen.get(plain) ?? 0
  seen.set(plain, before + 1)
  return before === 0 ? plain : `${plain}-${before}`
}

/** Splits a document at its headings. @param text Markdown */
export function sectionsOf(path: string, text: string): Section[] {
  const sections: Section[] = []
  const seen = new Map<string, number>()
  let title = path
  let isCode = false
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode
    const [, level = '', name = ''] = isCode ? [] : (heading.exec(line) ?? [])
    if (name !== '') {
      const shown = name.replace(/[`*]/g, '')
      if (level === '#') title = shown
      sections.push({ path, title, heading: shown, anchor: anchorOf(name, seen), text: '' })
      continue
    }
    const last = sections.at(-1)
    if (last) last.text += `${line}\n`
  }
  return sections
}
