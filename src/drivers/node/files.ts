/**
 * Transfers of files of VMs, as the web process has them through the node: HTTP on the node's own socket, each on a
 * connection of its own, so that they keep nobody waiting. The worker's end is workers/infra/node-files.ts.
 */
import { once } from 'node:events'
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import { Away, createWaiting, refusalOf } from './retries.ts'
import {
  answerHeader,
  transfersPath,
  type FileAnswer,
  type FileQuestion,
  type FileUpload,
  type UploadResult,
} from './file-transfers.ts'

const refusalBytesMax = 64 * 1024

/** Where a node is, and the proof that we may ask it. */
export type NodeAddress = { agentUrl: string; token: string }

/**
 * Opens a file. When the node's worker is replaced while it is read, the next one goes on, as long as it is the same version.
 * The body fails when it is not.
 * @throws BerthError as the node refused; vm_unreachable.
 */
export async function openFile(
  node: NodeAddress,
  question: FileQuestion,
): Promise<{ answer: FileAnswer; body: Readable | null }> {
  const { answer, response } = await ask(node, question)
  if (question.headOnly || answer.part.lengthBytes === 0) {
    response.destroy()
    return { answer, body: null }
  }
  return { answer, body: Readable.from(bytesOf(node, question, answer, response), { objectMode: false }) }
}

async function* bytesOf(
  node: NodeAddress,
  question: FileQuestion,
  { facts, part }: FileAnswer,
  first: IncomingMessage,
): AsyncGenerator<Buffer> {
  const waiting = createWaiting()
  const end = part.startByte + part.lengthBytes
  let at = part.startByte
  for (let response = first; ; ) {
    try {
      for await (const piece of response as AsyncIterable<Buffer>) {
        at += piece.length
        yield piece
      }
      if (at === end) return
      throw new Error('the file changed while it was read') // the node ended the answer properly, and too early
    } catch (error) {
      if (at >= end) return
      await waiting.after(error)
      const again = await ask(node, {
        ...question,
        range: `bytes=${at}-${end - 1}`,
        ifRange: facts?.etag ?? '',
        ifNoneMatch: null,
      })
      if (again.answer.facts?.etag !== facts?.etag || again.answer.part.status !== 206) {
        again.response.destroy()
        throw new Error('the file changed while its node’s worker was replaced')
      }
      response = again.response
    }
  }
}

/** Asks until a worker answers. */
async function ask(
  node: NodeAddress,
  question: FileQuestion,
): Promise<{ answer: FileAnswer; response: IncomingMessage }> {
  const waiting = createWaiting()
  for (;;) {
    try {
      const request = await begin(node, 'GET', question)
      request.end()
      const response = await answered(request, fileLimits.describeSeconds)
      if (response.statusCode !== 200) throw await refused(response)
      return { answer: JSON.parse(String(response.headers[answerHeader])) as FileAnswer, response } // as the worker sends it
    } catch (error) {
      await waiting.after(error)
    }
  }
}

/**
 * Sends an upload, or a part of one. The body is read as fast as the guest takes it; whatever happens, it is not destroyed.
 * @throws BerthError as the node refused; vm_unreachable, with what has arrived being kept in the VM; timeout when the body
 * or the guest is too slow.
 */
export async function sendFile(node: NodeAddress, upload: FileUpload, body: Readable): Promise<UploadResult> {
  const waiting = createWaiting()
  let request: ClientRequest
  for (;;) {
    try {
      request = await begin(node, 'PUT', upload)
      break
    } catch (error) {
      await waiting.after(error) // nothing of the body was read
    }
  }
  const pouring = pour(body, upload.lengthBytes, request)
  try {
    const response = await Promise.race([answered(request, null), pouring.failed])
    if (response.statusCode !== 200) throw await refused(response)
    return JSON.parse(await textOf(response)) as UploadResult // as the worker sends it
  } catch (error) {
    throw error instanceof BerthError && error.code !== 'vm_unreachable' ? error : broken(error)
  } finally {
    pouring.stop()
    request.destroy()
  }
}

/** A connection to the node, and a request on it that is not sent yet. @throws the socket's error when it is not reached. */
async function begin(
  { agentUrl, token }: NodeAddress,
  method: 'GET' | 'PUT',
  content: FileQuestion | FileUpload,
): Promise<ClientRequest> {
  const socket = await dial(agentUrl)
  const request = httpRequest({
    method,
    path: `${transfersPath}?request=${encodeURIComponent(JSON.stringify(content))}`,
    headers: {
      authorization: `Bearer ${token}`,
      host: 'node',
      connection: 'close',
      'content-type': 'application/octet-stream',
    },
    createConnection: () => socket,
  })
  request.on('error', () => undefined) // who waits for the answer hears of it too
  return request
}

