/** Limits of sessions in browsers. */

/** Limits of sessions in browsers. */
export const browserSessionLimits = {
  lifetimeDays: 7, // at most
  idleHours: 12, // without use
  perPerson: 100, // the one that was not used for longest ends when there is one more
  userAgentLength: 255, // characters that are kept of it
} as const
