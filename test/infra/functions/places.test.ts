/** The places in which a node brings programs of functions into their VMs. */
import { expect, test } from 'vitest'
import { createPlaces } from '#workers/infra/functions/places.ts'

/** Work that begins when it has a place, and ends when it is told to. */
function makeWork(places: ReturnType<typeof createPlaces>) {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const one = (organizationId: string, name: string): void =>
    void places(organizationId, async () => {
      begun.push(name)
      await new Promise<void>((end) => ends.push(end))
    })
  const endFirst = async (): Promise<void> => {
    ends.shift()?.()
    await new Promise(setImmediate)
  }
  return { begun, one, endFirst }
}

test('an organization that starts many functions at once keeps no other one waiting', async () => {
  const { begun, one, endFirst } = makeWork(createPlaces(4, 2))
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) one('a', name)
  for (const name of ['b1', 'b2', 'b3']) one('b', name)
  await new Promise(setImmediate)
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2'])
  await endFirst()
  expect(begun.slice(4)).toEqual(['a3'])
  one('c', 'c1')
  await endFirst()
  await endFirst()
  expect(begun.slice(5)).toEqual(['a4', 'b3'])
  await endFirst()
  expect(begun.slice(7)).toEqual(['c1'])
})

test('work that fails gives its place to the next', async () => {
  const places = createPlaces(1, 1)
  const failing = places('a', () => Promise.reject(new Error('no')))
  const next = places('b', () => Promise.resolve('done'))
  await expect(failing).rejects.toThrow('no')
  await expect(next).resolves.toBe('done')
})
