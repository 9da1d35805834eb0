/** How the tests run: the fast ones two files at a time, then those with real VMs one file at a time. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const vmTests = 'test/**/*.vm.test.ts'
const parallelFiles = 2
const testTimeoutMs = 30_000
const hookTimeoutMs = 60_000

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
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: [vmTests],
          maxWorkers: parallelFiles,
          sequence: { groupOrder: 1 },
        },
      },
      { extends: true, test: { name: 'vm', include: [vmTests], fileParallelism: false, sequence: { groupOrder: 2 } } },
    ],
  },
})
