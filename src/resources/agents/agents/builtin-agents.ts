/** Berth's own agents: the builtins of a run, and the assistants of its modes. */
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { modelTable } from '#src/resources/llm/models/table.ts'
import type { AgentDefinition, ToolConfig } from './rows.ts'

/** The values of `builtin`. */
export type BuiltinName = 'coder' | 'reviewer' | 'researcher'
/** The values of `mode`. */
export type ModeName = 'chat' | 'computer'

type OwnAgent = { id: string; needsVm: boolean; description: string; system: string; without: readonly string[] }

const inVm = ['bash', 'read', 'write', 'edit', 'glob', 'grep']
const general = 'Say what you did and what is left in a few plain sentences. When something is not certain, say so.'

/** Ids must never change, because sessions show them. */
const ownAgents: Readonly<Record<BuiltinName | ModeName, OwnAgent>> = {
  coder: {
    id: '00000000-0000-7000-8000-00000000c0de',
    needsVm: true,
    description: 'Changes code in its own VM until it works.',
    without: [],
    system: `You are a careful programmer with a Linux machine of your own. Read before you change anything; make the smallest change that does what was asked; run the tests, and go on until they pass or you can say why they cannot. ${general}`,
  },
  reviewer: {
    id: '00000000-0000-7000-8000-00000000e1e1',
    needsVm: true,
    description: 'Reads a change and says what is wrong with it; changes nothing.',
    without: ['write', 'edit'],
    system: `You review code. Read the change and what it touches; run it and its tests where that helps; do not change any file. Report what is wrong, most harmful first, each with the file, the line, what happens and how to see it. Do not report taste. ${general}`,
  },
  researcher: {
    id: '00000000-0000-7000-8000-00000000f1fd',
    needsVm: false,
    description: 'Finds things out on the web and answers with its sources.',
    without: inVm,
    system: `You find things out. Look for primary sources, read them, compare them, and answer with the address of each one that you rely on. ${general}`,
  },
  chat: {
    id: '00000000-0000-7000-8000-00000000c4a7',
    needsVm: false,
    description: 'Talks.',
    without: inVm,
    system: `You are a helpful assistant. ${general}`,
  },
  computer: {
    id: '00000000-0000-7000-8000-00000000c0b0',
    needsVm: true,
    description: 'Works in its own VM.',
    without: [],
    system: `You are a helpful assistant with a Linux machine of your own, in which you may do whatever the task needs. ${general}`,
  },
}

/** The public id under which sessions show one of Berth's own agents. */
export function builtinAgentId(name: string): string {
  const own = name in ownAgents ? ownAgents[name as BuiltinName] : undefined // checked just before
  return encodeId('agent', (own ?? ownAgents.chat).id)
}

/** The name of Berth's own agent with this id, a uuid; null for any other. */
export function builtinNameOf(id: string): string | null {
  return Object.entries(ownAgents).find(([, own]) => own.id === id)?.[0] ?? null
}

/**
 * One of Berth's own agents, ready to start a session, and whether it works in a VM.
 * @throws BerthError unknown_model when no model is served.
 */
export function builtinAgent(
  config: Config,
  name: BuiltinName | ModeName,
): { definition: AgentDefinition; needsVm: boolean } {
  const { needsVm, description, system, without } = ownAgents[name]
  const allowed = { permission_policy: { type: 'always_allow' as const } }
  const configs: ToolConfig[] = without.map((tool) => ({ name: tool, enabled: false, ...allowed }))
  return {
    needsVm,
    definition: {
      name,
      description,
      system,
      model: { id: usualModel(config), effort: null, speed: 'standard' },
      metadata: {},
      mcp_servers: [],
      mcp_services: [],
      skills: [],
      tools: [{ type: 'agent_toolset_20260401', default_config: { enabled: true, ...allowed }, configs }],
    },
  }
}

/** The first model in the catalog that can use tools; the built-in demo only when there is no other. */
function usualModel(config: Config): string {
  const models = [...modelTable(config).models.values()].filter(
    ({ capabilities, status }) => capabilities.tools && status === 'available',
  )
  const model = models.find(({ id }) => id !== 'berth/demo') ?? models[0]
  if (!model)
    throw new BerthError(
      'unknown_model',
      'This installation serves no model that can use tools. Set a provider’s key, or name an agent of your own.',
    )
  return model.id
}
