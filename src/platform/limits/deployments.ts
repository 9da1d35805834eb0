/** Limits of what starts by itself: kickoffs, starts on somebody's behalf, deployments. */

/** Starts on behalf of a person who is not calling. */
export const startLimits = {
  kickoffBytes: 1024 * 1024, // of a kickoff's events as JSON
  environmentsPerMinute: 60, // environments of single runs that an organization's own starts make
}

/** Deployments and the records of their runs. */
export const deploymentLimits = {
  deploymentsMax: 1_000, // of an organization
  runsPerMinute: 60, // that the people of an organization start by hand
  runsKept: 10_000, // records of a deployment; older ones are deleted
  runsTrimmedEvery: 100, // records, so that not each one looks for older ones
}
