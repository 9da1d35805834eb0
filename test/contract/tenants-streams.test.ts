/** Every subscription as each of ten callers, over server-sent events and over web sockets. */
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { newId } from '#src/platform/ids.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { absentAgentsTarget, malformedAgentsTarget } from './targets/agents.ts'
import {
  callerNames,
  canary,
  fill,
  makeCallers,
  makeRefusingNode,
  makeTarget,
  type CallerName,
  type Callers,
  type Target,
} from './callers.ts'
import { documentOf } from './documents.ts'
import { firstByEvents, told, type FirstAnswer } from './first-answers.ts'
import { graphqlRows, namesTarget, type Outcomes } from './matrix.ts'
import { triggerSettings } from './matrix/triggers.ts'

let berth: Berth
let callers: Callers
let target: Target
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000', ...triggerSettings } })
  callers = await makeCallers(berth)
  target = await makeTarget(berth, callers.owner, await makeRefusingNode(berth))
})
afterAll(() => berth.stop())

const subscriptions = Object.entries(graphqlRows).filter(([rootField]) => rootField.startsWith('subscription'))

function documentFor(rootField: string, args: string | undefined, to: Target): string {
  return documentOf(rootField, args && fill(args, to))
}

/** The first answer of a subscription over a web socket; a socket that is closed instead answers its close code as the status. */
async function firstBySocket({ port }: Berth, document: string, token: string | undefined): Promise<FirstAnswer> {
  const client = createClient({
    url: `ws://127.0.0.1:${port}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: token ? { authorization: `Bearer ${token}` } : {},
  })
  try {
    const first = await client.iterate({ query: document }).next()
    return first.value as FirstAnswer
  } catch (refusal) {
    // graphql-ws throws the errors of a refused operation, or the close event of a refused socket.
    if (Array.isArray(refusal)) return { errors: refusal as NonNullable<FirstAnswer['errors']> }
    return {
      errors: [{ message: '', extensions: { http: { status: (refusal as { code?: number }).code }, code: 'closed' } }],
    }
  } finally {
    await client.dispose()
  }
}

function expected(outcomes: Outcomes, caller: CallerName, refusedCredential: string): string {
  if (caller === 'none') return '401 unauthorized'
  if (caller === 'deactivated') return refusedCredential || '401 authentication_invalid'
  if (caller === 'garbage' || caller === 'expired') return refusedCredential || '401 unauthorized'
  return outcomes[['owner', 'member', 'viewer', 'stranger', 'keyWithout', 'keyWith'].indexOf(caller)] ?? ''
}

describe.each([
  ['server-sent events', firstByEvents, ''],
  ['a web socket', firstBySocket, '4403 closed'],
] as const)('over %s', (_way, first, refusedCredential) => {
  test.each(subscriptions)('%s answers ten callers as its row says', async (rootField, { args, outcomes }) => {
    const said: Record<string, string> = {}
    for (const caller of callerNames) {
      const answer = await first(berth, documentFor(rootField, args, target), callers[caller])
      said[caller] = told(answer)
      if (said[caller] !== '200') expect(JSON.stringify(answer)).not.toContain(canary)
    }
    expect(said).toEqual(
      Object.fromEntries(callerNames.map((caller) => [caller, expected(outcomes, caller, refusedCredential)])),
    )
  })

  test.each(subscriptions.filter(([, { args, foreignIs403 }]) => namesTarget(args) && !foreignIs403))(
    '%s does not tell a stranger what is foreign from what is absent',
    async (rootField, { args }) => {
      const tries = [
        target,
        { ...target, vm: newId('vm'), process: newId('process'), ...absentAgentsTarget() },
        { ...target, vm: 'vm_x', process: 'prc_x', ...malformedAgentsTarget },
      ]
      const answers = await Promise.all(
        tries.map((one) => first(berth, documentFor(rootField, args, one), callers.stranger)),
      )
      const texts = answers.map((answer) =>
        JSON.stringify(answer)
          .replaceAll(/req_[0-9a-z]{26}/g, 'req')
          .replaceAll(/"column":\d+/g, '"column":0'),
      )
      expect(new Set(texts).size).toBe(1)
      expect(texts[0]).toContain('NOT_FOUND')
    },
  )
})
