/** The tools of `POST /v1/responses`: functions that the caller runs. */
import type { ModelRequest } from '#src/drivers/models/model.ts'
import type { Fields } from '../chats/message-shapes.ts'
import { wrongParameter } from '../chats/parameters.ts'
import { unsupported } from '../chats/selective-parameters.ts'
import { readTools, type ToolShape } from '../chats/tools.ts'
import type { Model } from '../models/rows.ts'
import { entriesAt, objectAt, refuseUnknown } from './shapes.ts'

const names = ['type', 'name', 'description', 'parameters', 'strict'] as const
/** What OpenAI runs beside a model; without a value they say nothing. */
const notHere = ['defer_loading', 'allowed_callers', 'async', 'output_schema'] as const
/** The values by which they change nothing. */
const isUsual = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  (Array.isArray(value) && value.length === 1 && value[0] === 'direct')
const known: ReadonlySet<string> = new Set([...names, ...notHere])

/** Name and parameters stand beside the type, not one level deeper as in a chat. */
const flatShape: ToolShape = {
  named(item, place) {
    refuseUnknown(item, known, `${place}.`)
    for (const name of notHere)
      if (!isUsual(item[name]))
        throw unsupported(`${place}.${name}`, 'functions are called by the model only. Leave it out.')
    return { named: item, place }
  },
  chosen: ({ name }) => name,
  choiceForm: '{"type": "function", "name": …}',
  choicePlace: 'tool_choice.name',
}

/** What the model is offered, and all that the request lists. */
type Functions = {
  request: Pick<ModelRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'>
  listed: ModelRequest['tools']
}

const choiceNames = new Set(['type', 'mode', 'tools'])
const allowedNames = new Set(['type', 'name'])

/**
 * `tools`, `tool_choice` and `parallel_tool_calls`. A choice of several tools (`allowed_tools`) offers only those.
 * @throws BerthError invalid_parameter.
 */
export function readFunctions(fields: Fields, model: Model): Functions {
  const choice = fields['tool_choice']
  const isOfSeveral =
    typeof choice === 'object' && choice !== null && 'type' in choice && choice.type === 'allowed_tools'
  if (!isOfSeveral) {
    const request = readTools(fields, model, true, flatShape)
    return { request, listed: request.tools }
  }
  const { mode, tools: named } = objectAt(choice, 'tool_choice', choiceNames)
  if (mode !== 'auto' && mode !== 'required') throw wrongParameter('tool_choice.mode', 'must be auto or required.')
  const { tools, ...rest } = readTools({ ...fields, tool_choice: mode }, model, true, flatShape)
  const allowed = new Set<unknown>(
    entriesAt(named, 'tool_choice.tools', tools.length).map((one, at) => {
      const { type, name } = objectAt(one, `tool_choice.tools[${at}]`, allowedNames)
      if (type !== 'function' || !tools.some((tool) => tool.name === name))
        throw wrongParameter(`tool_choice.tools[${at}]`, 'names no function of tools.')
      return name
    }),
  )
  if (allowed.size === 0) throw wrongParameter('tool_choice.tools', 'is empty. Name at least one function of tools.')
  return { request: { ...rest, tools: tools.filter(({ name }) => allowed.has(name)) }, listed: tools }
}
