/** Functions that are linked to a repository, in a Berth whose builds are only rows, with a code host. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { finishDeployment } from '#src/resources/infra/functions/build-deployments.ts'
import { openSpec } from '#src/resources/infra/builds/specs.ts'
import { findBuildRow, type Build } from '#src/resources/infra/builds/rows.ts'
import { startBerth, type Berth } from '../berth.ts'
import { codeHostSettings, startCodeHost, type CodeHost } from './code-host.ts'
import { makeSilentNode } from '../makers.ts'

/** The Berth of these tests, its code host, an owner's token, and a node that runs nothing. */
export let berth: Berth
export let host: CodeHost
export let token: string
let node: string
/** Starts it before the tests of a file, and stops it after them. */
export function useLinkedFunctions(): void {
  beforeAll(startAll)
  afterAll(async () => {
    await berth.stop()
    host.close()
  })
  beforeEach(async () => {
    host.heal()
    await connect(token)
    host.account('octocat').hooks = []
  })
}

async function startAll(): Promise<void> {
  host = await startCodeHost({ name: 'host.berth.internal' })
  berth = await startBerth({
    settings: { ...codeHostSettings(host, 'http://host.berth.internal'), BERTH_RATE_LIMIT_FACTOR: '100' },
  })
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
  host.account('octocat').repositories = ['site', 'other']
}

type Failure = { code: string; message: string; field?: string }
type Linked = {
  function: { id: string }
  webhookUrl: string
  webhookSecret: string | null
  webhookReason: string | null
}
type Shown = {
  repository: {
    fullName: string
    branch: string
    webhookUrl: string
    hasOwnWebhook: boolean
    linkedBy: { id: string } | null
    lastPush: {
      commitSha: string
      buildId: string | null
      build: { status: string } | null
      reason: string | null
    } | null
  } | null
}

/** Connects an account at the code host. */
export const connect = (as: string, login = 'octocat') =>
  berth.call('POST', '/api/v1/codehost/save-token', { token: as, body: { code: host.code(login) } })
/** Asks GraphQL; an error is its code and its sentence. */
export async function ask<Data>(query: string, variables: object, as = token): Promise<Data & Failure> {
  const { body } = await berth.ask(query, { token: as, variables: variables as Record<string, unknown> })
  const [error] = body.errors ?? []
  if (error) return { ...error.extensions, message: error.message } as unknown as Data & Failure
  return Object.values(body.data as Record<string, Data>)[0] as Data & Failure // it has one root field
}
/** Makes a function. */
export const create = async (name = `f-${randomUUID().slice(0, 8)}`, as = token): Promise<string> =>
  (
    await ask<{ function: { id: string } }>(
      'mutation ($name: String) { createFunction(input: {name: $name}) { function { id } } }',
      { name },
      as,
    )
  ).function.id
/** Links a function. */
export const link = (id: string, input: object = {}, as = token) =>
  ask<Linked>(
    'mutation ($input: LinkFunctionRepositoryInput!) { linkFunctionRepository(input: $input) { function { id } webhookUrl webhookSecret webhookReason } }',
    { input: { id, repository: 'octocat/site', ...input } },
    as,
  )
/** Unlinks it. */
export const unlink = (id: string, as = token) =>
  ask('mutation ($id: ID!) { unlinkFunctionRepository(input: {id: $id}) { function { id } } }', { id }, as)
/** What a function shows of its repository. */
export const show = async (id: string, as = token): Promise<Shown['repository']> =>
  (
    await ask<Shown>(
      `query ($id: ID!) { function(id: $id) { repository { fullName branch webhookUrl hasOwnWebhook linkedBy { id }
        lastPush { commitSha buildId build { status } reason } } } }`,
      { id },
      as,
    )
  ).repository
/** The row of a build. */
export const buildOf = async (publicId: string | null | undefined): Promise<Build> => {
  const found = await findBuildRow(berth.services.db, decodeId('build', publicId ?? '') ?? '')
  if (!found) throw new Error('there is no such build')
  return found
}
/** A linked function, and what the code host was given to tell of pushes. */
export async function linked(input: object = {}): Promise<{ id: string; hook: { url: string; secret: string } }> {
  const id = await create()
  await link(id, input)
  const hook = host.account('octocat').hooks.at(-1)?.config
  return { id, hook: { url: atBerth(hook?.['url'] ?? ''), secret: hook?.['secret'] ?? '' } }
}
/** The address as this test reaches it. */
export const atBerth = (url: string): string => berth.url + new URL(url).pathname

/** A function's name. */
export async function nameOf(id: string): Promise<string> {
  return (await ask<{ name: string }>('query ($id: ID!) { function(id: $id) { name } }', { id })).name
}

/** As if a worker built it. */
export async function running(publicId: string): Promise<void> {
  await sql`update build_jobs set status = 'running', started_at = now(), node_id = ${node} where id = ${decodeId('build', publicId)}`.execute(
    berth.services.db,
  )
}

/** Ends a build as its worker does. */
export async function finish(publicId: string): Promise<Build | undefined> {
  const build = await buildOf(publicId)
  const { output } = openSpec(berth.services.sealer, build)
  const { name } = output
  const made = {
    type: 'function',
    name,
    key: `builds/tests/${publicId}/${name}.tar.gz`,
    templateId: null,
    sizeBytes: 4,
    sha256: 'ab',
  } as const
  return finishDeployment(berth.services, build, { status: 'succeeded', exitCode: 0, output: made }, output)
}

/** The builds of a function's versions, in the order of their deployment. */
export async function deployedBuilds(id: string): Promise<string[]> {
  const found = await sql<{
    buildId: string
  }>`select build_id as "buildId" from function_versions where function_id = ${decodeId('function', id)} order by number`.execute(
    berth.services.db,
  )
  return found.rows.map(({ buildId }) => encodeId('build', buildId))
}
