// PostGraphile on Berth's tables, as its own documentation sets it up. Runs in a folder where it is installed; words: port, database address, connections.
/* oxlint-disable typescript/no-unsafe-call, typescript/no-unsafe-member-access -- its packages, and so its types, are not installed here */
import { createServer } from 'node:http'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { grafserv } from 'postgraphile/grafserv/node'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'

const [port, connectionString, connections] = process.argv.slice(2)
const service = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString, schemas: ['public'], poolConfig: { max: Number(connections) } })],
  grafserv: { graphiql: false, watch: false },
  grafast: { explain: false },
  disablePlugins: ['PgIndexBehaviorsPlugin'], // it offers filters and orders by some indices only; ours have more conditions than it reads
}).createServ(grafserv)
const server = createServer()
await service.addTo(server)
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('the peer listens\n'))
