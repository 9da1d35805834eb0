/** `berth session`. */
import type { Berth } from '../../src/client/berth.ts'
import { exits, Failure } from '../errors.ts'
import type { Noun, Verb } from '../grammar.ts'
import { newKey } from '../keys.ts'
import { ageOf, word } from '../output.ts'
import { finderOf, getOf, lsOf, rmOf, type PlainNoun } from '../plain.ts'
import { followSession, shownEvent } from '../transcript.ts'
import { openTerminal } from './vm/terminal.ts'

type Sessions = Berth['sessions']
type SessionRow = Awaited<ReturnType<Sessions['list']>>['nodes'][number]

const noun: PlainNoun<SessionRow, Sessions> = {
  one: 'session',
  argument: 'session',
  part: (berth) => berth.sessions,
  nameOf: (row) => row.title,
  isSearchable: true,
  columns: [
    ['ID', (row) => row.id],
    ['TITLE', (row) => row.title],
    ['AGENT', (row) => row.definition.name],
    ['STATUS', (row) => (row.activity.isActionRequired ? 'waits for you' : word(row.status))],
    ['COST', (row) => `${row.usage.listCost.amount} ${row.usage.listCost.currency}`],
    ['AGE', (row) => ageOf(row.createdAt)],
  ],
}
const find = finderOf(noun)

const send: Verb = {
  name: 'send',
  args: '<session> <text>',
  about: 'send a message',
  options: [['--follow', 'print what the agent does until its turn ends']],
  async run(cli, [name, text = ''], options) {
    const id = await find(cli, name)
    const { sessions } = await cli.berth()
    const { eventCursor } = await sessions.get(id)
    const sent = await sessions.sendMessage(id, text, { idempotencyKey: newKey() })
    if (options.flag('follow')) return followSession(cli, id, { after: eventCursor, until: 'idle' })
    return cli.out.result(sent, sent.map((event) => event.id).join(' '))
  },
}

/** The tool calls that wait: the one that is named, or all. @throws Failure when none waits. */
async function waitingOf(sessions: Sessions, id: string, named: string | undefined): Promise<readonly string[]> {
  if (named !== undefined) return [named]
  const { stopReason } = await sessions.get(id)
  if (stopReason?.__typename === 'RequiresAction') return stopReason.eventIds
  throw new Failure('Nothing waits for a permission in this session.', exits.conflict)
}

function decisionVerb(name: 'approve' | 'deny'): Verb {
  return {
    name,
    args: '<session> [tool-call]',
    about: name === 'approve' ? 'let tools that wait run: all, or the one that is named' : 'refuse tools that wait',
    options: name === 'deny' ? [['--message <text>', 'what the agent is told']] : [],
    async run(cli, [text, named], options) {
      const id = await find(cli, text)
      const { sessions } = await cli.berth()
      const ids = await waitingOf(sessions, id, named)
      for (const toolUseId of ids) {
        const keyed = { idempotencyKey: newKey() }
        if (name === 'approve') await sessions.approve(id, toolUseId, keyed)
        else await sessions.deny(id, toolUseId, options.text('message'), keyed)
      }
      cli.out.result({ toolUseIds: ids }, `${name === 'approve' ? 'Allowed' : 'Refused'} ${ids.join(' ')}`)
    },
  }
}

const interrupt: Verb = {
  name: 'interrupt',
  args: '<session>',
  about: 'stop what the agent is doing',
  async run(cli, [text]) {
    const id = await find(cli, text)
    cli.out.result(await (await cli.berth()).sessions.interrupt(id), 'Interrupted.')
  },
}

const takeOver: Verb = {
  name: 'take-over',
  args: '<session>',
  about: 'a terminal in the VM that it works in; Enter ~ . leaves it',
  options: [['--interrupt', 'stop what the agent is doing first']],
  passesExit: true,
  async run(cli, [text], options) {
    const id = await find(cli, text)
    const { sessions, environments } = await cli.berth()
    const { environmentId } = await sessions.get(id)
    const vmId = environmentId === null ? null : (await environments.get(environmentId)).vmId
    if (vmId === null) throw new Failure('This session works in no VM.', exits.notFound)
    if (options.flag('interrupt')) await sessions.interrupt(id)
    return openTerminal(cli, vmId)
  },
}

const transcript: Verb = {
  name: 'transcript',
  args: '<session>',
  about: 'what was said and done',
  options: [['--follow', 'go on until the session ends']],
  async run(cli, [text], options) {
    const id = await find(cli, text)
    if (options.flag('follow')) return followSession(cli, id, { until: 'ended' })
    for await (const event of (await cli.berth()).sessions.transcript(id)) {
      if (cli.out.isJson) {
        cli.out.json(event)
        continue
      }
      const shown = shownEvent(event)
      if (shown !== undefined) cli.out.line(shown)
    }
    return undefined
  },
}

/** Sessions. */
export const session: Noun = {
  verbs: [
    lsOf(noun, {
      options: [['--waiting', 'only those that wait for you']],
      of: (options) => (options.flag('waiting') ? { isActionRequired: true } : {}),
    }),
    getOf(noun),
    send,
    decisionVerb('approve'),
    decisionVerb('deny'),
    interrupt,
    takeOver,
    transcript,
    rmOf(noun, (berth, id) => berth.sessions.delete(id)),
  ],
}
