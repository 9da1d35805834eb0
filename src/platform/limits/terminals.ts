/** Limits of terminals. In the platform, because the drivers of guests and of nodes, and the gateway read them too. */
export const terminalLimits = {
  runningPerVm: 10, // open ones
  runningPerOrganization: 50,
  columnsMax: 1000, // characters of a line of the screen
  rowsMax: 1000, // lines of the screen
  commandLength: 1024, // characters of a command line that its record keeps
  ticketSeconds: 30, // until a ticket is no longer taken
  attachSeconds: 10, // for the first message on a socket
  recheckSeconds: 5, // how often it is looked whether a client may still be attached
  keptBytes: 1024 * 1024, // of what a program printed, from which a client resumes
  unacknowledgedBytes: 512 * 1024, // printed and not acknowledged: then the program waits
  lostClientSeconds: 900, // a program without a client goes on for so long
  reconnectSeconds: 60, // how long a client waits for the worker of a node that starts again
  messageBytes: 64 * 1024, // of one message of a client
  inputBytes: 1024 * 1024, // of a client, that the program has not taken: one more, and the client is cut
  unconfirmedInputBytes: 64 * 1024, // of that, on its way to the guest
  connectionsPerVm: 16, // to the terminals of a VM: some more than it may have, for clients that take the place of others
  connectionsPerNode: 1024,
  recordHours: 24, // how long one that has ended is listed
} as const
