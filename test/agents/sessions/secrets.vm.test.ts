/** Secrets that a real VM holds: what a session's tools print of them is masked, however much it is and wherever it is cut. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentSessions, results, type AgentSessions } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'

let berth: Berth
let sessions: AgentSessions
let token: string
let environment: string
let vault: string
const inVault = 'canary-vault-3e7b"ü'
const inVm = 'canary-secret-variable-81'
const vmLimitMs = 180_000

beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 1, settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  sessions = agentSessions(berth, token)
  environment = (
    await berth.call<{ id: string }>('POST', '/agents/v1/environments', {
      token,
      body: { name: 'box', config: { memory_mb: 1024 } },
    })
  ).body.id
  vault = (await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'keys' } }))
    .body.id
  expect(
    (
      await berth.call('POST', `/agents/v1/vaults/${vault}/credentials`, {
        token,
        body: { auth: { type: 'environment_variable', secret_name: 'VAULT_KEY', secret_value: inVault } },
      })
    ).status,
  ).toBe(201)
}, 300_000)
afterAll(() => berth?.stop())

type Call = [name: string, input: Record<string, unknown>]
async function run(...calls: Call[]): Promise<string[]> {
  const agent = await sessions.agent({ tools: [{ type: 'agent_toolset_20260401' }] })
  const script = [...calls.map(([name, input]) => `!tool ${name} ${JSON.stringify(input)}`), '!say done'].join('\n')
  const id = await sessions.begin(agent, script, { environment_id: environment, vault_ids: [vault] })
  const log = await sessions.rested(id, vmLimitMs)
  expect(JSON.stringify(log)).not.toMatch(/canary-(?:vault-3e7b|secret-variable-81)/)
  expect(JSON.stringify(log)).not.toContain(Buffer.from(inVault).toString('base64').slice(0, 20))
  return results(log).map(({ text }) => text)
}

test(
  'what commands, files, searches and processes in the background print of a secret is masked',
  async () => {
    await run(['bash', { command: 'true' }])
    const { vm_id: vm } = (
      await berth.call<{ vm_id: string }>('GET', `/agents/v1/environments/${environment}`, { token })
    ).body
    expect(
      (await berth.call('PATCH', `/api/v1/vms/${vm}/env?visibility=secret`, { token, body: { HIDDEN: inVm } })).status,
    ).toBe(200)
    const said = await run(
      [
        'bash',
        {
          command:
            'echo "a $VAULT_KEY b $HIDDEN c"; printf %s "$VAULT_KEY" | base64; env | grep -c "^VAULT_KEY=$VAULT_KEY$"',
        },
      ],
      ['bash', { command: '(sleep 1; echo "later $VAULT_KEY") > ~/out.txt 2>&1 &' }],
      ['bash', { command: 'while ! grep -q later ~/out.txt; do sleep 0.2; done; cat ~/out.txt' }],
      ['read', { file_path: '/home/user/out.txt' }],
      ['grep', { pattern: 'later', path: '/home/user/out.txt' }],
      [
        'bash',
        {
          command:
            'for i in $(seq 20); do printf "%0$((9990 + i))d" 0; printf "%s" "$VAULT_KEY"; done; yes "$HIDDEN" | head -n 20000',
        },
      ],
    )
    expect(said.slice(0, 5)).toEqual([
      'a *** b *** c\n***\n1',
      '(no output)',
      'later ***',
      'later ***\n',
      '1:later ***',
    ])
    for (let letters = 5; letters < inVault.length; letters++) {
      expect(said[5]).not.toContain(inVault.slice(0, letters))
      expect(said[5]).not.toContain(inVault.slice(-letters))
    }
  },
  2 * vmLimitMs,
)
