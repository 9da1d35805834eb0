/** The settings of databases. */
import { z } from 'zod'
import { besidePort, optional, setting } from './entries.ts'
import { onOff, path, port, textLike, type Reader } from './readers.ts'

const sleepSeconds: Reader<number> = {
  kind: z
    .string()
    .regex(/^(?:0|[1-9]\d{1,5})$/)
    .transform(Number),
  wanted: 'seconds after which a database that nobody uses sleeps, 10 to 999999, or 0 for never',
}

/** A part of the table of settings. */
export const databaseSettings = {
  domain: setting(
    'BERTH_DOMAIN',
    textLike(
      /^(?=.{1,200}$)[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9](?:[a-z0-9-]{0,62}))*$/,
      'a domain in lower case, such as example.com',
    ),
    'berth.localhost',
    'the domain of the names that Berth gives: `<id>.db.` and this for databases, one name below it for each proxy, preview and function',
  ),
  databaseSleepSeconds: setting(
    'BERTH_DATABASE_SLEEP_SECONDS',
    sleepSeconds,
    900,
    'after so many seconds without clients a new database sleeps, unless its own setting says otherwise; `0` is never',
  ),
  opensSqlDoor: setting('BERTH_SQL', onOff, true, 'whether clients reach databases by `POST /sql` too'),
  postgresPort: setting(
    'BERTH_POSTGRES_PORT',
    port,
    (earlier) => besidePort(earlier.port, 1_432),
    'the port where clients of Postgres reach databases',
    '`PORT` + 1432',
  ),
  tlsCertificateFile: optional(
    'BERTH_TLS_CERTIFICATE',
    path('a file with a certificate of names below BERTH_DOMAIN and its chain, in PEM'),
    'a certificate with its chain, a file in PEM, for `*.db.<BERTH_DOMAIN>` (databases) and `*.<BERTH_DOMAIN>` (proxies, previews, functions); goes with the next one',
    "one of Berth's own authority: `npm run -s ca`",
  ),
  tlsKeyFile: optional(
    'BERTH_TLS_KEY',
    path('a file with the key of that certificate, in PEM'),
    'the key of that certificate, a file in PEM',
  ),
  edgeMetricsPort: setting(
    'BERTH_EDGE_METRICS_PORT',
    port,
    (earlier) => besidePort(earlier.port, 11_000),
    'the private port of `/metrics` of the edge process; the next free one is taken when it is busy',
    '`PORT` + 11000',
  ),
}
