/** What the web process and a node tell each other about the transfer of a file or a folder. */

/** A file as it is, or a folder as a tar archive. */
export type FileFormat = 'file' | 'tar'

/** Where a transfer leads; `organizationId` is the VM's, for the limits. */
export type FilePlace = { vmId: string; organizationId: string; path: string; format: FileFormat }

/**
 * A request for a file: the headers Range, If-Range and If-None-Match as they came. `headOnly`: what they ask is answered
 * without the bytes; `progressOnly`: only how much of an upload has arrived, for who need not be able to read.
 */
export type FileQuestion = FilePlace & {
  range: string | null
  ifRange: string | null
  ifNoneMatch: string | null
  headOnly: boolean
  progressOnly: boolean
}

/** What is at a path: its size in bytes, in `etag` the version, and since when it has it. */
export type FileFacts = { sizeBytes: number; modifiedMs: number; etag: string }

/** The part of a file that answers a request, and the status that says so. */
export type FilePart = { status: 200 | 206 | 304 | 416; startByte: number; lengthBytes: number }

/** What a node answers before the bytes. `uploadedBytes`: what has arrived of an unfinished upload to this path, if any. */
export type FileAnswer = { facts: FileFacts | null; part: FilePart; uploadedBytes: number | null }

/**
 * An upload, or a part of one that begins at `offset`. `totalBytes` is the size of the whole, null while nobody knows;
 * `lengthBytes` that of this request, null when its end tells; `isLast`: with it the upload is complete.
 */
export type FileUpload = FilePlace & {
  offset: number
  lengthBytes: number | null
  totalBytes: number | null
  isLast: boolean
}

/** What became of it. `aheadOf`: nothing was stored, because only so many bytes had arrived before `offset`. */
export type UploadResult = { uploadedBytes: number; isComplete: boolean } | { aheadOf: number }

/** The name of the header in which a node answers with a FileAnswer. */
export const answerHeader = 'berth-file'
/** The path of a node's agent that takes transfers; its parameter `request` has the question or the upload as JSON. */
export const transfersPath = '/files'

const digitsMax = 15

/** Which part of a file answers a request. Several ranges at once, and ones that nobody understands, are answered with the whole. */
export function choosePart(
  { sizeBytes, etag }: FileFacts,
  { range, ifRange, ifNoneMatch }: Pick<FileQuestion, 'range' | 'ifRange' | 'ifNoneMatch'>,
): FilePart {
  if (ifNoneMatch !== null && (ifNoneMatch.trim() === '*' || namesVersion(ifNoneMatch, etag)))
    return { status: 304, startByte: 0, lengthBytes: 0 }
  const whole: FilePart = { status: 200, startByte: 0, lengthBytes: sizeBytes }
  // A date would be a weak validator, so only the version itself counts: RFC 9110, 13.1.5.
  if (range === null || (ifRange !== null && ifRange.trim() !== etag)) return whole
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range.trim()) ?? []
  if (first === '' && last === '') return whole
  const beyond: FilePart = { status: 416, startByte: 0, lengthBytes: 0 }
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes)
    return length === 0 ? beyond : { status: 206, startByte: sizeBytes - length, lengthBytes: length }
  }
  const [start, end] = [Number(first), last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1)]
  if (start >= sizeBytes) return beyond
  if (last !== '' && Number(last) < start) return whole
  return { status: 206, startByte: start, lengthBytes: end - start + 1 }
}

function namesVersion(header: string, etag: string): boolean {
  return header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
}

/**
 * The part that a header Content-Range names: `bytes 0-9/100`, `bytes 0-9/*` while the size is not known, or `bytes *\/100`
 * for nothing more of an upload that has arrived; null for any other text.
 */
export function readContentRange(header: string): { first: number; last: number; totalBytes: number | null } | null {
  const [, whole = ''] = /^bytes \*\/(\d{1,15})$/.exec(header.trim()) ?? []
  if (whole !== '') return { first: Number(whole), last: Number(whole) - 1, totalBytes: Number(whole) }
  const [, first = '', last = '', total = ''] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(header.trim()) ?? []
  if (total === '' || [first, last, total].some((one) => one.length > digitsMax)) return null
  const part = { first: Number(first), last: Number(last), totalBytes: total === '*' ? null : Number(total) }
  const isPossible = part.last >= part.first && (part.totalBytes === null || part.last < part.totalBytes)
  return isPossible ? part : null
}
