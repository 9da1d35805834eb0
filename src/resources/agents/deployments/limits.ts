/** Limits of deployments. */

/** Deployments and the records of their runs. */
export const deploymentLimits = {
  deploymentsMax: 1_000, // of an organization
  runsPerMinute: 60, // that the people of an organization start by hand
  runsKept: 10_000, // records of a deployment; older ones are deleted
  runsTrimmedEvery: 100, // records, so that not each one looks for older ones
}
