/** Limits of audit events. */

/** Limits of audit events. */
export const auditLimits = {
  operationsMax: 50, // that a filter names
  nodeTypesMax: 50, // that a filter names
  exportMax: 10_000, // events in one answer
  exportedAtOnce: 500, // events read together for it
  forgottenAtOnce: 5_000, // events deleted together
} as const
