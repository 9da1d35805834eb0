/** What a guest prints in the background, read from a guest that is this test. */
import { Readable, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { followBackground } from '#src/drivers/compute/guest/processes.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import type { OutputChunk } from '#src/drivers/node.ts'

/** Follows a process whose guest sends these frames. */
async function followed(
  frames: (readonly [offset: number, bytes: Buffer])[],
  from = 0,
  pieceBytes = Infinity,
): Promise<OutputChunk[]> {
  const sent = Buffer.concat([
    ...frames.flatMap(([offset, bytes]) => [Buffer.from(`1 ${offset} ${bytes.length}\n`), bytes]),
    Buffer.from('state exited 0\n'),
  ])
  const pieces =
    pieceBytes === Infinity
      ? [sent]
      : Array.from({ length: Math.ceil(sent.length / pieceBytes) }, (_, at) =>
          sent.subarray(at * pieceBytes, (at + 1) * pieceBytes),
        )
  const channel = {
    stdin: new Writable(),
    stdout: Readable.from(pieces),
    stderr: Readable.from([]),
    exit: Promise.resolve({ exitCode: 0, timedOut: false }),
    close: () => undefined,
  }
  const machine = { request: async () => channel } as unknown as Machine // the only part that is used
  return Array.fromAsync(followBackground(machine, 'prc_a', { stdout: from, stderr: 0 }, new AbortController().signal))
}

const ended = { ended: true, exitCode: 0, status: 'exited' }

test('the offset of a piece counts printed bytes, also when they are not text', async () => {
  expect(
    await followed([
      [0, Buffer.from([0xff, 0xfe, 0x41])],
      [3, Buffer.from('Ω').subarray(0, 1)],
      [4, Buffer.from('Ω').subarray(1)],
    ]),
  ).toEqual([
    { stream: 'stdout', offset: 0, sizeBytes: 3, text: '\ufffd\ufffdA' },
    { stream: 'stdout', offset: 3, sizeBytes: 2, text: 'Ω' },
    ended,
  ])
})

test('the beginning of an incomplete character is shown, at the end and before a gap', async () => {
  expect(
    await followed(
      [
        [5, Buffer.from([0x41, 0xe2])],
        [20, Buffer.from([0x42, 0xf0])],
      ],
      5,
    ),
  ).toEqual([
    { stream: 'stdout', offset: 5, sizeBytes: 1, text: 'A' },
    { stream: 'stdout', offset: 6, sizeBytes: 1, text: '\ufffd' },
    { stream: 'stdout', offset: 20, sizeBytes: 1, text: 'B' },
    { stream: 'stdout', offset: 21, sizeBytes: 1, text: '\ufffd' },
    ended,
  ])
})

test('a frame that comes byte by byte is joined once, not at every byte', async () => {
  const bytes = Buffer.alloc(1_000_000, 'abc') // joined at every byte it would be 500 GB of copies, which takes longer than a test may
  const told = await followed(
    [
      [0, bytes],
      [bytes.length, Buffer.from('z')],
    ],
    0,
    1,
  )
  expect(told.map((one) => ('text' in one ? one.text : '')).join('')).toBe(`${bytes.toString()}z`)
})
