/** The Python examples that need machines, as they are, on a whole `npm start`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from '../support/installation.ts'
import { until } from '../support/until.ts'
import { runPython } from './python.ts'

const limitMs = 400_000
let berth: Installation
let token: string
beforeAll(async () => {
  berth = await startInstallation({ BERTH_VM_POOL: '1' })
  token = await berth.token()
}, limitMs)
afterAll(() => berth?.stop(), limitMs)

const run = (name: string): Promise<string> => runPython(name, { SERVER_URL: berth.url, TOKEN: token }, limitMs)
/** Waits until there is nothing of a kind. */
const gone = (of: 'vms' | 'databases'): Promise<void> =>
  until(`there are no ${of}`, async () => {
    const query = `{ found: ${of} { totalCount } }`
    const { body } = await berth.call<{ data: { found: { totalCount: number } } }>(token, 'POST', '/graphql', { query })
    return body.data.found.totalCount === 0
  })

test('database.py writes and reads rows, and leaves nothing', { timeout: limitMs }, async () => {
  expect(await run('database.py')).toBe('1 a hat\n2 a coat\n')
  await gone('databases')
})

test('vm.py runs a command, pauses, resumes, and leaves nothing', { timeout: limitMs }, async () => {
  expect(await run('vm.py')).toBe('running\n3 Hello\npaused\nrunning\n')
  await gone('vms')
})

test('sandbox.py prints what its code does', { timeout: limitMs }, async () => {
  expect(await run('sandbox.py')).toBe('45\n')
})
