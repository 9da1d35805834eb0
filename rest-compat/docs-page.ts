/**
 * The page at /docs: every documented path of the three surfaces in readable form, made from the same OpenAPI documents
 * that generators read. It has no scripts and loads nothing from other hosts, so it works without internet.
 */
import type { FastifyInstance } from 'fastify'
import { keepText, sendKept } from '#src/platform/compression.ts'
import type { Json } from './openapi/components.ts'
import { escapeHtml } from './docs-page/html.ts'
import { componentHtml, operationHtml, type Described } from './docs-page/parts.ts'

/** A surface's OpenAPI document and its path. */
export type Documented = { name: string; openapiPath: string; mount: string; description: Json }

/** Adds `/docs`. */
export function serveDocsPage(app: FastifyInstance, documented: readonly Documented[]): void {
  const page = keepText('text/html; charset=utf-8', makePage(documented))
  app.get('/docs', (request, reply) =>
    sendKept(
      request,
      reply
        .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
        .header('referrer-policy', 'no-referrer'),
      page,
    ),
  )
}

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
<p>Every path is a view of the <a href="/graphql">GraphQL</a> schema. Send <code>Authorization: Bearer …</code> with a
token or a key, and JSON as <code>application/json</code>. A field or a query parameter that a path does not take is
refused by name. A POST with an <code>Idempotency-Key</code> runs once in 24 hours.</p>
${documented.map(surfaceHtml).join('\n')}
</main>
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
  body { display: flex; margin: 0; }
  nav { position: sticky; top: 0; height: 100vh; overflow: auto; box-sizing: border-box; min-width: 13rem; padding: 1rem; border-right: 1px solid #8884; }
  nav a { display: block; padding: .1rem 0; } nav div { padding: 0 0 .6rem .8rem; }
  main { max-width: 56rem; padding: 0 1.5rem 6rem; min-width: 0; }
  a { color: light-dark(#2456d6, #7aa2ff); text-decoration: none; } a:hover { text-decoration: underline; }
  code { font: 13px ui-monospace, Menlo, monospace; }
  details { margin: .35rem 0; border: 1px solid #8884; border-radius: 6px; }
  details [id] { scroll-margin-top: 4rem; }
  details > :not(summary) { margin-left: 1rem; margin-right: 1rem; }
  summary { padding: .35rem .7rem; cursor: pointer; } summary b { display: inline-block; min-width: 4rem; font-size: 12px; }
  summary .soft { float: right; } .soft { opacity: .7; }
  table { border-collapse: collapse; width: calc(100% - 2rem); margin-bottom: .8rem; }
  td { border-top: 1px solid #8883; padding: .25rem .6rem .25rem 0; vertical-align: top; } td:first-child { white-space: nowrap; }
  td table { margin: .2rem 0 0; width: 100%; }
  h4 { margin: .8rem 0 .2rem; font-size: 13px; }
  @media (max-width: 50rem) { nav { display: none; } summary .soft { float: none; display: block; } }
`
