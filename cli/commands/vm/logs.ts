/** `berth vm logs`: of a background process, or of the VM's kernel. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Cli, Verb } from '../../grammar.ts'
import { findVmOf } from './names.ts'

const betweenLooksMs = 2_000

/** `logs`. */
export const logsVerb: Verb = {
  name: 'logs',
  args: '<vm> [process]',
  about: 'what a background process printed; without one, the kernel of the VM',
  options: [['--follow', 'go on until it ends, and end with the exit code of the process']],
  async run(cli, [vm, processId], options) {
    const id = await findVmOf(cli, vm)
    const isFollowed = options.flag('follow')
    if (processId === undefined) return isFollowed ? followKernel(cli, id) : printKernel(cli, id)
    return isFollowed ? followProcess(cli, id, processId) : printProcess(cli, id, processId)
  },
}

async function printProcess(cli: Cli, id: string, processId: string): Promise<void> {
  const { stdout, stderr, process: row } = await (await cli.berth()).vms.processes.get(id, processId)
  if (cli.out.isJson) return cli.out.json({ ...row, stdout, stderr })
  cli.out.printed(stdout)
  return cli.out.printed(stderr, process.stderr)
}

async function followProcess(cli: Cli, id: string, processId: string): Promise<number | void> {
  for await (const piece of (await cli.berth()).vms.processes.output(processId, { variables: { vmId: id } })) {
    if (cli.out.isJson) cli.out.json(piece)
    else if (piece.text) cli.out.printed(piece.text, piece.stream === 'STDERR' ? process.stderr : process.stdout)
    if (piece.hasEnded) return piece.exitCode ?? 0
  }
}

async function printKernel(cli: Cli, id: string): Promise<void> {
  const kernelLog = await (await cli.berth()).vms.kernelLog(id)
  if (cli.out.isJson) cli.out.json({ kernelLog })
  else cli.out.printed(kernelLog)
}

/** Looks again and again, and prints what is new. It ends with the VM: a look fails then. */
async function followKernel(cli: Cli, id: string): Promise<never> {
  const { vms } = await cli.berth()
  for (let last = ''; ; await pause(betweenLooksMs)) {
    const kernelLog = await vms.kernelLog(id)
    const text = after(last, kernelLog)
    last = kernelLog
    if (text && cli.out.isJson) cli.out.json({ kernelLog: text })
    else cli.out.printed(text)
  }
}

/** What comes after the last line of the reading before; all, when that line is gone. */
function after(before: string, now: string): string {
  const lastLine = before.trimEnd().split('\n').at(-1) ?? ''
  const at = lastLine === '' ? -1 : now.lastIndexOf(`${lastLine}\n`)
  return at < 0 ? now : now.slice(at + lastLine.length + 1)
}
