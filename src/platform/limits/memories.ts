/**
 * Limits of memories, each with its unit in its name. In the platform, because REST and the catalog of built-in tools
 * read them too.
 */
export const memoryLimits = {
  bodyLength: 10_000, // characters
  keyLength: 255, // characters of an idempotency key
  listMax: 100,
  listUsual: 50,
  perPersonMax: 10_000, // of one person in an organization
  perOrganizationMax: 100_000, // shared ones and all people's together; roughly
  perSessionMax: 200, // that the agent of one session keeps
  eventsKept: 1000, // of one person, and of what an organization shares

  // Searches.
  searchLength: 500, // characters
  searchWords: 16, // that are looked for; further ones are left out
  searchWordsLookedUp: 3, // of those that a memory must have; the others are looked for in what the index found
  newestTried: 500, // memories; they show how frequent the words of a search are
  newestLookedThrough: 5000, // for words that are frequent in those; others are found by the index
  candidates: 200, // the newest matches that are ordered by how well they match
  recalled: 10, // that an agent gets at once
  recalledMax: 50, // that a person gets at once
  recalledLength: 20_000, // characters of them together

  // Found by their meaning.
  vectorNumbers: 512, // of a vector, where the model makes vectors of fewer numbers than its own
  vectorSigns: 512, // numbers of a vector by whose signs the nearest are found first
  nearest: 100, // that are found so, and compared exactly
  similarityMin: 0.2, // cosine of the angle; what is further off is not a match
  fusedEach: 50, // the best by words and the best by meaning, of which one order is made
  queryMs: 2000, // for the vector of a search; without it memories are found by their words only
  textsAtOnce: 128, // whose vectors are asked for in one turn of a space
  charactersAtOnce: 200_000, // of them together
  unreadableLength: 1_000, // characters; a text that is refused when it is cut to so many has no vector
  requestsPerTurn: 20, // when texts are refused, and asked for in parts
  turnSeconds: 60,
  claimSeconds: 90, // after which a worker that does not say anything has lost its space
  retrySecondsFirst: 5, // after a failure; twice as long after each further one
  retrySecondsMax: 3_600,
  refusedSeconds: 600, // after a refusal, as of an organization without credits
  vectorLookSeconds: 30,
  spacesAtOnce: 2, // of those in which something changed, per worker
  turnsPerChange: 10, // of one of them; what is left is for those who look for it
  roundsPerLook: 100, // with a turn for each organization that needs one
  organizationsPerRound: 1_000,
  heardMax: 10_000, // spaces; further ones are found by looking

  // What agents are told without asking.
  includedMax: 20,
  includedLength: 4_000, // characters of them together
} as const
