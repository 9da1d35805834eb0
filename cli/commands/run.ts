/** `berth run`: a program in a sandbox. */
import { extname } from 'node:path'
import { sentenceOf, UsageError } from '../errors.ts'
import type { Cli, Noun } from '../grammar.ts'
import { given, readText } from '../inputs.ts'
import { newKey } from '../keys.ts'
import { lineOf } from '../text.ts'

const languages: Readonly<Record<string, string>> = {
  '.py': 'python',
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.ts': 'typescript',
  '.sh': 'bash',
  '.rb': 'ruby',
}

const usualTtlSeconds = 300 // what a sandbox has unless its caller says otherwise
const ttlSecondsMax = 86_400
const spareSeconds = 60 // of its start

/** Sandboxes. */
export const run: Noun = {
  alone: {
    args: '<file> [words...]',
    options: [
      ['--language <name>', 'what it is written in, where its name does not say'],
      ['--timeout <time>', 'end it after so long'],
      ['--template <id>', 'what the sandbox starts from'],
      ['--env <key=value>', 'a variable for it', 'many'],
      ['--keep <time>', 'leave its VM for so long; it is deleted at once otherwise'],
    ],
    passesExit: true,
    async run(cli, [file = ''], options, words) {
      const language = options.text('language') ?? languages[extname(file)]
      if (language === undefined) throw new UsageError('What is it written in? Pass --language.')
      const code = await readText(file)
      const timeoutSeconds = options.seconds('timeout')
      const keepSeconds = options.seconds('keep')
      const berth = await cli.berth()
      const sandbox = await berth.sandboxes.run(
        language,
        code,
        given({
          args: words.length > 0 ? words : undefined,
          timeoutSeconds,
          ttlSeconds: ttlOf(timeoutSeconds, keepSeconds),
          templateId: options.text('template'),
          env: options.pairs('env'),
        }),
        { idempotencyKey: newKey(), timeoutSeconds: (timeoutSeconds ?? 60) + 240 },
      )
      if (keepSeconds === undefined) await leave(cli, sandbox.vm.id)
      else cli.out.note(`Its VM is ${sandbox.vm.id}, until it deletes itself.`)
      if (cli.out.isJson) cli.out.json(sandbox)
      else {
        cli.out.printed(sandbox.command.stdout)
        cli.out.printed(sandbox.command.stderr, process.stderr)
      }
      return sandbox.command.exitCode
    },
  },
}

/** How long its VM may live: a program never runs longer than that. Undefined where the usual time is enough. */
function ttlOf(timeoutSeconds: number | undefined, keepSeconds: number | undefined): number | undefined {
  const longest = Math.max((timeoutSeconds ?? 0) + spareSeconds, keepSeconds ?? 0)
  return keepSeconds !== undefined || longest > usualTtlSeconds ? Math.min(longest, ttlSecondsMax) : undefined
}

/** Deletes the VM, which would hold its memory until it deletes itself. That it cannot is no failure of the program. */
async function leave(cli: Cli, vmId: string): Promise<void> {
  try {
    await (await cli.berth()).vms.delete(vmId)
  } catch (error) {
    cli.out.note(`The VM of the sandbox could not be deleted, and deletes itself later: ${lineOf(sentenceOf(error))}`)
  }
}
