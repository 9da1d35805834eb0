/**
 * Limits of certificates. Those of orders are below what public authorities allow one account. In the platform, because
 * the driver of ACME reads them too.
 */

/** Certificates: how many are ordered, how long one attempt may take, and when the next one is. */
export const certificateLimits = {
  ordersOfHostPerHour: 4,
  ordersOfOrganizationPerHour: 20,
  ordersOfOrganizationPerWeek: 200,
  ordersPerHour: 90, // of the whole installation
  workersAtOnce: 4, // certificates that one worker process obtains at a time
  ofOneOrganizationAtOnce: 2,
  attemptSeconds: 90, // then it goes on with the same order in the next attempt
  leaseSeconds: 15,
  beatSeconds: 5,
  queuedSeconds: 300, // then a job that was not taken is enqueued again
  sweepRows: 200,
  renewalPart: 1 / 3, // renewed when this part of its life is left
  expiringDays: 14, // webhook endpoints are told of one that ends within this time, once an attempt to renew it has failed
  criticalDays: 3, // a domain whose certificate ends within this time, and was not renewed, is not active any more
  reasonLength: 300, // characters
  requestSeconds: 20, // one request to the authority
  answerBytes: 128 * 1024, // one answer of it: a chain of five certificates with post-quantum signatures
  answerParts: 2_000, // objects, lists, keys and texts of an answer that is parsed in steps
  authorizationsMax: 10, // of one order, which is for one name
  retryAfterSecondsMax: 7 * 86_400,
  contextsMax: 2_000, // TLS contexts that an edge process keeps ready
  pageRows: 500,
  tokenLength: 128, // characters of a challenge's token
  lookupsAtOnce: 4, // questions of the edge to the table while an authority looks
} as const

/** How long after a failure the next attempt is: after the first, the second, and so on; seconds. */
export const certificateRetrySeconds = [60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86_400] as const
