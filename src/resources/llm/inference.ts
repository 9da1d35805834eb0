/**
 * What requests to models cost, and who may make them: each is opened, which sets aside what it may cost at most, and
 * finished, which writes down what it did cost. One of these per process and database; neither asks the database when
 * the process remembers the plan and holds enough of the organization's credits.
 */
import type { Usage } from '#src/drivers/models/model.ts'
import { nowMs } from '#src/platform/clock.ts'
import { newUuid } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { databaseAway } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { beforeClose, type Background } from '#src/platform/services.ts'
import {
  createAccounts,
  isQuiet,
  keyPurse,
  leaseLeft,
  type Account,
  type Accounts,
  type Purse,
} from './billing/accounts.ts'
import { admit, leftFor } from './billing/admission.ts'
import { checkOut, creditsWantedTopic, giveLeasesBack, givePartBack } from './billing/leases.ts'
import { createLedgerQueue } from './billing/ledger-queue.ts'
import { createLedgerWriter, type LedgerWriter } from './billing/ledger-writer.ts'
import { requestsTopic } from './billing/ledger.ts'
import { RunningRequest, type InferenceOrder, type Running } from './billing/running-requests.ts'

export type { Payer, RequestRoute } from './billing/ledger.ts'

/** A request running this long is written down before it ends, so that a kill loses a second at most. */
const openAfterMs = 250
const sweepMs = 100
const progressEverySweeps = 10
const heartbeatMs = 5_000
const leaseIdleMs = 30_000

/** Opens requests. */
export type Inference = {
  /**
   * Opens one request: checks the plan, the budgets and the credits, and sets aside what it may cost at most. A promise
   * only when the database must be asked.
   * @throws BerthError 402 no_active_plan, insufficient_credits, budget_exceeded; 503 service_unavailable.
   */
  open(order: InferenceOrder): Metered | Promise<Metered>
  /** Writes everything down and gives the leases back. Idempotent. */
  close(): Promise<void>
}

/** One open request. */
export type Metered = {
  /** A uuid: the id of its row in the ledger. */
  readonly id: string
  /** Something came. What has been used so far is asked when it is written down, once a second while it is open. */
  progress(upstream: string, usedSoFar: () => Usage): void
  /**
   * Ends it, once: later calls do nothing. Resolves when the ledger has it, so it is called before the last byte goes out.
   * @throws BerthError service_unavailable when that took more than 10 s; it is written down later all the same.
   */
  finish(
    outcome: 'completed' | 'cut_by_client' | 'cut_by_upstream' | 'failed',
    upstream: string | null,
    usage: Usage,
  ): Promise<void>
}

const opened = new WeakMap<Background['db'], Inference>()

/** This process's, made at its first use and closed with the services. */
export function inferenceOf(services: Background): Inference {
  let inference = opened.get(services.db)
  if (!inference) {
    inference = createInference(services)
    opened.set(services.db, inference)
    beforeClose(services.db, inference.close)
  }
  return inference
}

function createInference({ db, pubsub }: Background): Inference {
  const accounts = createAccounts(db, pubsub)
  const writer = createLedgerWriter(db, newUuid(), (held, all) => noteHeld(accounts, held, all))
  const young = new Set<RunningRequest>()
  const queue = createLedgerQueue(writer, () => young.size)
  const running: Running = { young, old: new Set(), queue, toldAtMs: new Map(), untold: new Set() }
  let closing: Promise<void> | null = null
  const begin = (order: InferenceOrder, account: Account, key: Purse | null): Metered => {
    if (closing) throw databaseAway() // it was let in while everything was given back
    const request = new RunningRequest(order, account, key, running)
    running.young.add(request)
    return request
  }
  pubsub.listen(creditsWantedTopic, (id) => {
    if (id !== null)
      giveSpare(db, accounts.find(id), writer).catch((error: Error) =>
        log.debug({ reason: error.message }, 'credits that others want could not be given back'),
      )
  })
  const stopTimers = keepTime(db, accounts, running, writer)

  async function close(): Promise<void> {
    stopTimers()
    for (const request of [...running.young, ...running.old]) void request.end('lost', request.upstream, request.used())
    await queue.drain()
    const organizationIds = [...accounts.all()].map((account) => account.organizationId)
    const leave = async (): Promise<void> => {
      await giveLeasesBack(db, writer.processId, organizationIds)
      await checkOut(db, writer.processId)
    }
    await writer
      .inLane(leave)
      .catch((error: Error) =>
        log.warn({ reason: error.message }, 'leases could not be given back now; a worker will do it'),
      )
  }

  return {
    open(order) {
      if (closing || queue.full) throw databaseAway()
      const {
        payer: { organizationId, keyId },
        maxCostNanoUsd,
      } = order
      const account = accounts.find(organizationId)
      account.usedAtMs = performance.now()
      if (account.plan !== null && accounts.fresh(account, maxCostNanoUsd > 0 ? keyId : null)) {
        if (maxCostNanoUsd === 0) return begin(order, account, null)
        const key = keyId === null ? null : keyPurse(account, keyId)
        if (writer.trusted && leftFor(account, key) >= maxCostNanoUsd) return begin(order, account, key)
      }
      return admit({ db, accounts, writer, begin }, order, account)
    },
    close: () => (closing ??= close()),
  }
}

