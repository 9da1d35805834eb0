/** The tools of an agent: the usual ones by a choice each, all of them as the API takes them. */
import { useEffect, useRef, useState, type ReactNode } from 'react'
import type { AgentToolInput } from '../generated/documents.ts'
import { Choice, TextArea } from '../parts/field.tsx'
import { readJson } from '../parts/given.ts'

type Toolset = 'agentToolset' | 'berthToolset'
type Use = 'none' | 'run' | 'ask' | 'each'

const uses = [
  ['none', 'None'],
  ['run', 'Run at once'],
  ['ask', 'Ask you first'],
  ['each', 'Each as below'],
] as const
const ownTool: AgentToolInput = {
  custom: {
    name: 'my_tool',
    description: 'What it does, for the model.',
    inputSchema: { type: 'object', properties: {} },
  },
}
const serverTools: AgentToolInput = { mcpToolset: { mcpServerName: 'name' } }

/** The fields; the form has all tools in `tools`, as JSON. */
export function ToolFields({ tools }: { tools: readonly AgentToolInput[] }): ReactNode {
  const [text, setText] = useState(() => JSON.stringify(tools, null, 2))
  const area = useRef<HTMLDivElement>(null)
  const { value, problem } = readJson(text)
  const list = Array.isArray(value) ? (value as AgentToolInput[]) : undefined // what else it is, the server says
  const wrong = problem ?? (list ? '' : 'This is no list of tools: write it between [ and ].')
  useEffect(() => area.current?.querySelector('textarea')?.setCustomValidity(wrong), [wrong])
  const put = (next: readonly AgentToolInput[]): void => setText(JSON.stringify(next, null, 2))
  return (
    <>
      {(
        [
          ['agentToolset', 'Commands, files and pages of the web'],
          ['berthToolset', 'Questions, memories, other sessions'],
        ] as const
      ).map(([toolset, label]) => (
        <Choice
          key={toolset}
          label={label}
          value={list ? useOf(list, toolset) : 'each'}
          disabled={!list}
          options={uses}
          onChange={({ target }) => list && put(withUse(list, toolset, target.value as Use))} // it has these options
        />
      ))}
      <details className="more">
        <summary>Each tool</summary>
        <div ref={area}>
          <TextArea
            name="tools"
            label="Tools, as JSON"
            hint="As createAgent takes them: toolsets with the settings of each tool, and tools of your own."
            className="json"
            rows={12}
            spellCheck={false}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </div>
        <p className="buttons">
          <button type="button" disabled={!list} onClick={() => list && put([...list, ownTool])}>
            Add a tool of your own
          </button>
          <button type="button" disabled={!list} onClick={() => list && put([...list, serverTools])}>
            Add the tools of a server
          </button>
        </p>
      </details>
    </>
  )
}

function useOf(list: readonly AgentToolInput[], toolset: Toolset): Use {
  const found = list.find((one) => one[toolset])?.[toolset]
  if (!found) return 'none'
  if ((found.configs ?? []).length > 0 || found.defaultConfig?.enabled === false) return 'each'
  return found.defaultConfig?.permissionPolicy?.type === 'ALWAYS_ASK' ? 'ask' : 'run'
}

function withUse(list: readonly AgentToolInput[], toolset: Toolset, use: Use): AgentToolInput[] {
  if (use === 'each') return [...list]
  const others = list.filter((one) => !one[toolset])
  if (use === 'none') return others
  const setting = { permissionPolicy: { type: use === 'ask' ? ('ALWAYS_ASK' as const) : ('ALWAYS_ALLOW' as const) } }
  const chosen = { defaultConfig: setting }
  return [toolset === 'agentToolset' ? { agentToolset: chosen } : { berthToolset: chosen }, ...others]
}
