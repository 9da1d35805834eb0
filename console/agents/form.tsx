/** An agent that is made, or changed: each change is a version. */
import { useState, type ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import {
  AgentChoicesDocument,
  AgentModelsDocument,
  CreateAgentDocument,
  UpdateAgentDocument,
  type AgentChoices,
  type AgentDefinition,
  type AgentEffort,
  type AgentSkillInput,
  type AgentToolInput,
  type CreateAgent,
  type CreateAgentInput,
} from '../generated/documents.ts'
import { Choice, Field, TextArea } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import type { Given } from '../parts/given.ts'
import { offers } from '../offers/offers.ts'
import { PickMany } from '../offers/picker.tsx'
import { plain } from '../parts/plain.ts'
import { toolOf } from './inputs.ts'
import { ToolFields } from './tools.tsx'

type Skills = NonNullable<AgentChoices['skills']>['nodes']
type Offers = { skills: Skills; isKnown: boolean }

/** What a new agent may do: work in its machine. */
const firstTools: readonly AgentToolInput[] = [{ agentToolset: {} }]

/** A new one. */
export function NewAgent({ onDone, onClose }: { onDone: (made: CreateAgent) => void; onClose: () => void }): ReactNode {
  const skillOffers = useSkills()
  return (
    <FormDialog
      title="New agent"
      mutation={CreateAgentDocument}
      input={(given) => definitionIn(given, skillOffers)}
      submit="Create"
      onDone={onDone}
      onClose={onClose}
    >
      <Definition skills={skillOffers.skills} />
    </FormDialog>
  )
}

/** The next version of one. */
export function ChangeAgent({
  id,
  agent: newest,
  onClose,
}: {
  id: string
  agent: AgentDefinition
  onClose: () => void
}): ReactNode {
  const [agent] = useState(newest) // as it was when the form was opened: a change that somebody made since is not overwritten
  const skillOffers = useSkills()
  return (
    <FormDialog
      title={`Change ${plain(agent.name)}`}
      mutation={UpdateAgentDocument}
      input={(given) => ({ id, version: agent.version, ...definitionIn(given, skillOffers, agent) })}
      submit="Change"
      onDone={onClose}
      onClose={onClose}
    >
      <Definition skills={skillOffers.skills} agent={agent} />
    </FormDialog>
  )
}

function useSkills(): Offers {
  const [{ data }] = useKeptQuery({ query: AgentChoicesDocument })
  return {
    skills: data?.skills?.nodes ?? [],
    isKnown: data !== undefined,
  }
}

function Definition({ skills, agent }: { skills: Skills; agent?: AgentDefinition | undefined }): ReactNode {
  return (
    <>
      <Field name="name" label="Name" defaultValue={agent?.name} required autoFocus />
      <Models agent={agent} />
      <TextArea name="system" label="Instructions" defaultValue={agent?.system ?? ''} />
      <ToolFields tools={agent ? agent.tools.map(toolOf) : firstTools} />
      <details className="more">
        <summary>Purpose, tool servers, connectors, skills</summary>
        <Field name="description" label="What for" defaultValue={agent?.description ?? ''} />
        <TextArea
          name="servers"
          label="Tool servers"
          placeholder="name https://tools.example.com/mcp"
          hint="One a line: a name, and its address. Its tools are named among the tools, too."
          defaultValue={agent?.mcpServers.map(({ name, url }) => `${name} ${url}`).join('\n') ?? ''}
        />
        <PickMany
          name="services"
          label="Connectors"
          of={offers.connectors}
          chosen={agent?.mcpServices.map(({ id }) => id) ?? []}
        />
        {skills.map((skill) => (
          <SkillChoice key={skill.id} {...{ skill, agent }} />
        ))}
      </details>
    </>
  )
}

function SkillChoice({ skill, agent }: { skill: Skills[number]; agent: AgentDefinition | undefined }): ReactNode {
  const used = agent?.skills.find(({ skillName }) => skillName === skill.id)?.version
  const versions = skill.versions?.nodes.map(({ id }) => id) ?? []
  const old = used && used !== 'latest' && !versions.includes(used) ? [used] : []
  return (
    <Choice
      name={`skill ${skill.id}`}
      label={`Skill: ${plain(skill.displayName)}`}
      defaultValue={used ?? ''}
      options={[
        ['', 'Not used'],
        ['latest', 'Its newest version'],
        ...[...old, ...versions].map((version) => [version, version] as const),
      ]}
    />
  )
}

function Models({ agent }: { agent: AgentDefinition | undefined }): ReactNode {
  const [{ data }] = useKeptQuery({ query: AgentModelsDocument })
  const known = data?.models?.nodes.filter(({ kind }) => kind === 'CHAT').map(({ id }) => id) ?? []
  const current = agent?.model.id
  const models = current && !known.includes(current) ? [current, ...known] : known
  return (
    <>
      <Choice
        key={String(data !== undefined)} // its first choice is made anew when the models are known
        name="model"
        label="Model"
        defaultValue={current}
        options={models.map((id) => [id, id] as const)}
      />
      {agent && (
        <div className="row">
          <Choice
            name="effort"
            label="Effort"
            defaultValue={agent.model.effort ?? ''}
            options={[
              ['', 'The model’s own'],
              ['LOW', 'Low'],
              ['MEDIUM', 'Medium'],
              ['HIGH', 'High'],
              ['XHIGH', 'Very high'],
              ['MAX', 'The most'],
            ]}
          />
          <Choice
            name="speed"
            label="Speed"
            defaultValue={agent.model.speed}
            options={[
              ['STANDARD', 'Standard'],
              ['FAST', 'Fast'],
            ]}
          />
        </div>
      )}
    </>
  )
}

function definitionIn(given: Given, { skills, isKnown }: Offers, agent?: AgentDefinition): CreateAgentInput {
  const { text, lines, ids, json } = given
  const effort = text('effort') as AgentEffort | undefined // its options are these
  const none = agent ? null : undefined // what an update takes away
  const tools = json('tools')
  const services = ids('services')
  return {
    name: text('name') ?? '',
    description: text('description') ?? none,
    system: text('system') ?? none,
    model: {
      id: text('model') ?? '',
      ...(effort ? { effort: { type: effort } } : {}),
      ...(text('speed') === 'FAST' ? { speed: 'FAST' as const } : {}),
    },
    ...(Array.isArray(tools) ? { tools: tools as AgentToolInput[] } : {}),
    ...(agent || lines('servers').length > 0 ? { mcpServers: lines('servers').map(serverOf) } : {}),
    ...(services && (agent || services.length > 0)
      ? { mcpServices: services.map((id) => ({ id, disabledTools: disabledOf(id, agent) })) }
      : {}),
    // Which skills are offered may not be known yet; then they do not change.
    ...(isKnown ? skillsIn(given, skills, agent) : {}),
  }
}

function serverOf(line: string): { name: string; url: string; type: 'URL' } {
  const [name = '', url = ''] = line.split(/\s+/)
  return { name, url, type: 'URL' }
}

function disabledOf(id: string, agent: AgentDefinition | undefined): string[] {
  return [...(agent?.mcpServices.find((one) => one.id === id)?.disabledTools ?? [])]
}

function skillsIn({ text }: Given, skills: Skills, agent: AgentDefinition | undefined): { skills?: AgentSkillInput[] } {
  const chosen = skills.flatMap(({ id }): AgentSkillInput[] => {
    const version = text(`skill ${id}`)
    return version ? [{ skillId: id, type: 'CUSTOM', version }] : []
  })
  // Those that are not the person’s stay as they are.
  const others = (agent?.skills ?? []).filter(({ skillName }) => !skills.some(({ id }) => id === skillName))
  const all = [...chosen, ...others.map(({ skillName, type, version }) => ({ skillId: skillName, type, version }))]
  return agent || all.length > 0 ? { skills: all } : {}
}
