/**
 * The interface of an object store: files too large for the database, by key. Implemented by a folder of this host
 * (objects/local.ts) and by an S3-compatible service (objects/s3.ts). Callers access a file through a temporary signed
 * URL.
 */
import type { Readable } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'

/**
 * The minimum pace of an upload: it is cut off when nothing arrives for so long, or when its average is slower than
 * this after that time.
 */
export type Pace = { stalledSeconds: number; bytesPerSecondMin: number }

/** What a signed URL allows: reading a file, or writing it once or more until it expires. */
export type SignedMethod = 'GET' | 'PUT'

/** A stored file. `sha256` is in hexadecimal digits. */
export type StoredObject = { sizeBytes: number; sha256: string }

/** Files by key: `compute/<organization>/<upload>`, at most 512 characters of letters, digits, `_`, `.`, `-` and `/`. */
export type ObjectStore = {
  /**
   * Stores a stream, completely or not at all, in constant memory.
   * @param pace the minimum pace, for uploads by callers.
   * @throws BerthError request_too_large when it is longer than the limit, timeout when it is too slow; Error when the
   * store cannot accept it.
   */
  put(key: string, body: Readable, limitBytes: number, pace?: Pace): Promise<StoredObject>
  /** Deletes what dead processes left half stored. Called when a process starts. */
  clear(): void
  /** The size of a file; undefined when there is none. */
  find(key: string): Promise<{ sizeBytes: number } | undefined>
  /** The bytes of a file, or a part of it (both ends included). @throws BerthError not_found. */
  read(key: string, range?: { startByte: number; endByte: number }): Promise<Readable>
  /** Removes a file. Idempotent. */
  remove(key: string): Promise<void>
  /** A URL that anyone may use for this until it expires. `fileName` is the name of the download in a browser. */
  signedUrl(
    method: SignedMethod,
    key: string,
    options: { expiresInSeconds: number; fileName?: string },
  ): Promise<string>
  /** The URL of a file without a signature: it names the file, and grants no access. */
  canonicalUrl(key: string): string
}

const keyCharactersMax = 512

/** Whether a text is a key; nothing else ever becomes a path or a URL. */
export function isObjectKey(text: string): boolean {
  return text.length <= keyCharactersMax && /^[A-Za-z0-9_-][\w.-]*(?:\/[A-Za-z0-9_-][\w.-]*)*$/.test(text)
}

/** The key in a canonical URL, or undefined when it is not a URL of this store. */
export function keyOfUrl(store: ObjectStore, url: string): string | undefined {
  const base = store.canonicalUrl('x').slice(0, -1)
  const key = url.startsWith(base) ? url.slice(base.length) : ''
  return isObjectKey(key) ? key : undefined
}

/** The error for a file that is too large. */
export function tooLarge(limitBytes: number): BerthError {
  return new BerthError(
    'request_too_large',
    `The file is larger than ${Math.floor(limitBytes / 1024 / 1024)} MiB, which is the limit. Store a smaller one.`,
  )
}
