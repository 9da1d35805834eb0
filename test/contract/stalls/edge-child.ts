/** Databases behind an edge in a process of its own, whose thread is watched. */
import { sql } from '#src/platform/postgres.ts'
import { watchThread } from '../../support/stalls/watched-thread.ts'
import { openDatabasesWorld } from '../../edge/databases-world.ts'

const world = await openDatabasesWorld({ BERTH_RATE_LIMIT_FACTOR: '1000000' }, { alone: true })
await world.change(world.known, sql`client_mode_enabled = true`)
process.on('SIGTERM', () => void world.close().finally(() => process.exit()))
watchThread({
  url: world.berth.url,
  postgresPort: world.proxy.port,
  host: world.known.host,
  user: world.known.row.pgUser,
  token: world.known.token,
})
