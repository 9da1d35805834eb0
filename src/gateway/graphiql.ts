/** The page that a browser gets at /graphql: GraphiQL, self-contained, so that it works without internet. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/platform/config.ts'
import { addVary, keepText, sendKept, type KeptText } from '#src/platform/compression.ts'
import { mayServeSignIn } from '#src/identity/sign-in.ts'
import { signInBar, signInStyle } from './graphiql-bar.ts'
import { tabs, tabsScript } from './graphiql-tabs.ts'

const logo =
  '<svg viewBox="0 0 24 24" width="22" height="22" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M12 3v18M8 7h8M4 13c0 5 4 8 8 8s8-3 8-8"/></svg>'
const policy = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "worker-src 'self' blob:",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Whether this request is from a browser that wants the page, and not an answer. */
export function mayShowPage({ method, headers }: FastifyRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && (headers.accept?.includes('text/html') ?? false)
}

/**
 * Sends the page: with a form to get a token where local sign-in works, otherwise with the command that creates one.
 */
export async function sendGraphiql(request: FastifyRequest, reply: FastifyReply, config: Config): Promise<unknown> {
  const page = await pageOf(mayServeSignIn(request, config))
  addVary(reply, 'accept')
  reply.headers({
    'cache-control': 'private, no-cache',
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
  })
  return sendKept(request, reply, page)
}

const pages = new Map<boolean, Promise<KeptText>>()

/** The page in its two forms; 9 MB each, so built at the first request and cached. */
function pageOf(withSignIn: boolean): Promise<KeptText> {
  const known = pages.get(withSignIn)
  if (known) return known
  const made = makePage(withSignIn)
  pages.set(withSignIn, made)
  return made
}

async function makePage(withSignIn: boolean): Promise<KeptText> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const page = renderGraphiQL({
    title: 'Berth',
    logo,
    endpoint: '/graphql',
    defaultQuery: tabs[0] ?? '',
    shouldPersistHeaders: false, // tokens must not be stored on disk
    defaultEditorToolsVisibility: false, // the tabs need the space
  })
  const root = '<div id="root"></div>'
  const at = page.indexOf(root)
  if (at < 0) throw new Error('the page of GraphiQL has no root to put the bar above')
  return keepText(
    'text/html; charset=utf-8',
    `${page.slice(0, at)}<style>${signInStyle}</style>${tabsScript()}${signInBar(withSignIn)}${page.slice(at)}`,
  )
}
