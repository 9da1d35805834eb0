/** The server scenarios of the Model Context Protocol's own conformance suite that ask for no tool, prompt or resource of their own. */
import { execFile } from 'node:child_process'
import { createServer, request, type Server } from 'node:http'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'
import { freePort } from '../support/ports.ts'

const run = promisify(execFile)
const suite = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
const passing = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']
/** They call tools, prompts and resources of a test server by name, or what a server without sessions has not. */
const ofTheSuitesOwn = /^(?:tools-call|prompts|resources|elicitation|json-schema|completion|logging|server-sse)/

let berth: Berth
let door: Server
let address: string
beforeAll(async () => {
  berth = await startBerth()
  const token = await berth.token()
  // The suite sends no token.
  door = createServer((incoming, outgoing) => {
    const passed = request(
      `${berth.url}${incoming.url}`,
      { method: incoming.method, headers: { ...incoming.headers, authorization: `Bearer ${token}` } },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(outgoing)
      },
    )
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  const port = await freePort()
  address = `http://127.0.0.1:${port}/mcp`
  door.listen(port, '127.0.0.1')
  await once(door, 'listening')
})
afterAll(async () => {
  door.close()
  door.closeAllConnections()
  await berth.stop()
})

test('every server scenario of the suite is one that passes, or is about what the suite’s own server has', async () => {
  const { stdout } = await run(process.execPath, [suite, 'list'])
  const servers = (stdout.split('Client scenarios')[0] ?? '').matchAll(/^ {2}- (\S+)/gm)
  const left = [...servers].map(([, name = '']) => name).filter((name) => !ofTheSuitesOwn.test(name))
  expect(left).toEqual(passing)
})

test.each(passing)('%s passes', { timeout: 60_000 }, async (scenario) => {
  const { stdout, stderr } = await run(process.execPath, [
    suite,
    'server',
    '--url',
    address,
    '--scenario',
    scenario,
  ]).catch((error: { stdout: string; stderr: string }) => error)
  expect(stdout + stderr).toMatch(/Passed: \d+\/\d+, 0 failed/)
})
