/** The token inside a VM: what it is listed for is open to it, and everything else closed, whichever way it is asked for. */
import { buildSchema, execute, parse } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { surfaces } from '#rest-compat/surfaces.ts'
import { withoutVmTokens } from '#schema/vm-tokens.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { signVmToken } from '#src/resources/identity/access-tokens.ts'
import { identityOf } from '#src/resources/identity/memberships.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf } from '../support/makers.ts'
import {
  canary,
  fill,
  makeCallers,
  makeRefusingNode,
  makeTarget,
  picture,
  type Callers,
  type Target,
} from './callers.ts'
import { documentOf, rootFields } from './documents.ts'
import { firstByEvents, told } from './first-answers.ts'
import { gatewayRows, graphqlRows, restRows, type RestRow } from './matrix.ts'
import { agentsRows } from './matrix/agents.ts'
import { triggerSettings } from './matrix/triggers.ts'
import { restExceptions, vmTokenRows } from './matrix/vm-tokens.ts'

let berth: Berth
let callers: Callers
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000', ...triggerSettings } })
  callers = await makeCallers(berth)
  node = await makeRefusingNode(berth)
})
afterAll(() => berth.stop())

const forbidden = '403 forbidden'

let untouched: Promise<{ target: Target; token: string }> | undefined
/** The same for what is closed: nothing of it has changed, as each test makes sure. */
function closedInside(): ReturnType<typeof inside> {
  return (untouched ??= inside())
}

/** A target of the owner's, and the token inside its VM. */
async function inside(): Promise<{ target: Target; token: string }> {
  const target = await makeTarget(berth, callers.owner, node)
  const { organizationId, userId } = idsOf(callers.owner)
  const identity = await identityOf(berth.services.db, userId, organizationId)
  const { token } = await signVmToken(berth.services, identity, decodeId('vm', target.vm) ?? '', 900)
  return { target, token }
}

type Said = { said: string; text: string }

async function askGraphql(rootField: string, target: Target, token: string): Promise<Said> {
  const args = graphqlRows[rootField]?.args
  const document = documentOf(rootField, args && fill(args, target))
  const answer = rootField.startsWith('subscription')
    ? await firstByEvents(berth, document, token)
    : (await berth.ask(document, { token })).body
  return { said: told(answer), text: JSON.stringify(answer) }
}

