/** `berth vm ssh --proxy`: the SSH server of a VM on stdin and stdout, as ssh's ProxyCommand has it. */
import { once } from 'node:events'
import { UsageError } from '../errors.ts'
import type { Cli } from '../grammar.ts'
import { pourInto } from '../tunnels.ts'
import { noteHostKey } from './config.ts'
import { ensureKey } from './keys.ts'

/** Lets our key in, notes the host key before ssh looks for it, and passes bytes to the end. */
export async function passToSsh(cli: Cli, vmId: string): Promise<number> {
  const { stdin, stdout } = process
  if (stdin.isTTY) throw new UsageError('This is for ssh, as its ProxyCommand: berth vm ssh-config prints the lines.')
  const { tunnels } = (await cli.berth()).vms
  const { hostKey, ticket } = await tunnels.openSsh({ vmId, publicKey: ensureKey(cli.env) })
  noteHostKey(cli.env, vmId, hostKey)
  const tunnel = await tunnels.connect(ticket, {
    write: async (bytes) => void (stdout.write(bytes) || (await once(stdout, 'drain'))),
    end: () => tunnel.leave(), // behind the server's last byte, an SSH client has no more to say
  })
  await pourInto(tunnel, stdin)
  return 0
}
