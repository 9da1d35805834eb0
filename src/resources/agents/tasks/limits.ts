/** Limits of tasks, which groups and peers give to sessions, each with its unit in its name. */
export const taskLimits = {
  openHours: 24, // a task that has not ended by then is cancelled
  openOfSessionMax: 50, // that one session works on or that wait for it
  answerLength: 256 * 1024, // characters; the rest is left out
  lookSeconds: 5, // between looks for tasks that can begin or have expired, besides notices
  atOnce: 20, // of one look
  seenAtOnce: 1_000, // queued ones of an organization, of one look
} as const

/** Limits of the streams of runs, which tell what a session does for a task while it does it. */
export const taskStreamLimits = {
  chunksKept: 20_000, // the newest
  bytesKept: 16 * 1024 * 1024, // of the newest
  /** The oldest are removed when there are so many more than are kept, so that not every write removes some. */
  chunksSpare: 1_000,
  bytesSpare: 1024 * 1024,
  readSeconds: 60, // after the end, in which what was not read yet still can be
  keptSeconds: 300, // after the end, for readers that are in the middle of it
  removedAtOnce: 5_000, // chunks, and the rest of the last stream's
  streamsAtOnce: 100,
  removalsOfLook: 20, // of so many each, by one worker
  readChunks: 500, // in one statement
  readBytes: 2 * 1024 * 1024, // in one statement
  pieceMs: 50, // for which text is collected, except the first
  outputCharacters: 64 * 1024, // of a tool's result; the rest is in the session's log only
} as const
