/** The types of session events: what is written beside their table has each of them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isInputObjectType } from 'graphql'
import { expect, test } from 'vitest'
import { schema } from '#schema/schema.ts'
import { sessionEvents } from '#src/resources/agents/sessions/event-types.ts'
import { isClientType } from '#src/resources/agents/sessions/log.ts'
import { root } from './sources.ts'

const types = Object.keys(sessionEvents)

test('every type that clients send is a member of the input for events', () => {
  const input = schema.getType('SessionEventInput')
  const members = isInputObjectType(input) ? Object.values(input.getFields()) : []
  expect(members.map(({ extensions }) => String(extensions['word'])).sort()).toEqual(types.filter(isClientType).sort())
})

test('the reference names every type', () => {
  const reference = readFileSync(join(root, 'docs/reference/sessions.md'), 'utf8')
  expect(types.filter((type) => !reference.includes(`\`${type}\``))).toEqual([])
})
