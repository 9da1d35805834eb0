/** What the ingress tells Prometheus. No label names a host, a target or a client. */
import { Counter, Gauge, Histogram } from 'prom-client'

/** How long targets took from the arrival of a request until its answer began. */
export const answerSeconds = new Histogram({
  name: 'berth_ingress_answer_seconds',
  help: 'How long it took from the arrival of a request until its target began to answer.',
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
})
/** How long it took to connect to a target, with its waking. */
export const reachSeconds = new Histogram({
  name: 'berth_ingress_reach_seconds',
  help: 'How long it took to connect to a target, its waking included.',
  buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
})
/** Requests and connections that the ingress itself refused or cut, by reason. */
export const refused = new Counter({
  name: 'berth_ingress_refused_total',
  help: 'Requests and connections that the ingress refused or cut, by reason.',
  labelNames: ['reason'],
})

const answers = new Counter({
  name: 'berth_ingress_answers_total',
  help: 'Answers, by the class of their status.',
  labelNames: ['status'],
})
const byClass = ['1xx', '2xx', '3xx', '4xx', '5xx'].map((status) => answers.labels({ status }))

/** Counts an answer by its status. */
export function countAnswer(status: number): void {
  byClass[Math.trunc(status / 100) - 1]?.inc()
}

/** What is open now. */
export type IngressCounts = {
  connections: number
  webSockets: number
  targetConnections: number
  waiting: number
  routes: number
}

/** Reports what is going on in this process; of several, in the one given last. */
export function reportIngress(counts: () => IngressCounts): void {
  reported = counts
}
let reported: (() => IngressCounts) | null = null
new Gauge({
  name: 'berth_ingress_open',
  help: 'What is open in the ingress: connections of clients and to targets, web sockets, requests that wait for a target, and known routes.',
  labelNames: ['kind'],
  collect() {
    const counts = reported?.() ?? { connections: 0, webSockets: 0, targetConnections: 0, waiting: 0, routes: 0 }
    for (const [kind, count] of Object.entries(counts)) this.set({ kind }, count)
  },
})
