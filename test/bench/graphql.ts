/**
 * The API: public GraphQL beside a bare yoga and PostGraphile, REST beside bare Fastify. Ours checks the token,
 * the membership, the size of the operation and the rate limit of every request and filters by tenant; the peers do not.
 */
import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { getNamedType, isObjectType } from 'graphql'
import { schema } from '#schema/schema.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { sql, type Db } from '#src/platform/postgres.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../support/makers.ts'
import { append, makeAgentRow, makeSessionRow } from '../support/sessions.ts'
import { freePort } from '../support/ports.ts'
import { measureLoad, type ApiLoad, type Question, type Server } from './api-loads.ts'
import type { Benchmark, Findings, Goal, Table } from './benchmark.ts'
import { inWorld, startProcess, type World } from './world.ts'

const vmCount = 100
const sessionCount = 20
const eventCount = 10 // of each session
const vaultCount = 64 // changed in turns, so that requests do not wait for one row
const postgraphileVersion = '5.1.5'
const installLimitMs = 300_000

const oneField = 'query ($id: ID!) { vm(id: $id) { status } }'
const list = '{ vms(first: 100) { nodes { id name status ipAddress vcpuCount memoryMb diskMb createdAt } } }'
const change = 'mutation ($input: UpdateVaultInput!) { updateVault(input: $input) { vault { id displayName } } }'
const deep =
  'query ($id: ID!) { organization(id: $id) { vms(first: 20) { nodes { id name status template { id name } createdBy { id name } } } } }'
const lastEvents =
  'query ($id: ID!) { agent(id: $id) { sessions(first: 20) { nodes { id status events(last: 1) { nodes { id type } } } } } }'

// The same in the names that PostGraphile gives to Berth's tables.
const postgraphileOne = 'query ($id: UUID!) { vmByRowId(rowId: $id) { status } }'
const postgraphileList =
  'query ($organization: UUID!) { allVms(first: 100, condition: {organizationId: $organization}, orderBy: [CREATED_AT_DESC, ROW_ID_DESC]) { nodes { rowId name status ipAddress vcpuCount memoryMb diskMb createdAt } } }'
const postgraphileDeep =
  'query ($id: UUID!) { organizationByRowId(rowId: $id) { vmsByOrganizationId(first: 20, orderBy: [CREATED_AT_DESC, ROW_ID_DESC]) { nodes { rowId name status templateByTemplateId { rowId name } userByUserId { rowId name } } } } }'

const postgraphileLastEvents =
  'query ($id: UUID!) { agentByRowId(rowId: $id) { sessionsByAgentId(first: 20, orderBy: [ROW_ID_DESC]) { nodes { rowId status sessionEventsBySessionId(first: 1, orderBy: [POSITION_DESC]) { nodes { rowId type } } } } } }'

/** Reads and changes by GraphQL and REST. */
export const graphql: Benchmark = {
  name: 'graphql',
  title: 'GraphQL and REST',
  measure: (effort, say) =>
    inWorld({}, async (world): Promise<Findings> => {
      const [tables, goals]: [Table[], Goal[]] = [[], []]
      for (const load of await loadsOf(world, await startServers(world))) {
        const { table, goal } = await measureLoad(load, effort)
        tables.push(table)
        goals.push(goal)
        say(`${goal.what}: ${goal.measured}`)
      }
      return {
        how: `${vmCount} VMs in the table. Ours checks the token, the membership, the size of the operation and the rate limit of every request and filters by tenant; the peers do not. The peers send the statements that the resources of Berth send, with all columns; PostGraphile ${postgraphileVersion} makes its own, on the same tables. 32 connections of wrk, ${effort.rounds} rounds of ${effort.secondsPerRound} s in rotated order, the web process and each peer a process of its own with a pool of ${world.config.databaseConnections} connections. Memory is the most that was resident during the load.`,
        tables,
        goals,
      }
    }),
}

type Servers = {
  ours: Server
  yoga: Server
  postgraphile: Server
  fastify: Server
  prepared: Server
  token: string
  vmId: string
}

