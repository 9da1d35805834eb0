/** Serves the console: its page at the addresses that it has, and the files of the builds that are kept, which open tabs load. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { nowMs } from '#src/platform/clock.ts'
import { addVary, preferredEncoding } from '#src/platform/compression.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { assetsPath, buildsFolder, currentBuild, noncePlaceholder } from './places.ts'

/** Addresses of the console beside `/`: what is below them is read by the page itself. */
const pagePaths = ['/sign-in', '/join', '/authorize', '/activate', '/s/*', '/o/*'] as const
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}
const encodings = { br: '.br', gzip: '.gz' } as const
const nonceBytes = 16
const noteMs = 3_600_000
const forever = 'public, max-age=31536000, immutable'

/** The console as the start page uses it. */
export type ConsolePages = {
  /** Sends the console's page; undefined where the console is not built, or the request is not a browser's. */
  send(request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined
}

/** Adds what the console needs. */
export function serveConsole(app: FastifyInstance, { cacheDir }: Pick<Config, 'cacheDir'>): ConsolePages {
  const place = currentBuild(cacheDir)
  let page: string | undefined

  function send(request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined {
    const file = join(place, 'index.html')
    if (page === undefined && existsSync(file)) page = readFileSync(file, 'utf8')
    addVary(reply, 'accept')
    if (page === undefined || !request.headers.accept?.includes('text/html')) return undefined
    const nonce = randomBytes(nonceBytes).toString('base64')
    return reply
      .headers({
        'cache-control': 'no-cache',
        'content-security-policy': policyWith(nonce),
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      })
      .type('text/html; charset=utf-8')
      .send(page.replaceAll(noncePlaceholder, nonce))
  }

  for (const path of pagePaths)
    app.get(path, (request, reply) => {
      const sent = send(request, reply)
      if (sent) return sent
      throw new BerthError(
        'not_found',
        'This is an address of the console, for a browser. It may still be built: try again in a minute.',
      )
    })
  app.get<{ Params: { '*': string } }>(`${assetsPath}assets/*`, (request, reply) => {
    const file = findFile(cacheDir, request.params['*'])
    if (!file) throw new BerthError('not_found', 'The console has no such file. Reload the page.')
    const encoding = preferredEncoding(request.headers['accept-encoding'])
    noteUse(file)
    const packed = encoding && existsSync(`${file}${encodings[encoding]}`) ? encoding : null
    addVary(reply, 'accept-encoding')
    reply.headers({
      'cache-control': forever,
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    })
    if (packed) reply.header('content-encoding', packed)
    return reply
      .type(types[extname(file)] ?? 'application/octet-stream')
      .send(readFileSync(packed ? `${file}${encodings[packed]}` : file))
  })
  return { send }
}

/** Notes that a build is used, an hour at a time: others that are built on this host leave it (build.ts). */
function noteUse(file: string): void {
  const build = join(file, '..', '..')
  if (nowMs() - statSync(build).mtimeMs < noteMs) return
  try {
    utimesSync(build, nowMs() / 1000, nowMs() / 1000)
  } catch {
    // an image’s files are not ours, and nobody builds there
  }
}

/** A file of a build that is kept. Its name is compared with those that are there, so that no path leads elsewhere. */
function findFile(cacheDir: string, name: string): string | undefined {
  const folder = buildsFolder(cacheDir)
  if (!existsSync(folder)) return undefined
  for (const build of readdirSync(folder)) {
    const assets = join(folder, build, 'assets')
    if (!build.startsWith('.') && existsSync(assets) && readdirSync(assets).includes(name)) return join(assets, name)
  }
  return undefined
}

function policyWith(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ')
}
