/** Limits of outbound webhooks. */

/** What an organization may have, how an event is delivered, and how long it is remembered. */
export const webhookLimits = {
  endpointsMax: 16, // of an organization
  pendingMax: 2000, // deliveries that wait for one endpoint; further ones fail at once, and can be replayed
  attemptSeconds: 15, // from the connection to the end of the answer
  leaseSeconds: 25, // a delivery whose worker says nothing for so long is taken by another
  attemptsKept: 20, // of one delivery
  answerBytes: 1024, // of a refusal that are kept
  failuresMax: 20, // attempts in a row that fail, until an endpoint is disabled
  holdSeconds: 5, // of rest after a failed attempt, times the failures in a row
  atOnce: 128, // deliveries of one worker
  atOncePerEndpoint: 4,
  atOncePerOrganization: 8,
  lookSeconds: 1, // between two looks for what is due
  previousSecretHours: 24, // that the old secret signs too after a rotation
  previousSecretHoursMax: 7 * 24,
  testsPerMinute: 10, // of an organization
  replaysPerMinute: 60, // of an organization
  keptDays: 30, // an event and its deliveries; until then they can be replayed
  keptPerOrganization: 100_000, // events
  sweptAtOnce: 5000, // rows
} as const

/** Seconds before each attempt: the first at once, each other after the failure of the one before. */
export const webhookRetrySeconds = [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] as const
