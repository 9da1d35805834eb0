/** Files in messages: which may be there, and what the model gets of them. */
import { buffer } from 'node:stream/consumers'
import { objectStore } from '#src/drivers/objects.ts'
import type { Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { findAll, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'
import { agentFileLimits } from './limits.ts'
import { fileKey, isThere, type StoredFile } from './rows.ts'

/** What a model gets of a file: its bytes as base64, or as text for a text. */
export type FileContent = { kind: 'base64' | 'text'; mediaType: string; data: string }

/** The files of a conversation, by public id; those that are not there any more are missing. */
export type FileContents = ReadonlyMap<string, FileContent>

/** Something with content blocks: an event that is sent, or one of a log. */
type Said = { data?: Readonly<Record<string, unknown>> }
type Named = { id: string; block: 'image' | 'document' }

const imageTypes: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const mebibyte = 1024 * 1024

/** Whether one of these events has a file in its content. */
export function hasNamedFiles(events: readonly Said[]): boolean {
  return namedIn(events).length > 0
}

/**
 * Checks that the files in these events are the person's, are there, and may be where they are.
 * @throws BerthError invalid_request.
 */
export async function checkNamedFiles(
  tx: Tx,
  owner: Pick<Scope, 'organizationId' | 'userId'>,
  events: readonly Said[],
): Promise<void> {
  const named = namedIn(events)
  const found = await findNamed(tx, owner, named)
  for (const { id, block } of named) {
    const file = found.get(id)
    if (!file)
      throw new BerthError('invalid_request', 'A file_id in the content is not the id of a file of yours. Correct it.')
    checkFits(file, block)
  }
}

/**
 * What a model gets of the files in the log of a session: the newest, up to a limit of bytes. The token inside a VM may not
 * read files, so a session that it uses gets none.
 */
export async function readNamedFiles(
  services: Pick<Background, 'config' | 'sealer'>,
  db: Db,
  {
    organizationId,
    ownerUserId: userId,
    usedByVm,
  }: Pick<Row<'sessions'>, 'organizationId' | 'ownerUserId' | 'usedByVm'>,
  log: readonly Said[],
): Promise<FileContents> {
  const named = usedByVm ? [] : namedIn(log)
  const found = await findNamed(db, { organizationId, userId }, named)
  const contents = new Map<string, FileContent>()
  let leftBytes: number = agentFileLimits.conversationBytes
  for (const { id } of named.toReversed()) {
    const file = found.get(id)
    if (!file || contents.has(id) || file.sizeBytes > leftBytes) continue
    leftBytes -= file.sizeBytes
    const bytes = await buffer(await objectStore(services).read(fileKey(file)))
    const kind = isTextType(file.mimeType) ? 'text' : 'base64'
    contents.set(id, { kind, mediaType: file.mimeType, data: bytes.toString(kind === 'text' ? 'utf8' : 'base64') })
  }
  return contents
}

/** The content block that shows a file to a model; null for one that no block can have. */
export function blockOf(file: StoredFile): Readonly<Record<string, unknown>> | null {
  const type = imageTypes.includes(file.mimeType) ? 'image' : 'document'
  try {
    checkFits(file, type)
  } catch (error) {
    if (error instanceof BerthError) return null
    throw error
  }
  const source = { type: 'file', file_id: encodeId('file', file.id) }
  return type === 'image' ? { type, source } : { type, source, title: file.filename, context: null }
}

function checkFits({ filename, mimeType, sizeBytes }: StoredFile, block: Named['block']): void {
  const isImage = imageTypes.includes(mimeType)
  if (block === 'image' && !isImage)
    throw new BerthError(
      'invalid_request',
      `The file ${filename} is ${mimeType}; an image must be a JPEG, PNG, GIF or WebP.`,
    )
  if (block === 'document' && mimeType !== 'application/pdf' && !isTextType(mimeType))
    throw new BerthError(
      'invalid_request',
      `The file ${filename} is ${mimeType}; a document must be a PDF or a text. Upload it with its media type.`,
    )
  const bytesMax = isImage
    ? limits.imageBytes
    : isTextType(mimeType)
      ? agentFileLimits.textBytes
      : agentFileLimits.conversationBytes
  if (sizeBytes === 0) throw new BerthError('invalid_request', `The file ${filename} is empty.`)
  if (sizeBytes > bytesMax)
    throw new BerthError(
      'invalid_request',
      `The file ${filename} has more than ${bytesMax / mebibyte} MiB, the most that a message may have of its kind.`,
    )
}

function isTextType(mediaType: string): boolean {
  return mediaType.startsWith('text/') || mediaType === 'application/json'
}

async function findNamed(
  db: Db,
  { organizationId, userId }: Pick<Scope, 'organizationId' | 'userId'>,
  named: readonly Named[],
): Promise<ReadonlyMap<string, StoredFile>> {
  const ids = named.flatMap(({ id }) => decodeId('file', id) ?? [])
  if (ids.length === 0) return new Map()
  const rows = await findAll<StoredFile>(
    db,
    sql`select * from files where id = any(${ids}::uuid[]) and organization_id = ${organizationId} and owner_user_id = ${userId} and ${isThere}`,
  )
  return new Map(rows.map((file) => [encodeId('file', file.id), file]))
}

/** Every file that is named, in the order of the events. */
function namedIn(events: readonly Said[]): Named[] {
  return events.flatMap(({ data }) => {
    const content = data?.['content']
    return Array.isArray(content) ? content.flatMap(namedBy) : []
  })
}

function namedBy(block: unknown): Named[] {
  const { type, source } = block as { type?: unknown; source?: { type?: unknown; file_id?: unknown } } // event-shapes.ts allows nothing else
  return source?.type === 'file' && (type === 'image' || type === 'document')
    ? [{ id: String(source.file_id), block: type }]
    : []
}
