/** What the command line makes of words of others, and of versions. */
import { expect, test } from 'vitest'
import { fn } from '../../cli/commands/fn.ts'
import { compareVersions } from '../../cli/commands/status.ts'
import { Given, type Cli } from '../../cli/grammar.ts'
import { jsonOf, lineOf, printedOf, widthOf } from '../../cli/text.ts'

test.each([
  ['0.1.0', '0.1.9', false],
  ['0.1.0', '0.2.0', false],
  ['0.3.0', '0.1.0', true],
  ['0.1.0', '0.3.0', true],
  ['0.9.0', '1.0.0', true],
])('a command line %s at a Berth %s: what it says is %s', (own, server, speaks) => {
  expect(compareVersions(own, server) !== undefined).toBe(speaks)
})

test('a line of others does nothing, whatever is in it', () => {
  expect(lineOf('a\u001b[2Jb\u001b]0;title\u0007c\r\n\u202ed\u200be')).toBe('abc\\r\\n\\u202ed\\u200be')
  expect(lineOf('Grüße, 世界 👋')).toBe('Grüße, 世界 👋')
})

test('what a program printed keeps its colours and ends of lines, and loses what moves the cursor or names the window', () => {
  expect(printedOf('\u001b[31mred\u001b[0m\r\n\u001b[2J\u001b]0;title\u0007\u202eend\tof')).toBe(
    '\u001b[31mred\u001b[0m\r\n\\u202eend\tof',
  )
})

test('JSON of others is the same value, in characters that do nothing', () => {
  const value = { name: '\u001b[31m\u202e\u0085\u200b', list: [1, null] }
  expect(JSON.parse(jsonOf(value))).toEqual(value)
  expect(jsonOf(value)).toMatch(/^[\u0020-\u007e]+$/)
})

test('letters of East Asia take two columns, and marks none', () => {
  expect([widthOf('abc'), widthOf('世界'), widthOf('e\u0301')]).toEqual([3, 4, 1])
})

test.each([
  ['is new where no function has the name', null, ['create']],
  ['may exist where there are too many to look through, and none is made', 'more', []],
])('what fn deploy names %s', async (_what, endCursor, expected) => {
  const done: string[] = []
  const functions = {
    list: async () => ({ nodes: [], endCursor }),
    create: async () => (done.push('create'), { url: 'https://shop.example.com' }),
    deploy: async () => (done.push('deploy'), { url: 'https://shop.example.com' }),
  }
  const cli = { berth: async () => ({ functions }), out: { result: () => undefined } } as object as Cli // what it uses of one
  const deploy = fn.verbs?.find(({ name }) => name === 'deploy')
  const deployed = deploy?.run(cli, ['shop'], new Given({ build: 'bld_1' }), [])
  if (expected.length > 0) await deployed
  else await expect(deployed).rejects.toThrow("There are too many to find 'shop'. Pass its id.")
  expect(done).toEqual(expected)
})
