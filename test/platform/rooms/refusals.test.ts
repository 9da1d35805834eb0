/** A full room refuses whatever would store more in it: a request for each table that is counted, over REST and GraphQL. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { roomNames, type RoomName } from '#src/platform/limits/rooms.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { startConnectorWorld, returnUrl, type ConnectorWorld } from '../../support/connectors/world.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { organizationOf } from '../../support/builds.ts'
import { clearRoom, fillRoom, nearRooms } from './full-rooms.ts'

let world: ConnectorWorld
let token: string
let ids: Record<'agent' | 'vault' | 'session' | 'group' | 'environment' | 'vm' | 'function', string>
beforeAll(async () => {
  world = await startConnectorWorld(nearRooms)
  ;({ token } = world)
  const make = async (path: string, body: unknown): Promise<string> => {
    const made = await world.call<{ id: string }>('POST', path, body)
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return made.body.id
  }
  const agent = await make('/agents', { name: 'a', model: 'berth/demo' })
  const member = await make('/agents', { name: 'b', model: 'berth/demo' })
  const environment = await make('/environments', { name: 'e', config: { type: 'cloud' } })
  const session = (of: string) => make('/sessions', { agent: of, environment_id: environment })
  const members = [await session(agent), await session(member)]
  ids = {
    agent,
    vault: await make('/vaults', { display_name: 'v' }),
    session: await session(agent),
    group: await make('/groups', { org_id: organizationOf(token), member_ids: members }),
    environment,
    vm: await makeVmRow(world.berth.services.db, token, await makeSilentNode(world.berth.services.db)),
    function: await makeFunction(),
  }
})
beforeEach(() => Promise.all(roomNames.map((room) => clearRoom(world.berth, token, room))))
afterAll(() => world?.stop())

async function makeFunction(): Promise<string> {
  const { body } = await world.berth.ask('mutation { createFunction(input: {name: "f"}) { function { id } } }', {
    token,
  })
  return (body.data as { createFunction: { function: { id: string } } }).createFunction.function.id
}

type Request = { room: RoomName; tables: string[] } & (
  | { rest: string; body: unknown; headers?: Record<string, string> }
  | { graphql: string }
)

const kickoff = 'x'
const auth = { type: 'static_bearer', mcp_server_url: 'https://a.example', token: 'b' }
const skill = { name: 's', description: 'd', instructions: 'i' }
const repository = { type: 'github_repository', url: 'https://github.com/octocat/hello', authorization_token: 't' }

/** Requests that store something of a caller's size, and where. */
function requests(): Request[] {
  const { agent, vault, session, group, environment, vm, function: one } = ids
  const database = newId('database')
  const agents = '/agents/v1'
  const definition = (tables: string[], rest: string, body: unknown): Request => ({
    room: 'definitions',
    tables,
    rest,
    body,
  })
  const transcript = (tables: string[], rest: string, body: unknown): Request => ({
    room: 'transcripts',
    tables,
    rest,
    body,
  })
  const mutation = (tables: string[], graphql: string): Request => ({ room: 'definitions', tables, graphql })
  return [
    definition(['agents', 'agent_versions'], `${agents}/agents`, { name: 'b', model: 'berth/demo' }),
    definition(['agents', 'agent_versions'], `${agents}/agents/${agent}`, { version: 1, name: 'c' }),
    mutation(
      ['agents', 'agent_versions'],
      'createAgent(input: { name: "b", model: { id: "berth/demo" } }) { agent { id } }',
    ),
    definition(['environments'], `${agents}/environments`, { name: 'f', config: { type: 'cloud' } }),
    definition(['environments'], `${agents}/environments/${environment}`, { name: 'g' }),
    definition(['deployments'], `${agents}/deployments`, { name: 'd', agent, kickoff }),
    definition(['schedules'], `${agents}/schedules`, { cron: '0 9 * * *', timezone: 'UTC', agent, kickoff }),
    definition(['skill_versions'], `${agents}/skills`, skill),
    definition(['vaults'], `${agents}/vaults`, { display_name: 'w' }),
    definition(['vaults'], `${agents}/vaults/${vault}`, { display_name: 'w' }),
    definition(['vault_credentials'], `${agents}/vaults/${vault}/credentials`, { display_name: 'c', auth }),
    definition(['memories'], `${agents}/memories`, { body: 'm', idempotency_key: 'k' }),
    definition(['mcp_authorizations', 'mcp_connections'], `${agents}/mcp-services/desk/connect/start`, {
      return_url: returnUrl,
    }),
    mutation(
      ['mcp_authorizations', 'mcp_connections'],
      `startMcpSignIn(input: { id: "desk", returnUrl: "${returnUrl}" }) { state }`,
    ),
    mutation(['mcp_choices'], 'selectMcpTools(input: { id: "board", disabledTools: ["show"] }) { service { id } }'),
    definition(['vms'], '/api/v1/vms', {}),
    mutation(['vms'], 'createVm(input: {}) { vm { id } }'),
    mutation(['vms'], `updateVm(input: { id: "${vm}", name: "n" }) { vm { id } }`),
    mutation(['vm_env'], `setVmEnv(input: { vmId: "${vm}", env: { A: "b" } }) { vm { id } }`),
    mutation(['functions'], 'createFunction(input: { name: "g" }) { function { id } }'),
    mutation(['functions'], `updateFunction(input: { id: "${one}", name: "h" }) { function { id } }`),
    mutation(
      ['function_versions'],
      `deployFunction(input: { id: "${one}", binaryUrl: "https://a.example/b" }) { function { id } }`,
    ),
    mutation(
      ['function_repositories'],
      `linkFunctionRepository(input: { id: "${one}", repository: "octocat/site" }) { webhookUrl }`,
    ),
    mutation(
      ['database_auth_issuers'],
      `createDatabaseAuthIssuer(input: { databaseId: "${database}", issuer: "i", jwksUri: "https://a.example/j", audience: "a" }) { authIssuer { issuer } }`,
    ),
    transcript(['sessions'], `${agents}/sessions`, { agent }),
    transcript(['sessions'], `${agents}/sessions/${session}`, { metadata: { a: 'b' } }),
    transcript(['sessions', 'session_events'], `${agents}/runs`, { agent, input: 'x' }),
    transcript(['session_events'], `${agents}/sessions/${session}/events`, {
      events: [{ type: 'user.message', content: [{ type: 'text', text: 'x' }] }],
    }),
    transcript(['session_resources', 'session_secrets'], `${agents}/sessions/${session}/resources`, repository),
    transcript(
      ['session_resources', 'session_secrets'],
      `${agents}/sessions/${session}/resources/${newId('sessionResource')}`,
      {
        authorization_token: 'u',
      },
    ),
    transcript(['group_messages'], `${agents}/groups/${group}/messages`, { text: 'x' }),
    {
      room: 'logs',
      tables: ['build_jobs'],
      rest: '/api/v1/build/jobs',
      body: { org_id: organizationOf(token), spec: [...Buffer.from('{}')] },
    },
    {
      room: 'logs',
      tables: ['vm_processes'],
      rest: `/api/v1/vms/${vm}/envd/exec`,
      body: { command: 'true', background: true },
    },
    {
      room: 'answers',
      tables: ['idempotency_keys'],
      rest: `${agents}/agents`,
      body: { name: 'b' },
      headers: { 'idempotency-key': 'k' },
    },
  ]
}

