/** Files of a VM, and uploads, as streams of any size. */
import type { Base } from './calls.ts'
import type { CallOptions } from './connection.ts'
import { errorOfRest } from './errors.ts'

/** What a file may be written from. */
export type FileContent = string | Uint8Array | Blob | ReadableStream<Uint8Array>

/** What reading takes: with `format: 'tar'` a folder, as an archive. */
export type FileOptions = CallOptions & { format?: 'tar' }

/** `berth.vms.files`. */
export function filesOf({ connection }: Base) {
  const address = (vmId: string, path: string, format: 'tar' | undefined): URL =>
    connection.at(`/api/v1/vms/${encodeURIComponent(vmId)}/files`, { path, ...(format ? { format } : {}) })
  return {
    /** A file, or a folder as a tar archive. Its body must be read or cancelled; its size is in `content-length`. */
    read: (vmId: string, path: string, { format, ...options }: FileOptions = {}): Promise<Response> =>
      connection.call('GET', address(vmId, path, format), { ...options, isUnlimited: true }),
    /** Writes a file, which has its name once all of it is there, or unpacks a tar archive into a folder. */
    async write(
      vmId: string,
      path: string,
      content: FileContent,
      { format, ...options }: FileOptions = {},
    ): Promise<{ path: string; size_bytes: number }> {
      const body = typeof content === 'string' ? content : (content as BodyInit) // each of them is one
      const response = await connection.call('PUT', address(vmId, path, format), {
        ...options,
        headers: { 'content-type': 'application/octet-stream' },
        body,
        isUnlimited: true,
      })
      return (await response.json()) as { path: string; size_bytes: number } // as the path documents
    },
  }
}

/** Puts a program to the address of an upload, which needs no token. @throws BerthError. */
export async function putUpload(
  { connection }: Base,
  url: string,
  program: Blob,
  options: CallOptions = {},
): Promise<void> {
  const send = connection.options.fetch ?? fetch
  const { signal } = options
  const response = await send(url, { method: 'PUT', body: program, ...(signal ? { signal } : {}) })
  const text = await response.text()
  if (response.ok) return
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = text // the status says it
  }
  throw errorOfRest(body, { status: response.status })
}
