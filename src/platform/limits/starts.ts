/**
 * Limits of what starts by itself: by a deployment, a schedule or a trigger. In the platform, because kickoffs read
 * them too, on which starts stand.
 */

/** Starts on behalf of a person who is not calling. */
export const startLimits = {
  kickoffBytes: 1024 * 1024, // of a kickoff's events as JSON
  environmentsPerMinute: 60, // environments of single runs that an organization's own starts make
}
