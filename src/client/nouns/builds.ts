/** Builds, functions and domains. */
import { actionOf, byId, callOf, listOf, mutationOf, streamOf, withCursor, type Base } from '../calls.ts'
import type { CallOptions } from '../connection.ts'
import {
  BuildDocument,
  BuildEventsDocument,
  BuildLogDocument,
  BuildsDocument,
  CancelBuildDocument,
  CheckDomainDocument,
  CreateBuildDocument,
  CreateDomainDocument,
  CreateFunctionDocument,
  CreateUploadDocument,
  DeleteDomainDocument,
  DeleteFunctionDocument,
  DeployFunctionDocument,
  DomainDocument,
  DomainsDocument,
  FunctionDocument,
  FunctionEnvDocument,
  FunctionLogDocument,
  FunctionsDocument,
  LinkDomainDocument,
  UpdateFunctionDocument,
} from '../generated/documents.ts'
import { putUpload } from '../files.ts'

/** Follows from the beginning what would otherwise begin with what is new. */
const beginning = '0'

/** `berth.builds`. */
export function buildsOf(base: Base) {
  const log = streamOf(base, BuildLogDocument, 'buildId', ({ buildLogEvents: entry }) =>
    entry.__typename === 'Heartbeat' ? undefined : { value: entry, cursor: entry.id, isLast: entry.isDone },
  )
  return {
    ...listOf(base, BuildsDocument, (data) => data.builds),
    get: byId(base, BuildDocument, (data) => data.build),
    create: mutationOf(base, CreateBuildDocument, (data) => data.createBuild?.build),
    cancel: actionOf(base, CancelBuildDocument, (data) => data.cancelBuild?.build),
    /** What it prints, from its beginning to its end. */
    log: (id: string, options: Parameters<typeof log>[1] = {}) => log(id, { after: beginning, ...options }),
    /** Its status at each change, from now on until it ends. */
    events: streamOf(base, BuildEventsDocument, 'buildId', (data) => withCursor(data.buildEvents)),
  }
}

/** `berth.functions`. */
export function functionsOf(base: Base) {
  const log = streamOf(base, FunctionLogDocument, 'functionId', (data) => withCursor(data.functionLogEvents))
  const createUpload = callOf(base, CreateUploadDocument, (data) => data.createUpload?.upload)
  return {
    ...listOf(base, FunctionsDocument, (data) => data.functions),
    get: byId(base, FunctionDocument, (data) => data.function),
    create: mutationOf(base, CreateFunctionDocument, (data) => data.createFunction?.function),
    /** Changes it. Of `variables`, those that are null are removed, and what is not named stays. */
    update: mutationOf(base, UpdateFunctionDocument, (data) => data.updateFunction?.function),
    variables: byId(base, FunctionEnvDocument, (data) => data.function?.variables),
    deploy: mutationOf(base, DeployFunctionDocument, (data) => data.deployFunction?.function),
    delete: actionOf(base, DeleteFunctionDocument, (data) => data.deleteFunction?.deletedId),
    /** What it prints, from the beginning of what is kept until it is deleted. */
    log: (id: string, options: Parameters<typeof log>[1] = {}) => log(id, { after: beginning, ...options }),
    /** Uploads a program. @returns its `binaryUrl`, for `create` and `deploy`. */
    async upload(program: Blob, options?: CallOptions): Promise<string> {
      const { uploadUrl, binaryUrl } = await createUpload({ input: {} }, options)
      await putUpload(base, uploadUrl, program, options)
      return binaryUrl
    },
  }
}

/** `berth.domains`. A domain is named by its id or its name. */
export function domainsOf(base: Base) {
  const check = mutationOf(base, CheckDomainDocument, (data) => data.checkDomain?.domain)
  const remove = mutationOf(base, DeleteDomainDocument, (data) => data.deleteDomain?.deletedId)
  return {
    ...listOf(base, DomainsDocument, (data) => data.domains),
    get: byId(base, DomainDocument, (data) => data.domain),
    create: mutationOf(base, CreateDomainDocument, (data) => data.createDomain?.domain),
    /** Looks at its DNS now. */
    check: (domain: string, options?: CallOptions) => check({ domain }, options),
    link: mutationOf(base, LinkDomainDocument, (data) => data.linkDomain?.domain),
    delete: (domain: string, options?: CallOptions) => remove({ domain }, options),
  }
}
