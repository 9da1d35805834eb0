/** The page between an identity provider and the console: a cookie of our own pages is not sent along a redirect from elsewhere. */
import type { FastifyReply } from 'fastify'

/** Sends it. @param to where it leads on at once, as a URL has it; without it, the sentence stays, and leads back to sign-in. */
export function signInPage(
  reply: FastifyReply,
  shown: { to: string } | { heading?: string; sentence: string },
): FastifyReply {
  const head = 'to' in shown ? `<meta http-equiv="refresh" content="0; url=${escaped(shown.to)}">` : ''
  const body =
    'to' in shown
      ? '<p>You are signed in. <a href="/">To the console</a></p>'
      : `<h1>${escaped(shown.heading ?? 'You are not signed in')}</h1><p>${escaped(shown.sentence)}</p><p><a href="/sign-in">Back to sign-in</a></p>`
  return reply
    .headers({
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Berth</title>${head}<style>body{font:16px/1.5 system-ui;max-width:36rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}</style></head><body>${body}</body></html>`,
    )
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
