/** Limits of the streams of organizations. */

/** Limits of the streams of organizations. */
export const organizationEventLimits = {
  keptHours: 24, // an event, after it happened
  resumeHours: 23, // the age of a cursor that can be resumed from
  lookMs: 250, // between two looks for events of all organizations that are followed in a process
  readAtOnce: 200, // events
  cursorBeforeMs: 30_000, // how far before the present an eventCursor is, so that it is before all that its request reads
  cursorBeforeEvents: 2000, // and how many events at most
} as const
