/**
 * How a process says that it is alive and that it is ready, as Kubernetes asks. /livez, and /healthz as its older name, look at
 * nothing outside of the process: a restart would not bring Postgres back. /readyz looks at what the process needs; what it only
 * reports does not make it unready.
 */
import { missingMigrations } from '#src/platform/migrate.ts'
import type { Db } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'

// Together they stay below 2 s, the time within which /readyz must report a dead Postgres.
const answerTimeoutMs = 1_000
const rememberedMs = 250
const retryAfterSeconds = 1

/** Checks by name: each true, or a sentence that says what is wrong. */
export type Checks = Readonly<Record<string, true | string>>
/** Whether a process can do its work, by its checks; `needed` are those that count. */
export type Readiness = { isReady: boolean; checks: Checks; needed: readonly string[] }
/** Looks now, or a moment ago. */
export type AskReadiness = () => Promise<Readiness>

/** Makes what answers probes: concurrent ones share one look. @param needed the checks without which the process is not ready. */
export function watchReadiness(needed: readonly string[], look: () => Promise<Checks>): AskReadiness {
  let last: { at: number; outcome: Promise<Checks> } | null = null
  return async () => {
    if (!last || performance.now() - last.at > rememberedMs) last = { at: performance.now(), outcome: look() }
    const checks = await last.outcome
    return { isReady: needed.every((name) => checks[name] === true), checks, needed }
  }
}

/**
 * The checks `database`, `migrations` and `notices`, which say how the process stands with Berth's own Postgres.
 * @param further checks that read the database: each gives null, or what is wrong.
 */
export async function lookAtPostgres(
  { database, pubsub }: Pick<Services, 'database' | 'pubsub'>,
  further: Readonly<Record<string, (db: Db) => Promise<string | null>>> = {},
): Promise<Checks> {
  const notices = pubsub.connected || 'Notices from Postgres do not arrive; reconnecting.'
  const unknown = (why: string): Checks => Object.fromEntries(Object.keys(further).map((name) => [name, why]))
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), answerTimeoutMs)
  try {
    const missing = await Promise.race([
      missingMigrations(async (text) => (await database.pool.query<{ name: string }>(text)).rows),
      late.promise,
    ])
    if (missing.length > 0) {
      const migrations = `Not yet run: ${missing.join(', ')}. Run: npm run migrate`
      return { database: true, migrations, notices, ...unknown('Unknown before the migrations.') }
    }
    const found: Record<string, true | string> = {}
    for (const [name, check] of Object.entries(further))
      found[name] = (await Promise.race([check(database.db), late.promise])) ?? true
    return { database: true, migrations: true, notices, ...found }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '42P01') {
      const migrations = 'None has run. Run: npm run migrate'
      return { database: true, migrations, notices, ...unknown('Unknown before the migrations.') }
    }
    const why = 'Unknown while Postgres does not answer.'
    return { database: 'Postgres does not answer.', migrations: why, notices, ...unknown(why) }
  } finally {
    clearTimeout(timer)
  }
}

/** Where probes are answered. */
export const probePaths = ['/livez', '/readyz', '/healthz'] as const
type ProbePath = (typeof probePaths)[number]

/** Whether it is the path of a probe. */
export function isProbePath(path: string): path is ProbePath {
  return (probePaths as readonly string[]).includes(path)
}

/** What a probe is answered. */
export type ProbeAnswer = { status: 200 | 503; headers: Readonly<Record<string, string>>; body: string }

/** Answers a probe: in JSON, or for `?verbose` in lines as those of Kubernetes' own servers. */
export async function answerProbe(path: ProbePath, isVerbose: boolean, ask: AskReadiness): Promise<ProbeAnswer> {
  const looks = path === '/readyz'
  const readiness: Readiness = looks ? await ask() : { isReady: true, checks: { ping: true }, needed: ['ping'] }
  const { isReady, checks } = readiness
  const words = Object.fromEntries(Object.entries(checks).map(([name, one]) => [name, one === true ? 'ok' : one]))
  return {
    status: isReady ? 200 : 503,
    headers: {
      'content-type': isVerbose ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...(isReady ? {} : { 'retry-after': String(retryAfterSeconds) }),
    },
    body: isVerbose
      ? linesOf(path, readiness)
      : JSON.stringify(looks ? { status: isReady ? 'ready' : 'not_ready', checks: words } : { status: 'ok' }),
  }
}

function linesOf(path: ProbePath, { isReady, checks, needed }: Readiness): string {
  const lines = Object.entries(checks).map(([name, one]) => {
    if (one === true) return `[+]${name} ok`
    return needed.includes(name) ? `[-]${name} failed: ${one}` : `[+]${name} not needed: ${one}`
  })
  return `${[...lines, `${path.slice(1)} check ${isReady ? 'passed' : 'failed'}`].join('\n')}\n`
}
