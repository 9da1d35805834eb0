/** What to say of a path that is not there: the methods that it has, or the path that was probably meant. */
import { Kind, type GraphQLSchema } from 'graphql'
import { nearestKey } from '#src/platform/shapes/unknown-keys.ts'
import { changingMutation } from './changing-mutations.ts'
import type { Surface } from './routes.ts'
import type { Operation } from './run.ts'

/** Longer paths are not compared: a caller's path may have thousands of parts. */
const partsMax = 12
/** Nor are longer parts; no word of a path is as long. */
const partLengthMax = 24
/** How far a path may be from the one that was meant, in the costs below. */
const costMax = 2
/** Ids and keys, as they stand in place of a parameter: no plain word. */
const idLike = /[^a-z-]/
const costs = { misspelt: 1, leftOut: 1, wordAsId: 2, dropped: 3, other: 3 }

type Known = { method: string; path: string; parts: readonly string[] }
/** `isSpare`: it is nothing, or as the part before it, as where a base URL ends in a slash, or in the `/v1` that a client adds. */
type Asked = { part: string; near: string | undefined; isSpare: boolean }

/**
 * Makes the function that says what is wrong with the method and the path of a request that no route takes.
 * @param prepare of the runner of the documents.
 */
export function pathRefusals(
  {
    routes,
    handlers,
    absent = {},
    mount,
    openapiPath,
  }: Pick<Surface, 'routes' | 'handlers' | 'absent' | 'mount' | 'openapiPath'>,
  schema: GraphQLSchema,
  prepare: (source: string) => Operation,
): (method: string, url: string) => string {
  const known: Known[] = [...Object.keys(routes), ...Object.keys(handlers)].map((key) => {
    const [method = '', path = ''] = key.split(' ')
    return { method, path: mount + path, parts: partsOf(mount + path) }
  })
  const left = Object.entries(absent).map(([path, sentence]) => ({ parts: partsOf(mount + path), sentence }))
  const words = new Set(known.flatMap(({ parts }) => parts.filter((part) => !isParameter(part))))
  const changing = (paths: readonly Known[]): string | undefined => {
    const read = paths.find(({ method }) => method === 'GET')
    const route = read && routes[`GET ${read.path.slice(mount.length)}`]
    return route && changingMutation(schema, prepare(route.operation))?.name
  }
  /** The method by which REST changes it with the same mutation. */
  const changedBy = (paths: readonly Known[], mutation: string): string | undefined =>
    paths.find(({ method, path }) => {
      const route = routes[`${method} ${path.slice(mount.length)}`]
      const selections = route && prepare(route.operation).definition.selectionSet.selections
      return selections?.some((one) => one.kind === Kind.FIELD && one.name.value === mutation)
    })?.method
  return (method, url) => {
    const none = `There is no ${method} at this path`
    const path = url.split('?', 1)[0] ?? ''
    const empty = emptyParameter(known, method, path)
    if (empty !== undefined) return `${none}: ${empty}. See ${openapiPath}.`
    const hasGap = path.includes('//')
    const parts = partsOf(path.replaceAll('//', `/${unknownId}/`))
    const here = hasGap ? [] : known.filter((one) => isAt(one.parts, parts))
    if (here.length > 0) {
      const mutation = changes.has(method) ? changing(here) : undefined
      const own = mutation && changedBy(here, mutation)
      const others = own ? ` ${own} changes it; in GraphQL, ${mutation} does.` : ` In GraphQL, ${mutation} changes it.`
      return `${none}, only ${methodsOf(here)}; see ${openapiPath}.${mutation ? others : ''}`
    }
    const instead = left.find(({ parts: first }) => isAt(first, parts.slice(0, first.length)))
    if (instead) return `${none}. ${instead.sentence}`
    const meant = parts.length > partsMax ? undefined : nearest(known, words, method, parts)
    return meant === undefined
      ? `${none}; see ${openapiPath}.`
      : `${none}. Did you mean ${meant.method} ${meant.path}? See ${openapiPath}.`
  }
}

