/** A session's events as the console holds them: each once, in order, with what the agent is writing until it is an event. */
import { expect, test } from 'vitest'
import { HeldEvents } from '../../console/sessions/events.ts'

type Emission = Parameters<HeldEvents['add']>[0]
const message = (id: string, text = ''): Emission =>
  ({ event: { __typename: 'AgentMessage', id, type: 'AGENT_MESSAGE', content: [{ text }] } }) as never
const preview = (previewOf: string, text: string): Emission => ({ preview: { previewOf, text } }) as never
function heldOf(...emissions: Emission[]): HeldEvents {
  const held = new HeldEvents()
  for (const emission of emissions) held.add(emission)
  return held
}
const ids = (held: HeldEvents, from = 0) => held.read(from).map(({ id }) => id)

test('an event that comes again after a cut takes its place', () => {
  const held = heldOf(message('a'), message('b', 'old'), message('a'), message('b', 'new'), message('c'))
  expect(ids(held)).toEqual(['a', 'b', 'c'])
  expect(JSON.stringify(held.read(1)[0])).toContain('new')
  expect([held.count, held.numberOf('c'), held.numberOf('d')]).toEqual([3, 2, undefined])
})

test('what is being written is shown until it is an event, and not again by a late piece', () => {
  const held = heldOf(preview('a', 'Hel'), preview('a', 'lo'))
  expect(held.preview).toBe('Hello')
  held.add(message('a', 'Hello'))
  held.add(preview('a', 'lo'))
  expect(held.preview).toBe('')
  held.add(preview('b', 'Next'))
  expect(held.preview).toBe('Next')
})

test('a call counts as answered once its answer is there', () => {
  const held = heldOf(message('call'))
  expect(held.isDecided('call')).toBe(false)
  held.add({
    event: { __typename: 'UserToolConfirmation', id: 'x', type: 'USER_TOOL_CONFIRMATION', toolUseId: 'call' },
  } as never)
  expect(held.isDecided('call')).toBe(true)
})

test('of a long session the last 20,000 events are held, with their own numbers', () => {
  const held = new HeldEvents()
  for (let number = 0; number < 45_000; number++) held.add(message(`e${number}`))
  expect(held.count).toBe(45_000)
  expect(held.count - held.first).toBeGreaterThanOrEqual(20_000)
  expect(held.count - held.first).toBeLessThan(21_000)
  expect(ids(held, 44_999)).toEqual(['e44999'])
  expect(ids(held)[0]).toBe(`e${held.first}`)
  expect([held.numberOf('e0'), held.numberOf('e44999')]).toEqual([undefined, 44_999])
})