async function loadsOf({ database: { db } }: World, servers: Servers): Promise<ApiLoad[]> {
  const { ours, yoga, postgraphile, fastify, prepared, token, vmId } = servers
  const { organizationId, userId } = idsOf(token)
  const organization = encodeId('organization', organizationId)
  const vaults = Array.from({ length: vaultCount }, () => newUuid())
  for (const id of vaults)
    await sql`insert into vaults (id, organization_id, owner_user_id, display_name) values (${id}, ${organizationId}, ${userId}, 'made')`.execute(
      db,
    )
  const agentId = await makeSessions(db, token)
  const changes = vaults.map((id) => bodyOf(change, { input: { id: encodeId('vault', id), displayName: 'changed' } }))
  const graph = (server: Server, query: string, variables: object = {}): Question => ({
    server,
    path: '/graphql',
    bodies: [bodyOf(query, variables)],
  })
  const rest = (path: string): readonly Question[] => [ours, fastify, prepared].map((server) => ({ server, path }))
  return [
    {
      what: 'GraphQL: one field of one VM',
      questions: [
        ...[ours, yoga].map((server) => graph(server, oneField, { id: vmId })),
        graph(postgraphile, postgraphileOne, { id: decodeId('vm', vmId) }),
      ],
      against: yoga.name,
      wanted: 1.5,
      sameOf: (body) => [.../"status":"(\w+)"/.exec(body)!].at(1)?.toLowerCase(), // without one there is nothing to compare
    },
    {
      what: `GraphQL: a list of ${vmCount}, eight fields of each`,
      questions: [
        ...[ours, yoga].map((server) => graph(server, list)),
        graph(postgraphile, postgraphileList, { organization: organizationId }),
      ],
      against: yoga.name,
      wanted: 1.5,
      sameOf: countOf('"vcpuCount":'),
    },
    {
      what: 'GraphQL: a mutation that changes a row and adds an event',
      questions: [ours, yoga].map((server) => ({ server, path: '/graphql', bodies: changes })),
      against: yoga.name,
      wanted: 1,
      sameOf: (body) => JSON.parse(body) as unknown,
    },
    ...(isInSchema('organization', 'vms')
      ? [
          {
            what: 'GraphQL: three levels, an organization’s 20 VMs with template and maker',
            questions: [
              ...[ours, yoga].map((server) => graph(server, deep, { id: organization })),
              graph(postgraphile, postgraphileDeep, { id: organizationId }),
            ],
            against: postgraphile.name,
            wanted: 2,
            sameOf: countOf('"name":'),
          },
        ]
      : []),
    {
      what: `GraphQL: three levels, an agent’s ${sessionCount} sessions with the last event of each`,
      questions: [
        graph(ours, lastEvents, { id: encodeId('agent', agentId) }),
        graph(postgraphile, postgraphileLastEvents, { id: agentId }),
      ],
      against: postgraphile.name,
      wanted: 2,
      sameOf: countOf('"type":'),
    },
    {
      what: 'REST: GET one VM',
      questions: rest(`/api/v1/vms/${vmId}`),
      against: fastify.name,
      wanted: 1,
      sameOf: (body) => JSON.parse(body) as unknown,
    },
    {
      what: `REST: GET a list of ${vmCount}`,
      questions: rest('/api/v1/vms'),
      against: fastify.name,
      wanted: 1,
      sameOf: (body) => JSON.parse(body) as unknown,
    },
  ]
}

/** An agent with sessions, each with some events. @returns its stored id. */
async function makeSessions(db: Db, token: string): Promise<string> {
  const agentId = await makeAgentRow(db, token)
  const events = Array.from({ length: eventCount }, (_, number) => ({
    type: 'agent.message',
    data: { content: [{ type: 'text', text: `message ${number}` }] },
  }))
  for (let made = 0; made < sessionCount; made++) await append(db, await makeSessionRow(db, token, agentId), ...events)
  return agentId
}

/** Whether the schema has a root field with this field of its own. */
function isInSchema(root: string, field: string): boolean {
  const type = getNamedType(schema.getQueryType()?.getFields()[root]?.type)
  return isObjectType(type) && field in type.getFields()
}

/** How often a text stands in an answer, where the names of things differ; an answer with errors is none. */
function countOf(text: string): (body: string) => number {
  return (body) => {
    if (body.includes('"errors"')) throw new Error(`an answer with errors: ${body.slice(0, 300)}`)
    return body.split(text).length
  }
}

function bodyOf(query: string, variables: object): string {
  return JSON.stringify({ query, variables })
}

async function startServers(world: World): Promise<Servers> {
  const { db } = world.database
  const token = await world.token()
  const nodeId = await makeSilentNode(db)
  let vmId = ''
  for (let made = 0; made < vmCount; made++) vmId = await makeVmRow(db, token, nodeId)
  const connections = String(world.config.databaseConnections)
  const { organizationId, userId } = idsOf(token)
  const peer = async (name: string, script: string, words: readonly string[]): Promise<Server> => {
    const port = String(await freePort())
    const { child } = await world.start([script, port, world.databaseUrl, ...words], /the peer listens/)
    return { name, url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, headers: {} }
  }
  const web = await startProcess(world, 'web')
  return {
    ours: { name: 'Berth', url: world.url, pid: web.child.pid ?? 0, headers: { authorization: `Bearer ${token}` } },
    yoga: await peer('bare yoga', 'test/bench/peers/graphql.ts', [organizationId, userId, connections]),
    postgraphile: await peer('PostGraphile', await installPostgraphile(), [connections]),
    fastify: await peer('bare Fastify', 'test/bench/peers/rest.ts', [organizationId, connections, 'plain']),
    prepared: await peer('bare Fastify, prepared statements', 'test/bench/peers/rest.ts', [
      organizationId,
      connections,
      'named',
    ]),
    token,
    vmId,
  }
}

/** Installs PostGraphile in a folder of its own, once: 185 packages that Berth does not need. @returns the script that starts it. */
async function installPostgraphile(): Promise<string> {
  const folder = join(tmpdir(), `berth-bench-postgraphile-${postgraphileVersion}`)
  const script = join(folder, 'postgraphile-peer.mjs')
  mkdirSync(folder, { recursive: true })
  if (!existsSync(join(folder, 'node_modules/postgraphile'))) {
    writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}\n')
    const npm = fileURLToPath(new URL('../../node_modules/npm/bin/npm-cli.js', import.meta.url))
    await promisify(execFile)(
      process.execPath,
      [npm, 'install', '--no-audit', '--no-fund', '--ignore-scripts', `postgraphile@${postgraphileVersion}`],
      { cwd: folder, timeout: installLimitMs },
    )
  }
  copyFileSync(new URL('peers/postgraphile.mjs', import.meta.url), script)
  return script
}
