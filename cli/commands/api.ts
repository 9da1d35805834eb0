/** `berth api`: any GraphQL operation. */
import { UsageError } from '../errors.ts'
import type { Noun } from '../grammar.ts'
import { readObject, readText } from '../inputs.ts'

/** The operation. */
export const api: Noun = {
  alone: {
    args: '[document]',
    options: [
      ['-f, --file <path>', 'the document from a file; - is stdin'],
      ['-v, --variable <name=value>', 'a variable: JSON where it is some, text otherwise', 'many'],
      ['--variables <path>', 'all variables from a file of JSON or YAML'],
    ],
    async run(cli, [document], options) {
      const file = options.text('file')
      if (document !== undefined && file !== undefined) throw new UsageError('Pass a document or --file, not both.')
      const text = document ?? (await readText(file ?? '-'))
      if (text.trim() === '') throw new UsageError('There is no document.')
      const from = options.text('variables')
      const named = Object.entries(options.pairs('variable') ?? {}).map(
        ([name, value]) => [name, valueOf(value)] as const,
      )
      const variables = { ...(from === undefined ? {} : await readObject(from)), ...Object.fromEntries(named) }
      const berth = await cli.berth()
      if (!/^[\s,]*(?:#[^\n]*\n[\s,]*)*subscription\b/.test(text))
        return cli.out.json(await berth.query(text, variables))
      for await (const answer of berth.subscribe(text, variables)) cli.out.json(answer)
      return undefined
    },
  },
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text // it is a text without quotes
  }
}
