/** The frame of the guide's pages. It asks no other host; its one script copies examples, which say the reader's own address. */
import { sha256 } from '#src/platform/secrets.ts'
import { plainText, type Section } from './sections.ts'
import { addressOf } from './addresses.ts'

const excerptCharacters = 240

/** Runs in the browser, as text. */
const script = `
  for (const block of document.querySelectorAll('.code')) {
    const code = block.querySelector('code')
    code.textContent = code.textContent.replaceAll('http://localhost:4000', location.origin)
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(code.textContent)
      button.textContent = 'Copied'
      setTimeout(() => { button.textContent = 'Copy' }, 1500)
    })
    block.prepend(button)
  }
  const field = document.querySelector('#search')
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target === field) return
    event.preventDefault()
    field.focus()
  })
`
/** What the pages may do. */
export const guidePolicy = `default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; script-src 'sha256-${sha256(script).toString('base64')}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`

const style = `
  :root { color-scheme: light dark; --ground: light-dark(#f7f8fa, #101216); --raised: light-dark(#fff, #171a20); --line: light-dark(#dcdfe6, #2b303a);
    --ink: light-dark(#171a21, #e8eaf0); --soft: light-dark(#596072, #9aa2b5); --accent: light-dark(#1f5bd8, #86abff); font: 15px/24px system-ui, sans-serif }
  * { box-sizing: border-box } body { margin: 0; background: var(--ground); color: var(--ink); display: grid; grid-template-columns: 232px minmax(0, 1fr) }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 16px; border-right: 1px solid var(--line); font-size: 14px; line-height: 20px }
  nav ul { list-style: none; margin: 4px 0 16px; padding: 0 } nav a { display: block; padding: 3px 8px; border-radius: 6px; color: inherit; text-decoration: none }
  nav a[aria-current] { background: var(--raised); color: var(--accent); font-weight: 600 } nav a:hover { background: var(--raised) }
  nav b { padding: 0 8px } a { color: var(--accent) } main { padding: 24px 32px 64px; max-width: 880px; min-width: 0 }
  h1 { font-size: 26px; line-height: 32px; margin: 0 0 16px } h2 { font-size: 19px; margin: 32px 0 8px } h3 { font-size: 16px; margin: 24px 0 8px }
  code, pre { font: 13px/20px ui-monospace, monospace } pre { margin: 0; padding: 12px; overflow: auto; background: var(--raised); border: 1px solid var(--line); border-radius: 6px }
  .code { position: relative; margin: 12px 0 } .code button { position: absolute; top: 6px; right: 6px; font: inherit; font-size: 12px; background: var(--ground); color: inherit;
    border: 1px solid var(--line); border-radius: 6px; padding: 2px 8px; cursor: pointer } img { max-width: 100% }
  .wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; margin: 12px 0 } th, td { text-align: left; vertical-align: top; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
  input { font: inherit; width: 100%; padding: 4px 12px; color: inherit; background: var(--raised); border: 1px solid var(--line); border-radius: 6px; margin: 12px 0 }
  .soft { color: var(--soft) } :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px }
  @media (max-width: 720px) { body { grid-template-columns: minmax(0, 1fr) } nav { position: static; height: auto; max-height: 40vh; border-right: 0; border-bottom: 1px solid var(--line) } main { padding: 16px } }
`

/** A page of the guide, as the list at its side has it. */
export type Listed = { group: string; title: string; address: string }

/** Text as HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

/** A whole page. @param content HTML @param current its address */
export function pageWith(
  title: string,
  content: string,
  listed: readonly Listed[],
  current: string,
  query = '',
): string {
  const groups = Map.groupBy(listed, ({ group }) => group)
  const item = ({ title: name, address }: Listed): string =>
    `<li><a href="${address}"${address === current ? ' aria-current="page"' : ''}>${escapeHtml(name)}</a></li>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)} · Berth</title>
<style>${style}</style>
</head>
<body>
<nav aria-label="Pages">
<a href="/"><b>Berth</b></a>
<form action="/guide/search" role="search"><input id="search" name="q" type="search" aria-label="Search the guide" placeholder="Search  /" value="${escapeHtml(query)}"></form>
${[...groups].map(([group, pages]) => `<b>${escapeHtml(group)}</b>\n<ul>\n${pages.map(item).join('\n')}\n</ul>`).join('\n')}
</nav>
<main>
${content.replaceAll('<table>', '<div class="wide" tabindex="0" role="region" aria-label="Table"><table>').replaceAll('</table>', '</table></div>')}
</main>
<script>${script}</script>
</body>
</html>
`
}

/** What a search found, as the content of a page. */
export function foundHtml(query: string, found: readonly Section[]): string {
  const hit = ({ path, title, heading, anchor, text }: Section): string => {
    const name = heading === title ? title : `${title}: ${heading}`
    const prose = text.split('```').filter((_, at) => at % 2 === 0)
    const excerpt = plainText(prose.join('')).trim()
    return `<h2><a href="${addressOf(path)}#${anchor}">${escapeHtml(name)}</a></h2>\n<p class="soft">${escapeHtml(excerpt.slice(0, excerptCharacters))}</p>`
  }
  const none = '<p>Nothing has these words. Try the usual word for it, or another.</p>'
  return `<h1>${escapeHtml(query)}</h1>\n${found.length > 0 ? found.map(hit).join('\n') : none}`
}
