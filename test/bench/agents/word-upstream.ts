/** A provider of the benchmark: it answers with words, one after another, each with the moment at which it was sent. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** How it answers. */
export type Pace = { beforeMs: number; words: number; betweenMs: number }

/** It, and what the last request was. */
export type WordUpstream = {
  url: string
  /** When the last request had arrived, and when its first word was sent; as `performance.now()`. */
  last: { arrivedMs: number; firstMs: number }
  pace: Pace
  close: () => void
}

/** Starts one, in OpenAI's format, in this process: its moments are on the clock of the readers. */
export async function startWordUpstream(pace: Pace): Promise<WordUpstream> {
  const server = createServer((incoming, response) => {
    const arrivedMs = performance.now()
    const answer = async (): Promise<void> => {
      const { beforeMs, words, betweenMs } = upstream.pace
      await pause(beforeMs)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const send = (choice: object): boolean =>
        response.write(
          `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'words', choices: [{ index: 0, ...choice }] })}\n\n`,
        )
      for (let word = 0; word < words && !response.destroyed; word++) {
        if (word > 0) await pause(betweenMs)
        const nowMs = performance.now()
        if (word === 0) upstream.last = { arrivedMs, firstMs: nowMs }
        send({ delta: { content: `${word}@${nowMs.toFixed(1)} ` }, finish_reason: null })
      }
      send({ delta: {}, finish_reason: 'stop' })
      response.end('data: [DONE]\n\n')
    }
    incoming.resume().once('end', () => void answer())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on TCP
  const upstream: WordUpstream = {
    url: `http://127.0.0.1:${port}`,
    last: { arrivedMs: 0, firstMs: 0 },
    pace,
    close: () => server.close().closeAllConnections(),
  }
  return upstream
}
