/**
 * A cache of documents: parsed, validated, and planned for fast execution. Bounded; the least recently used are evicted
 * first.
 */
import {
  execute,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLSchema,
} from 'graphql'
import { parseDocument, validateBriefly } from './graphql-checks.ts'
import { planOperation, type Plan } from './graphql-plans.ts'
import { runPlan } from './graphql-runs.ts'

// Together these limit the cache to some 85 MB: a character of a document takes 80 to 170 bytes when parsed, a field of a plan 400.
const keptMax = 500
const keptDocumentLength = 16_384 // characters; a longer one is parsed each time
const keptWeightMax = 500_000 // characters; a plan's fields count as the characters that take as much
const fieldWeight = 5

/**
 * A document is planned when it runs for the second time, so that clients that never repeat one cause no extra work.
 */
const runsBeforePlan = 1

/** The fields of a plan that are kept: a document with more is executed by graphql, whose work depends only on the answer. */
const planFieldsMax = 600

type Known = { source: string; document: DocumentNode; valid: boolean; runs: number; plan: Plan | null; weight: number }

/** The documents of one schema. */
export type Documents = {
  /** Parses a document, or finds it in the cache. @throws BerthError, GraphQLError as parseDocument. */
  read(source: string): DocumentNode
  /** Validates a document. `maySuggest`: whether names in the schema are suggested. */
  validate(document: DocumentNode, maySuggest: boolean): readonly GraphQLError[]
  /** Executes an operation of a valid document; of a subscription, the event that is `rootValue`. */
  run(parts: ExecutionArgs): ExecutionResult | Promise<ExecutionResult>
}

/** Makes an empty cache for a schema. */
export function createDocuments(schema: GraphQLSchema): Documents {
  const bySource = new Map<string, Known>()
  const byDocument = new WeakMap<DocumentNode, Known>()
  let weight = 0

  const drop = (known: Known): void => {
    if (bySource.delete(known.source)) weight -= known.weight
  }
  const find = (source: string): DocumentNode | undefined => {
    const known = bySource.get(source)
    if (!known) return undefined
    bySource.delete(source) // and reinserted, as the most recently used
    bySource.set(source, known)
    return known.document
  }
  const makeRoom = (): void => {
    for (const oldest of bySource.values()) {
      if (bySource.size <= keptMax && weight <= keptWeightMax) return
      drop(oldest)
    }
  }
  const keep = (source: string, document: DocumentNode): void => {
    const known: Known = { source, document, valid: false, runs: 0, plan: null, weight: source.length }
    byDocument.set(document, known)
    if (source.length > keptDocumentLength) return
    bySource.set(source, known)
    weight += known.weight
    makeRoom()
  }
  const planOf = (known: Known): Plan | null => {
    if (known.runs++ !== runsBeforePlan) return known.plan
    let fields = 0
    const planned = planOperation(schema, known.document, (more) => {
      // A plan that passes the limit goes with this execution, and gives back what it weighed.
      const weighed = fields > planFieldsMax ? 0 : fields + more > planFieldsMax ? -fields : more
      fields += more
      if (fields > planFieldsMax) known.plan = null
      known.weight += weighed * fieldWeight
      if (bySource.get(known.source) === known) weight += weighed * fieldWeight
      makeRoom()
    })
    if (fields <= planFieldsMax) known.plan = planned
    return planned
  }

  return {
    read(source) {
      const found = find(source)
      if (found) return found
      const document = parseDocument(source)
      keep(source, document)
      return document
    },
    validate(document, maySuggest) {
      const known = byDocument.get(document)
      if (known?.valid) return []
      const findings = validateBriefly(maySuggest)(schema, document)
      if (known && findings.length === 0) known.valid = true
      return findings
    },
    run(parts) {
      const known = byDocument.get(parts.document)
      const plan = known?.valid ? planOf(known) : null
      if (!plan || (parts.operationName && parts.operationName !== plan.operation.name?.value)) return execute(parts)
      return runPlan(plan, parts)
    },
  }
}
