/**
 * Who is let in to a preview. A request shows a token in a header or in its address, or the cookie that stands for one. None of
 * these reaches the target. A page that is opened with a token in its address is asked for again without it.
 */
import {
  makePreviewCookie,
  readPreviewCookie,
  readPreviewHost,
  readPreviewToken,
  type Preview,
  type PreviewTarget,
} from '#src/resources/infra/proxies/preview-tokens.ts'
import { previewParameter } from '#src/resources/infra/proxies/previews.ts'
import type { Route } from '#src/resources/infra/routes.ts'
import type { Services } from '#src/platform/services.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import type { RouteTable } from './routes.ts'
import { nowMs } from '#src/platform/clock.ts'
import { sha256, type Sealer } from '#src/platform/secrets.ts'

/** A request as far as previews look at it. `url`: path and query; `headers`: names and values in turn, as they came. */
export type PreviewRequest = {
  method: string
  url: string
  headers: readonly string[]
  /** In lower case, without a port. */
  host: string
  /** Whether its client came by HTTPS. */
  isSecure: boolean
  isUpgrade: boolean
}

/** What becomes of it: it goes on without what lets it in; it is to be asked for again; or it is refused. */
export type PreviewVerdict =
  | { kind: 'open'; url: string; headers: readonly string[]; organizationId: string }
  | { kind: 'redirect'; headers: Readonly<Record<string, string>> }
  | { kind: 'refused'; status: 401 | 403; sentence: string }

/** Where a preview leads. `organizationId`: whose it is; null before anybody has shown a token. */
export type PreviewPlace = PreviewTarget & { organizationId: string | null }

const tokenHeader = 'x-berth-preview-token'
const cookieName = 'berth-preview-'
const securePrefix = '__Host-'
const parameter = `${previewParameter}=`

const missing = 'It opens with a link that has a token. Ask whoever showed you this address for a new link.'
const over = 'The link to this preview is no longer valid. Ask whoever gave it to you for a new one.'
const wrong = 'This token does not open this preview. Ask whoever gave you the link for a new one.'

const routesMax = 10_000

/**
 * Adds the hosts that show ports of VMs without any entry to these routes, and judges the requests for all previews.
 * Nothing is asked of Postgres: a token says whose the VM is, and that it was there.
 */
export function openPreviews<Table extends Pick<RouteTable, 'find' | 'hasHost'>>(
  { config, sealer }: Pick<Services, 'config' | 'sealer'>,
  table: Table,
): { routes: Table; guard: (route: Route, request: PreviewRequest) => PreviewVerdict } {
  const opened = createBoundedMap<string, Route>({ entriesMax: routesMax })
  const routeOf = (host: string): Route | undefined => {
    const known = opened.get(host)
    const target = known ? null : readPreviewHost(config, host)
    return known ?? (target ? unopened(host, target) : undefined)
  }
  return {
    routes: Object.assign(Object.create(table) as Table, {
      find: (host: string, path: string) => table.find(host, path) ?? routeOf(host),
      hasHost: (host: string) => table.hasHost(host) || routeOf(host) !== undefined,
    }), // everything else is the table's
    guard(route, request) {
      const { vmId, vmPort, organizationId, host } = route
      if (vmId === null || vmPort === null) return refused(401, missing)
      const place = { vmId, port: vmPort, organizationId: organizationId === nobody ? null : organizationId }
      const verdict = judgePreview(sealer, place, request)
      if (organizationId === nobody && verdict.kind === 'open') {
        route.organizationId = verdict.organizationId
        opened.set(host, route)
      }
      return verdict
    },
  }
}

const nobody = '00000000-0000-0000-0000-000000000000'

/** The route of a host of previews that nobody has opened yet, so that it is not known whose it is. */
function unopened(host: string, { vmId, port }: PreviewTarget): Route {
  return {
    id: vmId,
    organizationId: nobody,
    kind: 'proxy',
    host,
    path: '/',
    access: 'preview',
    vmId,
    vmPort: port,
    functionId: null,
    wakes: true,
  }
}

