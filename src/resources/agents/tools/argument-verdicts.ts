/** The check of a tool call's arguments itself, for whichever thread runs it. */
import { SchemaChecks } from '#src/drivers/mcp/schema-checks.ts'

/** What is checked. */
export type Question = { schema: unknown; input: Record<string, unknown> }

/** What came of it: a match (null), what does not match, or a schema so deep that the stack was full. */
export type Verdict = null | { mismatch: string } | 'unchecked'

const validators = new SchemaChecks()

/** Checks arguments, for as long as it takes. A schema that cannot be read matches everything. */
export function checkArguments({ schema, input }: Question): Verdict {
  try {
    const outcome = validators.getValidator(schema as Parameters<typeof validators.getValidator>[0])(input) // throws when it is no schema
    return outcome.valid ? null : { mismatch: sayPlainly(outcome.errorMessage ?? '') }
  } catch (error) {
    return error instanceof RangeError ? 'unchecked' : null
  }
}

/** The usual mistakes in words; the others stay as the validator says them. */
function sayPlainly(mismatch: string): string {
  return mismatch
    .replaceAll(/#(?:\/[\w/-]{1,200})?: Property "[\w-]{1,200}" does not match additional properties schema\.; /g, '')
    .replaceAll(
      /#(?:\/([\w/-]{1,200}))?: Instance does not have required property "([\w-]{1,200})"\.;?/g,
      (_all, at: string | undefined, name: string) => `${at === undefined ? '' : `${at}/`}${name} is required.`,
    )
    .replaceAll(/#\/([\w/-]{1,200}): False boolean schema\.;?/g, '$1 is unknown.')
}
