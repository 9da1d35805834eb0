/**
 * Whether the arguments that a model wrote match the schema of their tool. A schema of others may make a check take
 * forever: one that is not done in time goes on in a thread, so that a busy host refuses nothing that is right.
 */
import type { Tool } from '#src/drivers/models/model.ts'
import { runBounded } from '#src/platform/bounded.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { withDoubles } from '#src/platform/json/numbers.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { createThread, ThreadError } from '#src/platform/threads.ts'
import { builtInTools } from '../built-in-tools.ts'
import { checkArguments, type Question, type Verdict } from './argument-verdicts.ts'
import { startOf } from '#src/platform/texts.ts'

/** A check takes a millisecond; one that needs longer than this does not go on here. */
const checkMs = 40
/** A schema whose checks failed so often in a row, in the thread too, is not checked again: its calls are refused. */
const failuresMax = 2
const slowSchemasMax = 1_000
const problemLength = 1_000

const ownSchemas: ReadonlySet<unknown> = new Set(builtInTools.map(({ inputSchema }) => inputSchema))
/** How often checks of the slow schemas failed, by the schema's hash. */
const slow = createBoundedMap<string, number>({ entriesMax: slowSchemasMax })
const thread = createThread<Question, Verdict>(new URL('./argument-thread.ts', import.meta.url), {
  memoryMegabytes: 64,
  answerMs: 1_000,
  waitingMax: 16,
})

/** How arguments do not match a schema, as a sentence for the model; null when they do. A schema that cannot be read refuses nothing: its tool decides. */
export async function findProblem(input: Record<string, unknown>, schema: Tool['parameters']): Promise<string | null> {
  const verdict = await verdictOn({ schema, input })
  if (verdict === 'unchecked')
    return 'The arguments could not be checked against the tool’s schema in time, so the call was not made. Call it again with simpler ones, or use another tool.'
  return verdict === null
    ? null
    : `The arguments do not match the tool’s schema: ${startOf(verdict.mismatch, problemLength)} Call it again with arguments that do.`
}

async function verdictOn(given: Question): Promise<Verdict> {
  if (ownSchemas.has(given.schema)) return checkArguments(given)
  const question = withDoubles(given) as Question // validators, and other threads, know no other numbers
  const name = sha256(JSON.stringify(question.schema)).toString('base64')
  const failures = slow.get(name)
  if (failures === undefined) {
    const verdict = runBounded(checkMs, () => checkArguments(question))
    if (verdict !== undefined) return verdict
  }
  if (failures !== undefined && failures >= failuresMax) return 'unchecked'
  try {
    const verdict = await thread.ask(question)
    slow.delete(name)
    return verdict
  } catch (error) {
    if (!(error instanceof ThreadError)) throw error
    if (error.reason === 'failed') slow.set(name, (failures ?? 0) + 1)
    return 'unchecked'
  }
}
