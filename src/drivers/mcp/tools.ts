/** The tools that a server lists, as far as they can be understood. What is wrong is left out, and named with its place. */
import { McpAnswerError } from './faults.ts'
import { fieldsOf } from './messages.ts'

/** A tool as its server describes it; `inputSchema` is JSON Schema of an object. */
export type McpTool = { name: string; description: string | null; inputSchema: Record<string, unknown> }

/** What a server lists. `leftOut`: a sentence about what was left out; null when nothing was. */
export type McpToolList = { tools: McpTool[]; leftOut: string | null }

/** Of one server. */
const toolsMax = 1000
const pagesMax = 64
/** A cursor is sent back with the next request; characters. */
const cursorLengthMax = 64 * 1024
/** How many faults are named, and how much of a tool's name with each. */
const faultsNamed = 10
const nameShown = 64

/** Fields of a schema that may be null: everything else that is null is as absent. */
const mayBeNull: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples'])

/** Lists all tools. @param ask gets a page. @throws McpAnswerError for a page that is no list. */
export async function readTools(ask: (params: { cursor?: string }) => Promise<unknown>): Promise<McpToolList> {
  const tools: McpTool[] = []
  const faults: string[] = []
  const seen = new Set<string>()
  let cursor: string | null = null
  let read = 0
  for (let page = 0; ; page++) {
    const { tools: listed, nextCursor } = fieldsOf(await ask(cursor === null ? {} : { cursor })) ?? {}
    if (!Array.isArray(listed))
      throw new McpAnswerError(`The server’s answer to tools/list has ${wrong(listed, 'a list')} at tools.`)
    for (const one of listed) {
      const at = `tools[${read++}]`
      const found = toolOf(one, at)
      if (typeof found === 'string') faults.push(found)
      else if (tools.length < toolsMax) tools.push(found)
    }
    cursor = cursorOf(nextCursor)
    if (cursor === null) {
      if (!isEnd(nextCursor)) faults.push(`${wrong(nextCursor, 'text')} at nextCursor`)
      break
    }
    if (seen.has(cursor)) faults.push('at nextCursor one that it had before')
    else if (page + 1 === pagesMax) faults.push(`more than ${pagesMax} pages, which is the limit`)
    else {
      seen.add(cursor)
      continue
    }
    break
  }
  const over = read - faults.length > toolsMax
  if (over) faults.push(`more than ${toolsMax} tools, which is the limit`)
  return { tools, leftOut: sentence(faults) }
}

function cursorOf(given: unknown): string | null {
  return typeof given === 'string' && given !== '' && given.length <= cursorLengthMax ? given : null
}

function isEnd(given: unknown): boolean {
  return given === undefined || given === null || given === ''
}

function sentence(faults: readonly string[]): string | null {
  if (faults.length === 0) return null
  const named = faults.slice(0, faultsNamed).join('; ')
  const more = faults.length > faultsNamed ? `; and ${faults.length - faultsNamed} more faults` : ''
  return `The server’s answer to tools/list has ${named}${more}. What is wrong was left out.`
}

/** A tool, or what is wrong with it. */
function toolOf(given: unknown, at: string): McpTool | string {
  const tool = fieldsOf(given)
  if (!tool) return `${wrong(given, 'an object')} at ${at}`
  const { name, description, inputSchema } = tool
  if (typeof name !== 'string' || name === '') return `${wrong(name === '' ? undefined : name, 'a name')} at ${at}.name`
  const of = ` (${name.slice(0, nameShown).toWellFormed()})`
  if (description !== undefined && description !== null && typeof description !== 'string')
    return `${wrong(description, 'text')} at ${at}.description${of}`
  const schema = schemaOf(inputSchema, `${at}.inputSchema`)
  if (typeof schema === 'string') return `${schema}${of}`
  return { name, description: description ?? null, inputSchema: schema }
}

/** The schema of an object's fields, or what is wrong with it: a model's provider refuses whatever comes with a wrong one. */
function schemaOf(given: unknown, at: string): Record<string, unknown> | string {
  const all = fieldsOf(given)
  if (!all) return `${wrong(given, 'a schema')} at ${at}`
  const schema = withoutNulls(all, mayBeNull)
  const { type = 'object', properties = {}, required = [] } = schema
  if (type !== 'object') return `another type than object at ${at}.type`
  const fields = fieldsOf(properties)
  if (!fields) return `${wrong(properties, 'an object')} at ${at}.properties`
  const kept = withoutNulls(fields)
  const odd = Object.values(kept).some((one) => typeof one !== 'boolean' && !fieldsOf(one))
  if (odd) return `a property that is no schema at ${at}.properties`
  if (!Array.isArray(required) || required.some((one) => typeof one !== 'string'))
    return `something else than a list of names at ${at}.required`
  return { ...schema, type: 'object', ...(schema['properties'] === undefined ? {} : { properties: kept }) }
}

function withoutNulls(fields: Record<string, unknown>, but: ReadonlySet<string> = new Set()): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([key, value]) => value !== null || but.has(key)))
}

function wrong(given: unknown, wanted: string): string {
  return given === undefined || given === null ? 'nothing' : `something else than ${wanted}`
}
