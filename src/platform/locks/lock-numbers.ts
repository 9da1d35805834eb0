/** The numbers of Postgres' advisory locks, which must be the same in every process. */

/** Arbitrary, but fixed for ever, and no two alike. */
export const lockNumbers = {
  migrations: 4_823_091,
  buildLogDays: 4_823_092,
  buildDispatch: 4_823_093,
  uploadRoom: 4_823_094,
} as const
