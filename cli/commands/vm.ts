/** `berth vm`. */
import { exits, Failure, UsageError } from '../errors.ts'
import type { Cli, Noun, Verb } from '../grammar.ts'
import { given } from '../inputs.ts'
import { whileItGoesOn } from '../interrupts.ts'
import { newKey } from '../keys.ts'
import { ageOf, word } from '../output.ts'
import { getOf, idOfOption, lsOf, rmOf } from '../plain.ts'
import { readStdin } from '../prompts.ts'
import { lineOf } from '../text.ts'
import { waitFor } from '../waiting.ts'
import { projectNoun } from './organization.ts'
import { copyVerb } from './vm/files.ts'
import { forwardVerb } from './vm/forward.ts'
import { findVmOf as findVm, vmNoun } from './vm/names.ts'
import { logsVerb } from './vm/logs.ts'
import { sshConfigVerb } from './vm/ssh-config.ts'
import { sshVerb } from './vm/terminal.ts'

const statuses = ['CREATING', 'RUNNING', 'PAUSED', 'STOPPED', 'ERROR'] as const

const create: Verb = {
  name: 'create',
  args: '[name]',
  about: 'create a VM, and wait until it runs',
  options: [
    ['--template <id>', 'what its disk starts from'],
    ['--cpus <count>', 'processors'],
    ['--memory <mb>', 'memory in MB'],
    ['--disk <mb>', 'disk in MB'],
    ['--ttl <time>', 'delete it after so long: 90s, 15m, 2h, 3d'],
    ['--env <key=value>', 'an environment variable', 'many'],
    ['--repo <url>', 'a repository to clone into it', 'many'],
    ['--project <project>', 'its project'],
    ['--no-wait', 'do not wait until it runs'],
  ],
  async run(cli, [name], options) {
    const berth = await cli.berth()
    const repos = options.texts('repo').map((url) => ({ url }))
    const input = given({
      name,
      templateId: options.text('template'),
      vcpuCount: options.number('cpus'),
      memoryMb: options.number('memory'),
      diskMb: options.number('disk'),
      ttlSeconds: options.seconds('ttl'),
      env: options.pairs('env'),
      gitRepos: repos.length > 0 ? repos : undefined,
      projectId: await idOfOption(projectNoun, cli, options.text('project')),
      wait: options.flag('wait'),
    })
    const vm = await whileItGoesOn(
      'The VM is made all the same: berth vm ls',
      berth.vms.create(input, { idempotencyKey: newKey() }),
    )
    for (const warning of vm.warnings ?? []) cli.out.note(`Warning: ${lineOf(warning)}`)
    cli.out.result(vm, `${lineOf(vm.name)}  ${vm.id}  ${word(vm.status)}`)
  },
}

const exec: Verb = {
  name: 'exec',
  args: '<vm> <command...>',
  about: 'run a command in a VM; put -- before one with options',
  options: [
    ['--background', 'start it, and print the id of its process'],
    ['--stdin', 'pass on what comes in, up to 900 KiB'],
    ['--timeout <time>', 'end it after so long, 60s by default'],
    ['--env <key=value>', 'a variable for it', 'many'],
    ['--dir <path>', 'the folder that it runs in'],
    ['--root', 'run it as root'],
  ],
  passesExit: true,
  async run(cli, [vm], options, command) {
    const id = await findVm(cli, vm)
    const stdin = options.flag('stdin') ? await readStdin() : undefined
    const result = await whileItGoesOn(
      'The command goes on in the VM, until it or its time has ended. In berth vm ssh, Ctrl-C reaches it.',
      (await cli.berth()).vms.exec(
        id,
        command,
        given({
          background: options.flag('background') || undefined,
          timeoutSeconds: options.seconds('timeout'),
          env: options.pairs('env'),
          workingDir: options.text('dir'),
          user: options.flag('root') ? ('ROOT' as const) : undefined,
          stdin,
        }),
      ),
    )
    if (options.flag('background')) return cli.out.result(result, result.processId ?? '')
    if (cli.out.isJson) cli.out.json(result)
    else {
      cli.out.printed(result.stdout)
      cli.out.printed(result.stderr, process.stderr)
    }
    if (result.hasTimedOut) {
      cli.out.note('It was ended by its time limit: --timeout')
      return exits.timeLimit
    }
    return result.exitCode
  },
}

