/**
 * What GitHub delivers, read: the fields that filters look at, and those that an agent is told. Everything in it was
 * written by others, so each text and list is cut to a length, and what is not of its documented type counts as absent.
 */
import { isUtf8 } from 'node:buffer'
import { BerthError } from '#src/platform/errors.ts'
import { readInPieces, type Json } from '#src/platform/json/pieces.ts'
import { limits } from '#src/platform/limits.ts'
import { storableText } from '#src/platform/texts.ts'
import { eventKinds, type EventName } from './events.ts'
import { triggerLimits } from './limits.ts'

/** Who caused an event. */
export type Sender = { login: string; type: string }

/** What filters look at. Null where an event has no such thing. */
export type Facts = {
  branch: string | null
  labels: string[]
  comment: string | null
  paths: string[]
  /** Whether a push changed more files than are read. */
  hasMorePaths: boolean
  isFork: boolean
  /** Whether a push deleted the branch or tag; absent in what was stored before that was read. */
  isDeletion?: boolean
  /** What the author of the event's text is to the repository; null where only those who may write can cause the event. */
  association: string | null
  /** The apps by which it was caused: names and client ids. */
  apps: string[]
}

/** What is kept of a delivery. `told` is what agents are told; `repositoryId` is null where it does not say. */
export type Routed = {
  repositoryId: number | null
  sender: Sender
  ref: string | null
  sha: string | null
  number: number | null
  facts: Facts
  told: Readonly<Record<string, unknown>>
}

/** A delivery as it was read. */
export type Payload = {
  event: EventName
  action: string | null
  repo: string
  routed: Routed
}

/**
 * Reads a delivery.
 * @returns null for an event that no trigger can name, or that is about no repository.
 * @throws BerthError invalid_request, request_too_large.
 */
export async function readPayload(event: string, body: Buffer): Promise<Payload | null> {
  if (!isUtf8(body)) throw new BerthError('invalid_request', 'The body is no UTF-8. Send JSON as GitHub does.')
  const { conversationParts: parts, jsonNumbers: numbers } = limits
  return routePayload(event, await readInPieces(body, { parts, numbers, anyText: true }))
}

/** The same of a body that is read already. @throws BerthError invalid_request. */
export function routePayload(event: string, body: unknown): Payload | null {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BerthError('invalid_request', 'The body must be an object: the JSON payload of a GitHub event.')
  const root = body as Fields
  const repo = textOf(at(root, 'repository', 'full_name'), repoLength)
  if (!isEvent(event) || repo === null) return null
  const action = textOf(root['action'], triggerLimits.textLength)
  return {
    event,
    action: eventKinds[event].length === 0 ? null : action,
    repo,
    routed: routed(event, root),
  }
}

type Fields = { readonly [key: string]: Json }

const repoLength = 511
const { textLength, bodyLength } = triggerLimits

function isEvent(event: string): event is EventName {
  return Object.hasOwn(eventKinds, event)
}

function routed(event: EventName, root: Fields): Routed {
  const pull = fieldsOf(root['pull_request'])
  const issue = fieldsOf(root['issue'])
  const item = pull ?? issue
  const run = fieldsOf(root[event]) // of workflow_run and check_suite
  const ref = textOf(event === 'push' ? root['ref'] : (at(pull, 'base', 'ref') ?? run?.['head_branch']), textLength)
  const sha = event === 'push' ? root['after'] : (at(pull, 'head', 'sha') ?? run?.['head_sha'])
  const number = smallNumberOf(item?.['number'])
  const sender = senderOf(root)
  return {
    repositoryId: numberOf(at(root, 'repository', 'id')),
    sender,
    ref: ref ?? textOf(at(root, 'release', 'tag_name'), textLength),
    sha: shaOf(sha),
    number,
    facts: factsOf(event, root, ref),
    told: agentFields(root, { sender, ref, sha: shaOf(sha), number }),
  }
}

function senderOf(root: Fields): Sender {
  const login = textOf(at(root, 'sender', 'login'), textLength) ?? 'ghost'
  return { login, type: textOf(at(root, 'sender', 'type'), textLength) ?? 'User' }
}

