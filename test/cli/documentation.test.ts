/** The table of commands in the documentation, made from the program itself. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { wholeProgram } from '../../cli/completion.ts'

const page = join(import.meta.dirname, '../../docs/reference/cli.md')

/** Rows of a command, or of those inside it. */
function rowsOf(command: Command, path: string): string[] {
  if (command.commands.length > 0) return command.commands.flatMap((one) => rowsOf(one, `${path} ${one.name()}`))
  const args = command.registeredArguments.map((one) => {
    const name = `${one.name()}${one.variadic ? '...' : ''}`
    return one.required ? `<${name}>` : `[${name}]`
  })
  const options = command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => long !== '--help')
    .map(({ long }) => `\`${long}\``)
  return [`| \`${[path, ...args].join(' ')}\` | ${command.description()} | ${options.join(' ')} |`]
}

test('its commands are all in the documentation; if not, run: npm run generate', async () => {
  const program = await wholeProgram()
  const rows = program.commands.flatMap((command) => rowsOf(command, command.name()))
  expect(rows.length).toBeGreaterThan(70)
  const table = ['| command | does | options |', '|---|---|---|', ...rows].join('\n')
  const before = readFileSync(page, 'utf8')
  const [head = '', rest = ''] = before.split(/(?<=<!-- commands -->\n)/)
  const tail = rest.slice(rest.indexOf('<!-- /commands -->'))
  await expect(`${head}\n${table}\n\n${tail}`).toMatchFileSnapshot(page)
})
