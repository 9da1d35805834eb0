/**
 * Limits of requests that a code host has signed: pushes, and events for triggers. In the platform, because the driver
 * of the code host and REST read them too.
 */

/** How much is received from clients nobody knows yet, and for how long. */
export const signedRequestLimits = {
  bodyBytes: 25 * 1024 * 1024, // GitHub's own limit for what it sends
  usualBodyBytes: 256 * 1024, // a larger body takes one of the places for large ones
  heldBytes: 160 * 1024 * 1024, // of all bodies that a process has in memory: a sender that is slow holds what it has sent
  bodiesAtOnce: 64, // that a process works on, once they are whole
  largeBodiesAtOnce: 4,
  addressShare: 0.25, // of the large ones and of the bytes: what one address may take
  receivedAtOnce: 2_000, // that a process receives, however slowly
  receiveSeconds: 10, // for the whole body; GitHub itself waits no longer for the answer
  retrySeconds: 10, // after how long to try again what found no place
  headerLength: 100, // characters of an event's name, and of a delivery's id
} as const
