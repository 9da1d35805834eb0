/** A session's transcript, as it comes, with its questions asked where somebody can answer. */
import type { Berth, SessionEmission } from '../src/client/berth.ts'
import { exits, Failure } from './errors.ts'
import type { Cli } from './grammar.ts'
import { ask, isInteractive } from './prompts.ts'
import { lineOf, linesOf } from './text.ts'

type SessionEvent = NonNullable<SessionEmission['event']>

/** A line or more for an event; undefined for what readers do not need. */
export function shownEvent(event: SessionEvent): string | undefined {
  switch (event.__typename) {
    case 'UserMessage':
      return `> ${textOf(event.content)}`
    case 'AgentMessage':
      return textOf(event.content)
    case 'AgentToolUse':
    case 'AgentMcpToolUse':
    case 'AgentCustomToolUse':
      return `[${lineOf(event.name)}] ${event.id} ${lineOf(JSON.stringify(event.input))}`
    case 'AgentToolResult':
    case 'AgentMcpToolResult':
    case 'UserCustomToolResult':
      return `${event.isError ? '[failed] ' : ''}${textOf(event.content)}`
    case 'UserToolConfirmation':
      return `[${event.result.toLowerCase()}] ${event.toolUseId}`
    case 'SessionError':
      return `[error] ${lineOf(event.error.message)}`
    default:
      return undefined
  }
}

function textOf(content: readonly { __typename: string; text?: string }[] | null): string {
  return (content ?? [])
    .map((block) => (block.text === undefined ? `[${block.__typename}]` : linesOf(block.text)))
    .join('\n')
}

/** When to stop: when the session waits for its user (`idle`), or only when it has ended (`ended`). */
export type Until = 'idle' | 'ended'

/**
 * Prints a session's events, from its beginning or after a cursor. With somebody at the terminal, tools that wait for
 * permission are asked about; otherwise it ends where one waits.
 * @returns 0 at the end of a turn. @throws Failure 5 when the agent waits for a permission that nobody can give here.
 */
export async function followSession(
  cli: Cli,
  id: string,
  { after, until }: { after?: string; until: Until },
): Promise<number> {
  const { sessions } = await cli.berth()
  const printed = new Set<string>() // what a client sent comes twice: when it is queued, and when it is read
  const tools = new Map<string, string>()
  for await (const { event } of sessions.events(id, after === undefined ? {} : { after })) {
    if (!event) continue
    if (cli.out.isJson) cli.out.json(event)
    else if (!printed.has(event.id)) {
      const text = shownEvent(event)
      if (text !== undefined) cli.out.line(text)
    }
    printed.add(event.id)
    if ('input' in event) tools.set(event.id, `${event.name} ${JSON.stringify(event.input)}`)
    if (event.__typename === 'SessionStatusTerminated' || event.__typename === 'SessionDeleted') return exits.failed
    if (event.__typename !== 'SessionStatusIdle') continue
    const { stopReason } = event
    if (stopReason?.__typename !== 'RequiresAction') {
      if (until === 'ended') continue
      return stopReason?.type === 'END_TURN' ? 0 : exits.failed
    }
    await answer(sessions, id, await stillWaiting(sessions, id, stopReason.eventIds), tools)
  }
  return 0
}

/** Those that wait now: the event may be old, and answered long ago. */
async function stillWaiting(sessions: Berth['sessions'], id: string, asked: readonly string[]): Promise<string[]> {
  const { stopReason } = await sessions.get(id)
  const waiting: readonly string[] = stopReason?.__typename === 'RequiresAction' ? stopReason.eventIds : []
  return asked.filter((one) => waiting.includes(one))
}

async function answer(
  sessions: Berth['sessions'],
  id: string,
  waiting: readonly string[],
  tools: Map<string, string>,
): Promise<void> {
  if (waiting.length === 0) return
  if (!isInteractive())
    throw new Failure(
      `The agent waits for a permission. Give it: ${waiting.map((one) => `berth session approve ${id} ${one}`).join('; ')}`,
      exits.conflict,
    )
  for (const toolUseId of waiting) {
    const text = await ask(`Allow ${lineOf(tools.get(toolUseId) ?? toolUseId)}? [y/N, or why not]`, { flag: '--yes' })
    if (/^y(?:es)?$/i.test(text)) await sessions.approve(id, toolUseId)
    else await sessions.deny(id, toolUseId, /^n?o?$/i.test(text) ? undefined : text)
  }
}
