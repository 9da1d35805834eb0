/** What an agent is: its model, instructions, tools and skills; and each version of it that there was. */
import { useState, type ReactNode } from 'react'
import { useQuery } from 'urql'
import {
  AgentToolsDocument,
  AgentVersionDocument,
  UpdateAgentDocument,
  type Agent,
  type AgentDefinition,
} from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Facts } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { State, wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { changesOf } from './inputs.ts'

type Known = NonNullable<Agent['agent']>
type Tool = AgentDefinition['tools'][number]
type Setting = Extract<Tool, { __typename: 'McpToolset' }>['defaultConfig']

/** One version. */
export function Definition({ agent }: { agent: AgentDefinition }): ReactNode {
  const { model, mcpServers, mcpServices, skills } = agent
  return (
    <>
      <Facts
        facts={[
          ['Model', plain(model.id)],
          ['Effort', model.effort ? wordOf(model.effort) : 'the model’s own'],
          ['Speed', wordOf(model.speed)],
          ['Version', agent.version],
          ['Changed', <Age key="changed" at={agent.updatedAt} />],
          ['What for', agent.description ? plain(agent.description) : undefined],
          ['Tool servers', plain(mcpServers.map(({ name, url }) => `${name} (${url})`).join(', ')) || 'none'],
          ['Connectors', plain(mcpServices.map(({ id }) => id).join(', ')) || 'none'],
          ['Skills', plain(skills.map(({ skillName, version }) => `${skillName} ${version}`).join(', ')) || 'none'],
        ]}
      />
      <h2>Instructions</h2>
      <pre tabIndex={0}>{agent.system ? plain(agent.system) : 'None.'}</pre>
      <h2>Tools</h2>
      {agent.tools.length === 0 ? <p>None: it only talks.</p> : <Tools tools={agent.tools} />}
    </>
  )
}

function Tools({ tools }: { tools: readonly Tool[] }): ReactNode {
  return (
    <Table label="Tools" heads={['Tool', 'Whose', 'When it is called']}>
      {tools.flatMap((tool) => {
        if (tool.__typename === 'CustomTool')
          return [row(`own ${tool.name}`, tool.name, 'yours', 'your program, or you in the session, answer')]
        const whose = tool.__typename === 'McpToolset' ? tool.mcpServerName : tool.name
        return [
          row(whose, tool.configs.length > 0 ? 'all others' : 'all', whose, useOf(tool.defaultConfig)),
          ...tool.configs.map((config) => row(`${whose} ${config.name}`, config.name, whose, useOf(config))),
        ]
      })}
    </Table>
  )
}

function row(key: string, ...cells: string[]): ReactNode {
  return (
    <tr key={key}>
      {cells.map((cell, at) => (
        <td key={at}>{plain(cell)}</td>
      ))}
    </tr>
  )
}

function useOf({ isEnabled, permissionPolicy }: Setting): string {
  if (!isEnabled) return 'not offered'
  return permissionPolicy.type === 'ALWAYS_ASK' ? 'asks first' : 'runs at once'
}

/** What its tool servers and connectors offer now: they are asked when somebody wants to know. */
export function ServerTools({ id }: { id: string }): ReactNode {
  const [isAsked, setIsAsked] = useState(false)
  const [{ data, error, fetching }] = useQuery({ query: AgentToolsDocument, variables: { id }, pause: !isAsked })
  const servers = data?.agentMcpTools
  return (
    <>
      <h2>Tools of servers and connectors</h2>
      {!isAsked && (
        <button type="button" onClick={() => setIsAsked(true)}>
          Ask them now
        </button>
      )}
      {fetching && <p role="status">They are asked, for ten seconds at most.</p>}
      {error && <Problem error={error} />}
      {servers?.length === 0 && <p>It has none.</p>}
      {servers && servers.length > 0 && (
        <Table label="Tools of servers" heads={['Server', 'Status', 'Tools']}>
          {servers.map(({ serverName, serverStatus, error: problem, tools }) => (
            <tr key={serverName}>
              <td>{plain(serverName)}</td>
              <td>
                <State status={serverStatus} />
              </td>
              <td>{plain(problem ?? tools.map(({ name }) => name).join(', '))}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

/** Its versions: what each was, and going back to one, which makes a new one. */
export function Versions({ agent: { id, version: current, archivedAt, versions } }: { agent: Known }): ReactNode {
  const [shown, setShown] = useState<number>()
  return (
    <>
      <Table label="Versions" heads={['Version', 'Made', 'Model', 'Now']}>
        {versions.nodes.map(({ version, updatedAt, model }) => (
          <tr key={version}>
            <td>{version}</td>
            <td>
              <Age at={updatedAt} />
            </td>
            <td>{plain(model.id)}</td>
            <td>
              <span className="buttons">
                <button type="button" onClick={() => setShown(version)}>
                  Show
                </button>
                {version === current && 'in use'}
              </span>
            </td>
          </tr>
        ))}
      </Table>
      {shown !== undefined && <Version {...{ id, version: shown, current, isArchived: archivedAt !== null }} />}
    </>
  )
}

function Version({
  id,
  version,
  current,
  isArchived,
}: {
  id: string
  version: number
  current: number
  isArchived: boolean
}): ReactNode {
  const [{ data, error }] = useQuery({ query: AgentVersionDocument, variables: { id, version } })
  if (error) return <Problem error={error} />
  const agent = data?.agent
  if (!agent) return null
  return (
    <section aria-label={`Version ${version}`}>
      {version !== current && !isArchived && (
        <p>
          <Act mutation={UpdateAgentDocument} variables={{ input: { id, version: current, ...changesOf(agent) } }}>
            Use version {version} again
          </Act>
        </p>
      )}
      <Definition agent={agent} />
    </section>
  )
}
