/** What becomes of a session whose VM is lost, archived, or given secrets; and the files of its skills. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machinesFolder } from '#src/drivers/compute/places.ts'
import { agentSessions, results, textOf, types, type AgentSessions, type Event } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { qemuProcesses } from '../../support/qemu-processes.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let sessions: AgentSessions
let token: string
let agent: string
const vmLimitMs = 150_000

beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 0, settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  sessions = agentSessions(berth, token)
  agent = await sessions.agent({ tools: [{ type: 'agent_toolset_20260401' }] })
}, 300_000)
afterAll(() => berth?.stop())

const makeEnvironment = async (name: string): Promise<string> =>
  (
    await berth.call<{ id: string }>('POST', '/agents/v1/environments', {
      token,
      body: { name, config: { memory_mb: 1024 } },
    })
  ).body.id
const bash = (command: string): string => `!tool bash ${JSON.stringify({ command })}`
async function run(environment: string, command: string, fields: object = {}): Promise<Event[]> {
  return sessions.rested(
    await sessions.begin(agent, bash(command), { environment_id: environment, ...fields }),
    vmLimitMs,
  )
}

test('when a VM is lost during a call, the call says so, and the next one has a machine again', async () => {
  const environment = await makeEnvironment('lost')
  await run(environment, 'true')
  const id = await sessions.begin(
    agent,
    [bash('echo begun > /tmp/begun; sleep 4321'), bash('pgrep -f "[s]leep 4321" || echo back')].join('\n'),
    { environment_id: environment },
  )
  await until(
    'it runs',
    async () =>
      textOf((await run(environment, 'cat /tmp/begun')).find(({ type }) => type === 'agent.tool_result')).includes(
        'begun',
      ),
    vmLimitMs,
  )
  const pids = qemuProcesses(machinesFolder(berth.dataDir)) // not the one that may be making the snapshot of this size
  expect(pids).toHaveLength(1) // without a pool it is the only one
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  const log = await sessions.rested(id, vmLimitMs)
  expect(results(log)).toEqual([
    {
      text: 'The machine was lost; the command may have run. Check before you run it again.',
      isError: true,
    },
    { text: 'back', isError: false },
  ])
  expect(log.at(-1)).toMatchObject({ stop_reason: { type: 'end_turn' } })
}, 400_000)

test('when an environment is archived during a call, the session becomes idle, and says why', async () => {
  const environment = await makeEnvironment('archived')
  const id = await sessions.begin(agent, bash('sleep 4321'), { environment_id: environment })
  await until('it is called', async () => types(await sessions.log(id)).includes('agent.tool_use'), vmLimitMs)
  expect((await berth.call('POST', `/agents/v1/environments/${environment}/archive`, { token })).status).toBe(200)
  const log = await sessions.rested(id)
  expect(log.findLast(({ type }) => type === 'session.error')).toMatchObject({
    error: { type: 'environment_failed_error' },
  })
  expect(results(log), 'before it rests').toEqual([
    { text: expect.stringContaining('environment of this session was archived'), isError: true },
  ])
  await sessions.say(id, '!say still here')
  await until(
    'it answers',
    async () =>
      (await sessions.log(id)).some((event) => event.type === 'agent.message' && textOf(event) === 'still here'),
    vmLimitMs,
  )
  expect(results(await sessions.rested(id)), 'answered once').toHaveLength(1)
}, 400_000)

test('variables of the session’s vaults are set before the first call, and new ones before the next turn', async () => {
  const environment = await makeEnvironment('secret')
  const vault = (await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'v' } }))
    .body.id
  const put = async (name: string, value: string): Promise<void> => {
    const made = await berth.call('POST', `/agents/v1/vaults/${vault}/credentials`, {
      token,
      body: { display_name: name, auth: { type: 'environment_variable', secret_name: name, secret_value: value } },
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
  }
  await put('ONE_KEY', 'first-value')
  // In base64 of base64, because the log shows no secret as it is.
  const shown = async (): Promise<string> => {
    const printed = textOf(
      (await run(environment, 'echo $ONE_KEY $TWO_KEY | base64 | base64', { vault_ids: [vault] })).find(
        ({ type }) => type === 'agent.tool_result',
      ),
    )
    return Buffer.from(Buffer.from(printed, 'base64').toString(), 'base64').toString().trim()
  }
  expect(await shown()).toBe('first-value')
  await put('TWO_KEY', 'second-value')
  expect(await shown()).toBe('first-value second-value')
}, 400_000)

test('the files of a session’s skills are in its VM before the first command, in the version that it has', async () => {
  const environment = await makeEnvironment('skilled')
  const send = async (path: string, text: string): Promise<Record<string, string>> => {
    const form = new FormData()
    const part = (content: string, name: string): void => form.append('files[]', new Blob([content]), name)
    part(`---\nname: minutes\ndescription: Writes minutes.\n---\n${text}\n`, 'minutes/SKILL.md')
    part('#!/bin/sh\nwc -w < "$1"\n', 'minutes/tools/count.sh')
    part('grün\n', 'minutes/Ü [1].txt')
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${berth.url}/agents/v1/skills${path}`, { method: 'POST', headers, body: form })
    expect(answer.status).toBe(200)
    return (await answer.json()) as Record<string, string>
  }
  const { id: skill, latest_version_id: version } = await send('', 'First write the decisions.')
  const skilled = await sessions.agent({
    tools: [{ type: 'agent_toolset_20260401' }],
    skills: [{ type: 'custom', skill_id: skill }],
  })
  const look = (of = version): string =>
    `cd ~/.skills/${of} && tail -n 1 minutes/SKILL.md && ls -A . minutes; ls -A .. | grep -v skillver_ || true`
  const say = async (id: string, command: string): Promise<string | undefined> => {
    const before = results(await sessions.log(id)).length
    await sessions.say(id, bash(command))
    await until('it was answered', async () => results(await sessions.log(id)).length > before, vmLimitMs)
    return results(await sessions.rested(id, vmLimitMs)).at(-1)?.text
  }
  const first = await sessions.begin(skilled, null, { environment_id: environment })
  const listed = ['.:', 'minutes', '', 'minutes:', 'SKILL.md', 'tools', 'Ü [1].txt'].join('\n')
  expect(await say(first, look())).toBe(`First write the decisions.\n${listed}`)
  const use =
    'cat Ü* && tools/count.sh SKILL.md && stat -c "%a %U" SKILL.md tools tools/count.sh && echo mine >> SKILL.md'
  expect(await say(first, `cd ~/.skills/${version}/minutes && ${use}`)).toBe('grün\n11\n644 user\n755 user\n755 user')
  expect(await say(first, look()), 'what the agent changes stays').toBe(`mine\n${listed}`)

  // Another session in the same VM has a newer version beside it.
  const { id: newer } = await send(`/${skill}/versions`, 'First write who was there.')
  const second = await sessions.begin(skilled, null, { environment_id: environment })
  expect(await say(second, look(newer))).toBe(`First write who was there.\n${listed}`)
}, 400_000)
