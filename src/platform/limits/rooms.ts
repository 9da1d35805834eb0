/** What an organization may store in Berth's database, by rooms: kinds of text and data whose size a caller chooses. */

/** Each room: its usual limit in MiB, what it holds as the subject of a sentence, and what makes room in it. */
export const roomLimits = {
  answers: {
    usualMb: 256,
    holds: 'answers kept under your organization’s idempotency keys',
    advice: 'Each is kept for 24 hours; until then send such requests without Idempotency-Key',
  },
  definitions: {
    usualMb: 2048,
    holds:
      'your organization’s agents, environments, deployments, schedules, skills, vaults, memories, functions and VMs',
    advice: 'Delete those that nobody needs; what is kept of agents and skills has all their versions',
  },
  transcripts: {
    usualMb: 16_384,
    holds: 'your organization’s sessions and groups',
    advice: 'Delete those that nobody needs',
  },
  logs: {
    usualMb: 4096,
    holds: 'logs and records of your organization’s builds, functions, commands and webhooks',
    advice: 'Delete functions that nobody needs; lines of builds and records of commands go after a day or two',
  },
  deliveries: {
    usualMb: 512,
    holds: 'events delivered for your organization’s triggers',
    advice: 'What was delivered goes after a week, and what is known of it after a month',
  },
} as const

/** A kind of data that has a limit of its own. */
export type RoomName = keyof typeof roomLimits

/** All of them. */
export const roomNames = Object.keys(roomLimits) as RoomName[] // its keys

/** How rooms are looked at and kept in order. */
export const roomUse = {
  farBytes: 128 * 1024 * 1024, // from the limit; nearer to it each write looks at the counts
  rememberedMs: 1000, // that an organization is far from it
  rememberedMax: 20_000, // organizations and rooms
  foldedAtOnce: 20_000, // changes that are added to the sums in one transaction
  recountMs: 900_000, // that counting one room of all organizations anew may take
} as const