/** Judges a request for a preview. */
export function judgePreview(
  sealer: Pick<Sealer, 'derive'>,
  place: PreviewPlace,
  request: PreviewRequest,
): PreviewVerdict {
  const { host, isSecure } = request
  const name = nameOfCookie(place, host, isSecure)
  const { url, token: inAddress } = withoutToken(request.url)
  const { headers, token: inHeader, cookie } = withoutCredentials(request.headers, name)
  const token = inHeader ?? inAddress
  const preview =
    token !== null
      ? readPreviewToken(sealer, place, token)
      : cookie === null
        ? null
        : readPreviewCookie(sealer, place, host, cookie)
  if (preview === null) return refused(token === null ? 401 : 403, token === null ? missing : wrong)
  if (preview === 'expired') return refused(401, over)
  if (place.organizationId !== null && preview.organizationId !== place.organizationId) return refused(403, wrong)
  const isPage = (request.method === 'GET' || request.method === 'HEAD') && !request.isUpgrade
  if (inAddress === null || inHeader !== null || !isPage)
    return { kind: 'open', url, headers, organizationId: preview.organizationId }
  const value = makePreviewCookie(sealer, place, host, preview)
  return { kind: 'redirect', headers: redirectHeaders(url, `${name}=${value}`, preview, isSecure) }
}

function refused(status: 401 | 403, sentence: string): PreviewVerdict {
  return { kind: 'refused', status, sentence }
}

/** A name for each host and port, so that one preview's cookie is never taken for another's. */
function nameOfCookie({ vmId, port }: PreviewTarget, host: string, isSecure: boolean): string {
  const which = sha256(`${host}\n${vmId}\n${port}`).toString('hex', 0, 8)
  return `${isSecure ? securePrefix : ''}${cookieName}${which}`
}

function redirectHeaders(
  url: string,
  cookie: string,
  { expiresAtSeconds }: Preview,
  isSecure: boolean,
): Record<string, string> {
  const leftSeconds = Math.max(1, expiresAtSeconds - Math.floor(nowMs() / 1000))
  // What begins with // would lead to another host.
  const path = /^\/[/\\]/.test(url) ? `/.${url}` : url
  return {
    location: path.replaceAll(/[^\x21-\x7e]/g, (letter) => encodeURIComponent(letter.toWellFormed())),
    'set-cookie': `${cookie}; Path=/; Max-Age=${leftSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  }
}

/** The address without tokens, and the first token. */
function withoutToken(url: string): { url: string; token: string | null } {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes(parameter, start)) return { url, token: null }
  const parts = url.slice(start + 1).split('&')
  const token = parts.find((part) => part.startsWith(parameter))
  if (token === undefined) return { url, token: null }
  const rest = parts.filter((part) => !part.startsWith(parameter)).join('&')
  return {
    url: rest === '' ? url.slice(0, start) : `${url.slice(0, start)}?${rest}`,
    token: token.slice(parameter.length),
  }
}

/** The headers without tokens, and without the cookies and the address of previews; the first token, and the cookie of this name. */
function withoutCredentials(
  given: readonly string[],
  name: string,
): { headers: string[]; token: string | null; cookie: string | null } {
  const headers: string[] = []
  let token: string | null = null
  let cookie: string | null = null
  for (let at = 0; at < given.length; at += 2) {
    const header = given[at] ?? ''
    const value = given[at + 1] ?? ''
    const lower = header.toLowerCase().replaceAll('_', '-')
    if (lower === tokenHeader) token ??= value
    else if (lower === 'referer' && value.includes(parameter)) continue
    else if (lower === 'cookie') {
      const read = withoutPreviewCookies(value, name)
      cookie ??= read.cookie
      if (read.rest !== '') headers.push(header, read.rest)
    } else headers.push(header, value)
  }
  return { headers, token, cookie }
}

function withoutPreviewCookies(value: string, name: string): { rest: string; cookie: string | null } {
  if (!value.includes(cookieName)) return { rest: value, cookie: null }
  const cookies = value.split(';').map((one) => one.trim())
  const isOurs = (one: string): boolean => one.startsWith(cookieName) || one.startsWith(securePrefix + cookieName)
  const found = cookies.find((one) => one.startsWith(`${name}=`))
  return { rest: cookies.filter((one) => !isOurs(one)).join('; '), cookie: found?.slice(name.length + 1) ?? null }
}
