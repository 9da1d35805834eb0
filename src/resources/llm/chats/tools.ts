/** The tools that a chat offers its model, in OpenAI's shape, for both chat routes. */
import type { ModelRequest, Tool } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { toolName, type Fields } from './message-shapes.ts'
import { wrongParameter } from './parameters.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'

/**
 * `tools`, `tool_choice` and `parallel_tool_calls`.
 * @throws BerthError invalid_parameter; tools_require_streaming when the answer is not streamed.
 */
export function readTools(
  body: Fields,
  model: Model,
  stream: boolean,
): Pick<ModelRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const tools = readList(body['tools'])
  const choice = readChoice(body['tool_choice'], tools)
  if (!stream && (tools.length > 0 || (choice !== null && choice !== 'none'))) {
    throw new BerthError(
      'tools_require_streaming',
      'Tools require a streamed answer. Send stream: true, or leave tools and tool_choice out.',
    )
  }
  if (tools.length > 0 && !model.capabilities.tools)
    throw wrongParameter(
      'tools',
      `cannot be used: ${model.id} cannot call tools. Choose a model whose capabilities have tools.`,
    )
  if (tools.length === 0 && choice !== null && choice !== 'none' && choice !== 'auto')
    throw wrongParameter('tool_choice', 'requires a tool, but tools has none.')
  const parallel = body['parallel_tool_calls'] ?? null
  if (parallel !== null && typeof parallel !== 'boolean')
    throw wrongParameter('parallel_tool_calls', 'must be true or false.')
  return tools.length === 0
    ? { tools, toolChoice: null, parallelToolCalls: null }
    : { tools, toolChoice: choice, parallelToolCalls: parallel }
}

function readList(value: unknown): Tool[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw wrongParameter('tools', 'must be a list.')
  if (value.length > limits.chatToolsMax)
    throw wrongParameter('tools', `has more than ${limits.chatToolsMax} tools. Send fewer.`)
  const names = new Set<string>()
  return value.map((item: unknown, at) => {
    const tool = readTool(item, `tools[${at}]`)
    if (names.has(tool.name)) throw wrongParameter(`tools[${at}].function.name`, 'stands twice.')
    names.add(tool.name)
    return tool
  })
}

function readTool(item: unknown, place: string): Tool {
  if (!isObject(item)) throw wrongParameter(place, 'must be an object.')
  if (item['type'] !== 'function')
    throw wrongParameter(`${place}.type`, 'must be function: other kinds of tools are not supported.')
  const named = item['function']
  if (!isObject(named)) throw wrongParameter(`${place}.function`, 'must be an object.')
  const { name, description = null, parameters = null, strict = null } = named
  if (typeof name !== 'string' || !toolName.test(name))
    throw wrongParameter(`${place}.function.name`, 'must have 1 to 64 letters, digits, _ or -.')
  if (description !== null && typeof description !== 'string')
    throw wrongParameter(`${place}.function.description`, 'must be a string.')
  if (parameters !== null && !isObject(parameters))
    throw wrongParameter(`${place}.function.parameters`, 'must be a JSON Schema, which is an object.')
  if (strict !== null && typeof strict !== 'boolean')
    throw wrongParameter(`${place}.function.strict`, 'must be true or false.')
  return { name, description, parameters: parameters ?? { type: 'object', properties: {} }, strict } // OpenAI: omitted means no parameters
}

function readChoice(value: unknown, tools: readonly Tool[]): ModelRequest['toolChoice'] {
  if (value === undefined || value === null) return null
  if (value === 'none' || value === 'auto' || value === 'required') return value
  const named = isObject(value) && value['type'] === 'function' ? value['function'] : undefined
  const name = isObject(named) ? named['name'] : undefined
  if (typeof name !== 'string')
    throw wrongParameter(
      'tool_choice',
      'must be none, auto, required, or {"type": "function", "function": {"name": …}}.',
    )
  if (!tools.some((tool) => tool.name === name))
    throw wrongParameter('tool_choice.function.name', 'names no tool of tools.')
  return { name }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
