/** Limits of schedules, which start sessions by themselves. */

/** How many schedules there may be, when they fire, and what is remembered of it. */
export const scheduleLimits = {
  schedulesMax: 1_000, // of an organization
  upcomingMax: 5, // next moments that are shown
  jitterSeconds: 10, // a schedule fires at most so long after its moment, always equally long
  lateSeconds: 300, // a moment that was longer ago is not made up for
  missedMax: 10, // missed moments that are recorded one by one, of one time that nobody was there
  failuresMax: 20, // in a row; then a schedule is disabled
  batch: 100, // schedules that are fired in one transaction
  organizationsAtOnce: 4, // whose schedules are in one batch: those of one owner cost little more than one
  heldSeconds: 2, // how long an organization that has too many running sessions waits for its next try
  clockBackSeconds: 60, // a clock that was set back by more makes schedules look for their next moment again
  replannedAtOnce: 500, // of those
  runDays: 30, // a run is remembered
  runsKept: 10_000, // of one schedule
  sweptAtOnce: 5_000, // runs that are forgotten in one statement
} as const
