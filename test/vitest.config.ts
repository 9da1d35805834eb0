/**
 * How the tests run: two files at a time, then those with real VMs one file at a time. `npm run test:fast` runs the
 * project `fast` alone; a file with a VM ends in `.vm.test.ts`, and the other ones that `fast` leaves out stand here.
 */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const vmTests = 'test/**/*.vm.test.ts'
/** What takes ten seconds or more on a calm machine, and what needs a Debian package beside git: all else is fast. */
export const slowTests = [
  'test/backup.test.ts', // whole installations, backed up and restored
  'test/contract/agents-hostile.test.ts', // hundreds of attack texts in every field
  'test/contract/answers.test.ts', // the largest answers there may be
  'test/contract/hostile.test.ts', // hundreds of attack texts in every argument
  'test/contract/stalls.test.ts', // the largest bodies there may be, in every field
  'test/gateway/browsers.test.ts', // Chromium
  'test/gateway/connections.test.ts', // thousands of connections, and a time limit of 30 s
  'test/gateway/graphiql.test.ts', // Chromium
  'test/gateway/http.test.ts', // time limits of 8 to 12 s
  'test/gateway/rolling.test.ts', // web processes that come and go under load
  'test/infra/compute/disk-images.test.ts', // qemu-img
  'test/infra/compute/ssh-hostile.test.ts', // gigabytes over SSH
  'test/llm/billing/inference-database.test.ts', // time limits of 10 s
  'test/llm/billing/ledger-sums.test.ts', // a ledger of a year
  'test/llm/upstreams/faults.test.ts', // time limits of seconds, of each kind of provider
  'test/platform/jobs.test.ts', // a process that is killed, and a lease that ends
  'test/platform/metrics.test.ts', // a Postgres that is killed, and a time limit of 10 s
  'test/start-commands.test.ts', // whole installations, started by npm
  'test/start.test.ts', // whole installations, started and killed
]
const parallelFiles = 2
const testTimeoutMs = 30_000
const hookTimeoutMs = 60_000
const parallel = { maxWorkers: parallelFiles, sequence: { groupOrder: 1 } }

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  // graphql must be one copy: the tests' imports take the file that Node takes, not the one meant for bundlers.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    pool: 'forks', // tests kill processes and read memory: threads would share both
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: testTimeoutMs,
    hookTimeout: hookTimeoutMs,
    projects: [
      {
        extends: true,
        test: { name: 'fast', include: ['test/**/*.test.ts'], exclude: [vmTests, ...slowTests], ...parallel },
      },
      { extends: true, test: { name: 'slow', include: slowTests, ...parallel } },
      { extends: true, test: { name: 'vm', include: [vmTests], fileParallelism: false, sequence: { groupOrder: 2 } } },
    ],
  },
})
