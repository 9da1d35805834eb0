/**
 * The page at /docs: every documented path of the three surfaces in readable form, made from the same OpenAPI documents
 * that generators read. It loads nothing from other hosts, so it works without internet; its one script is its search.
 */
import type { FastifyInstance } from 'fastify'
import { keepText, sendKept } from '#src/platform/compression.ts'
import { sha256 } from '#src/platform/secrets.ts'
import type { Json } from './openapi/components.ts'
import { escapeHtml } from './docs-page/html.ts'
import { componentHtml, operationHtml, type Described } from './docs-page/parts.ts'

/** A surface's OpenAPI document and its path. */
export type Documented = { name: string; openapiPath: string; mount: string; description: Json }

/** Adds `/docs`. */
export function serveDocsPage(app: FastifyInstance, documented: readonly Documented[]): void {
  const page = keepText('text/html; charset=utf-8', makePage(documented))
  app.get('/docs', (request, reply) =>
    sendKept(request, reply.header('content-security-policy', policy).header('referrer-policy', 'no-referrer'), page),
  )
}

/** Runs in the browser, as text: shows what has all words that are looked for, in what it is called or in what it does. */
const search = `
  const field = document.querySelector('#search'), none = document.querySelector('#none')
  const parts = [...document.querySelectorAll('details[data-words]')]
  const heads = [...document.querySelectorAll('main h3, main h3 + p')]
  const look = () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean)
    let found = 0
    for (const part of parts) {
      part.hidden = !words.every((word) => part.dataset.words.includes(word))
      if (!part.hidden) found++
    }
    for (const head of heads) head.hidden = words.length > 0
    none.hidden = found > 0
  }
  field.addEventListener('input', look)
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target === field) return
    event.preventDefault()
    field.focus()
  })
  addEventListener('hashchange', () => { field.value = ''; look() })
  document.querySelector('#looking').hidden = false
  look()
`
const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${sha256(search).toString('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

type Operations = readonly { method: string; path: string; operation: Described }[]

function operationsOf({ mount, description }: Documented): Operations {
  return Object.entries(description['paths'] as Record<string, Record<string, Described>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: mount + path,
      operation,
    })),
  )
}

function makePage(documented: readonly Documented[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Berth: REST</title>
<style>${style}</style>
</head>
<body>
<nav aria-label="Nouns">
<a href="/"><b>Berth</b></a>
${documented.map(navigationHtml).join('\n')}
</nav>
<main>
<h1>REST</h1>
<p id="looking" role="search" hidden><input id="search" type="search" aria-label="Search" placeholder="Search paths, such as: create vm ( / )"></p>
<p>Every path is a view of the <a href="/graphql">GraphQL</a> schema. Send <code>Authorization: Bearer …</code> with a
token or a key, and JSON as <code>application/json</code>. A field or a query parameter that a path does not take is
refused by name. A POST with an <code>Idempotency-Key</code> runs once in 24 hours.</p>
${documented.map(surfaceHtml).join('\n')}
<p id="none" role="status" hidden>Nothing has all of these words.</p>
</main>
<script>${search}</script>
</body>
</html>
`
}

function titleOf({ description }: Documented): string {
  return escapeHtml((description['info'] as { title: string }).title)
}

type Tag = { name: string; description?: string }

function navigationHtml(surface: Documented): string {
  const tags = surface.description['tags'] as Tag[]
  const links = tags.map(({ name }) => `<a href="#${surface.name}.${name}">${escapeHtml(name)}</a>`)
  return `<a href="#${surface.name}">${titleOf(surface)}</a><div>${links.join('')}<a href="#${surface.name}.objects">objects</a></div>`
}

function surfaceHtml(surface: Documented): string {
  const operations = operationsOf(surface)
  const tags = (surface.description['tags'] as Tag[]).map(({ name, description = '' }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name))
    const listed = own.map((one) => operationHtml(surface.name, one.method, one.path, one.operation)).join('\n')
    return `<h3 id="${surface.name}.${name}">${escapeHtml(name)}</h3><p>${escapeHtml(description)}</p>\n${listed}`
  })
  const { schemas } = surface.description['components'] as { schemas: Record<string, Json> }
  const objects = Object.entries(schemas).map(([name, schema]) => componentHtml(surface.name, name, schema))
  return `<section>
<h2 id="${surface.name}">${titleOf(surface)}</h2>
<p>For client generators: <a href="${surface.openapiPath}">${surface.openapiPath}</a> (OpenAPI 3.1).</p>
${tags.join('\n')}
<h3 id="${surface.name}.objects">objects</h3>
<p>The objects in requests and answers of the paths above.</p>
${objects.join('\n')}
</section>`
}

const style = `
  :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
  * { box-sizing: border-box; }
  body { display: flex; margin: 0; }
  nav { position: sticky; top: 0; height: 100vh; overflow: auto; min-width: 13rem; padding: 1rem; border-right: 1px solid #8884; }
  nav a { display: block; padding: .1rem 0; } nav div { padding: 0 0 .6rem .8rem; }
  main { flex: 1; max-width: 68rem; padding: 0 1.5rem 6rem; min-width: 0; overflow-wrap: anywhere; }
  a { color: light-dark(#2456d6, #7aa2ff); text-decoration: none; } a:hover { text-decoration: underline; }
  code { font: 13px ui-monospace, Menlo, monospace; }
  pre { padding: .5rem .7rem; border-radius: 6px; background: #8882; white-space: pre-wrap; }
  [hidden] { display: none !important; }
  #looking { position: sticky; z-index: 1; top: 0; margin: 0; padding: .5rem 0; background: Canvas; }
  #search { width: 100%; padding: .45rem .7rem; border: 1px solid #8888; border-radius: 6px; font: inherit; }
  details { margin: .35rem 0; border: 1px solid #8884; border-radius: 6px; }
  details [id] { scroll-margin-top: 8.5rem; } h2, h3 { scroll-margin-top: 4rem; }
  details > :not(summary) { margin-left: 1rem; margin-right: 1rem; }
  summary { display: flex; flex-wrap: wrap; gap: 0 .7rem; align-items: baseline; padding: .35rem .7rem; cursor: pointer; }
  summary b { min-width: 3.4rem; font-size: 12px; } summary .soft { margin-left: auto; text-align: right; } .soft { opacity: .7; }
  table { border-collapse: collapse; width: calc(100% - 2rem); margin-bottom: .8rem; }
  td { border-top: 1px solid #8883; padding: .25rem .6rem .25rem 0; vertical-align: top; } td:first-child { width: 14rem; }
  td table { margin: .2rem 0 0; width: 100%; }
  h4 { margin: .8rem 0 .2rem; font-size: 13px; }
  @media (max-width: 50rem) {
    body { display: block; }
    nav { position: static; height: auto; max-height: 40vh; border: 0; border-bottom: 1px solid #8884; } nav div a { display: inline-block; padding-right: .7rem; }
    main { padding: 0 .8rem 4rem; } summary .soft { margin-left: 0; text-align: left; flex-basis: 100%; }
    td { display: block; border: 0; padding: 0; } td:first-child { width: auto; border-top: 1px solid #8883; } td table { margin-left: .8rem; width: calc(100% - .8rem); }
  }
`
