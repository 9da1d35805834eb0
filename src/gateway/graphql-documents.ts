/** Documents that were sent before: parsed, known to be valid, and worked out for quick runs. Bounded, the least recently used leaving first. */
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

// Together they bound what is kept, to some 85 MB: a character of a document takes 80 to 170 bytes parsed, a field of a plan 400.
const keptMax = 500
const keptDocumentLength = 16_384 // characters; a longer one is read anew each time
const keptWeightMax = 500_000 // characters, and fields of plans as the characters that take as much
const fieldWeight = 5

/** A document is worked out when it runs for the second time: clients that never send one twice cost no work beyond its run. */
const runsBeforePlan = 1

type Known = { source: string; document: DocumentNode; valid: boolean; runs: number; plan: Plan | null; weight: number }

/** The documents of one schema. */
export type Documents = {
  /** Parses a document, or finds it parsed. @throws BerthError, GraphQLError as parseDocument. */
  read(source: string): DocumentNode
  /** The same for one that was read before; undefined when it is not kept. */
  find(source: string): DocumentNode | undefined
  /** What is wrong with a document. `maySuggest`: whether names of the schema are suggested. */
  validate(document: DocumentNode, maySuggest: boolean): readonly GraphQLError[]
  /** Runs a query or a mutation of a valid document. */
  run(parts: ExecutionArgs): ExecutionResult | Promise<ExecutionResult>
}

/** Makes the documents of a schema, none of them known yet. */
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
    bySource.delete(source) // and in again, as the one used last
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
    known.plan = planOperation(schema, known.document)
    const added = (known.plan?.size ?? 0) * fieldWeight
    known.weight += added
    if (bySource.get(known.source) === known) weight += added
    makeRoom()
    return known.plan
  }

  return {
    find,
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
      return runPlan(plan, { schema, contextValue: parts.contextValue, variableValues: parts.variableValues })
    },
  }
}
