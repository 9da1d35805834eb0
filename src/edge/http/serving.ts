/** What becomes of a request: who it is for, whether it may go there, and its exchange with that target. */
import { log } from '#src/platform/log.ts'
import type { Route } from '#src/resources/infra/routes.ts'
import type { Use } from '#src/platform/caches/reported-use.ts'
import { Exchange, type ExchangeEnds, type Late } from './exchanges.ts'
import type { Incoming, Outgoing } from './messages.ts'
import { refused } from './metrics.ts'
import { answerPage, pageOf, pages, type Page } from './pages.ts'
import type { Pool, Pools } from './pools.ts'
import type { PreviewRequest, PreviewVerdict } from './previews.ts'
import { BadRequest, readRequest, type GivenRequest, type ReadRequest } from './requests.ts'
import type { RouteTable } from './routes.ts'
import { TargetRefusal, targetOf, type Target } from './targets.ts'
import type { Tenants } from './tenants.ts'

/** Judges the requests for a preview. */
export type Guard = (route: Route, request: PreviewRequest) => PreviewVerdict

/** What serving needs. */
export type ServingOptions = {
  routes: Pick<RouteTable, 'find' | 'hasHost'>
  /** Learns of routes of a host that were made a moment ago. */
  catchUp?: ((host: string) => Promise<void>) | undefined
  pools: Pools
  tenants: Tenants
  /** Where the use of functions is noted. */
  functions?: { use: Use } | undefined
  guard?: Guard | undefined
  /** What to answer an ACME authority at `/.well-known/acme-challenge/<token>`; null when nobody asked for that. */
  answerChallenge?: ((host: string, token: string) => Promise<string | null>) | undefined
  /** Where a host that came by HTTP is to come by HTTPS: that port. Null to serve it by HTTP. */
  securePort?: ((host: string, authority: string) => number | null) | undefined
}

/** Where a request may go, and what it says there. */
export type Admitted = { route: Route; target: Target; read: ReadRequest }
/** A request that goes nowhere, what is said, and the host if nothing is known of it. */
export type Turned = { page: Page; unknownHost?: string }

/** Serves requests. */
export type Serving = {
  serve(request: Incoming, answer: Outgoing, given: GivenRequest, over: () => void): void
  /** Finds out where a request may go. */
  admit(given: GivenRequest): Admitted | Turned
}

const challengePath = '/.well-known/acme-challenge/'
const tokenLengthMax = 256
const httpsPort = 443

/** Makes what serves requests. */
export function createServing(options: ServingOptions): Serving {
  const { pools, tenants, functions } = options
  const known = new WeakMap<Route, { target: Target; pool: Pool }>()

  /** The connections to a route's target, which are looked up once. */
  function poolFor(route: Route, target: Target): Pool {
    const way = known.get(route)
    if (way && !way.pool.isDropped) return way.pool
    const pool = pools.of(target)
    known.set(route, { target, pool })
    return pool
  }

  const admit = (given: GivenRequest): Admitted | Turned =>
    admitBy(options, (route) => known.get(route)?.target ?? targetOf(route), given)

  function begin(request: Incoming, answer: Outgoing, given: GivenRequest, over: () => void, isLast = false): void {
    const admitted = admit(given)
    if ('page' in admitted) {
      const { page, unknownHost = null } = admitted
      if (unknownHost === null || !options.catchUp || isLast) return sendPage(request, answer, page, over)
      return unlessClosed(answer, options.catchUp(unknownHost), () => guarded(request, answer, given, over, true), over)
    }
    const { route, target, read } = admitted
    const { organizationId } = route
    if (read.isLast) lastOn(answer)
    if (!tenants.enter(organizationId)) return sendPage(request, answer, pages.crowded, over)
    const { functionId } = route
    if (functionId !== null) functions?.use.begin(functionId)
    const pool = poolFor(route, target)
    const ends: ExchangeEnds = {
      refuse: (exchange, refusal) => answerPage(exchange.request, exchange.answer, pageFor(refusal)),
      over(exchange) {
        pool.leave(exchange)
        tenants.leave(organizationId)
        if (functionId !== null) functions?.use.end(functionId)
        over()
      },
    }
    pool.give(new Exchange(request, answer, read, ends))
  }

  /** Says so where a request is not as it should be; and reads nothing more of its connection. */
  function guarded(request: Incoming, answer: Outgoing, given: GivenRequest, over: () => void, isLast = false): void {
    try {
      begin(request, answer, given, over, isLast)
    } catch (error) {
      if (!(error instanceof BadRequest)) log.error({ err: error }, 'a request could not be served')
      if (!given.isHttp2) given.peer.isRefused = true
      lastOn(answer)
      sendPage(request, answer, error instanceof BadRequest ? badRequestPage(error) : pages.late, over)
    }
  }

  return {
    admit,
    serve(request, answer, given, over) {
      const asked = answerAuthority(options.answerChallenge, given)
      if (!asked) return guarded(request, answer, given, over)
      const then = (page: Page | null): void =>
        page ? sendPage(request, answer, page, over) : guarded(request, answer, given, over)
      unlessClosed(answer, asked, then, over)
    },
  }
}

