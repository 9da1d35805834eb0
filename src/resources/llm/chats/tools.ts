/** The tools that a chat offers its model, in OpenAI's two shapes: those of chat completions, and those of responses. */
import type { ModelRequest, Tool } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { toolName, type Fields } from './message-shapes.ts'
import { wrongParameter } from './parameters.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'

/** How a route writes its tools. */
export type ToolShape = {
  /** Where an entry of `tools` has the tool's name and parameters. @throws BerthError for an entry that is no function. */
  named: (item: Fields, place: string) => { named: Fields; place: string }
  /** The name in a `tool_choice` that names a function; undefined for anything else. */
  chosen: (choice: Fields) => unknown
  /** How `tool_choice` may name a function, for errors. */
  choiceForm: string
  /** Where it has that name. */
  choicePlace: string
}

/** The shape of chat completions. */
const nestedShape: ToolShape = {
  named(item, place) {
    const named = item['function']
    if (!isObject(named)) throw wrongParameter(`${place}.function`, 'must be an object.')
    return { named, place: `${place}.function` }
  },
  chosen: (choice) => (isObject(choice['function']) ? choice['function']['name'] : undefined),
  choiceForm: '{"type": "function", "function": {"name": …}}',
  choicePlace: 'tool_choice.function.name',
}

/**
 * `tools`, `tool_choice` and `parallel_tool_calls`.
 * @throws BerthError invalid_parameter; tools_require_streaming when the answer is not streamed.
 */
export function readTools(
  body: Fields,
  model: Model,
  stream: boolean,
  shape = nestedShape,
): Pick<ModelRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const tools = readList(body['tools'], shape)
  const choice = readChoice(body['tool_choice'], tools, shape)
  if (!stream && (tools.length > 0 || (choice !== null && choice !== 'none'))) {
    throw new BerthError(
      'tools_require_streaming',
      'Tools require a streamed answer. Send stream: true, leave tools and tool_choice out, use POST /llm/v1/responses, or ask the operator for BERTH_CHAT_JOIN_STREAMS=on.',
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

function readList(value: unknown, shape: ToolShape): Tool[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw wrongParameter('tools', 'must be a list.')
  if (value.length > limits.chatToolsMax)
    throw wrongParameter('tools', `has more than ${limits.chatToolsMax} tools. Send fewer.`)
  const names = new Set<string>()
  return value.map((item: unknown, at) => {
    if (!isObject(item)) throw wrongParameter(`tools[${at}]`, 'must be an object.')
    if (item['type'] !== 'function')
      throw wrongParameter(`tools[${at}].type`, 'must be function: other kinds of tools are not supported.')
    const { named, place } = shape.named(item, `tools[${at}]`)
    const tool = readTool(named, place)
    if (names.has(tool.name)) throw wrongParameter(`${place}.name`, 'stands twice.')
    names.add(tool.name)
    return tool
  })
}

function readTool(named: Fields, place: string): Tool {
  const { name, description = null, parameters = null, strict = null } = named
  if (typeof name !== 'string' || !toolName.test(name))
    throw wrongParameter(`${place}.name`, 'must have 1 to 64 letters, digits, _ or -.')
  if (description !== null && typeof description !== 'string')
    throw wrongParameter(`${place}.description`, 'must be a string.')
  if (parameters !== null && !isObject(parameters))
    throw wrongParameter(`${place}.parameters`, 'must be a JSON Schema, which is an object.')
  if (strict !== null && typeof strict !== 'boolean') throw wrongParameter(`${place}.strict`, 'must be true or false.')
  return { name, description, parameters: parameters ?? { type: 'object', properties: {} }, strict } // OpenAI: omitted means no parameters
}

function readChoice(value: unknown, tools: readonly Tool[], shape: ToolShape): ModelRequest['toolChoice'] {
  if (value === undefined || value === null) return null
  if (value === 'none' || value === 'auto' || value === 'required') return value
  const name = isObject(value) && value['type'] === 'function' ? shape.chosen(value) : undefined
  if (typeof name !== 'string')
    throw wrongParameter('tool_choice', `must be none, auto, required, or ${shape.choiceForm}.`)
  if (!tools.some((tool) => tool.name === name)) throw wrongParameter(shape.choicePlace, 'names no tool of tools.')
  return { name }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
