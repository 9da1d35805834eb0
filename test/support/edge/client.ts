/** A client of the edge from outside: by HTTPS, with the name of a host, trusting what a test trusts. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

/** What the edge answered. */
export type EdgeAnswer = { status: number; text: string }

/** Asks for paths of one host. */
export type EdgeClient = {
  /** The answer, whole. */
  ask: (path: string, headers?: Record<string, string>) => Promise<EdgeAnswer>
  /** The answer as it comes. */
  open: (path: string) => Promise<IncomingMessage>
  /** Sends a body of so many bytes, as fast as it is taken. */
  send: (path: string, bytes: number) => Promise<EdgeAnswer>
  /** Begins to send a body, and says how much of it was taken so far. */
  begin: (path: string, bytes: number) => { bytesSent: () => number; destroy: () => void }
  close: () => void
}

const piece = Buffer.alloc(65_536, 'b')

/** Makes one. @param ca the authority that it trusts, in PEM. */
export function edgeClient(host: string, port: number, ca: string): EdgeClient {
  const agent = new Agent({ keepAlive: true, ca, servername: host })
  const begin = (path: string, method: string, headers: Record<string, string>) =>
    request({ host: '127.0.0.1', port, path, method, agent, headers: { host: `${host}:${port}`, ...headers } })
  const answered = async (sent: ReturnType<typeof begin>): Promise<IncomingMessage> => {
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response
  }
  const read = async (response: IncomingMessage): Promise<EdgeAnswer> => ({
    status: response.statusCode ?? 0,
    text: await text(response),
  })
  /** Gives the pieces as they are taken. */
  const post = (path: string, bytes: number): { sent: ReturnType<typeof begin>; given: () => number } => {
    const sent = begin(path, 'POST', { 'content-length': String(bytes) })
    let given = 0
    function* pieces(): Generator<Buffer> {
      for (; given < bytes; given += piece.length) yield piece.subarray(0, Math.min(bytes - given, piece.length))
    }
    Readable.from(pieces(), { objectMode: false }).pipe(sent)
    return { sent, given: () => given }
  }
  return {
    ask: async (path, headers = {}) => read(await answered(begin(path, 'GET', headers).end())),
    open: async (path) => answered(begin(path, 'GET', {}).end()),
    send: async (path, bytes) => read(await answered(post(path, bytes).sent)),
    begin(path, bytes) {
      const { sent, given } = post(path, bytes)
      sent.on('error', () => undefined) // it is cut off
      return { bytesSent: given, destroy: () => void sent.destroy() }
    },
    close: () => agent.destroy(),
  }
}
