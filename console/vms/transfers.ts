/**
 * Files between the browser and a VM. They pass by signed URLs, of which each opens one path for a few minutes: the session's
 * cookie opens no REST path. Large files go in parts, so that a lost connection costs one part and not all.
 */
import type { Client } from 'urql'
import { CreateVmFileUrlDocument, type CreateVmFileUrlInput } from '../generated/documents.ts'
import { toldBy } from '../parts/problem.tsx'

/** Of one part. */
const partBytes = 32 * 1024 * 1024
/** How long the address of a download opens it: it is followed at once. */
const downloadSeconds = 300
/** Tries of one part. */
const triesMax = 5
const againMs = 1_000
/** Passes by itself: the connection, the VM or its node is busy or away. */
const passing: readonly number[] = [0, 429, 502, 503, 504]

/** Berth did not answer. */
class Cut extends Error {
  override message = 'The connection was lost. Upload the file again.'
}

/** A signed URL of a file, at the page's own origin. @throws Error in the server's words. */
async function addressOf(client: Client, input: CreateVmFileUrlInput): Promise<string> {
  const { data, error } = await client.mutation(CreateVmFileUrlDocument, { input }).toPromise()
  const url = data?.createVmFileUrl?.fileUrl.url
  if (url === undefined) {
    if (error?.networkError) throw new Cut()
    throw new Error(error ? toldBy(error).message : 'Berth gave no address for this file.')
  }
  const { pathname, search } = new URL(url)
  return `${pathname}${search}`
}

/** Has the browser save a file, or a folder as an archive. @throws Error in the server's words. */
export async function download(
  client: Client,
  { vmId, path, isFolder }: { vmId: string; path: string; isFolder: boolean },
): Promise<void> {
  const link = document.createElement('a')
  const format = isFolder ? 'TAR' : 'FILE'
  link.href = await addressOf(client, { vmId, path, method: 'GET', format, ttlSeconds: downloadSeconds })
  link.download = '' // by the name that the answer says
  link.click()
}

/**
 * Stores a file in a VM.
 * @param onProgress how many of its bytes have been sent.
 * @throws Error in the server's words; DOMException when the signal fires.
 */
export async function upload(
  client: Client,
  { vmId, path, file }: { vmId: string; path: string; file: File },
  onProgress: (sentBytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  let offset = 0
  let furthest = 0
  let tries = 0
  for (;;) {
    signal.throwIfAborted()
    const address = await addressOf(client, { vmId, path, method: 'PUT' }).catch(async (error: unknown) => {
      if (!(error instanceof Cut) || ++tries >= triesMax) throw error
      await waitFor(tries)
      return undefined
    })
    signal.throwIfAborted()
    if (address === undefined) continue
    const part = file.slice(offset, offset + partBytes)
    const end = offset + part.size
    const isWhole = part.size === file.size
    const range = isWhole ? undefined : `bytes ${offset}-${end - 1}/${file.size}`
    const { status, message } = await put(address, part, range, (sent) => onProgress(offset + sent), signal)
    if (status === 200) return
    if (status === 202) {
      if (end > furthest) tries = 0 // it gets on
      furthest = Math.max(furthest, end)
      offset = end
      continue
    }
    if (!passing.includes(status) || ++tries >= triesMax) throw new Error(message)
    await waitFor(tries)
    if (offset > 0) offset = Math.min(offset, (await arrived(address, signal)) ?? offset)
    onProgress(offset)
  }
}

function waitFor(tries: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, againMs * tries))
}

/** How many bytes of an upload have arrived; undefined where nothing says so. */
async function arrived(address: string, signal: AbortSignal): Promise<number | undefined> {
  const answer = await fetch(address, { method: 'HEAD', signal }).catch(() => undefined) // the next try says what is wrong
  return answer?.ok ? Number(answer.headers.get('upload-offset') ?? 0) : undefined
}

/** Sends one part. Unlike `fetch`, this says how far it is. */
function put(
  address: string,
  part: Blob,
  range: string | undefined,
  onProgress: (sentBytes: number) => void,
  signal: AbortSignal,
): Promise<{ status: number; message: string }> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const stop = (): void => request.abort()
    signal.addEventListener('abort', stop, { once: true })
    request.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded))
    request.addEventListener('abort', () => reject(signal.reason as Error)) // a DOMException
    request.addEventListener('loadend', () => {
      signal.removeEventListener('abort', stop)
      resolve({ status: request.status, message: messageIn(request.responseText) })
    })
    request.open('PUT', address)
    request.setRequestHeader('content-type', 'application/octet-stream')
    if (range !== undefined) request.setRequestHeader('content-range', range)
    request.send(part)
  })
}

function messageIn(text: string): string {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null && 'message' in body) return String(body.message)
  } catch {
    // it is no answer of Berth's
  }
  return new Cut().message
}
