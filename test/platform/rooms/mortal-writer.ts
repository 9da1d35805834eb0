/** A process that writes, deletes and adds up what is counted, as fast as it can, until it is killed. Arguments: a database's URL, an organization's stored id. */
import { change, openDatabase, sql, transaction } from '#src/platform/postgres.ts'
import { foldStoredBytes } from '#src/platform/metrics/rooms.ts'

const [url = '', organizationId = ''] = process.argv.slice(2)
const { db } = openDatabase(url, { connections: 3, applicationName: 'mortal-writer' })
const definition = sql`json_build_object('text', repeat('x', (random() * 5000)::int))`

const write = async (): Promise<void> => {
  for (;;) {
    await transaction(db, async (tx) => {
      await change(
        tx,
        sql`
        with made as (insert into agents (id, organization_id, version, definition) select gen_random_uuid(), ${organizationId}, 1, ${definition} from generate_series(1, 3) returning id)
        insert into agent_versions (agent_id, version, definition) select id, 1, ${definition} from made`,
      )
      await change(
        tx,
        sql`update agents set definition = ${definition} where id = (select id from agents order by random() limit 1)`,
      )
      await change(tx, sql`delete from agents where id in (select id from agents order by random() limit 2)`)
    })
    process.stdout.write('written\n')
  }
}
const fold = async (): Promise<void> => {
  for (;;) await foldStoredBytes(db)
}
await Promise.all([write(), fold()])
