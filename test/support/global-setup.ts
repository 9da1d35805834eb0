/** Run by vitest once before and after all tests: the shared Postgres. */
import type { TestProject } from 'vitest/node'
import { startTestPostgres } from './postgres.ts'

/** Starts it, tells the test processes where it is, and answers how to end it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startTestPostgres()
  project.provide('postgres', postgres.address)
  return postgres.stop
}
