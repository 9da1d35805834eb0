/** Reads the results of a run of vitest. */

/** The parts of vitest's JSON report that we read: one entry for each file, `message` when it failed outside its tests. */
export type JsonReport = { testResults: readonly FileResult[] }
type FileResult = {
  name: string
  status: string
  message?: string
  assertionResults: readonly { status: string; fullName: string; failureMessages?: readonly string[] | null }[]
}

/** A test that failed; `test` is null when its file failed before or after its tests. `why` is one line. */
export type Failure = { file: string; test: string | null; why: string }

const whyCharactersMax = 300

/** How many tests passed. */
export function countPassed({ testResults }: JsonReport): number {
  return testResults.flatMap((file) => file.assertionResults).filter(({ status }) => status === 'passed').length
}

/** The failures. A file that failed before or after its tests counts as one. */
export function failuresOf({ testResults }: JsonReport): Failure[] {
  return testResults.flatMap(({ name: file, status, message, assertionResults }): Failure[] => {
    const tests = assertionResults
      .filter((one) => one.status === 'failed')
      .map(({ fullName, failureMessages }) => ({ file, test: fullName, why: firstLine(failureMessages?.[0]) }))
    return tests.length === 0 && status === 'failed' ? [{ file, test: null, why: firstLine(message) }] : tests
  })
}

function firstLine(text = ''): string {
  return (text.trim().split('\n')[0] ?? '').slice(0, whyCharactersMax)
}