/** Does what is due: open requests are written down, those who follow are told, the process says that it lives, idle leases go back. */
function keepTime(db: Background['db'], accounts: Accounts, running: Running, writer: LedgerWriter): () => void {
  const { queue } = running
  let sweeps = 0
  const sweep = (): void => {
    const beforeMs = nowMs() - openAfterMs
    for (const request of running.young) {
      if (request.startedMs > beforeMs) break // the oldest are in front
      running.young.delete(request)
      running.old.add(request)
      void queue.push(request) // when it cannot be written, its end will say so
    }
    if (++sweeps % progressEverySweeps === 0)
      for (const request of running.old) if (request.changed) void queue.push(request)
    for (const organizationId of running.untold)
      publish(db, requestsTopic, organizationId).catch((error: Error) =>
        log.debug({ reason: error.message }, 'a notice of requests was not sent'),
      )
    queue.refuseLate()
    running.untold.clear()
    running.toldAtMs.clear()
  }
  const beat = async (): Promise<void> => {
    await writer.checkIn()
    const idleMs = performance.now() - leaseIdleMs
    const idle = [...accounts.all()].filter(
      (account) => account.heldNanoUsd !== 0 && account.usedAtMs < idleMs && isQuiet(account),
    )
    if (idle.length > 0)
      await writer.inLane(async () => {
        const quiet = idle.filter(isQuiet)
        for (const account of quiet) account.heldNanoUsd = 0 // whoever comes meanwhile takes anew, behind this
        await giveLeasesBack(
          db,
          writer.processId,
          quiet.map((account) => account.organizationId),
        )
      })
    accounts.tidy()
  }
  const timers = [
    setInterval(sweep, sweepMs),
    setInterval(
      () =>
        void beat().catch((error: Error) =>
          log.debug({ reason: error.message }, 'the database could not be told that this process lives'),
        ),
      heartbeatMs,
    ),
  ]
  for (const timer of timers) timer.unref()
  return () => timers.forEach((timer) => clearInterval(timer))
}

/** Gives back what this process holds and does not need, because another one asked. */
async function giveSpare(db: Background['db'], account: Account, writer: LedgerWriter): Promise<void> {
  if (leaseLeft(account) > 0)
    await writer.inLane(async () => {
      const spareNanoUsd = leaseLeft(account)
      if (spareNanoUsd <= 0) return
      account.heldNanoUsd -= spareNanoUsd // nobody sets it aside meanwhile
      account.heldNanoUsd =
        (await givePartBack(db, writer.processId, account.organizationId, spareNanoUsd)) ?? account.heldNanoUsd
    })
}

/** Notes what the database says is left of the leases; with `all`, there are no others. */
function noteHeld(accounts: Accounts, held: ReadonlyMap<string, number>, all: boolean): void {
  if (all) for (const account of accounts.all()) account.heldNanoUsd = 0
  for (const [organizationId, nanoUsd] of held) accounts.find(organizationId).heldNanoUsd = nanoUsd
}