async function callRest(key: string, row: RestRow, target: Target, token: string): Promise<Said> {
  const [method = '', path = ''] = key.split(' ')
  const leaving = new AbortController()
  const answer = await fetch(berth.url + fill(path + (row.query ?? ''), target, row.of), {
    method,
    signal: leaving.signal,
    headers: {
      authorization: `Bearer ${token}`,
      ...(row.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(row.body === undefined ? {} : { body: fill(JSON.stringify(row.body), target) }),
  })
  const text = answer.headers.get('content-type')?.startsWith('text/event-stream') ? '' : await answer.text()
  leaving.abort()
  return { said: String(answer.status), text }
}

/** Whether a refusal names the token, and neither showed nor changed anything. */
async function expectClosed({ text }: Said, target: Target, before: string): Promise<void> {
  expect(text).toContain('token inside a VM')
  expect(text).not.toContain(canary)
  expect(await picture(berth, target)).toBe(before)
}

/** The status in which a VM can do this. */
const startsFrom: Readonly<Record<string, string>> = { 'mutation startVm': 'stopped', 'mutation resumeVm': 'paused' }

test('every root field has an answer for it, and every answer a field', () => {
  expect(Object.keys(vmTokenRows).sort()).toEqual(rootFields().sort())
})

test('a root field that nobody has decided about is closed to it', async () => {
  const made = buildSchema('type Query { fresh: Int } type Mutation { fresh: Int }')
  for (const root of [made.getQueryType(), made.getMutationType()]) root!.getFields()['fresh']!.resolve = () => 1 // as it was made
  const caller = (vmId: string | null): object => ({ caller: { kind: 'person', vmId } })
  const guarded = withoutVmTokens(made)
  for (const operation of ['query', 'mutation']) {
    const ask = (vmId: string | null): unknown =>
      execute({ schema: guarded, document: parse(`${operation} { fresh }`), contextValue: caller(vmId) })
    expect(await ask(null)).toEqual({ data: { fresh: 1 } })
    expect(await ask(newUuid())).toMatchObject({ data: { fresh: null }, errors: [{ originalError: { status: 403 } }] })
  }
})

describe('GraphQL', () => {
  test.each(Object.entries(vmTokenRows))('%s is %s to it', async (rootField, answer) => {
    // A deployment, a schedule and a trigger start the target's agent.
    const isOpen = answer === 'open' || answer === 'unless secret'
    const { target, token } = await (isOpen ? inside() : closedInside())
    const status = startsFrom[rootField]
    if (status)
      await sql`update vms set status = ${status}, desired_status = ${status} where id = ${decodeId('vm', target.vm)}`.execute(
        berth.services.db,
      )
    const before = await picture(berth, target)
    const said = await askGraphql(rootField, target, token)
    expect(said.said).toBe(isOpen ? graphqlRows[rootField]?.outcomes[0] : forbidden)
    if (!isOpen) await expectClosed(said, target, before)
  })
})

describe('REST', () => {
  const rows = { ...restRows, ...gatewayRows, ...agentsRows }
  const operations = surfaces.flatMap(({ mount, routes, handlers }) =>
    [...Object.keys(routes), ...Object.keys(handlers)].map((key) => {
      const path = key.replace(' ', ` ${mount}`)
      const answers = rootFieldsOf(routes[key]?.operation ?? '').map((field) => vmTokenRows[field])
      return [path, restExceptions[path] ?? answers.find((answer) => answer !== 'open') ?? answers[0]] as const
    }),
  )

  test('every operation has an answer for it', () => {
    expect(operations.filter(([, answer]) => answer === undefined)).toEqual([])
  })

  test.each(operations)('%s is %s to it', async (key, answer) => {
    const isClosed = answer === 'closed' || answer === 'unless started'
    const { target, token } = await (isClosed ? closedInside() : inside())
    const row = rows[key]! // a test of its own sees to it
    const before = await picture(berth, target)
    const said = await callRest(key, row, target, token)
    expect(said.said).toBe(isClosed ? '403' : row.outcomes[0].slice(0, 3))
    if (isClosed) await expectClosed(said, target, before)
  })
})

/** The root fields that a document asks for, such as `mutation deleteSession`. */
function rootFieldsOf(document: string): string[] {
  if (document === '') return []
  return parse(document).definitions.flatMap((definition) =>
    definition.kind === 'OperationDefinition'
      ? definition.selectionSet.selections.flatMap((one) =>
          one.kind === 'Field' ? [`${definition.operation} ${one.name.value}`] : [],
        )
      : [],
  )
}

describe('a session that it may read and not steer', () => {
  /** What makes one, each done to the target's session. */
  const secrets: Readonly<
    Record<string, (target: Target, ids: Record<'session' | 'environment', string>) => Promise<unknown>>
  > = {
    'has a vault': ({ vault }, { session }) =>
      sql`update sessions set vault_ids = ${[decodeId('vault', vault)]}::uuid[] where id = ${session}`.execute(
        berth.services.db,
      ),
    'works in an environment that it does not have for itself': (_, { session, environment }) =>
      sql`update sessions set environment_id = ${environment}, kind = 'computer' where id = ${session}`.execute(
        berth.services.db,
      ),
    'works in the VM of a deployment': async ({ deployment }, { session, environment }) => {
      await sql`update environments set ephemeral = true where id = ${environment}`.execute(berth.services.db)
      await sql`update sessions set environment_id = ${environment}, kind = 'computer', deployment_id = ${decodeId('deployment', deployment)} where id = ${session}`.execute(
        berth.services.db,
      )
    },
    'has a resource in its VM': async ({ sessionResource }, { session, environment }) => {
      await sql`update environments set ephemeral = true where id = ${environment}`.execute(berth.services.db)
      await sql`update sessions set environment_id = ${environment}, kind = 'computer' where id = ${session}`.execute(
        berth.services.db,
      )
      await sql`update session_resources set session_id = ${session} where id = ${decodeId('sessionResource', sessionResource)}`.execute(
        berth.services.db,
      )
    },
    'is a member of a group': ({ groupMember }, { session }) =>
      sql`update group_members set session_id = ${session} where session_id = ${decodeId('session', groupMember)}`.execute(
        berth.services.db,
      ),
  }
  const changes = Object.keys(vmTokenRows).filter((field) => vmTokenRows[field] === 'unless secret')

  test.each(Object.keys(secrets))(
    'because it %s: it is read, and nothing of it is changed, shared or ended',
    async (why) => {
      const { target, token } = await inside()
      const ids = {
        session: decodeId('session', target.session) ?? '',
        environment: decodeId('environment', target.environment) ?? '',
      }
      await secrets[why]?.(target, ids)
      const read = `{ session(id: "${target.session}") { title vaultIds vaults { id } } sessionEvents(sessionId: "${target.session}") { nodes { id } } }`
      expect((await berth.ask(read, { token })).body).toMatchObject({ data: { session: { title: canary } } })
      const before = await picture(berth, target)
      for (const field of changes) {
        const said = await askGraphql(field, target, token)
        expect([field, said.said]).toEqual([field, forbidden])
        await expectClosed(said, target, before)
      }
    },
  )

  test('keeps its agent, with which it would be deleted', async () => {
    const { target, token } = await inside()
    const call = (method: string, path: string, body?: unknown): Promise<{ status: number; body: { id: string } }> =>
      berth.call<{ id: string }>(method, `/agents/v1${path}`, { token, body })
    const agent = await call('POST', '/agents', { name: 'helper', model: 'berth/demo' })
    const session = decodeId('session', (await call('POST', '/sessions', { agent: agent.body.id })).body.id)
    const give = (vaults: unknown[]): Promise<unknown> =>
      sql`update sessions set vault_ids = ${vaults}::uuid[] where id = ${session}`.execute(berth.services.db)
    await give([decodeId('vault', target.vault)])
    expect((await call('DELETE', `/agents/${agent.body.id}`)).status).toBe(403)
    await give([])
    expect((await call('DELETE', `/agents/${agent.body.id}`)).status).toBe(204)
  })
})

test('a build that deploys a function is read, and not cancelled', async () => {
  const { target, token } = await inside()
  await sql`update build_jobs set output_type = 'function', status = 'queued' where id = ${decodeId('build', target.build)}`.execute(
    berth.services.db,
  )
  expect((await askGraphql('query build', target, token)).said).toBe('200')
  expect((await askGraphql('mutation cancelBuild', target, token)).said).toBe(forbidden)
  expect((await askGraphql('mutation cancelBuild', target, callers.owner)).said).toBe('200')
})

test('by its id it finds what it may read, and nothing else', async () => {
  const { target, token } = await inside()
  const seen = new Set<string>()
  for (const id of new Set(Object.values(target))) {
    const { body } = await berth.ask(`{ node(id: "${id}") { __typename } }`, { token })
    for (const [, type = ''] of JSON.stringify(body).matchAll(/"__typename":"(\w+)"/g)) seen.add(type)
  }
  expect(seen).toEqual(
    new Set(['Agent', 'Build', 'Folder', 'Organization', 'Session', 'Template', 'Terminal', 'Vm', 'VmProcess']),
  )
})
