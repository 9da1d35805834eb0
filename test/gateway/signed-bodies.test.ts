/** Receiving bodies from clients nobody knows: what one may take of what all need. */
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { signedRequestLimits } from '#src/platform/limits/signed-requests.ts'
import { createBodies, type Bodies } from '#rest-compat/signed-bodies.ts'

const { usualBodyBytes, heldBytes, bodiesAtOnce, largeBodiesAtOnce, receivedAtOnce } = signedRequestLimits
const busy = 'Too many deliveries arrive at once.'

const from = { headers: {}, ip: '192.0.2.1' }

/** Bodies that are received up to here, each from an address of its own, and not further. @returns what ends them. */
const stall = async (
  bodies: Bodies,
  count: number,
  bytes: number,
  addressOf = (at: number): string => `2001:db8::${at}`,
): Promise<() => Promise<unknown>> => {
  const streams = Array.from({ length: count }, () => new PassThrough({ highWaterMark: 1 }))
  const read = Promise.allSettled(
    streams.map((stream, at) => bodies.read({ headers: {}, ip: addressOf(at) }, stream, async (body) => body.length)),
  )
  for (const stream of streams) if (!stream.write(Buffer.alloc(bytes))) await once(stream, 'drain')
  return () => {
    for (const stream of streams) stream.end()
    return read
  }
}
const send = async (bodies: Bodies, bytes: number): Promise<number> => {
  const stream = new PassThrough({ highWaterMark: bytes + 1 })
  stream.end(Buffer.alloc(bytes))
  return bodies.read(from, stream, async (body) => body.length)
}

test('senders that send a little and stop keep nobody out', async () => {
  const bodies = createBodies()
  const slow = await stall(bodies, receivedAtOnce - 1, 100)
  expect(await send(bodies, 1000)).toBe(1000)
  const last = await stall(bodies, 1, 1)
  await expect(send(bodies, 1000)).rejects.toThrow(busy)
  await Promise.all([slow(), last()])
  expect(await send(bodies, 1000)).toBe(1000)
})

test('large bodies have places of their own, and usual ones come in beside them', async () => {
  const bodies = createBodies()
  const large = await stall(bodies, largeBodiesAtOnce, usualBodyBytes + 1)
  expect(await send(bodies, usualBodyBytes)).toBe(usualBodyBytes)
  await expect(send(bodies, usualBodyBytes + 1)).rejects.toThrow(busy)
  await large()
  expect(await send(bodies, usualBodyBytes + 1)).toBe(usualBodyBytes + 1)
})

test('all bodies together hold so many bytes, which are free again when they are done', async () => {
  const bodies = createBodies()
  const held = await stall(bodies, Math.floor(heldBytes / usualBodyBytes), usualBodyBytes)
  await expect(send(bodies, usualBodyBytes)).rejects.toThrow(busy)
  await held()
  expect(await send(bodies, usualBodyBytes)).toBe(usualBodyBytes)
})

test('so many are worked on at once; the next is to come again', async () => {
  const bodies = createBodies()
  const { promise, resolve } = Promise.withResolvers<void>()
  const work = Array.from({ length: bodiesAtOnce }, () => {
    const stream = new PassThrough()
    stream.end('{}')
    return bodies.read(from, stream, () => promise)
  })
  await expect(send(bodies, 2)).rejects.toThrow(busy)
  resolve()
  await Promise.all(work)
  expect(await send(bodies, 2)).toBe(2)
})

test('a body that does not end is refused after its time, and its connection is left for the answer', async () => {
  const bodies = createBodies({ receiveSeconds: 0.05 })
  const stream = new PassThrough()
  stream.write('{')
  await expect(bodies.read(from, stream, async (body) => body.length)).rejects.toThrow('must arrive within')
  expect(stream.destroyed).toBe(false)
  expect(await send(bodies, 2)).toBe(2)
})

test('one address takes a quarter of what is for large bodies and of all bytes, and others still come in', async () => {
  const bodies = createBodies()
  const [one, other] = ['192.0.2.7', '192.0.2.8']
  const large = await stall(bodies, largeBodiesAtOnce, usualBodyBytes + 1, () => one)
  const another = await stall(bodies, 1, usualBodyBytes + 1, () => other)
  const held = await stall(bodies, Math.floor(heldBytes / usualBodyBytes), usualBodyBytes, () => one)
  expect(await send(bodies, usualBodyBytes)).toBe(usualBodyBytes)
  await Promise.all([large(), another(), held()])
  expect(await send(bodies, usualBodyBytes + 1)).toBe(usualBodyBytes + 1)
})