/** What nobody asks for by a request that could be refused: how it ends in a full room, and the test of that. */
const writtenBesides: Record<string, string> = {
  build_log_lines: 'lines are left out: test/infra/builds/full-rooms.test.ts',
  function_log_lines: 'as those of builds',
  function_events: 'a sentence of Berth for each change of a function; the last of them are kept',
  peer_exchanges:
    'an agent asks in a step, and a session in a full room takes none: test/agents/sessions/rooms.test.ts',
  session_reasoning: 'written by steps, as above',
  session_tasks: 'written by steps, as above',
  task_chunks: 'written by steps, as above',
  trigger_deliveries: 'the code host is told that nothing is kept: test/agents/triggers/receiver.test.ts',
  webhook_attempts: 'the last of each delivery are kept',
  webhook_events: 'the last of an organization are kept',
}

async function ask(request: Request): Promise<string> {
  if ('graphql' in request) {
    const { body } = await world.berth.ask(`mutation { ${request.graphql} }`, { token })
    const [error] = body.errors ?? []
    return error ? `${String(error.extensions.code)} ${error.message}` : 'done'
  }
  const { rest, body, headers = {} } = request
  const answer = await world.berth.call('POST', rest, { token, body, headers })
  return `${answer.status === 429 ? 'RATE_LIMITED' : answer.status} ${JSON.stringify(answer.body)}`
}

test('every table that is counted is named here', async () => {
  const counted = await findAll<{ table: string }>(
    world.berth.services.db,
    sql`select tgrelid::regclass::text as table from pg_trigger where tgname = 'stored_bytes_added'`,
  )
  const named = [...requests().flatMap(({ tables }) => tables), ...Object.keys(writtenBesides)]
  expect(counted.map(({ table }) => table).sort()).toEqual([...new Set(named)].sort())
})

test.each(roomNames.filter((room) => room !== 'deliveries'))(
  'in a room for %s that is full each request for more is refused with the setting, and with room none is',
  async (room) => {
    const of = requests().filter((one) => one.room === room)
    await fillRoom(world.berth, token, room)
    for (const request of of)
      expect([request, await ask(request)]).toEqual([
        request,
        expect.stringMatching(new RegExp(`^RATE_LIMITED.*100 MB.*BERTH_ORG_${room.toUpperCase()}_MB`)),
      ])
    await clearRoom(world.berth, token, room)
    const soon = of.filter(({ tables }) => !tables.some((table) => table.startsWith('vm'))) // their node does not answer
    for (const request of soon)
      expect([request, await ask(request)]).toEqual([request, expect.not.stringContaining('BERTH_ORG_')])
  },
)

test('a vault is deleted in a full room', async () => {
  for (const room of roomNames) await fillRoom(world.berth, token, room)
  expect((await world.call('DELETE', `/vaults/${ids.vault}`)).status).toBe(204)
})
