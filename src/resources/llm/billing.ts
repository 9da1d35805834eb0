/**
 * Billing of requests to models. This is the only entry point: nothing outside imports from the folder `billing/`.
 *
 * A request is opened, which reserves its maximum cost, and finished, which records its actual cost. Neither asks the
 * database if the process has cached the plan and holds enough of the organization's credits. What a process remembers,
 * and which file owns it, is in `billing/state.ts`. What the database has, in three steps:
 *
 * 1. Credits: the operator grants them (`credits.ts`); what is left is an organization's balance.
 * 2. Leases: a process takes a part of the balance and spends it by itself (`leases.ts`), as long as it sends
 *    heartbeats (`processes.ts`).
 * 3. The ledger: a row for each request, the daily sums, and the cost charged to the lease, in one statement for many
 *    requests (`ledger.ts`). One writer (`ledger-writer.ts`) sends these statements in order, from a queue
 *    (`ledger-queue.ts`).
 *
 * So at any time, balance + leases + charges = grants.
 */
import type { Usage } from '#src/drivers/models/model.ts'
import { databaseAway } from '#src/platform/postgres.ts'
import { beforeClose, type Background } from '#src/platform/services.ts'
import { admit } from './billing/admission.ts'
import type { InferenceOrder } from './billing/requests.ts'
import { openBillingState } from './billing/state.ts'

export { accountsTopic } from './billing/accounts.ts'
export { addUsage, costNanoUsd, dollars, nanoUsdPerUsd, noUsage } from './billing/costs.ts'
export {
  ensurePlan,
  getCredits,
  grantCredits,
  readCredits,
  selfHostedPlan,
  setKeyBudget,
  setOrganizationBudget,
  setPlan,
  type Credits,
  type KeyBudget,
} from './billing/credits.ts'
export { requestStatuses, requestsTopic, type Payer, type RequestRoute, type RequestStatus } from './billing/ledger.ts'
export { monthOf } from './billing/months.ts'
export { endLostProcesses, inferenceProcessRetention, inferenceUpkeep } from './billing/processes.ts'
export type { InferenceOrder } from './billing/requests.ts'
export { checkMaySpend } from './billing/starts.ts'

/** Opens requests. */
export type Inference = {
  /**
   * Opens one request: checks the plan, the budgets and the credits, and reserves its maximum cost. A promise only when
   * the database must be asked.
   * @throws BerthError 402 no_active_plan, insufficient_credits, budget_exceeded; 503 service_unavailable.
   */
  open(order: InferenceOrder): Metered | Promise<Metered>
  /** Writes everything to the ledger and releases the leases. Idempotent. */
  close(): Promise<void>
}

/** One open request. */
export type Metered = {
  /** A uuid: the id of its row in the ledger. */
  readonly id: string
  /**
   * Reports progress. `usedSoFar` is called when the request is written to the ledger, once a second while it is open.
   */
  progress(upstream: string, usedSoFar: () => Usage): void
  /**
   * Ends the request; later calls do nothing. Resolves when the ledger has it, so it is called before the last byte is
   * sent.
   * @throws BerthError service_unavailable when that took more than 10 s; it is still written later.
   */
  finish(
    outcome: 'completed' | 'cut_by_client' | 'cut_by_upstream' | 'failed',
    upstream: string | null,
    usage: Usage,
  ): Promise<void>
}

const opened = new WeakMap<Background['db'], Inference>()

/** The billing of this process, created at its first use and closed with the services. */
export function inferenceOf(services: Background): Inference {
  let inference = opened.get(services.db)
  if (!inference) {
    inference = createInference(services)
    opened.set(services.db, inference)
    beforeClose(services.db, inference.close)
  }
  return inference
}

function createInference(services: Background): Inference {
  const state = openBillingState(services)
  const { accounts, queue, writer } = state
  return {
    open(order) {
      if (state.isClosed || queue.full) throw databaseAway()
      const {
        payer: { organizationId, keyId },
        maxCostNanoUsd,
      } = order
      const account = accounts.find(organizationId)
      account.usedAtMs = performance.now()
      if (account.plan !== null && accounts.fresh(account, maxCostNanoUsd > 0 ? keyId : null)) {
        if (maxCostNanoUsd === 0) return state.begin(order, account, null)
        const key = keyId === null ? null : account.key(keyId)
        if (writer.trusted && account.leftFor(key) >= maxCostNanoUsd) return state.begin(order, account, key)
      }
      return admit(services.db, state, order, account)
    },
    close: state.close,
  }
}
