/**
 * Sets servers up again whose roles somebody has changed, which every role may do to itself. Their databases stay active:
 * whoever does that again and again keeps nobody from changing, backing up or closing them.
 */
import { isOfServer } from '#src/drivers/compute/guest/postgres.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { log } from '#src/platform/log.ts'
import { publish } from '#src/platform/pubsub.ts'
import { setUpAgain, setUpTopic } from '#src/resources/infra/databases/jobs.ts'
import { findDatabaseRow } from '#src/resources/infra/databases/rows.ts'
import { databaseMachine, setUpServer } from '../databases.ts'
import { createShares } from '../shares.ts'
import type { VmWork } from '../vms.ts'
import { createDatabaseTurns, type DatabaseTurns } from './turns.ts'
import type { FindMachine } from './work.ts'

const setupsAtOnce = 4
const ofOneOrganization = 2

/** Handles the node's jobs for that. @param turns those of `handleDatabases`, which sets the same servers up. */
export async function handleDatabaseSetups(
  work: VmWork,
  turns: DatabaseTurns = createDatabaseTurns(),
  find: FindMachine = databaseMachine,
): Promise<void> {
  const { services } = work
  const kind = onNode(setUpAgain, work.nodeId)
  const share = createShares(services, kind, ofOneOrganization)
  const run = turns(async (databaseId) => {
    const asked = await findDatabaseRow(services.db, databaseId)
    if (asked?.status !== 'active') return // as enqueueSetup
    const { organizationId } = asked
    await share({ id: databaseId, organizationId, data: { databaseId } }, async () => {
      try {
        const machine = await find(work, databaseId)
        const database = await findDatabaseRow(services.db, databaseId) // a change or a restore may have begun meanwhile
        if (database?.status !== 'active') return
        await setUpServer(work, database, machine)
        publish(services.db, setUpTopic, databaseId) // for those who wait to log in
      } catch (error) {
        if (!isOfServer(error) && !(error instanceof BerthError)) throw error
        log.warn(
          { database: encodeId('database', databaseId) },
          'a database was not set up again; the next login asks for it',
        )
      }
    })
  })
  await services.jobs.handle(kind, { concurrency: setupsAtOnce }, ({ data }) => run(data.databaseId))
}
