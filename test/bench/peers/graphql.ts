/**
 * The peer of public GraphQL, a process of its own: a bare yoga on node:http, its schema with the names of ours, the same
 * SQL on a pool of the same size, without callers, limits or tenants to look after.
 * Words: port, database address, organization's uuid, user's uuid, connections.
 */
import { createServer } from 'node:http'
import DataLoader from 'dataloader'
import { createSchema, createYoga } from 'graphql-yoga'
import pg from 'pg'
import { decodeId, encodeId } from '#src/platform/ids.ts'

const [port, databaseUrl, organizationId, userId, connections] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: databaseUrl ?? '', max: Number(connections) })

type Row = Record<string, string>
type Load = { load: (id: string) => Promise<Row> }
type Context = { templates: Load; users: Load }

const typeDefs = `
  type Query { vm(id: ID!): Vm  vms(first: Int): VmConnection!  organization(id: ID!): Organization }
  type Mutation { updateVault(input: UpdateVaultInput!): UpdateVaultPayload }
  input UpdateVaultInput { id: ID!  displayName: String }
  type UpdateVaultPayload { vault: Vault }
  type Vault { id: ID!  displayName: String! }
  type Organization { id: ID!  vms(first: Int): VmConnection! }
  type VmConnection { nodes: [Vm!]! }
  type Template { id: ID!  name: String! }
  type User { id: ID!  name: String! }
  enum VmStatus { RUNNING STOPPED }
  type Vm {
    id: ID!  name: String!  status: VmStatus!  ipAddress: String  vcpuCount: Int!  memoryMb: Int!  diskMb: Int!
    createdAt: String!  template: Template!  createdBy: User
  }`

const vmId = ({ id }: Row): string => encodeId('vm', id ?? '')
const page = async (first: number): Promise<{ nodes: Row[] }> => ({
  nodes: (await pool.query<Row>(listText, [organizationId, first + 1])).rows.slice(0, first),
})

// The texts that src/resources sends, as they are with all columns.
const oneText = `select * from vms where id = $1 and organization_id = $2 and status <> 'deleted'`
const listText = `
  select * from vms where organization_id = $1 and status <> 'deleted' order by created_at desc, id desc limit $2`
const lockText = `select * from vaults where id = $1 and organization_id = $2 and owner_user_id = $3 for no key update`
const updateText = `
  update vaults set display_name = $2, metadata = $3::jsonb, updated_at = now() where id = $1 returning *`
const eventText = `
  with next as (update vaults set event_position = event_position + 1 where id = $1 returning event_position as position)
  insert into vault_events (vault_id, position, type, credential_id) select $1, position, 'vault.updated', null from next`
const oldEventsText = `
  delete from vault_events where vault_id = $1 and position <= (select event_position from vaults where id = $1) - 1000`

async function updateVault(publicId: string, displayName: string): Promise<{ vault: Row }> {
  const id = decodeId('vault', publicId)
  const client = await pool.connect()
  try {
    await client.query('begin')
    const before = (await client.query<Row>(lockText, [id, organizationId, userId])).rows[0]
    const vault = (await client.query<Row>(updateText, [id, displayName, JSON.stringify(before?.['metadata'])])).rows[0]
    await client.query(eventText, [id])
    await client.query(oldEventsText, [id])
    await client.query(`select pg_notify('berth', $1)`, [`vault ${id}`])
    await client.query('commit')
    if (!vault) throw new Error('no such vault')
    return { vault }
  } finally {
    client.release()
  }
}

const loadAll = (table: string): Load =>
  new DataLoader(async (ids: readonly string[]) => {
    const { rows } = await pool.query<Row>(`select * from ${table} where id = any ($1::uuid[])`, [ids])
    return ids.map((id) => rows.find((row) => row['id'] === id) ?? new Error('absent'))
  })

const yoga = createYoga<object, Context>({
  schema: createSchema<Context>({
    typeDefs,
    resolvers: {
      Query: {
        vm: async (_, { id }: { id: string }) =>
          (await pool.query<Row>(oneText, [decodeId('vm', id), organizationId])).rows[0],
        vms: (_, { first }: { first: number }) => page(first),
        organization: (_, { id }: { id: string }) => ({ id }),
      },
      Mutation: {
        updateVault: (_, { input }: { input: { id: string; displayName: string } }) =>
          updateVault(input.id, input.displayName),
      },
      Organization: { vms: (_, { first }: { first: number }) => page(first) },
      Vault: {
        id: ({ id }: Row) => encodeId('vault', id ?? ''),
        displayName: (vault: Row) => vault['display_name'],
      },
      Template: { id: ({ id }: Row) => encodeId('template', id ?? '') },
      User: { id: ({ id }: Row) => encodeId('user', id ?? '') },
      Vm: {
        id: vmId,
        status: (vm: Row) => vm['status']?.toUpperCase(),
        ipAddress: (vm: Row) => vm['ip_address'],
        vcpuCount: (vm: Row) => vm['vcpu_count'],
        memoryMb: (vm: Row) => vm['memory_mb'],
        diskMb: (vm: Row) => vm['disk_mb'],
        createdAt: (vm: { created_at: Date }) => vm.created_at.toISOString(),
        template: (vm: Row, _, { templates }) => templates.load(vm['template_id'] ?? ''),
        createdBy: (vm: Row, _, { users }) => users.load(vm['user_id'] ?? ''),
      },
    },
  }),
  context: () => ({ templates: loadAll('templates'), users: loadAll('users') }),
  logging: false,
  graphiql: false,
  landingPage: false,
})
createServer((request, response) => void yoga(request, response)).listen(Number(port), '127.0.0.1', () =>
  process.stdout.write('the peer listens\n'),
)
