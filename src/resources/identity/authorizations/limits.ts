/** Limits of the programs that people let in. */

/** Limits of the programs that people let in. */
export const authorizationLimits = {
  accessTokenSeconds: 3600, // how long an access token holds
  unusedDays: 60, // an authorization that is not used ends
  lifetimeDays: 365, // an authorization, at most
  authorizationsPerPerson: 100, // the one that was not used for longest ends when there is one more
  accessTokensMax: 20, // of an authorization at once; the oldest ends when there is one more
  refreshTokensKept: 100, // of an authorization: those that were exchanged, so that one that comes again is known
  requestSeconds: 600, // until a person has answered a program, also one at a device
  codeSeconds: 60, // until a program has exchanged its code
  requestsMax: 5_000, // of the whole installation; the oldest of the address that has the most gives way to another
  requestsPerAddress: 50, // that nobody has answered, from one address or IPv6 /64; the oldest gives way to another
  requestsKeptMinutes: 60,
  requestsPerMinute: 30, // of programs, from one address
  answersPerMinute: 30, // of one person: what they look at, and what they allow or deny
  userCodesPerMinute: 10, // that one person, or one address, tries
  pollSeconds: 5, // between two questions of a device; 5 more for each that comes too soon
  pollSecondsMax: 60,
  tokenRequestsPerMinute: 600, // from one address, behind which there may be many programs
} as const

/** Limits of the programs themselves. */
export const clientLimits = {
  clientsMax: 2_000, // registered, of the whole installation; the oldest that acts for nobody gives way to another
  clientsPerPerson: 50, // registered, that act for one person; what let in the one that was not used for longest ends
  clientsPerAddress: 20, // that nobody has let in yet
  registrationsPerMinute: 10, // from one address
  unusedDays: 7, // registered, and nobody has let it in
  usedDays: 90, // since somebody let it in; it stays while it may act for anybody
  nameLength: 100,
  idLength: 512, // characters, also of the address of a metadata document
  redirectUrisMax: 10,
  redirectUriLength: 512,
  stateLength: 1024,
  documentBytes: 16 * 1024, // of a metadata document
  documentSeconds: 5, // until it has come
  documentMinutes: 10, // that it is used for
  documentsMax: 500, // that a process remembers
  documentFailureSeconds: 60, // until one that could not be had is fetched again
  documentsPerMinute: 120, // that are fetched for everybody together, without those that were there before
  documentsPerAddress: 10, // a minute, that are fetched for one address
  documentsPerHost: 20, // a minute, that are fetched from one host, without those that were there before
} as const
