/**
 * Limits of custom domains, each with its unit in its name. In the platform, because the driver of the DNS reads them
 * too.
 */
export const domainLimits = {
  domainsMax: 1000, // of an organization
  pathLength: 1024,
  eventsKept: 1000, // of one domain
  pendingHours: 72, // a claim that is not proved by then has failed
  lostDays: 7, // a proved name that has not led here for so long has failed
  certificateSeconds: 20, // that activating waits for the certificate
  checksPerMinute: 30, // that an organization asks for itself, by activating and checking

  // Background checks: how often a pending claim is checked, by its age. A proved name is checked hourly.
  quickCheckSeconds: 30,
  quickUntilSeconds: 10 * 60,
  slowCheckSeconds: 300,
  slowUntilSeconds: 70 * 60,
  hourlyCheckSeconds: 3600,
  checksAtOnce: 32, // in one worker
  checksAtOncePerOrganization: 4, // in all workers together
  leaseSeconds: 30, // a check whose worker died is taken over after this

  // Questions to name servers.
  checkSeconds: 8, // all questions of one check
  questionMs: 1000, // until a name server is asked again
  questionTries: 2,
  zoneServersMax: 4, // addresses of a zone's name servers that are asked
  zoneLabelsMax: 10, // how many levels are searched for the zone that a name is in
  aliasesMax: 8, // CNAMEs that are followed
  valuesMax: 256, // values of a record that are read
  seenMax: 10, // values of a record that are shown
  seenLength: 255, // characters of one
} as const
