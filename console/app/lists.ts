/** How lists in the cache follow what is made, changed and deleted, and how many there are, without being read again. */
import type { Cache, CacheExchangeOpts, ResolveInfo, UpdatesConfig } from '@urql/exchange-graphcache'
import type { OrganizationEvents } from '../generated/documents.ts'

type Event = Extract<OrganizationEvents['organizationEvents'], { cursor: string }>
type Arguments = Readonly<Record<string, unknown>> | null

/** The list of each type of object. */
const listOf: Readonly<Partial<Record<Event['nodeType'], string>>> = {
  VM: 'vms',
  DATABASE: 'databases',
  BUILD: 'builds',
  SESSION: 'sessions',
  AGENT: 'agents',
  FUNCTION: 'functions',
  DOMAIN: 'domains',
  API_KEY: 'apiKeys',
  MEMBER: 'members',
  ENVIRONMENT: 'environments',
  VAULT: 'vaults',
  DEPLOYMENT: 'deployments',
  SCHEDULE: 'schedules',
  TRIGGER: 'triggers',
  GROUP: 'groups',
  SKILL: 'skills',
  MEMORY: 'memories',
  FILE: 'files',
  FOLDER: 'folders',
  PROJECT: 'projects',
  TEMPLATE: 'templates',
  WEBHOOK_ENDPOINT: 'webhookEndpoints',
}
/** New ones are last there; they are first in all others. */
const oldestFirst = new Set(['templates'])

/** Lists of another object: its type, the field that names it or leads to it, and its list. They are short, and read again. */
const listsWithin: Readonly<Record<string, readonly ListWithin[]>> = {
  BACKUP: [['Database', 'databaseId', 'backups']],
  DATABASE_RESTORE: [['Database', 'databaseId', 'restores']],
  SESSION: [
    ['Agent', 'agentId', 'sessions'],
    ['Deployment', 'deploymentId', 'sessions'],
    ['Environment', 'environmentId', 'sessions'],
  ],
  SCHEDULE: [['Deployment', 'deploymentId', 'schedules']],
  TRIGGER: [['Deployment', 'deploymentId', 'triggers']],
  DEPLOYMENT_RUN: [['Deployment', 'deployment', 'runs']],
  TRIGGER_FIRE: [['Trigger', 'triggerId', 'fires']],
  PEER_EXCHANGE: [
    ['Session', 'requesterSessionId', 'askedPeerExchanges'],
    ['Session', 'responderSessionId', 'answeredPeerExchanges'],
  ],
}
type ListWithin = readonly [type: string, field: string, list: string]
/** Of these an event has no row, so that a change of one is read with its list. */
const withoutRow: ReadonlySet<string> = new Set(['DEPLOYMENT_RUN', 'TRIGGER_FIRE', 'PEER_EXCHANGE'])

/** What no event tells of: it is read again after each mutation that changes it. */
const fieldChangedBy: Readonly<Record<string, string>> = {
  createInvitation: 'invitations',
  revokeInvitation: 'invitations',
  setOrganizationBudget: 'inferenceCredits',
  setApiKeyBudget: 'inferenceCredits',
}

/** An answer that was on its way when something changed does not know it: for so long the change is remembered for it. */
const rememberedMs = 60_000
const rememberedMax = 500
/** @property isArchived what is archived is not there where a list is not narrowed; where it is, only the server knows. */
type Change = { key: string; list: string; isThere: boolean; isArchived?: boolean; atMs: number }

/** What changed lately, and how it is put into a list. */
function rememberChanges() {
  const changes = new Map<string, Change>()
  /** By how much the number of objects in a list differs from what its answer said. */
  const more = new Map<string, number>()

  function remember(change: Change): void {
    changes.delete(change.key)
    changes.set(change.key, change)
    for (const [key, { atMs }] of changes)
      if (changes.size > rememberedMax || change.atMs - atMs > rememberedMs) changes.delete(key)
  }

  function count(cache: Cache, connection: string, by: number): void {
    more.set(connection, (more.get(connection) ?? 0) + by)
    cache.link(connection, 'nodes', keysIn(cache, connection) as never) // whoever shows the number reads it again
  }

  /** What is in a list of the cache is brought up to date with one change. */
  function put({ key, isThere, list }: Change, cache: Cache, connection: string, args: Arguments): void {
    const nodes = keysIn(cache, connection)
    const isListed = nodes.includes(key)
    if (isListed === isThere) return
    if (isListed) {
      cache.link(connection, 'nodes', nodes.filter((one) => one !== key) as never)
      return count(cache, connection, -1)
    }
    if (isThere) {
      const last = nodes.at(-1)
      if (args?.['after']) return // new ones are on the first page
      if (last && !oldestFirst.has(list) && !isWhole(cache, connection) && isOlder(cache, key, last)) return // it is on a later page
      if (!oldestFirst.has(list)) cache.link(connection, 'nodes', [key, ...nodes] as never)
      else if (isWhole(cache, connection)) cache.link(connection, 'nodes', [...nodes, key] as never)
      count(cache, connection, 1)
    }
  }

  return { changes, more, remember, count, put }
}

