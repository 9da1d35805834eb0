/** Settings of what operators watch. That of the edge process's port is among those of databases. */
import { besidePort, optional, setting } from './entries.ts'
import { port, text, textLike } from './readers.ts'

/** In their order in the table. */
export const metricsSettings = {
  webMetricsPort: setting(
    'BERTH_METRICS_PORT',
    port,
    (earlier) => besidePort(earlier.port, 10_000),
    'the private port of `/metrics` of the web process; the next free one is taken when it is busy',
    '`PORT` + 10000',
  ),
  workerMetricsPort: setting(
    'BERTH_WORKER_METRICS_PORT',
    port,
    (earlier) => besidePort(earlier.port, 20_000),
    'the same of the worker',
    '`PORT` + 20000',
  ),
  metricsHost: setting(
    'BERTH_METRICS_HOST',
    text('an address to listen on, such as 127.0.0.1 or 0.0.0.0'),
    '127.0.0.1',
    'the address of these private ports; one that other hosts reach needs `BERTH_METRICS_TOKEN`',
  ),
  metricsToken: optional(
    'BERTH_METRICS_TOKEN',
    textLike(/^[\x21-\x7e]{16,4096}$/, 'a secret of 16 to 4096 visible characters without spaces'),
    'what `/metrics` wants as `Authorization: Bearer …`; probes such as `/readyz` need nothing',
  ),
}
