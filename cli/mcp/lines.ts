/** Messages of the protocol on a stream: one line of JSON each. */

/** How large one may be, in bytes: twice what Berth takes. */
export const messageBytesMax = 16 * 1024 * 1024

/** The lines of a stream; `null` stands for one that is too long, whose rest is left out. */
export async function* linesIn(stream: AsyncIterable<Buffer | string>): AsyncGenerator<string | null> {
  let pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of stream) {
    let rest = typeof piece === 'string' ? Buffer.from(piece) : piece
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      pieces.push(rest.subarray(0, end))
      yield bytes + end > messageBytesMax ? null : Buffer.concat(pieces).toString('utf8')
      pieces = []
      bytes = 0
      rest = rest.subarray(end + 1)
    }
    bytes += rest.length
    if (bytes > messageBytesMax) pieces = []
    else pieces.push(rest)
  }
  if (bytes > 0) yield bytes > messageBytesMax ? null : Buffer.concat(pieces).toString('utf8')
}

/** The data of each event of a stream of events. */
export async function* eventsIn(stream: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  let data: string[] = []
  for await (const line of linesIn(stream)) {
    if (line === null) throw new Error('an event is too long')
    const text = line.endsWith('\r') ? line.slice(0, -1) : line
    if (text === '') {
      if (data.length > 0) yield data.join('\n')
      data = []
    } else if (text.startsWith('data:')) data.push(text.slice(text.startsWith('data: ') ? 6 : 5))
  }
  if (data.length > 0) yield data.join('\n')
}
