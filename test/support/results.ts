/** Counts the results of a run of vitest. */

/** The parts of vitest's JSON report that we read. */
export type JsonReport = {
  testResults: readonly { status: string; assertionResults: readonly { status: string }[] }[]
}

/** How many tests passed and failed. A file that failed before or after its tests counts as one more failure. */
export function countResults({ testResults }: JsonReport): { passed: number; failed: number } {
  let passed = 0
  let failed = 0
  for (const { status, assertionResults } of testResults) {
    const failedHere = assertionResults.filter((one) => one.status === 'failed').length
    passed += assertionResults.filter((one) => one.status === 'passed').length
    failed += failedHere === 0 && status === 'failed' ? 1 : failedHere
  }
  return { passed, failed }
}