/**
 * The path of which only the end was asked for, such as that of `/v1/vms`; undefined for all others.
 * @param paths whole ones, each with its surface's beginning.
 */
export function wholePath(paths: readonly string[], url: string): string | undefined {
  const asked = partsOf(url.split('?', 1)[0] ?? '')
  if (asked.length === 0 || asked.length > partsMax) return undefined
  return paths.find((path) => {
    const parts = partsOf(path)
    const end = parts.slice(-asked.length)
    return parts.length - asked.length <= beginningMax && end[0] === asked[0] && isAt(end, asked)
  })
}

/** Parts of the beginning of a surface's paths, such as `/api/v1`. */
const beginningMax = 2
const changes: ReadonlySet<string> = new Set(['PATCH', 'PUT'])
/** Stands where a path has nothing between two slashes, which is where a shell had no value for an id. */
const unknownId = '0'
const conjunction = new Intl.ListFormat('en-GB', { type: 'conjunction' })

function methodsOf(paths: readonly Known[]): string {
  return conjunction.format(new Set(paths.map(({ method }) => method)))
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '')
}

/** Which parameter of a known path is left empty; undefined when none is. */
function emptyParameter(known: readonly Known[], method: string, path: string): string | undefined {
  const asked = path.split('/').slice(1)
  if (asked.length > partsMax || !asked.includes('')) return undefined
  const meant = known.filter(({ parts }) => isAt(parts, asked))
  const one = meant.find((each) => each.method === method) ?? meant[0]
  const name = one?.parts.find((part, at) => isParameter(part) && asked[at] === '')
  return name && `${name} of ${one?.path} is empty`
}

function isParameter(part: string): boolean {
  return part.startsWith('{')
}

function isAt(parts: readonly string[], asked: readonly string[]): boolean {
  return parts.length === asked.length && parts.every((part, at) => isParameter(part) || part === asked[at])
}

/** The known path that is the fewest changes away; of several, one with the method that was asked for. */
function nearest(
  known: readonly Known[],
  words: ReadonlySet<string>,
  method: string,
  parts: readonly string[],
): Known | undefined {
  const asked = parts.map((part, at) => ({
    part,
    isSpare: part === unknownId || part === parts[at - 1],
    near: part.length > partLengthMax ? undefined : nearestKey(part, words.difference(new Set([part]))), // a word of one path may be misspelt in another
  }))
  let best: { known: Known; cost: number } | undefined
  for (const one of known) {
    const cost = costOf(one.parts, asked, words)
    const isBetter = best === undefined || cost < best.cost
    const isAsked = cost === best?.cost && one.method === method && best.known.method !== method
    if (cost <= costMax && (isBetter || isAsked)) best = { known: one, cost }
  }
  return best?.known
}

/** What it costs to make the path that was asked for into this one, part by part, as between two words letter by letter. */
function costOf(parts: readonly string[], asked: readonly Asked[], words: ReadonlySet<string>): number {
  let last = Array.from({ length: parts.length + 1 }, (_, at) => at * costs.leftOut)
  for (const one of asked) {
    const dropped = one.isSpare ? costs.leftOut : costs.dropped
    const next = [(last[0] ?? 0) + dropped]
    for (const [at, part] of parts.entries())
      next.push(
        Math.min(
          (last[at] ?? 0) + costOfPart(part, one, words),
          (last[at + 1] ?? 0) + dropped,
          (next[at] ?? 0) + costs.leftOut,
        ),
      )
    last = next
  }
  return last.at(-1) ?? 0
}

function costOfPart(part: string, { part: asked, near }: Asked, words: ReadonlySet<string>): number {
  if (isParameter(part)) return idLike.test(asked) && !words.has(asked) ? 0 : costs.wordAsId
  if (part === asked) return 0
  return part === near ? costs.misspelt : costs.other
}
