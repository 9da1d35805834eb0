/**
 * Who watches what a VM uses. In a process one reader serves all who watch the same VM: it reads as long as there are any, and
 * until the VM does not run any more. Who falls behind gets the newest reading.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { BerthError } from '#src/platform/errors.ts'
import { vmLookLimits } from '#src/platform/limits/vm-looks.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Db } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { RunningVm } from './access.ts'
import { reachToLook, readVmMetrics, type MetricsReading, type VmMetrics } from './looks.ts'
import { findRunningVmRow } from './rows.ts'

/** Who watches: what they have not taken yet, and how they are woken when they wait for it. */
type Watcher = { newest: VmMetrics | undefined; wake: () => void }
/** A VM that is watched: its last reading, and once it is over, the error with which it ended, if any. */
type Watch = MetricsReading & {
  watchers: Set<Watcher>
  stop: AbortController
  over?: { error: Error | null }
}

type Watching = { organizationId: string; watch: Promise<Watch> }
type Watched = Map<string, Watching>

/** The watched VMs of a process, by their stored ids; a promise until the first reading is there, which all who come meanwhile share. */
const watches = new WeakMap<Db, Watched>()

/**
 * What a running VM uses: now, and every two seconds from then on, until it does not run any more. That keeps no VM awake.
 * @throws BerthError not_found; invalid_request when it does not run; vm_unreachable, timeout; rate_limited. All before the
 * first reading; later vm_unreachable or timeout after five readings that failed.
 */
export async function followVmMetrics(
  call: Call & { signal?: AbortSignal },
  publicId: string,
): Promise<AsyncIterableIterator<VmMetrics>> {
  const vm = await reachToLook(call, publicId)
  const here = watches.get(call.db) ?? new Map<string, Watching>()
  watches.set(call.db, here)
  const known = here.get(vm.id)
  if (known) return readingsOf(await known.watch, call.signal)
  const { watchedPerOrganization: most } = vmLookLimits
  if ([...here.values()].filter((one) => one.organizationId === vm.scope.organizationId).length >= most)
    throw new BerthError(
      'rate_limited',
      `Your organization watches ${most} VMs already, which is the limit. Leave one of them, then try again.`,
      { retryAfterSeconds: 10 },
    )
  return readingsOf(await begin(call, here, vm), call.signal)
}

/** Begins to read a VM, which is known to be watched from now on: who comes while this is counted shares it. */
function begin({ db, limiter }: Call, here: Watched, vm: RunningVm): Promise<Watch> {
  const { organizationId } = vm.scope
  const readFirst = async (): Promise<MetricsReading> => {
    await limiter.spend(`look:${vm.id}`, vmLookLimits.looksPerMinute)
    return readVmMetrics(vm, null)
  }
  const entry = {
    organizationId,
    watch: readFirst().then(
      (first) => follow(db, vm, first, () => void (here.get(vm.id) === entry && here.delete(vm.id))),
      (error: unknown) => {
        here.delete(vm.id)
        throw error
      },
    ),
  }
  here.set(vm.id, entry)
  return entry.watch
}

/** Reads on, from a first reading. @param onEnd called once nobody reads any more. */
function follow(db: Db, vm: RunningVm, first: MetricsReading, onEnd: () => void): Watch {
  const watch: Watch = { ...first, watchers: new Set(), stop: new AbortController() }
  const end = (error: Error | null): void => {
    watch.over ??= { error }
    onEnd()
    for (const { wake } of watch.watchers) wake()
  }
  watch.stop.signal.addEventListener('abort', () => end(null), { once: true })
  readOn(db, vm, watch).then(() => end(null), end)
  return watch
}

/** Reads on until the VM does not run, or nobody watches. @throws what the last reading threw, when too many failed. */
async function readOn(db: Db, vm: RunningVm, watch: Watch): Promise<void> {
  const { signal } = watch.stop
  let failures = 0
  for (;;) {
    await pause(vmLookLimits.everyMs, undefined, { signal }).catch(() => undefined) // nobody watches any more
    if (signal.aborted || watch.watchers.size === 0) return
    if (!(await patiently(() => findRunningVmRow(db, vm.id), signal))) return
    try {
      Object.assign(watch, await readVmMetrics(vm, watch.ticks))
      failures = 0
    } catch (error) {
      if (++failures >= vmLookLimits.silentReadingsMax) throw error
      continue
    }
    for (const one of watch.watchers) {
      one.newest = watch.metrics
      one.wake()
    }
  }
}

async function* readingsOf(watch: Watch, signal: AbortSignal | undefined): AsyncIterableIterator<VmMetrics> {
  const watcher: Watcher = { newest: watch.metrics, wake: () => undefined }
  const leave = (): void => watcher.wake()
  signal?.addEventListener('abort', leave, { once: true })
  watch.watchers.add(watcher)
  try {
    while (!signal?.aborted) {
      const { newest } = watcher
      if (newest) {
        watcher.newest = undefined
        yield newest
      } else if (watch.over?.error) throw watch.over.error
      else if (watch.over) return
      else await new Promise<void>((wake) => (watcher.wake = wake))
    }
  } finally {
    signal?.removeEventListener('abort', leave)
    watch.watchers.delete(watcher)
    if (watch.watchers.size === 0) watch.stop.abort()
  }
}
