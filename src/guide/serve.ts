/** `/guide`: the documents as pages, and their search. Pages are made when they are first asked for. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { keepText, sendKept, type KeptText } from '#src/platform/compression.ts'
import { limits } from '#src/platform/limits.ts'
import type { Services } from '#src/platform/services.ts'
import { addressOf } from './addresses.ts'
import { checkout, ownDocuments } from './documents.ts'
import { foundHtml, guidePolicy, pageWith, type Listed } from './page.ts'
import { sectionsOf } from './sections.ts'

const hitsMax = 20
const type = 'text/html; charset=utf-8'
/** The parts of the list at the side, by where documents lie. The first that fits counts. */
const groups: readonly (readonly [prefix: string, name: string])[] = [
  ['docs/README.md', 'Guide'],
  ['docs/reference/', 'Reference'],
  ['docs/limits', 'Limits'],
  ['docs/', 'Guide'],
  ['examples/', 'Guide'],
  ['', 'About'],
]
const order = ['Guide', 'Reference', 'Limits', 'About']

/** Adds the pages. What makes them is loaded when the first is asked for. */
export function serveGuide(app: FastifyInstance, { limiter }: Pick<Services, 'limiter'>): void {
  const documents = ownDocuments().filter((path) => path.endsWith('.md'))
  let listed: Listed[] | undefined
  const list = (): Listed[] => (listed ??= listOf(documents))
  for (const path of documents) {
    const address = addressOf(path)
    let page: KeptText | undefined
    app.get(address, async (request, reply) => {
      if (!page) {
        const { renderDocument } = await import('./render.ts')
        const title = list().find((one) => one.address === address)?.title ?? path
        page = keepText(type, pageWith(title, renderDocument(path, read(path)), list(), address))
      }
      return sendKept(request, mark(reply), page)
    })
  }
  app.get('/guide/search', async (request: FastifyRequest<{ Querystring: { q?: unknown } }>, reply) => {
    await limiter.spend(`guide:address:${request.clientAddress}`, limits.anonymousPerMinute)
    const { q } = request.query
    const query = typeof q === 'string' ? q.trim() : ''
    const { searchDocuments } = await import('./search.ts')
    const found = query === '' ? [] : await searchDocuments(query, hitsMax)
    return mark(reply)
      .type(type)
      .send(pageWith('Search', foundHtml(query, found), list(), '', query))
  })
}

function mark(reply: FastifyReply): FastifyReply {
  return reply.header('content-security-policy', guidePolicy).header('referrer-policy', 'no-referrer')
}

function listOf(documents: readonly string[]): Listed[] {
  return documents
    .map((path) => ({
      group: groups.find(([prefix]) => path.startsWith(prefix))?.[1] ?? '',
      title: sectionsOf(path, read(path))[0]?.title ?? path,
      address: addressOf(path),
    }))
    .sort(
      (one, other) => order.indexOf(one.group) - order.indexOf(other.group) || (one.address < other.address ? -1 : 1),
    )
}

function read(path: string): string {
  return readFileSync(join(checkout, path), 'utf8')
}