function factsOf(event: EventName, root: Fields, ref: string | null): Facts {
  const pull = fieldsOf(root['pull_request'])
  const item = pull ?? fieldsOf(root['issue'])
  const written = fieldsOf(root['comment']) ?? fieldsOf(root['review'])
  const label = textOf(at(root, 'label', 'name'), textLength)
  const isLabelled = root['action'] === 'labeled' && label !== null
  const push = event === 'push' ? pathsOf(root) : { paths: [], hasMorePaths: false }
  return {
    branch: event === 'push' ? (ref?.startsWith(branchRef) ? ref.slice(branchRef.length) : null) : ref,
    labels: isLabelled ? [label] : namesOf(item?.['labels']),
    comment: textOf(written?.['body'], triggerLimits.bodyLength),
    ...push,
    isFork: isFork(event, root, pull),
    isDeletion: event === 'push' && (root['deleted'] === true || isNoCommit(root['after'])),
    association: byWriters.has(event)
      ? null
      : (textOf((written ?? item)?.['author_association'], textLength) ?? 'NONE'),
    apps: [at(written, 'performed_via_github_app'), at(item, 'performed_via_github_app')].flatMap((app) =>
      ['slug', 'client_id'].flatMap((key) => textOf(at(fieldsOf(app), key), textLength) ?? []),
    ),
  }
}

const branchRef = 'refs/heads/'
/** Events that only those who may write to the repository can cause, or that come from what they set up. */
const byWriters: ReadonlySet<EventName> = new Set(['push', 'release', 'workflow_run', 'check_suite'])

/** Whether the code that it is about comes from another repository; also when that one is gone. */
function isFork(event: EventName, root: Fields, pull: Fields | undefined): boolean {
  if (pull) return differ(at(pull, 'head', 'repo', 'id'), at(pull, 'base', 'repo', 'id'))
  if (event === 'workflow_run')
    return differ(at(root, 'workflow_run', 'head_repository', 'id'), at(root, 'repository', 'id'))
  return event === 'check_suite' && textOf(at(root, 'check_suite', 'head_branch'), textLength) === null
}

/** The hash that stands for no commit. */
function isNoCommit(given: Json | undefined): boolean {
  return typeof given === 'string' && /^0{40,64}$/.test(given)
}

function differ(head: Json | undefined, base: Json | undefined): boolean {
  return numberOf(head) === null || numberOf(head) !== numberOf(base)
}

/** The files that a push changed, each once. */
function pathsOf(root: Fields): Pick<Facts, 'paths' | 'hasMorePaths'> {
  const paths = new Set<string>()
  for (const commit of listOf(root['commits'])) {
    for (const key of ['added', 'modified', 'removed']) {
      for (const path of listOf(fieldsOf(commit)?.[key])) {
        if (paths.size >= triggerLimits.pathsRead) return { paths: [...paths], hasMorePaths: true }
        if (typeof path === 'string' && path.length <= triggerLimits.pathLength) paths.add(storableText(path))
      }
    }
  }
  return { paths: [...paths], hasMorePaths: false }
}

type Common = Pick<Routed, 'sender' | 'ref' | 'sha' | 'number'>

/** What an agent is told: enough to begin with, from which it finds the rest. */
function agentFields(root: Fields, common: Common): Record<string, unknown> {
  return withoutAbsent({
    ...common,
    repository: pick(root['repository'], ['full_name', 'private', 'default_branch', 'html_url']),
    label: pick(root['label'], ['name']),
    assignee: pick(root['assignee'], ['login']),
    pull_request: itemOf(root['pull_request']),
    issue: itemOf(root['issue']),
    comment: textsOf(root['comment'], ['html_url', 'path', 'line', 'author_association']),
    review: textsOf(root['review'], ['html_url', 'state', 'author_association']),
    release: textsOf(root['release'], ['html_url', 'tag_name', 'name', 'target_commitish', 'prerelease', 'draft']),
    workflow_run: pick(root['workflow_run'], [
      'html_url',
      'name',
      'event',
      'conclusion',
      'head_branch',
      'head_sha',
      'run_number',
    ]),
    check_suite: pick(root['check_suite'], ['conclusion', 'head_branch', 'head_sha']),
    ...(Array.isArray(root['commits']) ? pushed(root) : {}),
  })
}

