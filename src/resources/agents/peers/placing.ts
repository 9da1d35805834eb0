/** Putting the attachment of an exchange into the VM of its responder. */
import { posix } from 'node:path'
import { peerLimits } from '#src/platform/limits/peers.ts'
import { change, findAll, findOne, sql } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { fileKey, isThere, type StoredFile } from '#src/resources/agents/files/rows.ts'
import { sessionResourceLimits } from '#src/resources/agents/sessions/resources/limits.ts'
import { folderScript } from '#src/resources/agents/sessions/resources/scripts.ts'
import {
  NotPlaced,
  reasonOf,
  runScript,
  sendObject,
  type Missing,
  type Placing,
} from '#src/resources/agents/tools/guest-placing.ts'
import { attachmentPath } from './messages.ts'
import type { PeerExchange } from './rows.ts'

/**
 * The attachments of what the session was asked that are not in its VM yet. One that it answered without a command is put
 * there too: its log says where it is, and its user may ask for it. Of what has ended each is put there once.
 */
export async function findMissingAttachments(services: Background, placing: Placing): Promise<Missing[]> {
  const { session, vm } = placing
  const exchanges = await findAll<PeerExchange & Pick<StoredFile, 'filename'>>(
    services.db,
    sql`
    select e.*, f.filename from peer_exchanges e join files f on f.id = e.file_id
    where e.responder_session_id = ${session.id}
      and (e.attachment_placed_at is null or (e.finished_at is null and e.attachment_vm_id is distinct from ${vm.id}))
      and exists (select from peer_exchange_events where exchange_id = e.id and status = 'working')
      and (e.finished_at is null or exists (select from files where id = e.file_id and ${isThere}))
    order by e.id desc limit ${peerLimits.attachmentsPlacedMax}`,
  )
  return exchanges.map((exchange) => {
    const path = attachmentPath(exchange, exchange)
    return { key: `peer exchange ${exchange.id}`, path, put: () => put(services, placing, exchange, path) }
  })
}

async function put(services: Background, placing: Placing, { id, fileId }: PeerExchange, path: string): Promise<null> {
  const file = await findOne<StoredFile>(services.db, sql`select * from files where id = ${fileId} and ${isThere}`)
  if (!file) throw new NotPlaced('the file was deleted.')
  const end = await runScript(placing, folderScript(posix.dirname(path)), sessionResourceLimits.prepareSeconds)
  if (end.exitCode !== 0) throw new NotPlaced(reasonOf(end))
  await sendObject(services, placing, { key: fileKey(file), path, sizeBytes: file.sizeBytes })
  await change(
    services.db,
    sql`update peer_exchanges set attachment_vm_id = ${placing.vm.id}, attachment_placed_at = now() where id = ${id}`,
  )
  return null
}
