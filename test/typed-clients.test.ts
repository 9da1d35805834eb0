/**
 * Typed clients, generated from what a running Berth says of itself as examples/typed-clients shows, compile as
 * strictly as TypeScript can, under both of its lines, and know what they are told.
 */
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from './support/berth.ts'
import { makeKey } from './support/makers.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const example = 'examples/typed-clients'
const runLimitMs = 60_000

/** What a client may do; and below `wrong` what its types must keep it from, so a line that compiles there fails. */
const uses = `
import createClient from 'openapi-fetch'
import type { components as Agents, paths as AgentsPaths } from './agents.ts'
import type { RunSandboxMutationVariables, StartRunMutationVariables } from './graphql.ts'
import type { components as Infra, paths as InfraPaths } from './infra.ts'
import type { components as Llm, paths as LlmPaths } from './llm.ts'

const infra = createClient<InfraPaths>()
const agents = createClient<AgentsPaths>()
const llm = createClient<LlmPaths>()

export async function rest(event: Agents['schemas']['SessionStreamEvent'], chunk: Llm['schemas']['UiMessageChunk']) {
  const vm = await infra.POST('/api/v1/vms', { body: { network_policy: { type: 'limited', allowed_hosts: ['a.example'] } } })
  const warnings: string[] | undefined = vm.data?.warnings
  if (vm.error) console.log(vm.error.error === 'capacity_unavailable', vm.error.message)
  // wrong: an error has no code that Berth never answers
  if (vm.error) console.log(vm.error.error === 'no_room')
  // wrong: a path has its parameters
  await infra.GET('/api/v1/vms/{vm_id}', {})
  // wrong: a list of builds is of an organization
  await infra.GET('/api/v1/build/jobs', {})

  const made = await agents.POST('/v1/agents', { body: { name: 'a', model: 'berth/demo' } })
  await agents.POST('/v1/agents', { body: { name: 'a', model: { id: 'berth/demo', effort: 'low' } } })
  if (made.data) {
    const { id, model, tools } = made.data
    const effort: 'high' | 'low' | 'max' | 'medium' | 'xhigh' | undefined = model.effort?.type
    for (const tool of tools) if (tool.type === 'mcp_toolset') tool.mcp_server_name.length
    await agents.POST('/v1/sessions', { body: { agent: id } })
    await agents.POST('/v1/sessions', { body: { agent: { id, version: 1 } } })
    await agents.POST('/v1/sessions', { body: { agent: { type: 'agent', id } } })
    // wrong: what is said of one kind of agent is not taken of the other
    await agents.POST('/v1/sessions', { body: { agent: { type: 'agent', id, system: 'x' } } })
    console.log(effort)
  }
  const credentials = await agents.GET('/v1/vaults/{id}/credentials', { params: { path: { id: 'vlt_x' } } })
  for (const { auth } of credentials.data?.data ?? []) if (auth.type === 'environment_variable') auth.secret_name.length

  if (event.type === 'agent.tool_use') console.log(event.input['command'], event.evaluated_permission)
  // wrong: only some events have content
  console.log(event.content)
  if (event.type === 'session.status_idle' && event.stop_reason.type === 'requires_action') event.stop_reason.event_ids.map(String)
  if (event.type === 'session.error') {
    // wrong: an error is none that Berth does not say
    console.log(event.error.type === 'no_such_error')
  }
  if (chunk.type === 'tool-input-start') chunk.toolName.length
  // wrong: only some chunks have text
  console.log(chunk.delta)

  const parts = [{ type: 'text' as const, text: 'Hello!' }]
  await llm.POST('/v1/chat', { body: { model: 'berth/demo', messages: [{ role: 'user', parts }] }, parseAs: 'stream' })
  // wrong: an image stands in an object
  await llm.POST('/v1/chat/completions', { body: { model: 'm', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'x' }] }] } })
  return warnings
}

export const runs: StartRunMutationVariables[] = [
  { input: { mode: 'COMPUTER', input: 'x' } },
  { input: { agent: { agent: { id: 'agt_x' } } } },
  // wrong: exactly one member of a oneOf input
  { input: { agent: { agent: { id: 'agt_x' }, agentWithOverrides: { id: 'agt_x' } } } },
  // wrong: the words of GraphQL are in capitals
  { input: { mode: 'computer' } },
]
// wrong: a body has no key that Berth would refuse
export const order: Infra['schemas']['CreateVmInput'] = { memory: 512 }
// wrong: a policy without hosts takes none
export const policy: Infra['schemas']['NetworkPolicyInput'] = { type: 'none', allowed_hosts: ['a.example'] }
// wrong: a sandbox's limit is a number
export const sandbox: RunSandboxMutationVariables = { input: { code: 'x', ttlSeconds: '60' } }
`

let berth: Berth
let env: Record<string, string>
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  const token = await berth.token()
  const { key } = await makeKey(berth, token)
  env = { TOKEN: token, KEY: key, SERVER_URL: berth.url }
  await run(`${example}/generate.mjs`)
}, runLimitMs)
afterAll(async () => {
  await berth?.stop()
  rmSync(`${root}/${example}/generated`, { recursive: true, force: true })
})

/** Runs a program of the checkout, and answers what it printed, and whether it failed. */
async function run(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    timeout: runLimitMs,
  }).catch((failure: { stdout: string; stderr: string }) => {
    throw new Error(failure.stdout + failure.stderr)
  })
  return stdout
}

test.each(['typescript/bin/tsc', 'typescript-5/bin/tsc'])(
  'clients from the schema and from the three OpenAPI documents compile under %s, strictly, and refuse what Berth would',
  async (compiler) => {
    writeFileSync(`${root}/${example}/generated/uses.ts`, uses.replaceAll('// wrong:', '// @ts-' + 'expect-error'))
    expect(await run(`node_modules/${compiler}`, '--project', example, '--pretty', 'false')).toBe('')
  },
  runLimitMs,
)

test.each(['rest.ts', 'graph.ts'])('%s chats with the built-in model', async (name) => {
  expect(await run(`${example}/${name}`, 'chat')).toMatch(/^chat: .*Hello!/)
})
