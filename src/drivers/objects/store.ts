/**
 * What an object store offers: files too large for the database, by key. Implemented by a folder of this host
 * (objects/local.ts) and by an S3-compatible service (objects/s3.ts). Callers reach a file by an address signed for a while.
 */
import type { Readable } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'

/** The pace of an upload: it is cut when nothing arrives for so long, or when it is slower than this on average after that. */
export type Pace = { stalledSeconds: number; bytesPerSecondMin: number }

/** What a signed address is for: reading a file, or writing it once or more until it expires. */
export type SignedMethod = 'GET' | 'PUT'

/** A stored file. `sha256` is in hexadecimal digits. */
export type StoredObject = { sizeBytes: number; sha256: string }

/** Files by key: `compute/<organization>/<upload>`, at most 512 characters of letters, digits, `_`, `.`, `-` and `/`. */
export type ObjectStore = {
  /**
   * Stores a stream, whole or not at all; the memory it takes does not grow with the file.
   * @param pace how quickly it must come, where a stranger sends it.
   * @throws BerthError request_too_large when it is longer than the limit, timeout when it comes too slowly; Error when the store cannot take it.
   */
  put(key: string, body: Readable, limitBytes: number, pace?: Pace): Promise<StoredObject>
  /** Removes what processes that died left half stored. For the start of a process. */
  clear(): void
  /** The size of a file; undefined when there is none. */
  find(key: string): Promise<{ sizeBytes: number } | undefined>
  /** The bytes of a file, or a part of it (both ends included). @throws BerthError not_found. */
  read(key: string, range?: { startByte: number; endByte: number }): Promise<Readable>
  /** Removes a file. Idempotent. */
  remove(key: string): Promise<void>
  /** An address that anybody may use for this until it expires. `fileName` is what a browser calls the download. */
  signedUrl(
    method: SignedMethod,
    key: string,
    options: { expiresInSeconds: number; fileName?: string },
  ): Promise<string>
  /** The address of a file without a signature: it names the file, and opens nothing. */
  canonicalUrl(key: string): string
}

const keyCharactersMax = 512

/** Whether a text is a key; nothing else ever becomes a path or an address. */
export function isObjectKey(text: string): boolean {
  return text.length <= keyCharactersMax && /^[A-Za-z0-9_-][\w.-]*(?:\/[A-Za-z0-9_-][\w.-]*)*$/.test(text)
}

/** The key that a canonical address names, or undefined when it is not an address of this store. */
export function keyOfUrl(store: ObjectStore, url: string): string | undefined {
  const base = store.canonicalUrl('x').slice(0, -1)
  const key = url.startsWith(base) ? url.slice(base.length) : ''
  return isObjectKey(key) ? key : undefined
}

/** The error for a file longer than it may be. */
export function tooLarge(limitBytes: number): BerthError {
  return new BerthError(
    'request_too_large',
    `The file is larger than ${Math.floor(limitBytes / 1024 / 1024)} MiB, which is the limit. Store a smaller one.`,
  )
}
