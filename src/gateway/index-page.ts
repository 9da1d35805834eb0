/** The start page: what Berth is, and links to everything else. Plain and self-contained. */
import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { surfaces } from '#rest-compat/surfaces.ts'
import { keepText, sendKept } from '#src/platform/compression.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const readme = 'README.md'

/**
 * The documents, at the same paths below `/` as in the checkout, so that their links to each other work: the README, what
 * it links to, and so on. What else lies in the checkout is its operator's.
 * @param folder the checkout, as an absolute path.
 */
export function documentsOf(folder: string): string[] {
  const root = realpathSync(folder)
  const found = new Set([readme])
  for (const path of found) {
    if (!isOwnFile(join(root, path))) found.delete(path)
    else if (path.endsWith('.md'))
      for (const linked of linksOf(path, readFileSync(join(root, path), 'utf8'))) found.add(linked)
  }
  return [...found]
}

/** Whether it is a file, and neither it nor a folder above it is a link to elsewhere. */
function isOwnFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true && realpathSync(path) === path
}

/** The files of the checkout that a document links to, outside of its blocks of code. */
function linksOf(path: string, text: string): string[] {
  const here = new URL(path, 'file:///')
  const prose = text.split(/^```/m).filter((_, at) => at % 2 === 0)
  return [...prose.join('').matchAll(/\]\((?![a-z]+:|\/\/)([^)#\s]+)/g)]
    .map(([, link = '']) => new URL(link, here).pathname.slice(1))
    .filter((linked) => /\.\w+$|^LICENSE$/.test(linked))
}

/** Adds `/`, and the documents beside it. */
export function serveIndexPage(app: FastifyInstance): void {
  const documents = documentsOf(checkout)
  const page = keepText('text/html; charset=utf-8', makePage(documents.includes(readme)))
  app.get('/', (request, reply) =>
    sendKept(
      request,
      reply
        .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
        .header('referrer-policy', 'no-referrer'),
      page,
    ),
  )
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
    ['/docs', 'REST: every path, documented'],
    ...surfaces.map(({ openapiPath, title }) => [openapiPath, `REST: ${title} (OpenAPI)`] as const),
    ['/healthz', 'whether the process is alive'],
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
