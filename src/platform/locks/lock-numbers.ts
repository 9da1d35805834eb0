/** The numbers of Postgres' advisory locks, which must be the same in every process. */

/** Arbitrary and unique; they must never change. */
export const lockNumbers = {
  migrations: 4_823_091,
  buildLogDays: 4_823_092,
  buildDispatch: 4_823_093,
  uploadRoom: 4_823_094,
  domainChecks: 4_823_095,
  webhookClaims: 4_823_096,
  peerExchanges: 4_823_097,
  storedBytes: 4_823_098,
} as const
