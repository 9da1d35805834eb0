/** Sealed secrets: they open only whole, only where they were sealed, and only with their key. */
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSealer, loadSealer, sameDigest, sha256 } from '#src/platform/secrets.ts'

const key = (byte: number): Buffer => Buffer.alloc(32, byte)
const sealer = createSealer([key(1)])

describe('a sealed value', () => {
  test('opens where it was sealed, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom('', 'ä', '🦊', '\n', 'x'.repeat(100_000))),
        fc.string(),
        (plain, place) => {
          expect(sealer.open(sealer.seal(plain, place), place)).toBe(plain)
        },
      ),
    )
  })

  test('does not open with any bit flipped, or truncated', () => {
    const sealed = sealer.seal('a secret', 'vm_env.value:1:user:A')
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const turned = Buffer.from(sealed)
      turned[bit >> 3]! ^= 1 << (bit & 7)
      expect(() => sealer.open(turned, 'vm_env.value:1:user:A'), `bit ${bit}`).toThrow()
    }
    for (let length = 0; length < sealed.length; length++)
      expect(() => sealer.open(sealed.subarray(0, length), 'vm_env.value:1:user:A')).toThrow()
    expect(() => sealer.open(Buffer.concat([sealed, Buffer.of(0)]), 'vm_env.value:1:user:A')).toThrow()
  })

  test('does not open in another row, column or table', () => {
    const sealed = sealer.seal('a secret', 'vm_env.value:1:user:A')
    for (const place of [
      'vm_env.value:2:user:A',
      'vm_env.value:1:user:B',
      'vm_env.value:1:system:A',
      'vms.git_repos:1',
      '',
      'vm_env.value:1:user:A ',
    ])
      expect(() => sealer.open(sealed, place)).toThrow()
  })

  test('does not open with another key, and the error names the setting and no secret', () => {
    const sealed = sealer.seal('a secret', 'p')
    expect(() => createSealer([key(2)]).open(sealed, 'p')).toThrow(/BERTH_SECRET_KEY/)
  })

  test('is different each time, and does not show its content', () => {
    const many = Array.from({ length: 100 }, () => sealer.seal('a secret', 'p'))
    expect(new Set(many.map((one) => one.toString('hex'))).size).toBe(100)
    for (const one of many) expect(one.includes('a secret')).toBe(false)
  })
})

describe('the key', () => {
  test('can be rotated: the new one seals, both open', () => {
    const old = sealer.seal('kept', 'p')
    const both = createSealer([key(2), key(1)])
    expect(both.open(old, 'p')).toBe('kept')
    expect(createSealer([key(2)]).open(both.seal('new', 'p'), 'p')).toBe('new')
    expect(() => sealer.open(both.seal('new', 'p'), 'p')).toThrow()
  })

  test('of another length is refused, and none at all', () => {
    expect(() => createSealer([Buffer.alloc(31)])).toThrow(/32 bytes/)
    expect(() => createSealer([])).toThrow()
  })

  test('is made once in the data folder, for its owner only, and read again by the next process', () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-key-'))
    try {
      const first = loadSealer(null, folder)
      expect(statSync(join(folder, 'secret.key')).mode & 0o777).toBe(0o600)
      expect(loadSealer(null, folder).open(first.seal('x', 'p'), 'p')).toBe('x')
      chmodSync(join(folder, 'secret.key'), 0o640)
      expect(() => loadSealer(null, folder)).toThrow(/chmod 600/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('comes from the setting when it is set', () => {
    expect(loadSealer(key(1).toString('base64'), '/nonexistent').open(sealer.seal('x', 'p'), 'p')).toBe('x')
  })

  test('derives tokens that differ by purpose and by key', () => {
    expect(new Set([sealer.derive('a'), sealer.derive('b'), createSealer([key(2)]).derive('a')]).size).toBe(3)
    expect(sealer.derive('a')).toBe(createSealer([key(1)]).derive('a'))
  })
})

test('digests are compared completely', () => {
  expect(sameDigest(sha256('a'), sha256('a'))).toBe(true)
  expect(sameDigest(sha256('a'), sha256('b'))).toBe(false)
  expect(sameDigest(sha256('a'), sha256('a').subarray(1))).toBe(false)
})
