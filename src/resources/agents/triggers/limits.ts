/** Limits of triggers and of what code hosts deliver for them. */

/** What an organization may have, and how much of a delivery is read, kept and told. */
export const triggerLimits = {
  triggersMax: 200, // of an organization
  perRepositoryMax: 20, // of an organization, for one repository
  eventsMax: 50, // of one trigger
  patternsMax: 20, // of each filter
  patternLength: 200, // characters
  patternSegments: 32, // parts between slashes
  globSteps: 1_500_000, // of matching one event's branch or paths with all patterns of a filter; beyond it they match
  judgedAgainMax: 5, // times that a fire's filter is looked at anew because it was changed meanwhile
  prefixLength: 100, // characters of comment_prefix
  requestsPerMinute: 12_000, // to the receiver from one address: all repositories at GitHub have the same few
  deliveriesPerMinute: 9_000, // that one organization's triggers take; what comes beyond is refused
  firesPerDelivery: 1_000, // of all organizations together
  waitingCounted: 10_000, // fires of an organization that wait; those after it are decided after everybody else's
  startsPerMinute: 20, // of one trigger; the next is skipped
  organizationStartsPerMinute: 120, // of all triggers of an organization
  accessMinutes: 5, // how long an answer of the code host about the owner's access holds
  payloadBytes: 1024 * 1024, // of one delivery that is kept; of a larger one only the routed fields are
  organizationPayloadBytes: 256 * 1024 * 1024, // of all that are kept; beyond it only the routed fields are
  payloadDays: 7,
  firesDays: 30, // how long fires are kept
  firesKept: 10_000, // of one trigger
  sweptAtOnce: 5_000, // rows
  undecidedMinutes: 60, // a fire that could not be decided for so long has failed
  bodyLength: 8_000, // characters of an issue's, pull request's or comment's text that the agent is told
  textLength: 500, // characters of any other text
  pathLength: 500, // characters; a longer path matches no pattern
  commitsRead: 50, // of a push that the agent is told
  pathsRead: 1_000, // changed files of a push that filters look at
  labelsRead: 100,
} as const
