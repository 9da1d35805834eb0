/** Secrets in text and in streams, however they are cut into pieces and however they are written. */
import { expect, test } from 'vitest'
import { createMasker, noMasker, prepareMasker } from '#src/platform/masking.ts'

const createMasking = (secrets: string[]) => createMasker(secrets).stream()
const masked = (text: string, secrets: string[]): string => createMasker(secrets).text(text)

/** What is shown of these pieces, in the order in which it is shown. */
function shown(secrets: string[], pieces: (string | Buffer)[]): string[] {
  const masking = createMasking(secrets)
  return [...pieces.map((piece) => masking.push(Buffer.from(piece as string)).toString()), masking.end().toString()]
}

test('a secret is masked across any split into chunks, and the rest is kept byte for byte', () => {
  const text = 'before hunter2-Ω after hunter2-Ω!'
  const bytes = Buffer.from(text)
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
      const masking = createMasking(['hunter2-Ω'])
      expect(Buffer.concat([...pieces.map((piece) => masking.push(piece)), masking.end()]).toString()).toBe(
        'before *** after ***!',
      )
    }
  }
})

test('only what may be the beginning of a secret is held back, and it is released when it is none', () => {
  expect(shown(['secret'], ['a line\n', 'a sec', 'ond line\n', 'the sec'])).toEqual([
    'a line\n',
    'a ',
    'second line\n',
    'the ',
    'sec',
  ])
})

test('the longer of two secrets wins, also when it comes in chunks', () => {
  expect(shown(['abc', 'abcdef'], ['x abc', 'def y abc', ' z']).join('')).toBe('x *** y *** z')
  expect(shown(['abca', 'ab'], ['abca'])).toEqual(['***', ''])
})

test('a secret of several lines is masked line by line too, and its special characters mean nothing', () => {
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
      expect(
        shown(
          ['abcd', 'cdef', 'abc', 'bcde'],
          [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)],
        ).join(''),
      ).toBe('1***2***ab3***4******')
    }
  }
})

test('long and many secrets take no longer than their output', () => {
  const before = process.threadCpuUsage() // not the clock: others may be at work on this machine
  const long = 'a'.repeat(32_000)
  expect(
    shown(
      [`${long}b`],
      Array.from({ length: 8 }, () => `${'a'.repeat(32_767)}c`),
    ).join(''),
  ).toBe(`${'a'.repeat(32_767)}c`.repeat(8))
  const many = Array.from({ length: 30_000 }, (_, number) => `-----line ${number}-----`)
  expect(masked(`so: ${many[29_999]}, and 6.`, [many.join('\n'), '6'])).toBe('so: ***, and ***.')
  expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(2_000)
})

test('a secret is found as JSON, URLs and base64 write it, wherever it stands in them', () => {
  const secret = 'p@ss "word"/ü+~'
  const encoded = encodeURIComponent(secret)
  for (const form of [
    JSON.stringify(secret).slice(1, -1),
    encoded,
    encoded.toLowerCase(),
    new URLSearchParams({ a: secret }).toString().slice(2),
  ])
    expect(masked(`x ${form} y`, [secret]), form).toBe('x *** y')
  for (const before of ['', 'u', 'us', 'use', 'user:']) {
    for (const packed of [
      Buffer.from(`${before}${secret}!`).toString('base64'),
      Buffer.from(`${before}${secret}`).toString('base64url'),
    ]) {
      const shown = masked(packed, [secret])
      expect(shown).toContain('***')
      expect(Buffer.from(shown.replaceAll('***', ''), 'base64').toString('latin1')).not.toContain('word')
    }
  }
})

test('a long secret that base64 breaks into lines is masked in each of them', () => {
  const secret = Array.from({ length: 40 }, (_, at) => `part-${at}-of-a-key`).join('')
  const packed = Buffer.from(`${secret}\n`).toString('base64')
  for (const columns of [76, 64])
    expect(
      masked(packed.replace(new RegExp(`.{${columns}}`, 'g'), '$&\n'), [secret]).replaceAll('***\n', '').length,
    ).toBeLessThan(20)
})

test('a short secret is not searched in base64, where it would match by chance', () => {
  expect(masked(Buffer.from('an abc').toString('base64'), ['abc'])).toBe(Buffer.from('an abc').toString('base64'))
})

test('where the length must stay, each byte of a secret becomes a star, across any split', () => {
  const bytes = Buffer.from('1abcdef2abcab3bcdef4abcabc')
  for (let first = 0; first <= bytes.length; first++) {
    const masking = createMasker(['abcd', 'cdef', 'abc', 'bcde']).stream({ keepsLength: true })
    expect(
      Buffer.concat([
        masking.push(bytes.subarray(0, first)),
        masking.push(bytes.subarray(first)),
        masking.end(),
      ]).toString(),
    ).toBe('1******2***ab3*****4******')
  }
})

test('the end of one stream does not affect the next', () => {
  const masking = createMasker(['secret']).stream()
  expect(
    [masking.push(Buffer.from('sec')), masking.end(), masking.push(Buffer.from('ret')), masking.end()].join(''),
  ).toBe('secret')
  expect(createMasker(['']).text('text')).toBe(noMasker.text('text'))
})

test('too many secrets to be masked together are refused with a sentence', async () => {
  await expect(prepareMasker(Array.from({ length: 100 }, (_, at) => `${at}`.repeat(16_000)))).rejects.toThrow(
    'more secrets than can be masked together',
  )
  expect(await (await prepareMasker(['secret'])).longText(`${'x'.repeat(2_000_000)}secret`)).toBe(
    `${'x'.repeat(2_000_000)}***`,
  )
})

test('it goes on in another process at any byte as if it had never stopped, also inside secrets that overlap', () => {
  const secrets = ['abcab', 'cabx', 'abXYZ', 'aa', 'xyz', 'Ω-Ω', 'aab\nlonger-line-1']
  const letters = ['a', 'b', 'c', 'x', 'y', 'z', 'X', 'Y', 'Z', 'Ω', '-', '\n']
  let seed = 7
  const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
  for (let round = 0; round < 400; round++) {
    const text = Array.from({ length: 60 }, () =>
      next(4) === 0 ? secrets[next(secrets.length)] : letters[next(letters.length)],
    ).join('')
    const bytes = Buffer.from(text)
    const whole = masked(text, secrets)
    let [taken, state] = [0, 0]
    const shownPieces: Buffer[] = []
    while (taken < bytes.length) {
      // One process: it takes some pieces, stores how far it is, and dies.
      const masking = createMasker(secrets).stream({ from: state })
      let consumed = taken
      for (let pieces = next(3) + 1; pieces > 0 && consumed < bytes.length; pieces--) {
        const piece = bytes.subarray(consumed, consumed + 1 + next(9))
        consumed += piece.length
        shownPieces.push(masking.push(piece))
      }
      const { heldBytes } = masking.resumption()
      if (consumed === bytes.length) shownPieces.push(masking.end())
      ;[taken, state] =
        consumed === bytes.length ? [bytes.length, 0] : [consumed - heldBytes, masking.resumption().state]
    }
    expect(Buffer.concat(shownPieces).toString()).toBe(whole)
  }
})
