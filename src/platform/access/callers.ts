/** Names of callers. */
import type { Caller } from '#src/platform/access.ts'

/** A short text that identifies the caller in rate limits and idempotency records, without secrets. */
export function callerName(caller: Caller): string {
  switch (caller.kind) {
    case 'nobody':
      return 'nobody'
    case 'person': {
      const { userId, organizationId, vmId, program } = caller
      return `usr:${userId}:${organizationId ?? ''}${suffix(vmId)}${suffix(program?.authorizationId)}`
    }
    case 'key':
      return `key:${caller.keyId}`
    case 'system':
      return 'system'
  }
}

function suffix(id: string | null | undefined): string {
  return id ? `:${id}` : ''
}

/**
 * The person who calls, by their stored id; null for a key, for the token inside a VM, which others can read, and for a program
 * that was let in. @throws BerthError 401 for nobody.
 */
export function findPerson(caller: Caller): string | null {
  if (caller.kind === 'nobody') throw caller.refusal
  return caller.kind === 'person' && caller.vmId === null && !caller.program ? caller.userId : null
}
