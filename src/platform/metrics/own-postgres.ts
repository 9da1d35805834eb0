/** What Berth's own Postgres tells of itself. */
import { getOne, sql, type Db } from '#src/platform/postgres.ts'
import { addMetricSource } from './sources.ts'

type OwnPostgres = { bytes: number; connections: number; connectionsMax: number; oldestSeconds: number }

/** Adds it to this process's metrics. */
export function reportOwnPostgres(db: Db): void {
  addMetricSource(
    'own_postgres',
    {
      berth_own_postgres_bytes: { help: 'Size of Berth’s own database.' },
      berth_own_postgres_connections: { help: 'Connections of clients to its server, of all databases.' },
      berth_own_postgres_connections_max: { help: 'How many connections its server takes.' },
      berth_own_postgres_oldest_transaction_seconds: { help: 'How long its oldest open transaction has lasted.' },
    },
    async () => {
      const told = await readOwnPostgres(db)
      return {
        berth_own_postgres_bytes: [{ value: told.bytes }],
        berth_own_postgres_connections: [{ value: told.connections }],
        berth_own_postgres_connections_max: [{ value: told.connectionsMax }],
        berth_own_postgres_oldest_transaction_seconds: [{ value: told.oldestSeconds }],
      }
    },
  )
}

async function readOwnPostgres(db: Db): Promise<OwnPostgres> {
  return getOne<OwnPostgres>(
    db,
    sql`
    select pg_database_size(current_database())::bigint as bytes, current_setting('max_connections')::int as connections_max,
      count(*) filter (where backend_type = 'client backend') as connections,
      greatest(0, coalesce(extract(epoch from now() - min(xact_start)
        filter (where datname = current_database() and backend_type = 'client backend')), 0))::float8 as oldest_seconds
    from pg_stat_activity`,
  )
}
