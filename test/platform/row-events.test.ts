/** Events of a row at the moments that real rows show too seldom. */
import { expect, test } from 'vitest'
import { eventsAfter, type RowEvents } from '#src/platform/streams/row-events.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'

type Event = { position: number; last: boolean }

async function* silence(): AsyncIterableIterator<void> {}
const call = { pubsub: { subscribe: silence } as unknown as Pubsub } // all that is used of it

async function collect(rows: Event[], isOver: RowEvents<Event>['isOver'], position = 0): Promise<number[]> {
  const seen: number[] = []
  const read: RowEvents<Event>['read'] = async (after, most) =>
    rows.filter((event) => event.position > after).slice(0, most)
  for await (const event of eventsAfter(call, 'id', position, {
    topic: 'test',
    read,
    isLast: ({ last }) => last,
    isOver,
  }))
    seen.push(event.position)
  return seen
}

test('the last event is not missed when it comes between reading and asking whether all is over', async () => {
  const rows: Event[] = []
  expect(await collect(rows, async () => rows.push({ position: 1, last: true }) > 0)).toEqual([1])
})

test('a cursor at the last event ends at once, and more events than a batch all come', async () => {
  const rows = Array.from({ length: 250 }, (_, index): Event => ({ position: index + 1, last: index === 249 }))
  expect(await collect(rows, async () => true, 250)).toEqual([])
  expect(await collect(rows, async () => true)).toEqual(rows.map(({ position }) => position))
})

test('a database that is briefly unreachable is waited for, and nothing comes twice', async () => {
  const rows = [1, 2, 3].map((position): Event => ({ position, last: position === 3 }))
  let tries = 0
  const seen: number[] = []
  const read: RowEvents<Event>['read'] = async (after) => {
    if (++tries % 2 === 0) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    return rows.filter(({ position }) => position === after + 1)
  }
  const more = { subscribe: () => notices(10) } as unknown as Pubsub // all that is used of it
  for await (const { position } of eventsAfter({ pubsub: more }, 'id', 0, {
    topic: 'test',
    read,
    isLast: ({ last }) => last,
    isOver: async () => false,
  }))
    seen.push(position)
  expect([seen, tries]).toEqual([[1, 2, 3], 5])
})

async function* notices(count: number): AsyncIterableIterator<void> {
  for (let sent = 0; sent < count; sent++) yield
}

test('events that arrive after the end are still sent, and then it ends although none of them is the last', async () => {
  const rows: Event[] = []
  const over = async (): Promise<boolean> => {
    if (rows.length === 0) rows.push({ position: 1, last: false })
    return true
  }
  expect(await collect(rows, over)).toEqual([1])
})

test('a subscriber that disconnects stops listening for notices', async () => {
  const rows = [1, 2].map((position): Event => ({ position, last: false }))
  let heard: AbortSignal | undefined
  const pubsub = {
    subscribe: (_topic: string, _id: string, signal: AbortSignal) => ((heard = signal), silence()),
  } as unknown as Pubsub // all that is used of it
  for await (const { position } of eventsAfter({ pubsub }, 'id', 0, {
    topic: 'test',
    read: async () => rows,
    isLast: ({ last }) => last,
    isOver: async () => false,
  }))
    if (position === 1) break
  expect(heard?.aborted).toBe(true)
})
