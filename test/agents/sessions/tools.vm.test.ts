/** The tools of a session in its real VM: commands, files, searching, limits, interrupts; and a failing test that is fixed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentSessions, results, textOf, types, type AgentSessions, type Event } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let sessions: AgentSessions
let token: string
let agent: string
let environment: string
const vmLimitMs = 120_000

beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 1, settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  sessions = agentSessions(berth, token)
  agent = await sessions.agent({ tools: [{ type: 'agent_toolset_20260401' }] })
  environment = (
    await berth.call<{ id: string }>('POST', '/agents/v1/environments', {
      token,
      body: { name: 'box', config: { memory_mb: 1024 } },
    })
  ).body.id
}, 300_000)
afterAll(() => berth?.stop())

type Call = [name: string, input: Record<string, unknown>]
const script = (...calls: Call[]): string =>
  [...calls.map(([name, input]) => `!tool ${name} ${JSON.stringify(input)}`), '!say done'].join('\n')
async function run(...calls: Call[]): Promise<Event[]> {
  return sessions.rested(await sessions.begin(agent, script(...calls), { environment_id: environment }), vmLimitMs)
}

test('every tool does what its description says, in one folder, and reports errors', async () => {
  const log = await run(
    ['bash', { command: 'mkdir -p ~/one/src && cd ~/one && echo out; echo err >&2; exit 3' }],
    ['bash', { command: 'pwd' }],
    ['write', { file_path: 'src/a.txt', content: 'first\nsecond "quoted" $HOME ü\nthird\n' }],
    ['read', { file_path: '/home/user/one/src/a.txt' }],
    ['read', { file_path: 'src/a.txt', view_range: [2, 3] }],
    ['edit', { file_path: 'src/a.txt', old_string: 'second', new_string: '2nd' }],
    ['edit', { file_path: 'src/a.txt', old_string: 'i', new_string: 'I' }],
    ['edit', { file_path: 'src/a.txt', old_string: 'absent', new_string: 'x' }],
    ['edit', { file_path: 'src/a.txt', old_string: 'i', new_string: 'I', replace_all: true }],
    ['grep', { pattern: '^(fIrst|2nd)', path: 'src' }],
    ['grep', { pattern: 'nowhere' }],
    ['glob', { pattern: '**/*.txt' }],
    ['read', { file_path: 'src/b.txt' }],
    ['bash', { restart: true }],
    ['bash', { command: 'pwd; seq 1 100000' }],
    ['bash', { command: 'sleep 60', timeout_ms: 1000 }],
    ['bash', { command: 'printf "a\\0b\\377c"' }],
    ['bash', { command: 'yes | head -c 3000000' }],
  )
  const said = results(log)
  expect(said.map(({ text, isError }) => [isError, text.slice(0, 120)])).toEqual([
    [true, 'out\nerr\n[exit code 3]'],
    [false, '/home/user/one'],
    [false, 'Wrote 37 bytes to src/a.txt.'],
    [false, 'first\nsecond "quoted" $HOME ü\nthird\n'],
    [false, 'second "quoted" $HOME ü\nthird\n'],
    [false, 'Replaced 1 occurrence in src/a.txt.'],
    [true, expect.stringContaining('occurs 2 times')],
    [true, expect.stringContaining('does not occur')],
    [false, 'Replaced 2 occurrences in src/a.txt.'],
    [false, 'src/a.txt:1:fIrst\nsrc/a.txt:2:2nd "quoted" $HOME ü'],
    [false, 'No lines match.'],
    [false, 'src/a.txt'],
    [true, 'There is nothing at src/b.txt.'],
    [false, expect.stringContaining('/home/user')],
    [false, expect.stringMatching(/^\/home\/user\n1\n2\n/)],
    [true, expect.stringMatching(/\[Stopped: it did not end within 1 s\.\]$/)],
    [false, 'a\u{fffd}b\u{fffd}c'],
    [false, expect.stringMatching(/^(?:y\n)+$/)],
  ])
  const flood = said[14]?.text ?? ''
  expect(flood).toMatch(/\[Cut: \d+ characters are left out here\.\]/)
  expect(flood).toMatch(/\n100000$/)
  expect(flood.length).toBeLessThan(31_000)
  expect(types(log).filter((type) => type === 'agent.tool_result')).toHaveLength(18)
}, 240_000)

test('the calls of one answer run concurrently, and each gets a result', async () => {
  const id = await sessions.begin(
    agent,
    '!tool bash {"command":"touch /tmp/one; until [ -e /tmp/two ]; do sleep 0.1; done; echo one"}\n!tool+ bash {"command":"touch /tmp/two; until [ -e /tmp/one ]; do sleep 0.1; done; echo two"}\n!tool+ write {"file_path":"/tmp/three","content":"3"}\n!say done',
    { environment_id: environment },
  )
  const log = await sessions.rested(id, vmLimitMs)
  expect(
    results(log)
      .map(({ text }) => text)
      .sort(),
  ).toEqual(['Wrote 1 bytes to /tmp/three.', 'one', 'two'])
}, 240_000)

test('an interrupt kills what is running in the VM', async () => {
  const id = await sessions.begin(agent, '!tool bash {"command":"echo begun > /tmp/begun; sleep 4321"}', {
    environment_id: environment,
  })
  const look = async (command: string): Promise<string> =>
    textOf((await run(['bash', { command }])).find(({ type }) => type === 'agent.tool_result'))
  await until('it runs', async () => (await look('cat /tmp/begun 2> /dev/null')).includes('begun'), vmLimitMs)
  await sessions.send(id, { type: 'user.interrupt' })
  const log = await sessions.rested(id)
  expect(results(log)).toEqual([
    { text: 'The user interrupted; this call was stopped, and may have had some of its effect.', isError: true },
  ])
  expect(log.at(-1)).toMatchObject({ stop_reason: { type: 'end_turn' } })
  expect(await look('pgrep -f "sleep 4321" | grep -v $$ ; true')).not.toMatch(/\d/)
}, 240_000)

test('the built-in model finds and fixes a failing test in a git repository', async () => {
  const source = 'def mean(values):\n    return sum(values) / (len(values) - 1)\n'
  const testing =
    'import unittest\nfrom mean import mean\n\nclass MeanTest(unittest.TestCase):\n    def test_mean(self):\n        self.assertEqual(mean([1, 2, 3]), 2)\n\nunittest.main()\n'
  const commit = 'git -c user.name=agent -c user.email=agent@example.com commit -qam'
  const log = await run(
    ['bash', { command: 'git init -q ~/repo && cd ~/repo' }],
    ['write', { file_path: 'mean.py', content: source }],
    ['write', { file_path: 'test_mean.py', content: testing }],
    ['bash', { command: `git add . && ${commit} 'Begin' && python3 test_mean.py` }],
    ['grep', { pattern: 'len\\(values\\)' }],
    ['read', { file_path: 'mean.py' }],
    ['edit', { file_path: 'mean.py', old_string: '(len(values) - 1)', new_string: 'len(values)' }],
    [
      'bash',
      { command: `python3 test_mean.py && ${commit} 'Divide by the number of values' && git log --oneline | wc -l` },
    ],
  )
  const said = results(log)
  expect(said[3]).toMatchObject({
    isError: true,
    text: expect.stringMatching(/AssertionError: 3\.0 != 2[^]*\[exit code 1\]/),
  })
  expect(said.at(-1)).toMatchObject({ isError: false, text: expect.stringMatching(/OK[^]*2$/) })
  expect(textOf(log.findLast(({ type }) => type === 'agent.message'))).toBe('done')
}, 240_000)
