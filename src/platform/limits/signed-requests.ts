/** Limits of requests that a code host has signed: pushes, and events for triggers. */

/** How much is received from clients nobody knows yet, and for how long. */
export const signedRequestLimits = {
  bodyBytes: 25 * 1024 * 1024, // GitHub's own limit for what it sends
  usualBodyBytes: 256 * 1024, // a larger body takes one of the places for large ones
  bodiesAtOnce: 64, // that a process receives or reads
  largeBodiesAtOnce: 4,
  receiveSeconds: 20, // for the whole body; GitHub itself waits 10 s for the answer
  retrySeconds: 10, // after how long to try again what found no place
  headerLength: 100, // characters of an event's name, and of a delivery's id
} as const
