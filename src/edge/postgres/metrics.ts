/** What the wire proxy tells Prometheus. No label names a database or a client. */
import { Counter, Gauge } from 'prom-client'
import type { PoolCounts } from './pool.ts'

/** Clients that were let in. */
export const loginsTaken = new Counter({
  name: 'berth_postgres_logins_total',
  help: 'Clients of databases that were let in.',
})
/** Connections that were refused or ended with an error of the proxy's own, by SQLSTATE. */
export const refusalsSent = new Counter({
  name: 'berth_postgres_refusals_total',
  help: 'What clients of databases were refused by the proxy, by SQLSTATE.',
  labelNames: ['sqlstate'],
})

/** Reports what is going on in this process; of several proxies, in the one given last. */
export function reportProxy(totals: () => PoolCounts): void {
  reported = totals
}
let reported: (() => PoolCounts) | null = null
new Gauge({
  name: 'berth_postgres_clients',
  help: 'Clients of databases that are connected; waiting: for a connection to their server.',
  labelNames: ['state'],
  collect() {
    const { clients, waiting } = reported?.() ?? { clients: 0, waiting: 0 }
    this.set({ state: 'connected' }, clients)
    this.set({ state: 'waiting' }, waiting)
  },
})
new Gauge({
  name: 'berth_postgres_backends',
  help: 'Connections to the servers of databases.',
  labelNames: ['state'],
  collect() {
    const { backends, free } = reported?.() ?? { backends: 0, free: 0 }
    this.set({ state: 'open' }, backends)
    this.set({ state: 'free' }, free)
  },
})
