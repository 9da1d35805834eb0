/** Kickoffs: a text or events, read once and sent to every session that starts with them. */
import { describe, expect, test } from 'vitest'
import { startLimits } from '#src/platform/limits/starts.ts'
import { eventsOf, readEitherKickoff, readKickoff } from '#src/resources/agents/kickoffs.ts'

const message = (text: string) => ({ userMessage: { content: [{ text: { text } }] } })
const stored = (text: string): object => ({ type: 'user.message', content: [{ type: 'text', text }] })

test('a text is one message, and is kept as it was sent', () => {
  const kickoff = readKickoff({ text: 'Look at the build.' })
  expect(kickoff).toEqual({ events: [stored('Look at the build.')], text: 'Look at the build.' })
  expect(eventsOf(kickoff)).toEqual([
    { type: 'user.message', data: { content: [{ type: 'text', text: 'Look at the build.' }] } },
  ])
})

test('events are kept in their order, and what was answered may be sent back', () => {
  const events = [{ systemMessage: { content: [{ text: { text: 'Be brief.' } }] } }, message('Go.')]
  const brief = { type: 'system.message', content: [{ type: 'text', text: 'Be brief.' }] }
  expect(readKickoff({ events })).toEqual({ events: [brief, stored('Go.')] })
  expect(readKickoff({ text: 'Go.', events: [message('Go.')] })).toEqual(readKickoff({ text: 'Go.' }))
})

test('the outcome of each session has an id of its own, which is not kept', () => {
  const goal = { description: 'a green build', rubric: { text: { content: 'the tests pass' } } }
  const kickoff = readKickoff({ events: [{ userDefineOutcome: goal }] })
  const rubric = { type: 'text', content: 'the tests pass' }
  expect(kickoff.events).toEqual([
    { type: 'user.define_outcome', description: goal.description, rubric, max_iterations: null },
  ])
  const ids = [eventsOf(kickoff), eventsOf(kickoff)].map(([event]) => event?.data?.['outcome_id'])
  expect(ids).toEqual([expect.stringMatching(/^outc_/), expect.stringMatching(/^outc_/)])
  expect(ids[0]).not.toBe(ids[1])
})

describe('under the name of Anthropic’s clients', () => {
  test('initial_events are the same', () => {
    expect(readEitherKickoff({ initialEvents: [message('Go.')] })).toEqual({ events: [stored('Go.')] })
    expect(readEitherKickoff({ kickoff: { text: 'Go.' } })?.text).toBe('Go.')
    expect(readEitherKickoff({ kickoff: null, initialEvents: null })).toBeUndefined()
  })

  test.each([
    ['both', { kickoff: { text: 'Go.' }, initialEvents: [message('Go.')] }, /either kickoff or initial_events/],
    ['none', { initialEvents: [] }, /^initial_events must be a list of 1 to 50 events\.$/],
    ['51', { initialEvents: Array.from({ length: 51 }, () => message('Go.')) }, /at most 50 events/],
    ['an answer', { initialEvents: [{ userInterrupt: true }] }, /^initial_events\[0\]\.type must be/],
  ])('%s of them are refused', (_, given, sentence) => {
    expect(() => readEitherKickoff(given)).toThrow(sentence)
  })
})

test.each([
  ['nothing', {}],
  ['an empty text', { text: '' }],
  ['no events', { events: [] }],
  ['a text that is not its events', { text: 'Stop.', events: [message('Go.')] }],
  ['more than fits', { text: 'x'.repeat(startLimits.kickoffBytes + 1) }],
])('%s is no kickoff, and the sentence names the field', (_, given) => {
  expect(() => readKickoff(given)).toThrow(/\bkickoff\b/)
})
