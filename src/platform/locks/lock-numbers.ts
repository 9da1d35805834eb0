/** The advisory locks of Postgres that have a number of their own, which every process of Berth must know alike. */

/** Any numbers, as long as each is always this one, and no two are the same. */
export const lockNumbers = {
  migrations: 4_823_091,
  buildLogDays: 4_823_092,
  buildDispatch: 4_823_093,
  uploadRoom: 4_823_094,
} as const
