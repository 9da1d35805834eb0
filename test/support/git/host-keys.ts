/** Host keys of the SSH servers of tests. */
import { clientPrivateKey, newKeys } from '#src/drivers/compute/ssh/keys.ts'

/** A new one, as ssh2 reads it: of those that ssh2 makes itself, it cannot read one in some 300. */
export function newHostKey(): string {
  return clientPrivateKey(newKeys())
}
