/** `berth agent`. */
import type { Berth } from '../../src/client/berth.ts'
import type { Noun, Verb } from '../grammar.ts'
import { given } from '../inputs.ts'
import { newKey } from '../keys.ts'
import { ageOf } from '../output.ts'
import { createOf, finderOf, getOf, idOfOption, lsOf, rmOf, updateOf, type PlainNoun } from '../plain.ts'
import { followSession } from '../transcript.ts'
import { environmentNoun } from './automation.ts'
import { vaultNoun } from './vault.ts'

type Agents = Berth['agents']
type AgentRow = Awaited<ReturnType<Agents['list']>>['nodes'][number]

/** Agents, as the usual verbs know them. */
export const agentNoun: PlainNoun<AgentRow, Agents> = {
  one: 'agent',
  argument: 'agent',
  part: (berth) => berth.agents,
  nameOf: (row) => row.name,
  isSearchable: true,
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['MODEL', (row) => row.model.id],
    ['VERSION', (row) => row.version],
    ['AGE', (row) => ageOf(row.createdAt)],
  ],
}

const run: Verb = {
  name: 'run',
  args: '<agent> <text>',
  about: 'start a session with a message, and print its id',
  options: [
    ['--follow', 'print what it does until its turn ends, and ask for permissions'],
    [
      '--environment <environment>',
      'the environment that it works in; without one it has no machine, and no tool that needs one',
    ],
    ['--vault <vault>', 'a vault that it may use', 'many'],
    ['--title <title>', 'the title of the session'],
  ],
  async run(cli, [name, text = ''], options) {
    const agentId = await finderOf(agentNoun)(cli, name)
    const environmentId = await idOfOption(environmentNoun, cli, options.text('environment'))
    const vaultIds: string[] = []
    for (const vault of options.texts('vault')) vaultIds.push(await finderOf(vaultNoun)(cli, vault))
    const session = await (await cli.berth()).sessions.create(
      given({
        agentId,
        initialEvents: [{ userMessage: { content: [{ text: { text } }] } }],
        environmentId,
        title: options.text('title'),
        vaultIds: vaultIds.length > 0 ? vaultIds : undefined,
      }),
      { idempotencyKey: newKey() },
    )
    if (!options.flag('follow')) return cli.out.result(session, session.id)
    cli.out.note(session.id)
    return followSession(cli, session.id, { until: 'idle' })
  },
}

/** Agents. */
export const agent: Noun = {
  verbs: [
    lsOf(agentNoun),
    createOf('agent', (berth, input, options) => berth.agents.create(input, options)),
    getOf(agentNoun),
    updateOf(agentNoun, (berth, input, options) => berth.agents.update(input, options)),
    run,
    rmOf(agentNoun, (berth, id) => berth.agents.delete(id)),
  ],
}
