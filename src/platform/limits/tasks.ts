/** Limits of tasks, which groups and peers give to sessions, each with its unit in its name. */
export const taskLimits = {
  openHours: 24, // a task that has not ended by then is cancelled
  openOfSessionMax: 50, // that one session works on or that wait for it
  answerLength: 256 * 1024, // characters; the rest is left out
  lookSeconds: 5, // between looks for tasks that can begin or have expired, besides notices
  atOnce: 20, // of one look
} as const
