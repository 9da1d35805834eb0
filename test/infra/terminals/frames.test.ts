/** What passes between a web process and the guest: frames however they are cut, what is no frame, and input over a cut. */
import { describe, expect, test } from 'vitest'
import { createFrameReader, terminalFrames, type GuestFrame } from '#src/drivers/node/terminal-frames.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { PendingInput } from '#src/resources/infra/terminals/pending-input.ts'

function frame(kind: string, body: Buffer = Buffer.alloc(0), length = body.length): Buffer {
  const head = Buffer.alloc(5)
  head.write(kind, 0, 'latin1')
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, body])
}
const offsets = (...values: bigint[]): Buffer => {
  const body = Buffer.alloc(8 * values.length)
  values.forEach((value, at) => body.writeBigUInt64BE(value, 8 * at))
  return body
}
function read(pieces: Iterable<Buffer>): GuestFrame[] {
  const frames: GuestFrame[] = []
  const take = createFrameReader((one) =>
    frames.push(one.kind === 'output' ? { ...one, bytes: Buffer.from(one.bytes) } : one),
  )
  for (const piece of pieces) take(piece)
  return frames
}

describe('frames of the guest', () => {
  const sent = Buffer.concat([
    frame('A', offsets(7n, 3n)),
    frame('D', Buffer.from('printed')),
    frame('I', offsets(4n)),
    frame('X', Buffer.from([0, 0, 0, 130, 0])),
    frame('X', Buffer.from([0, 0, 0, 129, 1])),
    frame('R'),
  ])
  const meant = [
    { kind: 'attached', offset: 7, inputOffset: 3 },
    { kind: 'output', bytes: Buffer.from('printed') },
    { kind: 'input', offset: 4 },
    { kind: 'exit', code: 130, wasClosed: false },
    { kind: 'exit', code: 129, wasClosed: true },
    { kind: 'replaced' },
  ]

  test.each([1, 2, 3, 7, 1000])('are the same in pieces of %i bytes', (size) => {
    const pieces = Array.from({ length: Math.ceil(sent.length / size) }, (_, at) =>
      sent.subarray(at * size, (at + 1) * size),
    )
    expect(read(pieces)).toEqual(meant)
  })

  test.each([
    ['an unknown letter', frame('Z')],
    ['output of nothing', frame('D')],
    ['a length beyond what is sent', frame('D', Buffer.alloc(0), 0xffff_ffff)],
    ['a short number', frame('I', Buffer.alloc(7))],
    ['an offset that no number has', frame('I', offsets(2n ** 60n))],
    ['text', Buffer.from('state running 0\n')],
  ])('refuse %s', (_, bytes) => {
    expect(() => read([bytes])).toThrow(/answered as no terminal does/)
  })

  test('of the largest size come whole out of single bytes', () => {
    const bytes = Buffer.alloc(64 * 1024, 'abc')
    const pieces = Array.from(frame('D', bytes), (one) => Buffer.of(one))
    expect(read(pieces)).toEqual([{ kind: 'output', bytes }])
  })

  test('of input are cut to what the guest takes at once', () => {
    const text = Buffer.alloc(70 * 1024, 'x')
    let rest = terminalFrames.input(text)
    const sizes: number[] = []
    while (rest.length > 0) {
      expect(rest.toString('latin1', 0, 1)).toBe('d')
      sizes.push(rest.readUInt32BE(1))
      rest = rest.subarray(5 + rest.readUInt32BE(1))
    }
    expect(sizes).toEqual([32 * 1024, 32 * 1024, 6 * 1024])
  })
})

describe('what is typed', () => {
  test('waits until the guest says where it is, and goes out once', () => {
    const input = new PendingInput()
    input.add(Buffer.from('ab'))
    expect(String(input.take())).toBe('')
    input.begin(100)
    expect(String(input.take())).toBe('ab')
    input.add(Buffer.from('c'))
    expect(String(input.take())).toBe('c')
    expect(String(input.take())).toBe('')
  })

  test('goes again over a new connection, from where the guest is', () => {
    const input = new PendingInput()
    input.begin(100)
    input.add(Buffer.from('abcdef'))
    input.take()
    input.confirm(102)
    input.begin(104)
    input.add(Buffer.from('g'))
    expect(String(input.take())).toBe('efg')
    input.begin(107)
    expect(String(input.take())).toBe('')
  })

  test('is on its way in a window, and a mebibyte at most waits', () => {
    const input = new PendingInput()
    input.begin(0)
    for (let at = 0; at < terminalLimits.inputBytes; at += 1024) input.add(Buffer.alloc(1024, 'x'))
    expect(() => input.add(Buffer.of(1))).toThrow(/more than the program takes/)
    expect(input.take().length).toBe(terminalLimits.unconfirmedInputBytes)
    expect(input.take().length).toBe(0)
    input.confirm(1000)
    expect(input.take().length).toBe(1000)
    input.confirm(2 ** 40) // a guest that says it took what it was not sent
    expect(input.take().length).toBe(terminalLimits.unconfirmedInputBytes)
  })
})
