/**
 * The object store as a folder of this host. Its signed URLs point to the web process (src/gateway/objects.ts), and
 * have the same parameters as S3's, because clients look at them.
 */
import { createReadStream, mkdirSync, renameSync, rmSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import type { Config } from '#src/platform/config.ts'
import { notFound } from '#src/platform/errors.ts'
import { sameDigest, sha256, type Sealer } from '#src/platform/secrets.ts'
import { flushFolder } from '#src/drivers/flushed-folders.ts'
import { isObjectKey, type ObjectStore, type SignedMethod } from './store.ts'
import { clearStaging, stage } from './staging.ts'

/** The path below which the web process serves the folder. */
export const objectsPath = '/objects'
const algorithm = 'BERTH-HMAC-SHA256'
/** The maximum validity of a signed URL. */
const expirySecondsMax = 7 * 86_400

/** Makes the store; nothing is on disk before the first file. */
export function createLocalObjects(
  { dataDir, publicUrl }: Pick<Config, 'dataDir' | 'publicUrl'>,
  sealer: Sealer,
): ObjectStore {
  const root = join(dataDir, 'objects')
  const place = (key: string): string => {
    if (!isObjectKey(key)) throw new Error('not a key of the object store')
    return join(root, 'files', key)
  }
  const find: ObjectStore['find'] = async (key) => {
    const found = await stat(place(key)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
      throw error
    })
    return found?.isFile() ? { sizeBytes: found.size } : undefined
  }
  const canonicalUrl = (key: string): string => `${publicUrl}${objectsPath}/${key}`
  return {
    find,
    canonicalUrl,
    put: (key, body, limitBytes, pace) =>
      stage(
        join(root, 'incoming'),
        body,
        limitBytes,
        async ({ path, sizeBytes, sha256: digest }) => {
          const folder = dirname(place(key))
          const made = mkdirSync(folder, { recursive: true, mode: 0o700 })
          renameSync(path, place(key))
          const top = made === undefined ? folder : dirname(made)
          for (let at = folder; at.length >= top.length; at = dirname(at)) flushFolder(at)
          return { sizeBytes, sha256: digest }
        },
        pace,
      ),
    clear: () => clearStaging(join(root, 'incoming')),
    async read(key, range) {
      if (!(await find(key))) throw notFound('file')
      return createReadStream(place(key), range ? { start: range.startByte, end: range.endByte } : {})
    },
    async remove(key) {
      rmSync(place(key), { force: true })
    },
    async signedUrl(method, key, { expiresInSeconds, fileName = '' }) {
      const parameters = new URLSearchParams({
        'X-Amz-Algorithm': algorithm,
        'X-Amz-Date': amzDate(),
        'X-Amz-Expires': String(expiresInSeconds),
        ...(fileName
          ? { 'response-content-disposition': `attachment; filename="${fileName.replace(/[^\w.-]/g, '_')}"` }
          : {}),
      })
      parameters.set('X-Amz-Signature', signature(sealer, method, key, parameters))
      return `${canonicalUrl(key)}?${parameters.toString()}`
    },
  }
}

/** Whether a URL was signed here for this method and has not expired. */
export function isSigned(sealer: Sealer, method: SignedMethod, key: string, query: URLSearchParams): boolean {
  const parameters = new URLSearchParams(query)
  const [given = '', ...others] = parameters.getAll('X-Amz-Signature')
  if (others.length > 0) return false // which one counts?
  parameters.delete('X-Amz-Signature')
  if (!isObjectKey(key) || parameters.get('X-Amz-Algorithm') !== algorithm) return false
  if (!sameDigest(sha256(given), sha256(signature(sealer, method, key, parameters)))) return false
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(parameters.get('X-Amz-Date') ?? '') ?? []
  const signedMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  const expiresInSeconds = Number(parameters.get('X-Amz-Expires'))
  return expiresInSeconds > 0 && expiresInSeconds <= expirySecondsMax && nowMs() < signedMs + expiresInSeconds * 1000
}

function signature(sealer: Sealer, method: SignedMethod, key: string, parameters: URLSearchParams): string {
  const sorted = new URLSearchParams(parameters)
  sorted.sort()
  return sealer.derive(`object\n${method}\n${key}\n${sorted.toString()}`)
}

function amzDate(): string {
  return timestamp(nowMs()).replace(/[-:]|\.\d+/g, '')
}
