/**
 * The parts of the page at /docs: an operation, and an object of requests or answers. Each is a folded element with its
 * id on an element inside it, because a browser unfolds what contains the target of a link, but not the target itself.
 */
import type { Json } from '../openapi/components.ts'
import { escapeHtml, sentenceHtml } from './html.ts'

type Content = Record<string, { schema?: Json; example?: unknown }>

/** An operation of a description. */
export type Described = {
  operationId: string
  tags: string[]
  summary: string
  security?: unknown[]
  'x-berth-additive'?: boolean
  parameters: { name: string; in: string; required: boolean; description?: string; schema: Json }[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { description: string; content?: Content }>
}

/** One operation, folded. */
export function operationHtml(surface: string, method: string, path: string, operation: Described): string {
  const { operationId, summary, parameters, requestBody, responses } = operation
  const rows = parameters.map((one) => rowHtml(surface, one.name, one.schema, one.required, one.description, one.in))
  const { schema: body, example } = Object.values(requestBody?.content ?? {})[0] ?? {}
  const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400)
  const successes = Object.entries(responses).filter(([status]) => Number(status) < 400)
  return `<details data-words="${escapeHtml(`${method} ${path} ${operationId} ${summary}`.toLowerCase())}">
<summary><b>${method}</b> <code>${escapeHtml(path)}</code> <span class="soft">${sentenceHtml(summary)}</span></summary>
<p class="soft" id="${surface}.${operationId}"><code>${operationId}</code>${operation.security?.length === 0 ? ' · no token needed' : ''}${operation['x-berth-additive'] ? ' · added by Berth' : ''}</p>
${rows.length > 0 ? `<h4>Parameters</h4><table>${rows.join('')}</table>` : ''}
${body ? `<h4>Body</h4>${exampleHtml(example)}${shapeHtml(surface, body)}` : ''}
${successes.map(([status, answer]) => successHtml(surface, status, answer)).join('\n')}
<h4>Errors</h4><p>${errors.map(([status, { description }]) => `${status} ${escapeHtml(description)}`).join(' · ')}: ${linkHtml(surface, 'Error')}</p>
</details>`
}

/** An example of a body, laid out; lists of bytes stay in one line. */
function exampleHtml(example: unknown): string {
  if (example === undefined) return ''
  const text = JSON.stringify(example, null, 2).replace(/\[[\d,\s]+\]/g, (bytes) => bytes.replace(/\s+/g, ''))
  return `<pre><code>${escapeHtml(text)}</code></pre>`
}

function successHtml(
  surface: string,
  status: string,
  { description, content = {} }: Described['responses'][string],
): string {
  const shapes = Object.entries(content).map(
    ([type, { schema = {} }]) => `<p class="soft">${escapeHtml(type)}</p>${shapeHtml(surface, schema)}`,
  )
  return `<h4>${status} ${escapeHtml(description)}</h4>${shapes.join('')}`
}

/** A named object, folded. */
export function componentHtml(surface: string, name: string, schema: Json): string {
  const { description, ...shape } = schema
  const sentence = typeof description === 'string' ? sentenceHtml(description) : ''
  return `<details data-words="${escapeHtml(name.toLowerCase())}">
<summary><code>${escapeHtml(name)}</code></summary>
<p id="${surface}.objects.${name}">${sentence}</p>
${shapeHtml(surface, shape)}
</details>`
}

/** The shape of a value: the fields of an object as a table, anything else in words. */
function shapeHtml(surface: string, schema: Json): string {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Json>)
  if (properties.length === 0) return `<p>${typeHtml(surface, schema)}</p>`
  const required = (schema['required'] ?? []) as string[]
  const rows = properties.map(([name, one]) => rowHtml(surface, name, one, required.includes(name)))
  return `<table>${rows.join('')}</table>`
}

function rowHtml(
  surface: string,
  name: string,
  schema: Json,
  isRequired: boolean,
  sentence?: string,
  place?: string,
): string {
  const description = sentence ?? (typeof schema['description'] === 'string' ? schema['description'] : '')
  const notes = [place, isRequired ? 'required' : ''].filter(Boolean).join(', ')
  const nested = schema['properties'] ? shapeHtml(surface, schema) : ''
  return `<tr><td><code>${escapeHtml(name)}</code> <span class="soft">${notes}</span></td><td>${typeHtml(surface, schema)}${description ? `<br>${sentenceHtml(description)}` : ''}${nested}</td></tr>`
}

function linkHtml(surface: string, name: string): string {
  return `<a href="#${surface}.objects.${name}">${escapeHtml(name)}</a>`
}

/** The type of a value, in words. */
function typeHtml(surface: string, schema: Json): string {
  const reference = schema['$ref']
  if (typeof reference === 'string') return linkHtml(surface, reference.slice(reference.lastIndexOf('/') + 1))
  const choices = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(choices)) return choices.map((one) => inlineHtml(surface, one as Json)).join(' or ')
  if (Array.isArray(schema['enum']))
    return schema['enum'].map((word) => `<code>${escapeHtml(String(word))}</code>`).join(', ')
  const types = [schema['type'] ?? 'anything'].flat().map(String)
  if (types.includes('array')) {
    const others = types.filter((type) => type !== 'array')
    return [`list of ${inlineHtml(surface, (schema['items'] ?? {}) as Json)}`, ...others].join(' or ')
  }
  const format = typeof schema['format'] === 'string' ? ` (${schema['format']})` : ''
  return escapeHtml(types.join(' or ') + format)
}

/** A type inside a line of words, with its fields below it where it has some. */
function inlineHtml(surface: string, schema: Json): string {
  return schema['properties'] ? `object ${shapeHtml(surface, schema)}` : typeHtml(surface, schema)
}