const preview: Verb = {
  name: 'preview',
  args: '<vm> <port>',
  about: 'an address of a port, for whoever has it',
  options: [['--ttl <time>', 'how long it holds']],
  async run(cli, [vm, port = ''], options) {
    if (!/^\d{1,5}$/.test(port)) throw new UsageError(`A port is a number, not '${lineOf(port)}'.`)
    const id = await findVm(cli, vm)
    const url = await (await cli.berth()).vms.preview(id, Number(port), options.seconds('ttl'))
    cli.out.result({ url }, lineOf(url))
  },
}

const ports: Verb = {
  name: 'ports',
  args: '<vm>',
  about: 'what listens in a VM',
  async run(cli, [vm]) {
    const id = await findVm(cli, vm)
    cli.out.table(await (await cli.berth()).vms.ports(id), [
      ['PORT', (row) => row.port],
      ['ADDRESS', (row) => row.address],
      ['REACHABLE', (row) => (row.isReachable ? 'yes' : 'no')],
      ['PROCESS', (row) => row.processName],
    ])
  },
}

const processes: Verb = {
  name: 'ps',
  args: '<vm>',
  about: 'background processes of a VM',
  async run(cli, [vm]) {
    const id = await findVm(cli, vm)
    cli.out.table((await (await cli.berth()).vms.processes.list(id)).nodes, [
      ['ID', (row) => row.id],
      ['STATUS', (row) => word(row.status)],
      ['EXIT', (row) => row.exitCode],
      ['AGE', (row) => ageOf(row.startedAt)],
      ['COMMAND', (row) => row.command],
    ])
  },
}

const events: Verb = {
  name: 'events',
  args: '<vm>',
  about: 'a line for each change of its status, until it is deleted',
  async run(cli, [vm]) {
    const id = await findVm(cli, vm)
    for await (const event of (await cli.berth()).vms.events(id))
      cli.out.result(
        event,
        `${event.at}  ${cli.out.state(word(event.status))}  ${lineOf(event.statusReason ?? '')}`.trimEnd(),
      )
  },
}

/** `start` and the like: asks for a status, and waits for it. */
function moveVerb(name: 'start' | 'stop' | 'pause' | 'resume', status: string): Verb {
  return {
    name,
    args: '<vm>',
    about: `${name} a VM, and wait until it is ${status.toLowerCase()}`,
    options: [['--no-wait', 'do not wait']],
    async run(cli, [text = ''], options) {
      const id = await findVm(cli, text)
      const { vms } = await cli.berth()
      let { status: now } = await vms[name](id)
      if (options.flag('wait') && now !== status) now = (await reach(cli, id, status)) as typeof now
      cli.out.result({ id, status: now }, `${lineOf(text)}  ${word(now)}`)
    },
  }
}

async function reach(cli: Cli, id: string, status: string): Promise<string> {
  const { vms } = await cli.berth()
  const event = await waitFor(
    (signal) => vms.events(id, { signal }),
    (one) => one.status === status || one.status === 'ERROR',
  )
  if (event.status !== status) throw new Failure(`It is in error: ${event.statusReason ?? 'no reason is known'}.`)
  return event.status
}

/** VMs. */
export const vm: Noun = {
  verbs: [
    lsOf(vmNoun, {
      options: [['--status <status>', `only those: ${statuses.map((one) => one.toLowerCase()).join(', ')}`]],
      of(options) {
        const status = options.text('status')?.toUpperCase()
        if (status === undefined) return {}
        if (!statuses.some((one) => one === status))
          throw new UsageError(`--status takes one of: ${statuses.join(', ').toLowerCase()}.`)
        return { statuses: [status] }
      },
    }),
    create,
    getOf(vmNoun),
    rmOf(vmNoun, (berth, id) => berth.vms.delete(id)),
    moveVerb('start', 'RUNNING'),
    moveVerb('stop', 'STOPPED'),
    moveVerb('pause', 'PAUSED'),
    moveVerb('resume', 'RUNNING'),
    exec,
    logsVerb,
    processes,
    sshVerb,
    sshConfigVerb,
    forwardVerb,
    copyVerb,
    preview,
    ports,
    events,
  ],
}
