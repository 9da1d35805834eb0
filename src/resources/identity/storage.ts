/** How much an organization stores in the database, for its people. */
import { allowIn } from '#src/platform/access.ts'
import { readRooms, type RoomUse } from '#src/platform/metrics/rooms.ts'
import type { Call } from '#src/platform/services.ts'

/** The rooms of an organization, by its stored id. @throws BerthError forbidden. */
export async function readStorage(call: Call, organizationId: string): Promise<RoomUse[]> {
  const scope = allowIn(call.caller, 'usage:read', organizationId)
  return readRooms(call, scope.organizationId)
}
