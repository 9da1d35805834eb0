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
