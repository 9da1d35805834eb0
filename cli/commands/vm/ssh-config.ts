/** `berth vm ssh-config`: what ~/.ssh/config needs to reach VMs. */
import type { Verb } from '../../grammar.ts'
import { hostBlock } from '../../ssh/config.ts'
import { ensureKey } from '../../ssh/keys.ts'
import { findVmOf } from './names.ts'

const vmsMax = 1000

/** `ssh-config`. */
export const sshConfigVerb: Verb = {
  name: 'ssh-config',
  args: '[vms...]',
  about: 'Host blocks for ~/.ssh/config, of these VMs or of all: ssh, scp, rsync, git, editors',
  async run(cli, _args, _options, words) {
    const { vms } = await cli.berth()
    ensureKey(cli.env)
    const found: { id: string; name: string }[] = []
    for (const word of words) {
      const { id, name } = await vms.get(await findVmOf(cli, word))
      found.push({ id, name })
    }
    if (words.length === 0)
      for await (const { id, name } of vms.all()) {
        if (found.length >= vmsMax) break
        found.push({ id, name })
      }
    const { name: context, organization } = cli.target()
    const rows = found.map((vm) => ({ vm, block: hostBlock(cli.env, vm, { context, organization }) }))
    if (cli.out.isJson) return cli.out.json(rows.map(({ vm, block }) => ({ ...vm, config: block })))
    if (rows.length === 0) cli.out.note('None.')
    for (const { block } of rows) cli.out.line(block)
  },
}