function pushed(root: Fields): Record<string, unknown> {
  const commits = listOf(root['commits'])
  return {
    before: shaOf(root['before']),
    compare: textOf(root['compare'], textLength),
    created: root['created'] === true,
    deleted: root['deleted'] === true,
    forced: root['forced'] === true,
    commits: commits.slice(0, triggerLimits.commitsRead).map((commit) => ({
      ...pick(commit, ['id', 'message', 'timestamp']),
      author: textOf(at(fieldsOf(commit), 'author', 'name'), textLength),
    })),
    more_commits: Math.max(0, commits.length - triggerLimits.commitsRead),
  }
}

/** An issue or a pull request. */
function itemOf(given: Json | undefined): Record<string, unknown> | null {
  const item = fieldsOf(given)
  if (!item) return null
  return withoutAbsent({
    ...textsOf(item, ['number', 'title', 'html_url', 'state', 'draft', 'merged', 'author_association']),
    labels: namesOf(item['labels']),
    is_pull_request: fieldsOf(item['pull_request']) ? true : null,
    head: branchOf(item['head']),
    base: branchOf(item['base']),
  })
}

function branchOf(given: Json | undefined): Record<string, unknown> | null {
  const branch = fieldsOf(given)
  return branch
    ? { ...pick(branch, ['ref', 'sha']), repository: textOf(at(branch, 'repo', 'full_name'), repoLength) }
    : null
}

/** These fields, the text in `body`, and who wrote it. */
function textsOf(given: Json | undefined, keys: readonly string[]): Record<string, unknown> | null {
  const fields = fieldsOf(given)
  if (!fields) return null
  const author = textOf(at(fields, 'user', 'login') ?? at(fields, 'author', 'login'), textLength)
  return { ...pick(fields, keys), author, body: textOf(fields['body'], bodyLength) }
}

function pick(given: Json | undefined, keys: readonly string[]): Record<string, unknown> | null {
  const fields = fieldsOf(given)
  if (!fields) return null
  return Object.fromEntries(
    keys.map((key) => {
      const value = fields[key]
      return [key, typeof value === 'number' || typeof value === 'boolean' ? value : textOf(value, textLength)]
    }),
  )
}

function withoutAbsent(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))
}

function fieldsOf(given: Json | undefined): Fields | undefined {
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? given : undefined
}

function at(from: Fields | undefined, ...path: string[]): Json | undefined {
  let value: Json | undefined = from as Json | undefined
  for (const key of path) {
    const fields = fieldsOf(value)
    value = fields && Object.hasOwn(fields, key) ? fields[key] : undefined
  }
  return value
}

function listOf(given: Json | undefined): readonly Json[] {
  return Array.isArray(given) ? given : []
}

function namesOf(given: Json | undefined): string[] {
  return listOf(given)
    .slice(0, triggerLimits.labelsRead)
    .flatMap((one) => textOf(at(fieldsOf(one), 'name'), textLength) ?? [])
}

function textOf(given: Json | undefined, most: number): string | null {
  return typeof given === 'string' && given !== '' ? storableText(given.slice(0, most)) : null
}

function numberOf(given: Json | undefined): number | null {
  return typeof given === 'number' && Number.isSafeInteger(given) && given > 0 ? given : null
}

/** A number that GraphQL and the column can take: no code host has as many issues. */
function smallNumberOf(given: Json | undefined): number | null {
  const number = numberOf(given)
  return number !== null && number < 2 ** 31 ? number : null
}

function shaOf(given: Json | undefined): string | null {
  return typeof given === 'string' && given.length <= 64 && /^[0-9a-f]{40,64}$/.test(given) && !/^0+$/.test(given)
    ? given
    : null
}
