/** What is remembered: never more than there is room for, and never what a notice has ended. */
import { describe, expect, test } from 'vitest'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'

describe('a bounded map', () => {
  test('evicts the least recently used entry when it has too many', () => {
    const map = createBoundedMap<string, number>({ entriesMax: 3 })
    for (const [index, key] of ['a', 'b', 'c'].entries()) map.set(key, index)
    expect(map.get('a')).toBe(0) // used
    expect(map.peek('b')).toBe(1) // only looked at
    map.set('d', 3)
    expect([map.get('b'), [...map.values()]]).toEqual([undefined, [2, 0, 3]])
  })

  test('that is flooded with a million keys has no more than its maximum', () => {
    const map = createBoundedMap<number, number>({ entriesMax: 100 })
    for (let key = 0; key < 1_000_000; key++) map.set(key, key)
    expect([map.size, [...map.values()][0]]).toEqual([100, 999_900])
  })

  test('counts what its entries weigh, once each, and always keeps the latest', () => {
    const map = createBoundedMap<string, string>({ entriesMax: 10, weightMax: 10 })
    map.set('a', 'first', 4)
    map.set('a', 'again', 5)
    map.set('b', 'fits', 5)
    expect([...map.values()]).toEqual(['again', 'fits'])
    map.delete('b')
    map.set('c', 'fits too', 5)
    expect([...map.values()]).toEqual(['again', 'fits too'])
    map.set('d', 'too heavy', 11)
    expect([...map.values()]).toEqual(['too heavy'])
    map.clear()
    map.set('e', 'fits', 10)
    map.set('f', 'light', 0)
    expect([...map.values()]).toEqual(['fits', 'light'])
  })
})

describe('what is cached until a notice', () => {
  const make = (
    options: { rememberedMs?: number; unheardMs?: number } = {},
  ): {
    cache: ReturnType<typeof createNoticedCache<string | null>>
    notice: (key: string | null) => void
    line: { connected: boolean }
  } => {
    const heard: ((key: string | null) => void)[] = []
    const line = {
      connected: true,
      listen: (_: string, onNotice: (key: string | null) => void) => heard.push(onNotice),
    }
    const cache = createNoticedCache<string | null>(line, {
      topic: 'thing',
      entriesMax: 100,
      rememberedMs: 60_000,
      ...options,
    })
    return { cache, line, notice: (key) => heard.forEach((onNotice) => onNotice(key)) }
  }

  test('is valid until its notice, and other keys stay valid', async () => {
    const { cache, notice } = make()
    await cache.read('a', async () => 'one')
    await cache.readAll(
      async () =>
        new Map([
          ['b', 'two'],
          ['c', null],
        ]),
    )
    notice('a')
    expect(['a', 'b', 'c', 'd'].map((key) => cache.find(key)?.value)).toEqual([undefined, 'two', null, undefined])
    notice(null)
    expect(['b', 'c'].map((key) => cache.find(key)?.value)).toEqual([undefined, undefined])
  })

  test.each(['a', null])(
    'is not remembered when the notice %s came while it was read, and is told all the same',
    async (key) => {
      const { cache, notice } = make()
      const reading = Promise.withResolvers<string>()
      const read = cache.read('a', () => reading.promise)
      notice(key)
      reading.resolve('old')
      expect([await read, cache.find('a')]).toEqual(['old', undefined])
      await cache.read('a', async () => 'new')
      expect(cache.find('a')?.value).toBe('new')
    },
  )

  test('is cached when the notice of another key came while it was read', async () => {
    const { cache, notice } = make()
    const reading = Promise.withResolvers<string>()
    const read = cache.read('a', () => reading.promise)
    notice('b')
    reading.resolve('right')
    await read
    expect(cache.find('a')?.value).toBe('right')
  })

  test('is not cached when there is nothing, nor when it could not be read', async () => {
    const { cache } = make()
    expect(await cache.read('a', async () => undefined)).toBe(undefined)
    await expect(cache.read('a', () => Promise.reject(new Error('away')))).rejects.toThrow('away')
    expect(cache.find('a')).toBe(undefined)
  })

  test('is valid for a shorter time while no notices arrive, and still available when the database is unreachable', async () => {
    const { cache, line } = make({ unheardMs: 0 })
    await cache.read('a', async () => 'one')
    line.connected = false
    expect([cache.find('a'), cache.findUnheard('a')?.value]).toEqual([undefined, 'one'])
    line.connected = true
    expect(cache.find('a')?.value).toBe('one')
  })

  test('is too old after its time', async () => {
    const { cache } = make({ rememberedMs: 0 })
    await cache.read('a', async () => 'one')
    expect([cache.find('a'), cache.findUnheard('a')]).toEqual([undefined, undefined])
  })
})
