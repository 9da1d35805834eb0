/** What never gets into the log, whatever was to be logged. */
import { expect, test, vi } from 'vitest'
import { log, redact } from '#src/platform/log.ts'

const secret = 'Zx9'.repeat(14) + 'Q' // as long as a key's

test('an organization key is redacted, whatever its prefix', () => {
  for (const prefix of ['svc_live_ak_', 'acme_', 'a1_test_'])
    expect(redact(`{"msg":"Bearer ${prefix}0123456789abcdef.${secret} sent"}`)).not.toContain(secret.slice(0, 10))
})

test('a secret at the place where a long line is cut is redacted too', () => {
  const written: string[] = []
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  try {
    for (let before = 16_250; before < 16_384; before += 7)
      log.error({ text: 'x'.repeat(before), and: `svc_live_ak_0123456789abcdef.${secret}` }, 'long')
  } finally {
    out.mockRestore()
  }
  const longest = Math.max(...written.map((line) => line.length))
  expect([written.length > 10, longest > 16_000, longest < 16_500]).toEqual([true, true, true])
  expect(written.filter((line) => line.includes('Zx9'))).toEqual([])
})

test('signed tokens and passwords in addresses are redacted wherever they stand', () => {
  const token = 'eyJhbGciOi.eyJzdWIiOi.sIgnature_-'
  for (const text of [
    token,
    `"${token}"`,
    `Bearer ${token}, next`,
    `prefix-${token}`,
    `a.${token}`,
    `x=${token}`,
    `https://host/${token}/end`,
  ])
    expect(redact(text), text).toBe(text.replace(token, '[redacted jwt]'))
  expect(redact('xeyJhbGciOi.eyJzdWIiOi.z eyJ.a.b')).toBe(
    'xeyJhbGciOi.[redacted jwt]'.replace('.[redacted jwt]', '.eyJzdWIiOi.z eyJ.a.b'),
  )
  expect(redact('postgres://berth:pa55/w:rd@127.0.0.1/x and git+https://u:p@h "http://host/a@b" a@b')).toBe(
    'postgres://berth:[redacted]@127.0.0.1/x and git+https://u:[redacted]@h "http://host/a@b" a@b',
  )
})

test('a long line that is made to be slow to search is redacted quickly', () => {
  const before = process.threadCpuUsage() // not the clock: others may be at work on this machine
  for (const piece of ['-eyJaaaaa', '://a:', ' a_', '"secret":"', 'eyJ', '@', '?token=', '-----BEGIN PRIVATE KEY-----'])
    redact(piece.repeat(Math.floor(65_536 / piece.length)))
  expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(1_000)
})
