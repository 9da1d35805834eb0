/** Tool parts of UI messages: `tool-<name>` and `dynamic-tool`, whose states say how far a call is. */
import type { ToolCall } from '#src/drivers/models/model.ts'
import { idAt, textAt, toolName, wrongMessage, type Fields } from './message-shapes.ts'

/** A call and what the client's tool answered. */
export type ToolTurn = { call: ToolCall; result: { text: string; isError: boolean } }

const prefix = 'tool-'
const dynamic = 'dynamic-tool'

/** Whether a part of this type is a tool's. */
export function isToolPart(type: string): boolean {
  return type.startsWith(prefix) || type === dynamic
}

/**
 * Parses a tool part. A call without a result is dropped, because no provider accepts one, except the call that is
 * waiting now.
 * @throws BerthError invalid_messages, also for a call of the last assistant message that has no result.
 */
export function readToolPart(type: string, fields: Fields, place: string, isLast: boolean): ToolTurn[] {
  const name = type === dynamic ? textAt(fields['toolName'], `${place}.toolName`) : type.slice(prefix.length)
  if (!toolName.test(name))
    throw wrongMessage(
      type === dynamic ? `${place}.toolName` : `${place}.type`,
      'must name a tool with 1 to 64 letters, digits, _ or -.',
    )
  const id = idAt(fields['toolCallId'], `${place}.toolCallId`)
  const result = readResult(fields, place)
  if (!result) {
    if (isLast)
      throw wrongMessage(
        place,
        'is a tool call without a result. Run the tool, and send its part with state output-available or output-error.',
      )
    return []
  }
  return [{ call: { id, name, arguments: readInput(fields) }, result }]
}

function readResult(fields: Fields, place: string): ToolTurn['result'] | undefined {
  switch (fields['state']) {
    case 'output-available':
      return { text: textOf(fields['output']), isError: false }
    case 'output-error':
      return { text: textAt(fields['errorText'], `${place}.errorText`), isError: true }
    case 'output-denied':
      return { text: 'denied', isError: true }
    case 'approval-responded':
      return isDenied(fields['approval']) ? { text: 'denied', isError: true } : undefined
    case 'approval-requested':
    case 'input-streaming':
    case 'input-available':
      return undefined
    default:
      throw wrongMessage(
        `${place}.state`,
        'must be input-streaming, input-available, approval-requested, approval-responded, output-available, output-error or output-denied.',
      )
  }
}

function isDenied(approval: unknown): boolean {
  return typeof approval === 'object' && approval !== null && 'approved' in approval && approval.approved === false
}

/** The arguments as the model wrote them; for arguments that were not JSON, the client keeps the text as `rawInput`. */
function readInput({ input, rawInput }: Fields): string {
  if (input !== undefined && input !== null) return JSON.stringify(input)
  return typeof rawInput === 'string' ? rawInput : JSON.stringify(rawInput ?? {})
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null)
}
