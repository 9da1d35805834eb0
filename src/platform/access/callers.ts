/** Names of callers. */
import type { Caller } from '#src/platform/access.ts'

/** A short text that identifies the caller in rate limits and idempotency records, without secrets. */
export function callerName(caller: Caller): string {
  switch (caller.kind) {
    case 'nobody':
      return 'nobody'
    case 'person':
      return `usr:${caller.userId}:${caller.organizationId ?? ''}${caller.vmId === null ? '' : `:${caller.vmId}`}`
    case 'key':
      return `key:${caller.keyId}`
    case 'system':
      return 'system'
  }
}
