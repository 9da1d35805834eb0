/** Limits of pushes to linked repositories. In the platform, because the driver of the code host reads them too. */

/** What a code host may send, how often, and how long it is remembered. */
export const pushLimits = {
  requestsPerMinute: 1200, // from one address: all repositories at GitHub have the same few
  pushesPerMinute: 20, // to one linked repository
  refLength: 300, // characters
  reasonLength: 1000, // characters
  keptDays: 7, // a push is remembered; GitHub delivers again what is 3 days old at most
  keptPerRepository: 1000,
  sweptAtOnce: 5000, // rows
  hookTries: 10, // to remove a webhook, with growing pauses of at most a minute
  hooksRead: 100, // of a repository, to find the one that is to be removed
  hookRemovalSeconds: 60,
  removalsAtOnce: 2, // of one worker
} as const
