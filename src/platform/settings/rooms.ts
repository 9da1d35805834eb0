/** Settings of how much an organization may store in the database. */
import { roomLimits, type RoomName } from '#src/platform/limits/rooms.ts'
import { setting } from './entries.ts'
import { count } from './readers.ts'

/** One for each room, in MiB. */
export const roomSettings = {
  orgAnswersMb: roomSetting('answers', 'answers that are kept for `Idempotency-Key`'),
  orgDefinitionsMb: roomSetting('definitions', 'agents, environments, skills, vaults and the like'),
  orgTranscriptsMb: roomSetting('transcripts', 'sessions and groups'),
  orgLogsMb: roomSetting('logs', 'logs and records of builds, functions, commands and webhooks'),
  orgDeliveriesMb: roomSetting('deliveries', 'events that are delivered for triggers'),
}

function roomSetting(room: RoomName, what: string): ReturnType<typeof setting<number>> {
  return setting<number>(
    `BERTH_ORG_${room.toUpperCase()}_MB`,
    count(`megabytes of ${what.replaceAll('`', '')} that one organization may store, or 0 for no limit`),
    roomLimits[room].usualMb,
    `${what} that one organization may store in the database, in megabytes; \`0\` is no limit`,
  )
}
