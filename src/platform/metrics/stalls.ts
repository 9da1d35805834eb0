/**
 * How long the event loop was blocked, so that all other requests waited. Only time in which this thread itself used the
 * processor counts, so that a busy host is not mistaken for a stall.
 */
import { Gauge, Histogram } from 'prom-client'

const lookEveryMs = 10
const observedFromSeconds = 0.02

const stalls = new Histogram({
  name: 'berth_event_loop_stall_seconds',
  help: 'How long the event loop was blocked, for stalls of more than 20 ms.',
  buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
})
let longestSeconds = 0
new Gauge({
  name: 'berth_event_loop_longest_stall_seconds',
  help: 'The longest stall of the event loop since the last scrape.',
  collect() {
    look()
    this.set(longestSeconds)
    longestSeconds = 0
  },
})

let lookedAtMs = performance.now()
let worked = process.threadCpuUsage()

/** How long the loop was blocked since the last check: at most its delay, and at most this thread's processor time. */
function look(): void {
  const nowMs = performance.now()
  const { user, system } = process.threadCpuUsage(worked)
  const heldSeconds = Math.min((nowMs - lookedAtMs - lookEveryMs) / 1e3, (user + system) / 1e6)
  lookedAtMs = nowMs
  worked = process.threadCpuUsage()
  longestSeconds = Math.max(longestSeconds, heldSeconds)
  if (heldSeconds >= observedFromSeconds) stalls.observe(heldSeconds)
}

/** Watches this process's event loop, for /metrics. */
export function watchStalls(): void {
  setInterval(look, lookEveryMs).unref()
}