/** How the cache of one organization follows its events. */
export function followLists(): Pick<CacheExchangeOpts, 'updates' | 'resolvers'> {
  const { changes, more, remember, count, put } = rememberChanges()
  const fields = Object.values(listOf)

  function apply(event: Event, cache: Cache): void {
    if (event.node && (event.change !== 'UPDATED' || withoutRow.has(event.nodeType)))
      for (const within of listsWithin[event.nodeType] ?? [])
        readAgain(event.node as Record<string, unknown>, within, cache)
    const list = listOf[event.nodeType]
    if (event.change === 'UPDATED') {
      if (list && isArchived(event)) leaveOut(event, list, cache)
      return refresh(event, list, cache)
    }
    if (!list) return
    const isThere = event.change === 'CREATED'
    if (isThere && !event.node) return
    const change = { key: `${typeOf(event.nodeType)}:${event.nodeId}`, list, isThere, atMs: performance.now() }
    remember(change)
    const found = listsIn(cache, list)
    const wasListed = found.some(({ connection }) => keysIn(cache, connection).includes(change.key))
    for (const { connection, args, fieldKey } of found) {
      if (isThere && isNarrowed(args))
        cache.invalidate('Query', fieldKey) // only the server knows whether it belongs there
      else if (!isThere && !wasListed && !isWhole(cache, connection)) cache.invalidate(connection, 'totalCount')
      else if (!isThere && wasListed && !keysIn(cache, connection).includes(change.key)) {
        if (!isNarrowed(args) && !isWhole(cache, connection)) count(cache, connection, -1)
      } else if (!(isThere && wasListed && args?.['after'])) put(change, cache, connection, args)
    }
    if (!isThere && cache.resolve(change.key, '__typename')) cache.invalidate(change.key) // its page asks, and learns that it is gone
  }

  /** What is archived leaves the lists that are not narrowed. */
  function leaveOut({ nodeType, nodeId }: Event, list: string, cache: Cache): void {
    const key = `${typeOf(nodeType)}:${nodeId}`
    const change = { key, list, isThere: false, isArchived: true, atMs: performance.now() }
    remember(change)
    for (const { connection, args } of listsIn(cache, list)) if (!isNarrowed(args)) put(change, cache, connection, args)
  }

  /** An answer has come: what happened while it was on its way is put into it. */
  function complete(list: string, args: Record<string, unknown>, cache: Cache): void {
    const connection = cache.resolve('Query', list, args as never)
    if (typeof connection !== 'string') return
    more.delete(connection)
    const nowMs = performance.now()
    for (const change of changes.values())
      if (change.list === list && nowMs - change.atMs < rememberedMs && (isGone(change) || !isNarrowed(args)))
        put(change, cache, connection, args)
  }

  const updates: UpdatesConfig = {
    Query: Object.fromEntries(
      fields.map((list) => [
        list,
        (_result: unknown, args: Record<string, unknown>, cache: Cache) => complete(list, args, cache),
      ]),
    ),
    Mutation: Object.fromEntries(
      Object.entries(fieldChangedBy).map(([mutation, field]) => [
        mutation,
        (_result, _args, cache: Cache) => readFieldAgain(field, cache),
      ]),
    ),
    Subscription: {
      organizationEvents(result, _args, cache) {
        const event = (result as OrganizationEvents).organizationEvents
        if ('cursor' in event) apply(event, cache)
      },
    },
  }
  const totalCount = (_parent: unknown, _args: unknown, cache: Cache, { parentKey }: ResolveInfo) => {
    const answered = cache.resolve(parentKey, 'totalCount')
    return typeof answered === 'number' ? Math.max(0, answered + (more.get(parentKey) ?? 0)) : undefined
  }
  const types = Object.keys(listOf).map((nodeType) => [`${typeOf(nodeType)}Connection`, { totalCount }] as const)
  return { updates, resolvers: Object.fromEntries(types) as never } // they resolve a number
}

/** A type as the graph names it: `ApiKey` of `API_KEY`. */
function typeOf(nodeType: string): string {
  return nodeType
    .split('_')
    .map((word) => `${word.slice(0, 1)}${word.slice(1).toLowerCase()}`)
    .join('')
}

