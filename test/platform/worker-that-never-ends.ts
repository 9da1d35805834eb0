/** A worker process whose handler takes a job and never finishes it; for the test that kills it. Word: the database. */
import { job, openJobs } from '#src/platform/jobs.ts'
import { openPubsub } from '#src/platform/pubsub.ts'

const databaseUrl = process.argv[2] ?? ''
const jobs = await openJobs(databaseUrl, openPubsub(databaseUrl), { worker: true })
await jobs.handle(job('test-killed'), { concurrency: 1 }, () => {
  process.stdout.write('the job is taken\n')
  return new Promise(() => undefined)
})
