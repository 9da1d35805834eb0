/** Limits of functions. In the platform, because builds and VMs read them too, on which functions stand. */

/** Functions: what an organization may have, and how their programs start, sleep and fail. */
export const functionLimits = {
  functionsMax: 1000, // of an organization, those that are not deleted
  versionsKept: 20, // of one function, with the current one; the oldest are dropped
  nameLength: 63,
  commandLength: 4096, // characters of a start command
  binaryUrlLength: 2048,
  defaultPort: 8080,
  idleSecondsDefault: 300,
  idleSecondsMin: 10,
  idleSecondsMax: 86_400,
  memoryMbMin: 256,
  memoryMbMax: 65_536,
  vcpuMax: 16,
  diskMb: 10 * 1024, // of the VM that it runs in, which is new for each start from nothing
  startingMax: 4, // of one organization, at once
  startingPerNode: 16, // programs that a node starts at once
  startingOfOne: 4, // and those of one organization among them
  wakingMax: 8, // functions of one organization that an edge process asks to start at once
  wakingWaitersMax: 256, // and those that wait for their turn; beyond that requests are told to come again
  startSecondsDefault: 30, // how long a program may take until it listens at its port, and a request waits for its function
  startSecondsMin: 1,
  startSecondsMax: 300,
  unpackSeconds: 120,
  drainSeconds: 30, // how long an instance that was replaced may finish what it has begun
  endSeconds: 5, // from SIGTERM until the VM is taken away
  steadySeconds: 60, // a program that ran for so long begins anew with its failures
  retrySecondsFirst: 1, // after the first failure; each further one doubles it
  retrySecondsMax: 300,
  eventsKept: 1000, // of one function
  logBytes: 10 * 1024 * 1024, // of one function; its oldest lines are dropped
  logLinesMax: 100_000, // of one function, as they are stored: a program may print a byte at a time, for months
  logPieceBytes: 512 * 1024, // of lines that are read at once
  logPieceLines: 500,
  reasonLines: 5, // of the log, in the reason of a failure
  reasonLength: 1000, // characters of them
  maskedLength: 4, // characters; a shorter value of a variable is in too many other words
  activityMs: 5_000, // how often the edge says which functions are in use
  targetsMax: 10_000, // functions whose instance an edge process remembers
  reconcilesAtOnce: 8, // of one node
  linkedDatabasesMax: 10, // of one function
} as const
