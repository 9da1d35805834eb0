/** Limits of memories, each with its unit in its name. */
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
  recalledLength: 20_000, // characters of them together

  // What agents are told without asking.
  toldMax: 20,
  toldLength: 4_000, // characters of them together
} as const
