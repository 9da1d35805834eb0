/**
 * The peer of the REST benchmark, a process of its own: two bare Fastify routes with the same SQL and the same bodies,
 * on a pool of the same size, without callers, limits or tenants to look after.
 * Words: port, database address, organization's uuid, connections, `plain` or `named` statements.
 */
import { fastify } from 'fastify'
import pg from 'pg'
import { decodeId, encodeId } from '#src/platform/ids.ts'

const [port, databaseUrl, organizationId, connections, statements] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: databaseUrl ?? '', max: Number(connections) })
type Row = { id: string; status: string; ip_address: string | null }
const bodyOf = (row: Row): object => ({
  vm_id: encodeId('vm', row.id),
  status: row.status,
  ip_address: row.ip_address,
})
const query = async (name: string, text: string, values: unknown[]): Promise<pg.QueryResult<Row>> =>
  pool.query<Row>(statements === 'named' ? { name, text, values } : { text, values })

// The texts that src/resources/infra/vms.ts sends.
const oneText = `select * from vms where id = $1 and organization_id = $2 and status <> 'deleted'`
const listText = `
    select id, name, status, ip_address, external_ref, created_at from vms where organization_id = $1 and status <> 'deleted'
    order by created_at desc, id desc limit $2 offset $3`

const app = fastify()
app.get('/api/v1/vms/:id', async (request, reply) => {
  const id = decodeId('vm', (request.params as { id: string }).id) // Fastify's own shape of path parameters
  const row = id && (await query('one', oneText, [id, organizationId])).rows[0]
  return row ? bodyOf(row) : reply.code(404).send({})
})
app.get('/api/v1/vms', async () => (await query('list', listText, [organizationId, 1000, 0])).rows.map(bodyOf))
await app.listen({ port: Number(port), host: '127.0.0.1' })
process.stdout.write('the peer listens\n')
