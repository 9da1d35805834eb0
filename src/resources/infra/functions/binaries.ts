/** What a version runs: a stored file of its organization, from an upload or from a build. */
import { keyOfUrl } from '#src/drivers/objects/store.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { useUpload } from '#src/resources/infra/uploads.ts'
import type { FunctionVersion } from './rows.ts'

/** A stored file, as a version names it. */
export type Binary = Pick<FunctionVersion, 'objectKey' | 'binaryUrl' | 'buildId'>

type BuildFile = { id: string; key: string | null; outputType: string; status: string }

/**
 * The stored file of this address, or of this build's output. It stays as long as a version names it.
 * @throws BerthError invalid_request when the organization has no such file.
 */
export async function readBinary(
  services: Pick<Background, 'config' | 'sealer'>,
  tx: Tx,
  organizationId: string,
  { binaryUrl, buildId }: { binaryUrl?: string | null | undefined; buildId?: string | null | undefined },
): Promise<Binary> {
  if (binaryUrl && buildId) throw refusal('Give binary_url or build_id, not both.', 'build_id')
  if (buildId) return ofBuild(services, tx, organizationId, decodeId('build', buildId) ?? null)
  if (!binaryUrl) throw refusal('binary_url or build_id is required: what is to be deployed.', 'binary_url')
  if (binaryUrl.length > functionLimits.binaryUrlLength)
    throw refusal(`binary_url must have at most ${functionLimits.binaryUrlLength} characters.`, 'binary_url')
  const [url = ''] = binaryUrl.split('?') // a build's outputUrl is signed
  const key = keyOfUrl(objectStore(services), url) ?? ''
  const [kind, , name = ''] = key.split('/')
  if (kind === 'builds') {
    const found = await ofBuild(services, tx, organizationId, decodeId('build', name) ?? null)
    if (found.objectKey === key) return found
  }
  const used = kind === 'compute' ? await useUpload({ ...services, db: tx }, organizationId, url) : undefined
  if (!used)
    throw refusal(
      'binary_url must be the binary_url of an upload of this organization, or the URL of the output of one of its builds.',
      'binary_url',
    )
  await checkFinished(services, used)
  return { objectKey: used, binaryUrl: url, buildId: null }
}

async function ofBuild(
  services: Pick<Background, 'config' | 'sealer'>,
  tx: Tx,
  organizationId: string,
  id: string | null,
): Promise<Binary> {
  const build = await findOne<BuildFile>(
    tx,
    sql`
    select id, status, output_type, output ->> 'key' as key from build_jobs
    where id = ${id}::uuid and organization_id = ${organizationId} for share`,
  )
  if (!build)
    throw refusal('build_id names no build of this organization. Give the id of one that has succeeded.', 'build_id')
  if (build.outputType === 'template')
    throw refusal(
      'The output of this build is a template, and a function needs a file. Build it with an output of the type artifact or function.',
      'build_id',
    )
  if (build.key === null)
    throw refusal(
      build.status === 'succeeded'
        ? 'The output of this build has expired. Build it again.'
        : `This build is ${build.status}: only one that has succeeded can be deployed.`,
      'build_id',
    )
  return binaryOfBuild(services, build.id, build.key)
}

/** The output of a build as a version names it. */
export function binaryOfBuild(services: Pick<Background, 'config' | 'sealer'>, buildId: string, key: string): Binary {
  return { objectKey: key, binaryUrl: objectStore(services).canonicalUrl(key), buildId }
}

async function checkFinished(services: Pick<Background, 'config' | 'sealer'>, key: string): Promise<void> {
  const found = await objectStore(services).find(key)
  if (found && found.sizeBytes > 0) return
  if (found)
    throw refusal(
      'The file at this binary_url is empty: PUT the program, or its archive, to a new upload_url.',
      'binary_url',
    )
  throw refusal('Nothing was uploaded to this binary_url yet: PUT the file to its upload_url first.', 'binary_url')
}

function refusal(sentence: string, field: string): BerthError {
  return new BerthError('invalid_request', sentence, { field })
}
