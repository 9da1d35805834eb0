/** Hooks, each in a process of its own: whether they are wired is one thing for a whole process. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { root } from '../architecture/sources.ts'

/** What a program that has `hook` and `hooksAreWired` prints. */
function printed(program: string): string {
  const code = `import { hook, hooksAreWired } from '#src/platform/postgres/hooks.ts'\n${program}`
  return execFileSync(process.execPath, ['--input-type=module', '--eval', code], { cwd: root, encoding: 'utf8' }).trim()
}

/** A hook with two listeners, the first of which takes longer. */
const twoListeners = `
  const moved = hook('vm moved')
  moved.on(async (id) => { await null; await null; console.log('first of', id) })
  moved.on((id) => console.log('second of', id))
`

test('listeners run one after the other, in the order of their registration', () => {
  expect(printed(`${twoListeners} hooksAreWired(); await moved.run('a')`)).toBe('first of a\nsecond of a')
})

test('what a listener throws ends the hook, and whoever runs it gets the error', () => {
  const program = `
    const moved = hook('vm moved')
    moved.on(() => Promise.reject(new Error('no')))
    moved.on(() => console.log('second'))
    hooksAreWired()
    await moved.run().catch((error) => console.log(error.message))`
  expect(printed(program)).toBe('no')
})

test('a hook in a process without the listeners is refused, and the error says what to import', () => {
  const program = `${twoListeners} await moved.run('a').catch((error) => console.log(error.message))`
  expect(printed(program)).toBe(`no listener of "vm moved" is registered yet: import '#src/resources/wiring.ts' first`)
})
