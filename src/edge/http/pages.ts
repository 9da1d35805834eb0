/** What the ingress says itself, plainly: to browsers as a page, to everything else as text. Nothing of the inside is in it. */
import { newId } from '#src/platform/ids.ts'
import { endAnswer, endEarly, writeHead } from './client-answers.ts'
import type { Incoming, Outgoing } from './messages.ts'
import type { TargetRefusal } from './targets.ts'

/** What is said. */
export type Page = {
  status: number
  title: string
  sentence: string
  retryAfterSeconds?: number | null
  /** Names and values in turn. */
  headers?: readonly string[]
  /** The whole text, in place of title and sentence. */
  plain?: string
}

const targetPages: Readonly<Record<TargetRefusal['kind'], { status: number; title: string }>> = {
  sleeping: { status: 503, title: 'This service is asleep' },
  starting: { status: 503, title: 'This service is starting' },
  failing: { status: 502, title: 'This service does not answer' },
  crashed: { status: 503, title: 'This service has crashed' },
  empty: { status: 503, title: 'This service cannot start yet' },
  refused: { status: 502, title: 'Nothing is running here yet' },
  busy: { status: 503, title: 'This service is busy' },
  gone: { status: 404, title: 'This service is gone' },
}

/** What is said where a target takes no request. */
export function pageOf({ kind, message, retryAfterSeconds }: TargetRefusal): Page {
  return { ...targetPages[kind], sentence: message, retryAfterSeconds }
}

/** What is said where nothing is at a host, or nothing yet, and where something took too long. */
export const pages = {
  unknown: {
    status: 404,
    title: 'Nothing is here',
    sentence: 'No service has this address. Check the name and the path.',
  },
  unlinked: {
    status: 404,
    title: 'This address leads nowhere yet',
    sentence: 'It is registered, but not linked to a service. Its owner can link it.',
  },
  misdirected: {
    status: 421,
    title: 'This connection is for another host',
    sentence: 'The request names another host than the TLS connection that it came on. Connect again.',
  },
  crowded: {
    status: 503,
    title: 'This service is busy',
    sentence: 'It has too many requests that are not answered yet. Try again in a moment.',
    retryAfterSeconds: 1,
  },
  late: { status: 504, title: 'This service does not answer', sentence: 'It took too long to answer the request.' },
  slow: { status: 408, title: 'The request took too long', sentence: 'Its body came too slowly.' },
  method: { status: 405, title: 'This method is not allowed', sentence: 'No tunnels are opened here.' },
} as const satisfies Readonly<Record<string, Page>>

/** Answers with a page. */
export function answerPage(request: Incoming, answer: Outgoing, page: Page): void {
  if (answer.headersSent || answer.destroyed) return
  const { headers, body } = render(page, page.plain === undefined && wantsHtml(request.headers.accept))
  if (!request.complete) endEarly(request, answer)
  writeHead(answer, page.status, '', headers)
  endAnswer(answer, request.method === 'HEAD' ? undefined : body)
}

/** A whole answer of HTTP/1.1, for a connection that has no proper request. */
export function rawPage(page: Page, isHtml: boolean): string {
  const { headers, body } = render(page, isHtml)
  const lines = [`HTTP/1.1 ${page.status} ${page.title}`]
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`)
  return `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n${body}`
}

function render(page: Page, isHtml: boolean): { headers: string[]; body: string } {
  const requestId = newId('request')
  const body = page.plain ?? (isHtml ? htmlOf(page, requestId) : `${page.title}. ${page.sentence}\n${requestId}\n`)
  return {
    body,
    headers: [
      'Content-Type',
      `${isHtml ? 'text/html' : 'text/plain'}; charset=utf-8`,
      'Content-Length',
      String(Buffer.byteLength(body)),
      'X-Content-Type-Options',
      'nosniff',
      'X-Request-Id',
      requestId,
      ...(page.retryAfterSeconds ? ['Retry-After', String(page.retryAfterSeconds)] : []),
      ...(isHtml ? ['Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'"] : []),
      ...(page.headers?.includes('cache-control') ? [] : ['Cache-Control', 'no-store']),
      ...(page.headers ?? []),
    ],
  }
}

function wantsHtml(accept: string | undefined): boolean {
  return accept?.includes('text/html') ?? false
}

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:20vh auto 0;padding:0 1.5rem;color:#1c1c1e;background:#fff}h1{font-size:1.5rem}small{color:#6b6b70}@media(prefers-color-scheme:dark){body{color:#f2f2f7;background:#1c1c1e}}'

function htmlOf({ title, sentence }: Page, requestId: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${style}</style></head>
<body><h1>${escaped(title)}</h1><p>${escaped(sentence)}</p><p><small>${requestId}</small></p></body>
</html>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
