/** The lock between commands that run at once. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { withLock } from '../../cli/lock.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-lock-'))
  file = join(folder, 'of', 'lock')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('one at a time has it, whoever waits gets it, and nothing is left', async () => {
  let inside = 0
  const most: number[] = []
  const work = () =>
    withLock(file, async () => {
      most.push(++inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
    })
  await Promise.all(Array.from({ length: 8 }, work))
  expect(most).toEqual(Array(8).fill(1))
  expect(readdirSync(join(folder, 'of'))).toEqual([])
})

test('work that fails gives it back', async () => {
  await expect(withLock(file, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await withLock(file, () => Promise.resolve('done'))).toBe('done')
})

test('that of a process that is gone is taken over by one of those who wait; that of another host is not', async () => {
  await withLock(file, () => Promise.resolve())
  const { pid } = spawnSync('true')
  writeFileSync(file, JSON.stringify({ pid, host: hostname() }))
  let inside = 0
  const counts = await Promise.all(
    [1, 2, 3].map(() =>
      withLock(file, async () => {
        const count = ++inside
        await new Promise((resolve) => setImmediate(resolve))
        inside--
        return count
      }),
    ),
  )
  expect(counts).toEqual([1, 1, 1])
  writeFileSync(file, JSON.stringify({ pid, host: 'elsewhere' }))
  let isIn = false
  const waiting = withLock(file, () => Promise.resolve((isIn = true)))
  await new Promise((resolve) => setImmediate(resolve)) // it has looked by now, as looking waits for nothing
  expect([isIn, existsSync(file)]).toEqual([false, true])
  rmSync(file)
  expect(await waiting).toBe(true)
})
