/** `berth run`: a program in a sandbox. */
import { extname } from 'node:path'
import { UsageError } from '../errors.ts'
import type { Noun } from '../grammar.ts'
import { given, readText } from '../inputs.ts'
import { newKey } from '../keys.ts'

const languages: Readonly<Record<string, string>> = {
  '.py': 'python',
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.ts': 'typescript',
  '.sh': 'bash',
  '.rb': 'ruby',
}

/** Sandboxes. */
export const run: Noun = {
  alone: {
    args: '<file> [words...]',
    options: [
      ['--language <name>', 'what it is written in, where its name does not say'],
      ['--timeout <time>', 'end it after so long'],
      ['--template <id>', 'what the sandbox starts from'],
      ['--env <key=value>', 'a variable for it', 'many'],
    ],
    passesExit: true,
    async run(cli, [file = ''], options, words) {
      const language = options.text('language') ?? languages[extname(file)]
      if (language === undefined) throw new UsageError('What is it written in? Pass --language.')
      const code = await readText(file)
      const timeoutSeconds = options.seconds('timeout')
      const sandbox = await (await cli.berth()).sandboxes.run(
        language,
        code,
        given({
          args: words.length > 0 ? words : undefined,
          timeoutSeconds,
          templateId: options.text('template'),
          env: options.pairs('env'),
        }),
        { idempotencyKey: newKey(), timeoutSeconds: (timeoutSeconds ?? 60) + 240 },
      )
      if (cli.out.isJson) cli.out.json(sandbox)
      else {
        cli.out.printed(sandbox.command.stdout)
        cli.out.printed(sandbox.command.stderr, process.stderr)
      }
      return sandbox.command.exitCode
    },
  },
}
