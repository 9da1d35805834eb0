/** Nothing is declared that nobody uses: limits, error codes, permissions, settings, id prefixes. */
import { expect, test } from 'vitest'
import { permissions } from '#src/platform/access/permissions.ts'
import { errorStatuses } from '#src/platform/errors.ts'
import { idPrefixes } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { productFolders, readSources } from './sources.ts'

const product = readSources(productFolders)
const textOutside = (path: string): string =>
  product
    .filter((source) => source.path !== path)
    .map(({ text }) => text)
    .join('\n')

test('every limit is used', () => {
  const text = textOutside('src/platform/limits.ts')
  expect(Object.keys(limits).filter((name) => !text.includes(`limits.${name}`))).toEqual([])
})

test('every error code is thrown somewhere', () => {
  const text = textOutside('src/platform/errors.ts')
  const thrown = (code: string): boolean =>
    text.includes(`'${code}'`) || code === 'internal_error' || code === 'not_found'
  expect(Object.keys(errorStatuses).filter((code) => !thrown(code))).toEqual([])
})

test('every error that is thrown is in the closed table', () => {
  const codes = product.flatMap(({ text }) =>
    [...text.matchAll(/new BerthError\('(\w+)'/g)].map((match) => match[1] ?? ''),
  )
  expect(codes.length).toBeGreaterThan(50)
  expect(codes.filter((code) => !(code in errorStatuses))).toEqual([])
})

test('every permission is checked somewhere', () => {
  const text = textOutside('src/platform/access/permissions.ts')
  expect(Object.keys(permissions).filter((name) => !text.includes(`'${name}'`))).toEqual([])
})

test('every kind of id is used', () => {
  const text = textOutside('src/platform/ids.ts')
  expect(
    Object.keys(idPrefixes).filter(
      (kind) => !new RegExp(`(?:encodeId|decodeId|newId|page|cursorId)\\('${kind}'|'${kind}'`).test(text),
    ),
  ).toEqual([])
})

test('every export is used', () => {
  const everything = [...product, ...readSources(['test'])]
  const filesWith = new Map<string, number>()
  for (const { code } of everything)
    for (const word of new Set(code.match(/\w+/g))) filesWith.set(word, (filesWith.get(word) ?? 0) + 1)
  const unused = product.flatMap(({ path, code }) =>
    [...code.matchAll(/^export\s+(?:async\s+)?(?:function\s*\*?|const|class)\s*(\w+)/gm)]
      .map((match) => match[1] ?? '')
      .filter((name) => filesWith.get(name) === 1)
      .filter((name) => (code.match(new RegExp(`\\b${name}\\b`, 'g')) ?? []).length < 2)
      .map((name) => `${path}: ${name}`),
  )
  expect(unused).toEqual([])
})
