/**
 * The client scenarios of the Model Context Protocol's own conformance suite, against the functions by which Berth signs
 * in to tool servers and calls their tools.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const suite = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
const client = `${process.execPath} test/support/connectors/conformance-client.ts`

const passing = [
  'initialize',
  'tools_call',
  'sse-retry',
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/basic-cimd',
  'auth/scope-from-www-authenticate',
  'auth/scope-from-scopes-supported',
  'auth/scope-omitted-when-undefined',
  'auth/scope-step-up',
  'auth/scope-retry-limit',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-post',
  'auth/token-endpoint-auth-none',
  'auth/pre-registration',
  'auth/2025-03-26-oauth-endpoint-fallback',
  'auth/resource-mismatch',
  'auth/offline-access-scope',
  'auth/offline-access-not-supported',
]

/** Those that cannot pass, each with the reason. docs/limits.md names them too. */
const notPassing: Readonly<Record<string, string>> = {
  'auth/2025-03-26-oauth-metadata-backcompat':
    'its metadata names another issuer than the address that it is at, which RFC 8414 says to refuse',
  'elicitation-sep1034-client-defaults': 'a turn has nobody who could be asked in the middle of a call',
  'auth/client-credentials-jwt': 'Berth signs people in, and has no access of its own',
  'auth/client-credentials-basic': 'the same',
  'auth/cross-app-access-complete-flow': 'the same: it exchanges the token of an identity provider',
}

test('every client scenario of the suite is either one that passes or one that cannot', async () => {
  const { stdout } = await run(process.execPath, [suite, 'list'])
  const listed = [...(stdout.split('Client scenarios')[1] ?? '').matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name)
  expect(new Set(listed)).toEqual(new Set([...passing, ...Object.keys(notPassing)]))
})

test.concurrent.each(passing)('%s passes', { timeout: 60_000 }, async (scenario) => {
  const arguments_ = [suite, 'client', '--scenario', scenario, '--command', client]
  const { stdout, stderr } = await run(process.execPath, arguments_).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  // A scenario in which the client is right to give up passes all the same; a warning is about how busy the machine is.
  expect(stdout + stderr).toMatch(/Passed: \d+\/\d+, 0 failed/)
})
