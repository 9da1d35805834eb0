/** Rooms of an organization that are full, without storing that much. */
import type { RoomName } from '#src/platform/limits/rooms.ts'
import { change, sql } from '#src/platform/postgres.ts'
import type { Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'

/** Limits that are so near to nothing that no look is remembered: a room is full at once when it is filled. */
export const nearRooms = Object.fromEntries(
  ['ANSWERS', 'DEFINITIONS', 'TRANSCRIPTS', 'LOGS', 'DELIVERIES'].map((name) => [`BERTH_ORG_${name}_MB`, '100']),
)

/** No part of a room has this number, so what is counted here can be taken back. */
const nobody = -1
const muchBytes = 64 * 1024 ** 4

/** Fills a room of the organization that a token names. */
export async function fillRoom({ services }: Pick<Berth, 'services'>, token: string, room: RoomName): Promise<void> {
  await change(
    services.db,
    sql`insert into stored_bytes (organization_id, room, part, bytes) values (${idsOf(token).organizationId}, ${room}, ${nobody}, ${muchBytes}) on conflict do nothing`,
  )
}

/** Takes back what `fillRoom` did. */
export async function clearRoom({ services }: Pick<Berth, 'services'>, token: string, room: RoomName): Promise<void> {
  await change(
    services.db,
    sql`delete from stored_bytes where organization_id = ${idsOf(token).organizationId} and room = ${room} and part = ${nobody}`,
  )
}
