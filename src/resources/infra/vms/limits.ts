/** Limits of VMs that nobody uses. */
export const idleVmLimits = {
  idleSecondsMin: 10, // without use, after which a VM is paused or stopped; as long as two rounds of what is recorded
  idleSecondsMax: 30 * 24 * 3_600,
  activityMs: 5_000, // how often a node records which VMs are in use
  listenSeconds: 30, // how long a request that woke a VM waits until something listens at its port
} as const
