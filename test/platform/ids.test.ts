/** Ids: TypeIDs of UUIDv7, there and back, and nothing else taken for one. */
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { decodeId, encodeId, idPrefixes, newId, newUuid, randomToken, type IdKind } from '#src/platform/ids.ts'

const kinds = Object.keys(idPrefixes) as IdKind[] // the keys of a closed table
const kind = fc.constantFrom(...kinds)
const documentedForm = /^[a-z]{2,8}_[0-7][0-9a-hjkmnp-tv-z]{25}$/ // a prefix, and 128 bits in Crockford's base32

afterEach(() => shiftClock(0))

test('every uuid of every kind comes back from its id, which has the documented form', () => {
  fc.assert(
    fc.property(fc.uuid(), kind, (uuid, of) => {
      const id = encodeId(of, uuid)
      expect(id).toMatch(documentedForm)
      expect(decodeId(of, id)).toBe(uuid)
    }),
    { numRuns: 500 },
  )
})

test('the id of a known uuid is the one of the TypeID specification', () => {
  expect(encodeId('vm', '00000000-0000-0000-0000-000000000000')).toBe('vm_00000000000000000000000000')
  expect(encodeId('vm', '00000000-0000-0000-0000-000000000001')).toBe('vm_00000000000000000000000001')
  expect(encodeId('vm', '01890a5d-ac96-774b-bcce-b302099a8057')).toBe('vm_01h455vb4pex5vsknk084sn02q')
  expect(encodeId('vm', 'ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe('vm_7zzzzzzzzzzzzzzzzzzzzzzzzz')
})

test('only the id itself is accepted for a uuid', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ maxLength: 40 }), fc.stringMatching(/^[a-z]{2,5}_[0-9a-z]{26}$/)),
      kind,
      (text, of) => {
        const uuid = decodeId(of, text)
        if (uuid !== undefined) expect(encodeId(of, uuid)).toBe(text)
      },
    ),
    { numRuns: 500 },
  )
  const id = newId('vm')
  for (const wrong of [
    id.toUpperCase(),
    ` ${id}`,
    `${id} `,
    `${id}\n`,
    id.slice(0, -1),
    `${id}0`,
    id.replace('vm_', 'tpl_'),
    id.replace('_', '-'),
    `vm_8${id.slice(4)}`,
    `vm_/${id.slice(4)}`,
    id.slice(0, -1) + 'i',
    id.slice(0, -1) + 'u',
    id.slice(0, -1) + 'é',
    '',
    'vm_',
    '_',
  ])
    expect(decodeId('vm', wrong), wrong).toBeUndefined()
})

test('an id of one kind is refused as another', () => {
  for (const of of kinds)
    for (const other of kinds) if (of !== other) expect(decodeId(other, newId(of))).toBeUndefined()
  expect(new Set(Object.values(idPrefixes)).size).toBe(kinds.length)
})

test('new ones are version 7, unique, and sort by creation time', () => {
  const made = Array.from({ length: 5_000 }, () => newUuid())
  expect(new Set(made).size).toBe(made.length)
  for (const uuid of made) expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const sorted = [0, 1, 1_000, 86_400_000].map((byMs) => {
    shiftClock(byMs)
    return newId('vm')
  })
  expect(sorted.toSorted()).toEqual(sorted)
})

test('tokens have the requested length and never repeat', () => {
  const made = Array.from({ length: 1_000 }, () => randomToken(32))
  expect(new Set(made).size).toBe(1_000)
  for (const token of made) expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
})
