/** Documents as HTML. Markdown alone: HTML in a document is shown as text. */
import MarkdownIt from 'markdown-it'
import { addressOf } from './addresses.ts'
import { anchorOf } from './sections.ts'

/** Makes the page of a document. @param path where the document is, from which its links lead on */
export function renderDocument(path: string, text: string): string {
  const markdown = new MarkdownIt({ html: false, linkify: false })
  const seen = new Map<string, number>()
  markdown.renderer.rules['heading_open'] = (tokens, at) => {
    const { tag } = tokens[at]!
    return `<${tag} id="${anchorOf(tokens[at + 1]?.content ?? '', seen)}">`
  }
  const plainFence = markdown.renderer.rules['fence']!
  markdown.renderer.rules['fence'] = (...parts) => `<div class="code">${plainFence(...parts)}</div>`
  const here = new URL(path, 'file:///')
  markdown.core.ruler.push('links', ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const name = { link_open: 'href', image: 'src' }[token.type]
      const to = name && token.attrGet(name)
      if (name && typeof to === 'string' && !/^(?:[a-z]+:|\/|#)/.test(to))
        token.attrSet(name, pageOf(new URL(to, here)))
    }
  })
  return markdown.render(text)
}

function pageOf({ pathname, hash }: URL): string {
  const path = pathname.slice(1)
  return path.endsWith('.md') ? `${addressOf(path)}${hash}` : `/${path}`
}
