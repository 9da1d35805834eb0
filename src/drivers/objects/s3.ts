/** The object store at an S3-compatible service. Every request uses a signed URL, ours as well as our callers'. */
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { AwsClient } from 'aws4fetch'
import { request, type Dispatcher } from 'undici'
import type { S3Settings } from '#src/platform/config.ts'
import { notFound } from '#src/platform/errors.ts'
import { isObjectKey, type ObjectStore } from './store.ts'
import { clearStaging, stage } from './staging.ts'

/** The validity of URLs for our own requests, which start immediately. Unit: seconds. */
const ownExpirySeconds = 300
/** How long the service may be silent during a transfer. */
const silenceMs = 60_000

/** Makes the store; `dataDir` is where a file is stored until it is complete, because S3 needs its size first. */
export function createS3Objects(
  { endpoint, bucket, region, accessKeyId, secretAccessKey }: S3Settings,
  dataDir: string,
): ObjectStore {
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3' })
  const canonicalUrl = (key: string): string => {
    if (!isObjectKey(key)) throw new Error('not a key of the object store')
    return `${endpoint}/${bucket}/${key}`
  }
  const sign = async (method: string, key: string, expiresInSeconds: number, fileName?: string): Promise<string> => {
    const url = addressOf(canonicalUrl(key), expiresInSeconds, fileName)
    return (await client.sign(url, { method, aws: { signQuery: true } })).url
  }
  const send = async (
    method: 'GET' | 'HEAD' | 'PUT' | 'DELETE',
    key: string,
    options: { headers?: Record<string, string>; body?: Readable } = {},
  ): Promise<Dispatcher.ResponseData> => {
    const answer = await request(await sign(method, key, ownExpirySeconds), {
      method,
      headersTimeout: silenceMs,
      bodyTimeout: silenceMs,
      ...options,
    })
    if (answer.statusCode === 404 || answer.statusCode < 300) return answer
    await answer.body.dump()
    throw new Error(`the object store answered ${method} with ${answer.statusCode}`)
  }
  return {
    canonicalUrl,
    put: (key, body, limitBytes, pace) =>
      stage(
        join(dataDir, 'objects', 'incoming'),
        body,
        limitBytes,
        async ({ path, sizeBytes, sha256 }) => {
          const answer = await send('PUT', key, {
            headers: { 'content-length': String(sizeBytes), 'content-type': 'application/octet-stream' },
            body: createReadStream(path),
          })
          await answer.body.dump()
          if (answer.statusCode === 404) throw new Error(`the object store has no bucket named ${bucket}`)
          return { sizeBytes, sha256 }
        },
        pace,
      ),
    clear: () => clearStaging(join(dataDir, 'objects', 'incoming')),
    async find(key) {
      const { statusCode, headers, body } = await send('HEAD', key)
      await body.dump()
      return statusCode === 404 ? undefined : { sizeBytes: Number(headers['content-length']) }
    },
    async read(key, range) {
      const { statusCode, body } = await send(
        'GET',
        key,
        range ? { headers: { range: `bytes=${range.startByte}-${range.endByte}` } } : {},
      )
      if (statusCode !== 404) return body
      await body.dump()
      throw notFound('file')
    },
    async remove(key) {
      await (await send('DELETE', key)).body.dump()
    },
    signedUrl: (method, key, { expiresInSeconds, fileName }) => sign(method, key, expiresInSeconds, fileName),
  }
}

/** Signs a URL: with its validity, and the name under which a browser saves the file. */
function addressOf(canonicalUrl: string, expiresInSeconds: number, fileName: string | undefined): URL {
  const url = new URL(canonicalUrl)
  url.searchParams.set('X-Amz-Expires', String(expiresInSeconds))
  if (fileName)
    url.searchParams.set('response-content-disposition', `attachment; filename="${fileName.replace(/[^\w.-]/g, '_')}"`)
  return url
}
