/** The reader of event streams: the same events however the bytes are split, and nothing without bounds. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventStream, EventStreamError } from '#src/drivers/models/event-streams.ts'

const lineBytesMax = 1024 * 1024

function read(...chunks: (string | Buffer)[]): string[] {
  const seen: string[] = []
  const stream = new EventStream({ event: (data) => seen.push(data) })
  for (const chunk of chunks) stream.push(Buffer.from(chunk))
  stream.end()
  return seen
}

describe('an event stream', () => {
  test('has the data of each event, with lines joined, and without comments, names, ids and empty events', () => {
    expect(read('data: {"a":1}\n\n')).toEqual(['{"a":1}'])
    expect(read('data:no space\n\ndata:  two spaces\n\n')).toEqual(['no space', ' two spaces'])
    expect(
      read(': ping\n\nevent: x\nid: 7\nretry: 3\ndata: one\ndata: two\n\nevent: empty\n\ndata\n\ndataset: no\n\n'),
    ).toEqual(['one\ntwo'])
    expect(read('data: a\rdata: b', '\ndata: c\n\n')).toEqual(['a\nb\nc'])
    expect(read('data: a\r', '\ndata: b\n\n')).toEqual(['a\nb'])
    expect(read('data: a\r\n\r\ndata: b\r\rdata: c\n\n')).toEqual(['a', 'b', 'c'])
    expect(read('\uFEFFdata: after a byte order mark\n\n')).toEqual(['after a byte order mark'])
    expect(read('data: [DONE]\n')).toEqual(['[DONE]'])
    expect(read('data: half a li')).toEqual([])
  })

  test('is the same when a character is split at any byte', () => {
    const bytes = Buffer.from('data: {"text":"Grüße 👩‍👩‍👧 “漢字”"}\r\n\r\ndata: ü\n\n')
    for (let at = 0; at <= bytes.length; at++)
      expect(read(bytes.subarray(0, at), bytes.subarray(at)), `split at ${at}`).toEqual([
        '{"text":"Grüße 👩‍👩‍👧 “漢字”"}',
        'ü',
      ])
    expect(read(...Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(['{"text":"Grüße 👩‍👩‍👧 “漢字”"}', 'ü'])
  })

  test('is the same for every text and every way to split it, and is what the standard says', () => {
    const piece = fc.oneof(
      fc.constantFrom('data: ', 'data:', 'data', '\n', '\r', '\r\n', '\n\n', ':', ' ', 'event: x', '\uFEFF'),
      fc.string({ unit: 'binary', maxLength: 12 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(400), { maxLength: 12 }), (pieces, cuts) => {
        const bytes = Buffer.from(pieces.join(''))
        const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
        const split = places.slice(1).map((end, at) => bytes.subarray(places[at], end))
        expect(read(...split)).toEqual(read(bytes))
        expect(read(bytes)).toEqual(asTheStandardSays(bytes.toString()))
      }),
      { numRuns: 2_000 },
    )
  })

  test('with a line longer than a mebibyte is refused, in one chunk or in many, and buffers no more than that', () => {
    const stream = new EventStream({ event: () => undefined })
    const piece = Buffer.alloc(64 * 1024, 'x')
    stream.push(Buffer.from('data: '))
    expect(() => {
      for (let n = 0; n < 1_600; n++) stream.push(piece)
    }).toThrow(EventStreamError)
    const long = Buffer.from(`data: ${'ü'.repeat(lineBytesMax / 2)}\n\n`)
    expect(() => read(long)).toThrow(EventStreamError)
    expect(() => read(long.subarray(0, 1000), long.subarray(1000))).toThrow(EventStreamError)
    const fitting = 'x'.repeat(lineBytesMax - 'data: '.length)
    expect(read(`data: ${fitting}\n\n`)).toEqual([fitting])
    expect(() => read(...Array.from({ length: 20 }, () => `data: ${'y'.repeat(100_000)}\n`))).toThrow(
      /an event is longer/,
    )
  })
})

/** Line by line, without a thought of speed; a last event whose line is whole counts, as ours does. */
function asTheStandardSays(text: string): string[] {
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)
    .slice(0, -1)
  const events: string[] = []
  let data: string[] = []
  for (const line of [...lines, '']) {
    if (line === '') {
      if (data.join('\n') !== '') events.push(data.join('\n'))
      data = []
    } else if (line === 'data') data.push('')
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
  }
  return events
}
