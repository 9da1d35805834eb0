/** `berth export`. */
import { didYouMean } from '../apply/nearest.ts'
import { exportFile } from '../apply/exporting.ts'
import { fileSchema } from '../apply/json-schema.ts'
import { sectionNames } from '../apply/reading.ts'
import { UsageError } from '../errors.ts'
import type { Noun } from '../grammar.ts'
import { lineOf } from '../text.ts'

const lineWidth = 120 // at which long texts are folded
/** Where a Berth serves the JSON Schema of its files. */
const schemaPath = '/cli/apply/berth.schema.json'

/** Prints what Berth has as a file. */
export const exporting: Noun = {
  alone: {
    args: '[sections...]',
    options: [
      ['--project <project>', 'only what is in this project: VMs and databases, unless sections are named'],
      ['--schema', 'print the JSON Schema of such files instead'],
    ],
    async run(cli, _args, options, names) {
      if (options.flag('schema')) return cli.out.line(JSON.stringify(fileSchema, null, 2))
      const known = sectionNames()
      const unknown = names.find((name) => !known.includes(name))
      if (unknown !== undefined)
        throw new UsageError(
          `No section '${lineOf(unknown)}'.${didYouMean(unknown, known)} There are: ${known.join(', ')}.`,
        )
      const { file, notes } = await exportFile(await cli.berth(), names, options.text('project'))
      for (const note of notes) cli.out.note(note)
      if (cli.out.isJson) return cli.out.json(file)
      const { stringify } = await import('yaml')
      cli.out.line(`# yaml-language-server: $schema=${new URL(schemaPath, cli.target().url).href}`)
      for (const note of notes) cli.out.line(`# ${note}`)
      cli.out.line(Object.keys(file).length === 0 ? '{}' : stringify(file, { lineWidth }).trimEnd())
    },
  },
}
