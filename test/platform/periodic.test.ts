/** Periodic work, and what is logged of it. */
import { expect, test, vi } from 'vitest'
import { every } from '#src/platform/jobs/periodic.ts'
import { log, setLogLevel } from '#src/platform/log.ts'
import { until } from '../support/until.ts'

test('a moment that comes while the work still runs is left out, and every line of the log stays JSON', async () => {
  const written: string[] = []
  const keep = (text: unknown): boolean => written.push(String(text)) > 0
  const outputs = [process.stdout, process.stderr].map((out) => vi.spyOn(out, 'write').mockImplementation(keep))
  const spoken = (['log', 'info', 'warn', 'error', 'debug'] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation((text: unknown) => void keep(text)),
  )
  const { level } = log
  setLogLevel('debug')
  const { promise, resolve } = Promise.withResolvers<void>()
  let begun = 0
  const task = every('* * * * * *', 'counting', () => {
    begun++
    return promise
  })
  try {
    await until('a moment is left out', () => written.some((line) => line.includes('left out')))
    expect(begun).toBe(1)
    expect(written.map((line) => (JSON.parse(line) as { msg: string }).msg)).toContain(
      'a periodic task was left out once',
    )
  } finally {
    resolve()
    await task.destroy()
    log.level = level
    for (const one of [...outputs, ...spoken]) one.mockRestore()
  }
})
