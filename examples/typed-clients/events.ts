// Event streams (text/event-stream) for clients of fetch.

/** The events of a stream, each of the type that the description of its path says. */
export async function* eventsOf<Event>(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Event> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of stream) {
    const frames = (rest + decoder.decode(piece, { stream: true })).split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1] // Berth writes an event on one line; what has none is a heartbeat
      if (data !== undefined && data !== '[DONE]') yield JSON.parse(data)
    }
  }
}
