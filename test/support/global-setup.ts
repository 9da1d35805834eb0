/** Run by vitest once before and after all tests: the shared Postgres. */
import type { TestProject } from 'vitest/node'
import { sharedServerFolder, startTestPostgres } from './postgres.ts'

/** Starts it and passes its address to the test processes. @returns a function that stops it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startTestPostgres(sharedServerFolder())
  project.provide('postgres', postgres.address)
  return postgres.stop
}
