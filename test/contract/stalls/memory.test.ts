/** What is kept of a body that was read is little, in every shape of JSON. */
import { expect, test } from 'vitest'
import { startCommand } from '../../support/command.ts'

const timesMax = 10
/** A small body of empty objects may take more, up to this. Unit: bytes. */
const littleBytes = 16 * 1024 * 1024

type Told = { kind: string; shape: string; bytes: number; kept: number; isRead: boolean }

test('no body of JSON is kept as more than ten times its size, or 16 MiB where that is more', async () => {
  const child = startCommand(['--expose-gc', 'test/contract/stalls/memory-child.ts'])
  expect(await child.ended, child.lines.join('\n')).toBe(0)
  const told = child.lines.flatMap((line) =>
    line.startsWith('told ') ? [JSON.parse(line.slice('told '.length)) as Told] : [],
  )
  expect(told.filter(({ isRead }) => isRead).length).toBeGreaterThan(40)
  expect(told.filter(({ bytes, kept }) => kept > Math.max(timesMax * bytes, littleBytes))).toEqual([])
}, 120_000)
