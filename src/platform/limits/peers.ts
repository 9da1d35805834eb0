/**
 * Limits of exchanges between agents, each with its unit in its name. In the platform, because the catalog of built-in
 * tools reads them too, on which peers stand.
 */
export const peerLimits = {
  textLength: 32_000, // characters of a request
  pathLength: 4_096, // characters
  titleLength: 255, // characters, of a session that is started to be asked
  attachmentBytes: 10 * 1024 * 1024,
  attachmentDays: 30, // that its file is kept
  attachmentsPlacedMax: 50, // at once, into one VM: the newest
  attachmentDraftSeconds: 3_600, // that a file is kept whose exchange never began
  recordDays: 30, // that an exchange is kept after its end
  depthMax: 4, // exchanges inside of one another, the first one included
  perTurnMax: 30, // that one message of a user may lead to, those of the asked agents included
  openOfSessionMax: 8, // that one session waits for
  openOfOrganizationMax: 200,
  listedMax: 10, // sessions, and agents, that a mistaken request is answered with
  eventsKept: 100, // of one exchange
  lookSeconds: 5, // between looks for exchanges whose notice was lost
  notifyAgainSeconds: 10, // after which a requester that has not taken the end of one is given another step
  atOnce: 100, // of one look
} as const