/** Finds out where a request may go. @throws BadRequest */
function admitBy(
  options: ServingOptions,
  targetFor: (route: Route) => Target | null,
  given: GivenRequest,
): Admitted | Turned {
  let read = readRequest(given)
  const { peer } = given
  if (peer.serverName !== null && peer.serverName !== read.host) return { page: pages.misdirected }
  const route = options.routes.find(read.host, read.path)
  if (!route) return { page: pages.unknown, ...(options.routes.hasHost(read.host) ? {} : { unknownHost: read.host }) }
  if (route.access === 'database') return { page: pages.unknown }
  if (!read.isSecure) {
    const location = securedAddress(read, options)
    if (location !== null) return { page: moved(location) }
  }
  if (route.access === 'preview') {
    const judged = judge(options.guard, route, given, read)
    if ('page' in judged) return judged
    read = readRequest({ ...given, url: judged.url, headers: judged.headers })
  }
  const target = targetFor(route)
  return target ? { route, target, read } : { page: pages.unlinked }
}

/** Goes on with what came, unless the client has left by then. */
function unlessClosed<Came>(
  answer: Outgoing,
  coming: Promise<Came>,
  then: (came: Came) => void,
  over: () => void,
): void {
  let isClosed = false
  answer.once('close', () => {
    isClosed = true
  })
  void coming.then((came) => (isClosed ? over() : then(came)))
}

/** Closes the connection behind this answer. */
function lastOn(answer: Outgoing): void {
  if (!('stream' in answer)) answer.shouldKeepAlive = false
}

/** Answers with a page. */
function sendPage(request: Incoming, answer: Outgoing, page: Page, over: () => void): void {
  refused.inc({ reason: String(page.status) })
  answer.once('close', over)
  answerPage(request, answer, page)
}

/** What is said of a request that is not as it should be. */
export function badRequestPage({ status, message }: BadRequest): Page {
  return { status, title: 'This request cannot be understood', sentence: message }
}

/** What is said where a target takes no request, or took too long. */
export function pageFor(refusal: TargetRefusal | Late): Page {
  if (refusal instanceof TargetRefusal) return pageOf(refusal)
  return refusal === 'late-answer' ? pages.late : pages.slow
}

function judge(
  guard: Guard | undefined,
  route: Route,
  given: GivenRequest,
  { host, isSecure }: ReadRequest,
): { url: string; headers: readonly string[] } | Turned {
  const { method, url, headers, isUpgrade } = given
  const verdict = guard?.(route, { method, url, headers, host, isSecure, isUpgrade })
  if (!verdict) return { page: pages.unknown }
  if (verdict.kind === 'open') return verdict
  if (verdict.kind === 'refused')
    return { page: { status: verdict.status, title: 'This preview is private', sentence: verdict.sentence } }
  const flat = Object.entries(verdict.headers).flat()
  return {
    page: { status: 302, title: 'This preview is open', sentence: 'Ask again without the token.', headers: flat },
  }
}

/** Where the same is served by HTTPS; null when it is served as it came. */
function securedAddress({ host, authority, path }: ReadRequest, { securePort }: ServingOptions): string | null {
  const port = securePort?.(host, authority) ?? null
  return port === null ? null : `https://${host}${port === httpsPort ? '' : `:${port}`}${path}`
}

function moved(location: string): Page {
  return {
    status: 308,
    title: 'This service is reached by HTTPS',
    sentence: 'Ask again there.',
    headers: ['Location', location],
  }
}

/** The token that an ACME authority asks for; null when it is no such request. */
function challengeIn(url: string): string | null {
  if (!url.startsWith(challengePath)) return null
  const token = url.slice(challengePath.length)
  return /^[A-Za-z0-9_-]+$/.test(token) && token.length <= tokenLengthMax ? token : null
}

/** What an ACME authority gets; the page is null when nobody waits for its token. Undefined when no authority asks. */
function answerAuthority(
  answerChallenge: ServingOptions['answerChallenge'],
  given: GivenRequest,
): Promise<Page | null> | undefined {
  const token = given.peer.isSecure ? null : challengeIn(given.url)
  if (token === null || !answerChallenge) return undefined
  const answer = async (): Promise<Page | null> => {
    const text = await answerChallenge(readRequest(given).host, token)
    return text === null ? null : { status: 200, title: '', sentence: '', plain: text }
  }
  return answer().catch((error: unknown) => {
    if (error instanceof BadRequest) return null // it is said below
    log.warn({ err: error }, 'a challenge of a certificate authority could not be answered')
    return pages.late
  })
}
