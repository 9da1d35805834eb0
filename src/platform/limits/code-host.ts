/** The limits of code hosting. In the platform, because the driver of the code host reads them too. */
export const codeHostLimits = {
  urlLength: 2_048, // characters of the address that people come back to
  codeLength: 512, // characters of an authorization code
  stateSeconds: 600, // how long an authorization may take
  statesPerUserMax: 10, // authorizations that one person has begun; the oldest is forgotten
  requestMs: 10_000, // one request to the code host, with its answer
  revokeMs: 3_000, // the request that withdraws a token there; whoever disconnects waits for it
  answerBytes: 4 * 1024 * 1024, // an answer
  redirectsMax: 3, // of one request, all to the same origin
  retryAfterSecondsMax: 3_600,
  pageMax: 10_000, // the number of a page of repositories
  perPageMax: 100,
  perPageDefault: 30,
  branchesMax: 1_000, // of a repository that are listed
  requestsPerMinute: 120, // that one person's requests to Berth make there; each page of a list is one
  nameLength: 100, // characters of the names of owners and repositories
  descriptionLength: 350, // characters; GitHub's own limit
  scopesMax: 100,
  tokenLength: 4_096, // characters
  earlySeconds: 60, // a token that ends within this time is refreshed before it is used
} as const
