/** The start page: what Berth is, and links to everything else. Plain and self-contained. */
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { surfaces } from '#rest-compat/surfaces.ts'
import type { ConsolePages } from '#src/console/pages.ts'
import { checkout, ownDocuments, readme } from '#src/guide/documents.ts'
import { keepText, sendKept } from '#src/platform/compression.ts'

/** Adds `/`, which is the console for browsers once it is built, and the documents beside it. */
export function serveIndexPage(app: FastifyInstance, console: ConsolePages): void {
  const documents = ownDocuments()
  const page = keepText('text/html; charset=utf-8', makePage(documents.includes(readme)))
  app.get('/', (request, reply) => {
    const sent = console.send(request, reply)
    if (sent) return sent
    reply
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
      .header('referrer-policy', 'no-referrer')
    return sendKept(request, reply, page)
  })
  for (const path of documents) {
    const type = path.endsWith('.md') ? 'text/markdown' : 'text/plain'
    const text = keepText(`${type}; charset=utf-8`, readFileSync(`${checkout}/${path}`, 'utf8'))
    app.get(`/${path}`, (request, reply) => sendKept(request, reply, text))
  }
}

function makePage(withReadme: boolean): string {
  const places: readonly (readonly [path: string, what: string])[] = [
    ['/graphql', 'GraphQL, with GraphiQL to try it in the browser'],
    ['/graphql/schema.graphql', 'the GraphQL schema'],
    ['/guide', 'the documentation, with a search'],
    ['/docs', 'REST: every path, documented'],
    ...surfaces.map(({ openapiPath, title }) => [openapiPath, `REST: ${title} (OpenAPI)`] as const),
    ['/livez', 'whether the process is alive, as /healthz'],
    ['/readyz', 'whether it is ready, and what is missing'],
    ...(withReadme ? [[`/${readme}`, 'the README: first steps, and where to read on'] as const] : []),
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Berth</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 44rem; margin: 3rem auto; padding: 0 1rem; }
  dt { margin-top: .6rem; } dd { margin: 0; opacity: .8; } code { font-family: ui-monospace, monospace; }
</style>
</head>
<body>
<h1>Berth</h1>
<p>An open, self-hostable cloud for software agents. It runs code in microVMs on this machine.</p>
<dl>
${places.map(([path, what]) => `<dt><a href="${path}"><code>${path}</code></a></dt><dd>${what}</dd>`).join('\n')}
</dl>
<p>A token, on the machine that runs Berth: <code>npm run -s token -- --user alice --org acme --role owner</code></p>
</body>
</html>
`
}