type Found = { fieldKey: string; args: Arguments; connection: string }

/** The pages of a list that the cache has. */
function listsIn(cache: Cache, list: string): Found[] {
  return cache.inspectFields('Query').flatMap(({ fieldKey, fieldName, arguments: args }) => {
    const connection = fieldName === list ? cache.resolve('Query', fieldKey) : null
    return typeof connection === 'string' ? [{ fieldKey, args, connection }] : []
  })
}

function keysIn(cache: Cache, connection: string): string[] {
  return (cache.resolve(connection, 'nodes') ?? []) as string[] // keys, as the cache links them
}

/** Whether one was made before another; ids tell it where both were at the same moment. */
function isOlder(cache: Cache, one: string, other: string): boolean {
  const madeAt = (key: string): string =>
    [cache.resolve(key, 'createdAt'), cache.resolve(key, 'queuedAt')].find((at) => typeof at === 'string') ?? ''
  const [first, second] = [madeAt(one), madeAt(other)]
  return first < second || (first === second && one < other)
}

/** Whether nothing follows a page. */
function isWhole(cache: Cache, connection: string): boolean {
  const pageInfo = cache.resolve(connection, 'pageInfo')
  return typeof pageInfo === 'string' && cache.resolve(pageInfo, 'hasNextPage') === false
}

/**
 * What pages show of an object beside its row, which no event carries: it is read again where it is shown. Of some types an event
 * has no row, because a document may have so many fields and no more: all that changes of them stands here.
 */
const detailsOf: Readonly<Record<string, readonly string[]>> = {
  VM: ['startedAt', 'ipAddress', 'diskMb', 'warnings', 'events', 'proxies'],
  DATABASE: ['project', 'networkName'],
  BUILD: ['output', 'failingStep', 'isCancelRequested'],
  DOMAIN: ['records', 'certificate', 'instructions', 'nextCheckAt'],
  FUNCTION: ['versions', 'failures'],
  WEBHOOK_ENDPOINT: ['deliveries', 'heldUntil', 'previousSecretUntil'],
  AGENT: ['versions'],
  ENVIRONMENT: ['config', 'vmId'],
  TRIGGER: ['events', 'filters', 'agentReference', 'kickoff'],
  SCHEDULE: ['upcomingRunsAt', 'runs'],
  DEPLOYMENT: ['pausedReason'],
  GROUP: ['name', 'description', 'updatedAt', 'members', 'messages', 'runs'],
  SKILL: ['displayName', 'latestVersionId', 'updatedAt', 'versions'],
  MEMORY: ['body', 'category', 'revision', 'updatedAt', 'actor'],
  FILE: ['filename', 'expiresAt'],
  FOLDER: ['name', 'sizeMb', 'vmId'],
  SESSION: ['outcomeEvaluations'],
}

/** An object has changed: its details are old, and it may belong to other lists that are narrowed than before. */
function refresh({ node, nodeType }: Event, list: string | undefined, cache: Cache): void {
  const key = node && cache.keyOfEntity(node)
  const details = detailsOf[nodeType]
  if (key && details)
    for (const { fieldKey, fieldName } of cache.inspectFields(key))
      if (details.includes(fieldName)) cache.invalidate(key, fieldKey)
  for (const { fieldKey, fieldName, arguments: args } of cache.inspectFields('Query'))
    if (fieldName === list && isNarrowed(args)) cache.invalidate('Query', fieldKey)
}

function isArchived({ node }: Event): boolean {
  return node !== null && 'archivedAt' in node && node.archivedAt !== null
}

/** Whether it is in no list any more. */
function isGone({ isThere, isArchived: wasArchived }: Change): boolean {
  return !isThere && !wasArchived
}

function isNarrowed(args: Arguments): boolean {
  const filter = args?.['filter']
  return typeof filter === 'object' && filter !== null && Object.keys(filter).length > 0
}

function readFieldAgain(field: string, cache: Cache): void {
  for (const { fieldKey, fieldName } of cache.inspectFields('Query'))
    if (fieldName === field) cache.invalidate('Query', fieldKey)
}

function readAgain(node: Record<string, unknown>, [type, field, list]: ListWithin, cache: Cache): void {
  const key = `${type}:${idIn(node[field])}`
  for (const { fieldKey, fieldName } of cache.inspectFields(key))
    if (fieldName === list) cache.invalidate(key, fieldKey)
}

/** The id in a field that has one, or an object with one. */
function idIn(value: unknown): string {
  return typeof value === 'object' && value !== null && 'id' in value ? String(value.id) : String(value)
}
