/** Secrets in a build's output, however it is cut into pieces. */
import { expect, test } from 'vitest'
import { createMasking, masked } from '#workers/infra/build-masking.ts'

/** What is shown of these pieces, in the order in which it is shown. */
function shown(secrets: string[], pieces: (string | Buffer)[]): string[] {
  const masking = createMasking(secrets)
  return [...pieces.map((piece) => masking.push(Buffer.from(piece as string)).toString()), masking.end().toString()]
}

test('a secret is masked wherever it is cut, and the rest is kept byte for byte', () => {
  const text = 'before hunter2-Ω after hunter2-Ω!'
  const bytes = Buffer.from(text)
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
      const masking = createMasking(['hunter2-Ω'])
      expect(Buffer.concat([...pieces.map((piece) => masking.push(piece)), masking.end()]).toString()).toBe('before *** after ***!')
    }
  }
})

test('only what may be the beginning of a secret waits, and it is shown when it was none', () => {
  expect(shown(['secret'], ['a line\n', 'a sec', 'ond line\n', 'the sec'])).toEqual(['a line\n', 'a ', 'second line\n', 'the ', 'sec'])
})

test('the longer of two secrets goes first, also when it comes in pieces', () => {
  expect(shown(['abc', 'abcdef'], ['x abc', 'def y abc', ' z']).join('')).toBe('x *** y *** z')
  expect(shown(['abca', 'ab'], ['abca'])).toEqual(['***', ''])
})

test('a secret of several lines is masked line by line too, and characters of patterns are only characters', () => {
  const key = '-----BEGIN-----\nAAAABBBB.C+D/E=\n-----END-----'
  expect(masked(`  AAAABBBB.C+D/E=\n${key}`, [key])).toBe('  ***\n***')
  expect(masked('a.c abc [x] (y', ['a.c', '[x]', '(y'])).toBe('*** abc *** ***')
})

test('an empty secret masks nothing, and without secrets bytes pass as they are', () => {
  expect(masked('text', [''])).toBe('text')
  const bytes = Buffer.from([0, 255, 128])
  expect(createMasking([]).push(bytes)).toEqual(bytes)
  expect(Buffer.concat([createMasking(['x']).push(bytes)])).toEqual(bytes)
})

test('secrets that overlap are masked together, however they are cut', () => {
  const bytes = Buffer.from('1abcdef2abcab3bcdef4abcabc')
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      expect(shown(['abcd', 'cdef', 'abc', 'bcde'], [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]).join('')).toBe('1***2***ab3***4******')
    }
  }
})

test('long and many secrets take no longer than their output', () => {
  const startedMs = performance.now()
  const long = 'a'.repeat(32_000)
  expect(shown([`${long}b`], Array.from({ length: 8 }, () => `${'a'.repeat(32_767)}c`)).join('')).toBe(`${'a'.repeat(32_767)}c`.repeat(8))
  const many = Array.from({ length: 30_000 }, (_, number) => `-----line ${number}-----`)
  expect(masked(`so: ${many[29_999]}, and 6.`, [many.join('\n'), '6'])).toBe('so: ***, and ***.')
  expect(performance.now() - startedMs).toBeLessThan(2_000)
})
