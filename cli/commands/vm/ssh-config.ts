/** `berth vm ssh-config`: what ~/.ssh/config needs to reach VMs. */
import type { Verb } from '../../grammar.ts'
import { hostBlock, isHostName } from '../../ssh/config.ts'
import { ensureKey } from '../../ssh/keys.ts'
import { lineOf } from '../../text.ts'
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
    const rows = found.map((vm) => {
      const problem = whyNoName(vm.name, found, words)
      if (problem !== undefined) cli.out.note(`${lineOf(vm.name)}: ${problem}, so ssh knows it as ${vm.id} only.`)
      const name = problem === undefined ? vm.name : undefined
      return { vm, block: hostBlock(cli.env, { id: vm.id, name }, { context, organization }) }
    })
    if (cli.out.isJson) return cli.out.json(rows.map(({ vm, block }) => ({ ...vm, config: block })))
    if (rows.length === 0) cli.out.note('None.')
    for (const { block } of rows) cli.out.line(block)
  },
}

/** Why a VM is not known by its name. */
function whyNoName(name: string, all: readonly { name: string }[], words: readonly string[]): string | undefined {
  if (all.filter((one) => one.name === name).length > 1) return 'several have this name'
  if (isHostName(name) || (words.includes(name) && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))) return undefined
  return 'the name may be another host’s'
}
