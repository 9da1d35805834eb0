/** The tools that a request in Anthropic's format offers its model. */
import type { ModelRequest, Tool } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import { toolName, type Fields } from '../chats/message-shapes.ts'
import { wrongParameter } from '../chats/parameters.ts'
import { unsupported } from '../chats/selective-parameters.ts'
import { checkCacheControl, checkKeys, flagFrom, isAbsent, isObject, needsAnthropic, type Reading } from './shapes.ts'

/** `tools` and `tool_choice`. @throws BerthError invalid_parameter, unsupported_parameter. */
export function readTools(
  reading: Reading,
  fields: Fields,
): Pick<ModelRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const tools = readList(reading, fields['tools'])
  if (tools.length > 0 && !reading.model.capabilities.tools)
    throw wrongParameter(
      'tools',
      `cannot be used: ${reading.model.id} cannot call tools. Choose a model whose capabilities have tools.`,
    )
  const { toolChoice, isAlone } = readChoice(fields['tool_choice'], tools)
  if (tools.length === 0 && toolChoice !== null && toolChoice !== 'none' && toolChoice !== 'auto')
    throw wrongParameter('tool_choice', 'requires a tool, but tools has none.')
  return tools.length === 0
    ? { tools, toolChoice: null, parallelToolCalls: null }
    : { tools, toolChoice, parallelToolCalls: isAlone ? false : null }
}

function readList(reading: Reading, value: unknown): Tool[] {
  if (isAbsent(value)) return []
  if (!Array.isArray(value)) throw wrongParameter('tools', 'must be a list.')
  if (value.length > limits.chatToolsMax)
    throw wrongParameter('tools', `has more than ${limits.chatToolsMax} tools. Send fewer.`)
  const names = new Set<string>()
  return value.map((item: unknown, at) => {
    const tool = readTool(reading, item, `tools[${at}]`)
    if (names.has(tool.name)) throw wrongParameter(`tools[${at}].name`, 'appears twice.')
    names.add(tool.name)
    return tool
  })
}

const sharedKeys = [
  'type',
  'name',
  'cache_control',
  'strict',
  'defer_loading',
  'input_examples',
  'allowed_callers',
  'eager_input_streaming',
]
const customKeys: ReadonlySet<string> = new Set([...sharedKeys, 'description', 'input_schema'])
const definedKeys: ReadonlySet<string> = new Set([...sharedKeys, 'max_characters'])
/** Tools that Anthropic defines and the client runs. */
const definedTool = /^(?:bash|text_editor|memory)_\d{8}$/

function readTool(reading: Reading, item: unknown, place: string): Tool {
  if (!isObject(item)) throw wrongParameter(place, 'must be an object.')
  const { type, name, description } = item
  const isCustom = isAbsent(type) || type === 'custom'
  if (!isCustom && !(typeof type === 'string' && definedTool.test(type)))
    throw unsupported(
      `${place}.type`,
      'tools that run at a provider are not built in. Offer a tool of your own, with a name and an input_schema.',
    )
  checkKeys(item, isCustom ? customKeys : definedKeys, place)
  checkCacheControl(item, place)
  checkRareFields(reading, item, place)
  if (typeof name !== 'string' || !toolName.test(name))
    throw wrongParameter(`${place}.name`, 'must have 1 to 64 letters, digits, _ or -.')
  const strict = flagFrom(item, 'strict', place)
  if (!isCustom) {
    needsAnthropic(reading, `${place}.type`)
    return { name, description: null, parameters: {}, strict }
  }
  if (!isAbsent(description) && typeof description !== 'string')
    throw wrongParameter(`${place}.description`, 'must be a string.')
  const schema = item['input_schema']
  if (!isObject(schema) || schema['type'] !== 'object')
    throw wrongParameter(`${place}.input_schema`, 'must be a JSON Schema with "type": "object".')
  return { name, description: description ?? null, parameters: schema, strict }
}

/** Fields that few tools have; `eager_input_streaming` only changes how input is streamed. */
function checkRareFields(reading: Reading, tool: Fields, place: string): void {
  flagFrom(tool, 'eager_input_streaming', place)
  if (flagFrom(tool, 'defer_loading', place) === true)
    throw unsupported(
      `${place}.defer_loading`,
      'searching for tools is not built in. Leave it out, and send the tools that may be needed.',
    )
  const callers = tool['allowed_callers']
  if (!isAbsent(callers) && !(Array.isArray(callers) && callers.length === 1 && callers[0] === 'direct'))
    throw unsupported(
      `${place}.allowed_callers`,
      'tools are only called by the model itself. Leave it out, or send ["direct"].',
    )
  const examples = tool['input_examples']
  if (!isAbsent(examples)) {
    if (!Array.isArray(examples) || !examples.every(isObject))
      throw wrongParameter(`${place}.input_examples`, 'must be a list of objects.')
    needsAnthropic(reading, `${place}.input_examples`)
  }
  const most = tool['max_characters']
  if (!isAbsent(most) && !(Number.isSafeInteger(most) && Number(most) > 0))
    throw wrongParameter(`${place}.max_characters`, 'must be a whole number from 1.')
}

const choiceKeys: ReadonlySet<string> = new Set(['type', 'name', 'disable_parallel_tool_use'])

function readChoice(
  value: unknown,
  tools: readonly Tool[],
): { toolChoice: ModelRequest['toolChoice']; isAlone: boolean } {
  if (isAbsent(value)) return { toolChoice: null, isAlone: false }
  if (!isObject(value)) throw wrongParameter('tool_choice', 'must be an object with a type.')
  checkKeys(value, choiceKeys, 'tool_choice')
  const isAlone = flagFrom(value, 'disable_parallel_tool_use', 'tool_choice') ?? false
  const { type, name } = value
  if (type === 'auto' || type === 'none') return { toolChoice: type, isAlone }
  if (type === 'any') return { toolChoice: 'required', isAlone }
  if (type !== 'tool') throw wrongParameter('tool_choice.type', 'must be auto, any, tool or none.')
  if (typeof name !== 'string') throw wrongParameter('tool_choice.name', 'must be the name of a tool.')
  if (!tools.some((tool) => tool.name === name)) throw wrongParameter('tool_choice.name', 'names no tool of tools.')
  return { toolChoice: { name }, isAlone }
}
