/** A reader of server-sent events, strict about their form. */

/** One event; heartbeats (comments) and the retry line are left out. */
export type StreamEvent = { id: string | null; name: string | null; data: Record<string, unknown> }
/** An open stream. `next` answers null when the server ended it. */
export type EventStream = {
  status: number
  headers: Headers
  retryMs: number | null
  next: () => Promise<StreamEvent | null>
  close: () => void
}

/** Opens a stream, from behind the event of this id. */
export async function openStream(
  url: string,
  { token, lastEventId }: { token?: string | undefined; lastEventId?: string | undefined } = {},
): Promise<EventStream> {
  const leaving = new AbortController()
  const answer = await fetch(url, {
    signal: leaving.signal,
    headers: {
      accept: 'text/event-stream',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(lastEventId ? { 'last-event-id': lastEventId } : {}),
    },
  })
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  const stream: EventStream = {
    status: answer.status,
    headers: answer.headers,
    retryMs: null,
    close: () => leaving.abort(),
    async next() {
      for (;;) {
        const end = rest.indexOf('\n\n')
        if (end < 0) {
          const { done, value } = await reader.read()
          if (done) return null
          rest += value
          continue
        }
        const block = rest.slice(0, end)
        rest = rest.slice(end + 2)
        const event = readBlock(block, stream)
        if (event) return event
      }
    },
  }
  return stream
}

function readBlock(block: string, stream: EventStream): StreamEvent | undefined {
  const event: StreamEvent = { id: null, name: null, data: {} }
  let hasData = false
  for (const line of block.split('\n')) {
    if (line.startsWith(':')) continue
    const [, field, value] = /^(id|data|event|retry): ?(.*)$/.exec(line) ?? []
    if (field === 'id') event.id = value ?? ''
    else if (field === 'event') event.name = value ?? ''
    else if (field === 'retry') stream.retryMs = Number(value)
    else if (field === 'data') {
      event.data = JSON.parse(value || '{}') as Record<string, unknown> // GraphQL's `complete` has none
      hasData = true
    } else throw new Error(`not a line of an event stream: ${line}`)
  }
  return hasData ? event : undefined
}
