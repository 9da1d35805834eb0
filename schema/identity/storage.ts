/** How much an organization stores in the database, in GraphQL. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { findInTurn } from '#schema/large-reads.ts'
import type { RoomName } from '#src/platform/limits/rooms.ts'
import type { RoomUse } from '#src/platform/metrics/rooms.ts'
import { readStorage } from '#src/resources/identity/storage.ts'
import { organizationType } from './organizations.ts'

const roomName = enumOf('StorageRoomName', 'What is stored in the database, by kinds that have a limit each.', {
  answers: 'Answers kept for `Idempotency-Key`.',
  definitions: 'Agents, environments, deployments, schedules, skills, vaults, memories, functions, VMs.',
  transcripts: 'Sessions and groups.',
  logs: 'Logs and records of builds, functions, commands and webhooks.',
  deliveries: 'Events delivered for triggers.',
} satisfies Record<RoomName, string>)

const room = builder.objectRef<RoomUse>('StorageRoom').implement({
  description: 'How much of a kind an organization stores in the database. Where it is full, no more is stored.',
  fields: (t) => ({
    name: t.field({ type: roomName, description: 'What is stored.', resolve: ({ name }) => name }),
    usedBytes: t.expose('usedBytes', {
      type: 'BigInt',
      description: 'Its size; of texts that callers chose, without what Postgres adds.',
    }),
    limitBytes: t.expose('limitBytes', {
      type: 'BigInt',
      nullable: true,
      description: 'Its limit, which the operator sets; null means none.',
    }),
  }),
})

builder.objectField(organizationType, 'storage', (t) =>
  t.field({
    type: [room],
    nullable: true,
    description: 'How much it stores in the database, by rooms. Errors: FORBIDDEN.',
    resolve: ({ id }, _arguments, call, info) => findInTurn(call, info, () => readStorage(call, id)),
  }),
)