async function dial(agentUrl: string): Promise<Socket> {
  const socketPath = agentUrl.startsWith('unix:') ? agentUrl.slice('unix:'.length) : null
  const { hostname, port } = new URL(socketPath === null ? agentUrl : 'http://node')
  const socket =
    socketPath === null ? connect({ host: hostname, port: Number(port), noDelay: true }) : connect({ path: socketPath })
  await once(socket, 'connect') // it rejects with the socket's error
  return socket
}

async function answered(request: ClientRequest, limitSeconds: number | null): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request.once('response', resolve).once('error', reject)
  request.once('close', () => reject(new Away()))
  if (limitSeconds === null) return promise
  // The node itself says so sooner, unless it hangs.
  const late = setTimeout(
    () => request.destroy(tooSlow('The VM did not say in time what is at this path.')),
    (limitSeconds + 5) * 1000,
  )
  return promise.finally(() => clearTimeout(late))
}

/** Passes a body on with backpressure, and ends it when it is too slow, or not as long as was said. */
function pour(
  body: Readable,
  lengthBytes: number | null,
  to: ClientRequest,
): { failed: Promise<never>; stop: () => void } {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => undefined) // it may fail when nobody waits any more
  let bytes = 0
  let isWhole = false
  const pass = (piece: Buffer): void => {
    bytes += piece.length
    if (lengthBytes !== null && bytes > lengthBytes)
      return reject(notAsLong(`The body goes on behind the ${lengthBytes} bytes that were announced.`))
    if (!to.write(piece)) body.pause()
  }
  const resume = (): void => void body.resume()
  const end = (): void => {
    isWhole = true
    clearInterval(timer)
    if (lengthBytes !== null && bytes !== lengthBytes)
      return reject(notAsLong(`The body ended after ${bytes} of the ${lengthBytes} bytes that were announced.`))
    to.end()
  }
  const leave = (): void => {
    if (!isWhole) reject(new BerthError('invalid_request', 'The upload broke off before its end.'))
  }
  const timer = watchPace(
    () => bytes,
    () => reject(tooSlow('The upload is too slow, or the VM takes nothing of it.')),
  )
  to.on('drain', resume)
  body.on('data', pass).once('end', end).once('error', leave).once('close', leave)
  return {
    failed: promise,
    stop() {
      clearInterval(timer)
      to.off('drain', resume)
      body.off('data', pass).off('end', end).off('close', leave)
      body.resume() // a client whose body is not read never receives the response
    },
  }
}

function notAsLong(what: string): BerthError {
  return new BerthError('invalid_request', `${what} Correct Content-Range, and ask with HEAD where to go on.`)
}

/** Calls back when nothing moved for so long, or when the average is below the least. Both count from the first byte on. */
export function watchPace(
  bytes: () => number,
  late: () => void,
  firstByteSeconds: number = fileLimits.stalledSeconds,
): NodeJS.Timeout {
  const { stalledSeconds, bytesPerSecondMin } = fileLimits
  let waitedSeconds = 0
  let before = 0
  let periods = 0
  return setInterval(() => {
    const now = bytes()
    waitedSeconds += stalledSeconds
    if (now === 0 && waitedSeconds < firstByteSeconds) return
    if (now === before || now < bytesPerSecondMin * stalledSeconds * periods) late()
    before = now
    periods++
  }, stalledSeconds * 1000)
}

function tooSlow(what: string): BerthError {
  return new BerthError('timeout', `${what} Try again, from where it was.`)
}

function broken(error: unknown): Error {
  if (error instanceof Error && !(error instanceof Away) && !('code' in error)) return error
  return new BerthError(
    'vm_unreachable',
    'The connection to the VM broke off. What has arrived is kept: ask with HEAD for Upload-Offset, and send the rest with Content-Range.',
    { retryAfterSeconds: 3 },
  )
}

async function refused(response: IncomingMessage): Promise<BerthError> {
  return refusalOf(await textOf(response))
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of response.setEncoding('utf8') as AsyncIterable<string>)
    if ((text += piece).length > refusalBytesMax) break
  return text
}
