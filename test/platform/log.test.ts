/** What never gets into the log, whatever was to be logged. */
import { expect, test, vi } from 'vitest'
import { log, redact } from '#src/platform/log.ts'

const secret = 'Zx9'.repeat(14) + 'Q' // as long as a key's

test('an organization key is taken out, whatever its prefix', () => {
  for (const prefix of ['svc_live_ak_', 'acme_', 'a1_test_']) expect(redact(`{"msg":"Bearer ${prefix}0123456789abcdef.${secret} sent"}`)).not.toContain(secret.slice(0, 10))
})

test('a secret at the place where a long line is cut is taken out too', () => {
  const written: string[] = []
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  try {
    for (let before = 16_250; before < 16_384; before += 7) log.error({ text: 'x'.repeat(before), and: `svc_live_ak_0123456789abcdef.${secret}` }, 'long')
  } finally {
    out.mockRestore()
  }
  const longest = Math.max(...written.map((line) => line.length))
  expect([written.length > 10, longest > 16_000, longest < 16_500]).toEqual([true, true, true])
  expect(written.filter((line) => line.includes('Zx9'))).toEqual([])
})
