/** `berth vm ssh`: a terminal in a VM; with `--proxy`, the way of an SSH client to its server. */
import { exits, Failure, UsageError } from '../../errors.ts'
import type { Cli, Verb } from '../../grammar.ts'
import type { AttachedTerminal, Screen } from '../../../src/client/berth.ts'
import { passToSsh } from '../../ssh/proxy.ts'
import { findVmOf } from './names.ts'

/** Ends the terminal of whoever has lost the VM: Enter, then ~ and a full stop, as in ssh. */
const escape = /[\r\n]~\.$/

/** `ssh`. */
export const sshVerb: Verb = {
  name: 'ssh',
  args: '<vm> [command...]',
  about: 'a terminal in a VM; Enter ~ . leaves it',
  options: [['--proxy', 'be the ProxyCommand of ssh instead: its server on stdin and stdout']],
  passesExit: true,
  async run(cli, [vm], options, command) {
    if (options.flag('proxy')) return passToSsh(cli, await findVmOf(cli, vm))
    refuseWithoutTerminal()
    return openTerminal(cli, await findVmOf(cli, vm), command.join(' '))
  },
}

/** Opens a terminal in a VM, a login shell unless a command line is given, and stays in it until its program ends: with its exit code. */
export async function openTerminal(cli: Cli, vmId: string, command = ''): Promise<number> {
  refuseWithoutTerminal()
  const { stdout } = process
  const screen: Screen = {
    ...sizeOf(stdout),
    write: (bytes) => new Promise((resolve) => void stdout.write(bytes, () => resolve())),
    reset: () => void stdout.write('\u001bc'),
  }
  const { vms } = await cli.berth()
  const terminal = await vms.terminals.start(
    { vmId, columns: screen.columns, rows: screen.rows, ...(command ? { command } : {}) },
    screen,
  )
  return passThrough(terminal)
}

function refuseWithoutTerminal(): void {
  const { stdin, stdout } = process
  if (!stdin.isTTY || !stdout.isTTY) throw new UsageError('There is no terminal here. Use: berth vm exec')
}

/** The size of a terminal; some have none, and most programs then take it for this one. */
function sizeOf({ columns, rows }: NodeJS.WriteStream & { fd: 1 }): { columns: number; rows: number } {
  return { columns: columns || 80, rows: rows || 24 }
}

/** Everything that is typed goes there until the program ends. */
async function passThrough(terminal: AttachedTerminal): Promise<number> {
  const { stdin, stdout } = process
  let typed = '\n'
  let left: (error: Failure) => void = () => undefined
  const leaving = new Promise<never>((_resolve, reject) => (left = reject))
  const onData = (bytes: Buffer): void => {
    typed = (typed + bytes.toString('latin1')).slice(-3)
    terminal.type(bytes)
    if (!escape.test(typed)) return
    terminal.leave()
    left(new Failure('You have left the terminal; its program runs on for 15 minutes.', exits.interrupted))
  }
  const onResize = (): void => {
    const { columns, rows } = sizeOf(stdout)
    terminal.resize(columns, rows)
  }
  stdin.setRawMode(true)
  stdin.on('data', onData)
  stdout.on('resize', onResize)
  try {
    return await Promise.race([terminal.ended, leaving])
  } finally {
    stdin.setRawMode(false)
    stdin.off('data', onData)
    stdout.off('resize', onResize)
    stdin.pause()
  }
}
