/**
 * The configuration of this process: the only reader of process.env. All problems are reported together, at start, so
 * that an operator can fix them at once. Values are never shown, because they may be secrets.
 */
import { dirname } from 'node:path'
import { settings } from './settings.ts'
import { isLoopback, type EarlierSettings } from './settings/entries.ts'
import { isRoot, othersMayEnter, runDirOf } from './settings/places.ts'
import { headerText } from './settings/readers.ts'

// Libraries check more, and more slowly, unless this says that they run for users; graphql looks when it is imported.
process.env['NODE_ENV'] ??= 'production'

/** An S3-compatible service: its URL without a trailing slash, and the credentials that sign requests to it. */
export type S3Settings = {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

type Field = keyof typeof settings
/** A value for each setting: what was set, or the default. */
type Values = {
  [Name in Field]:
    | ReturnType<(typeof settings)[Name]['reader']['kind']['parse']>
    | ReturnType<(typeof settings)[Name]['defaultOf']>
}
/** Settings that are combined in `s3`. */
type Part = Extract<Field, `s3${string}`>

/** The settings of this process, each described in settings.ts, and values derived from them. */
export type Config = Omit<Values, Part> & {
  /** The folder of sockets and pid files; its path is short, because a socket path has at most 107 bytes. */
  runDir: string
  /** The S3 service where files are stored; null means the data folder. */
  s3: S3Settings | null
  /** The key of a model provider, by the name of its environment variable; null when that is not set. */
  upstreamKey: (variable: string) => string | null
}

/** Every wrong setting, one sentence each. */
export class ConfigError extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(['These settings are wrong:', ...problems.map((problem) => `  - ${problem}`)].join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the settings from the environment.
 * @throws ConfigError naming every wrong one.
 */
export function readConfig(env: Environment = process.env): Config {
  const problems: string[] = []
  const values = readValues(env, problems)
  problems.push(...misspelt(env), ...contradictions(env, values))
  const {
    s3Endpoint: endpoint,
    s3Bucket: bucket,
    s3Region: region,
    s3AccessKeyId,
    s3SecretAccessKey,
    ...others
  } = values
  const s3 = readS3(
    { endpoint, bucket, region, accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey },
    problems,
  )
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    ...others,
    runDir: runDirOf(others.dataDir),
    s3,
    upstreamKey: (variable) => headerText.safeParse(env[variable]).data ?? null,
  }
}

function readValues(env: Environment, problems: string[]): Values {
  const values: Record<string, unknown> = {}
  for (const [field, { name, reader, defaultOf }] of Object.entries(settings)) {
    const text = env[name]
    const outcome = text === undefined || text === '' ? null : reader.kind.safeParse(text)
    if (outcome?.success === false) problems.push(`${name} must be ${reader.wanted}.`)
    values[field] = outcome?.success ? outcome.data : defaultOf(values as EarlierSettings) // the table's order
  }
  return values as Values // one for each setting, by its own reader
}

/** Finds misspelt settings, which would otherwise be ignored silently. BERTH_TEST_* belongs to the tests. */
function misspelt(env: Environment): string[] {
  const names = new Set<string>(settingNames)
  return Object.keys(env)
    .filter((name) => name.startsWith('BERTH_') && !name.startsWith('BERTH_TEST_') && !names.has(name))
    .map((name) => `${name} is not a setting of Berth; see "Settings" in docs/operating.md.`)
}

/** Settings that are valid one by one, but cannot work together or on this host. */
function contradictions(env: Environment, values: Values): string[] {
  const { dataDir, builtInIssuer, issuers, hs256Secret, tlsCertificateFile, tlsKeyFile } = values
  const problems: string[] = []
  if ((tlsCertificateFile === null) !== (tlsKeyFile === null))
    problems.push('BERTH_TLS_CERTIFICATE and BERTH_TLS_KEY belong together: set both, or neither.')
  if ((values.codeHostClientId === null) !== (values.codeHostClientSecret === null))
    problems.push('BERTH_CODEHOST_CLIENT_ID and BERTH_CODEHOST_CLIENT_SECRET belong together: set both, or neither.')
  if (!isLoopback(values.metricsHost) && values.metricsToken === null)
    problems.push(
      'BERTH_METRICS_HOST is an address that other hosts reach, so /metrics needs a secret: set BERTH_METRICS_TOKEN too.',
    )
  if (env[settings.dataDir.name] && isRoot() && !othersMayEnter(dirname(dataDir)))
    problems.push(
      'BERTH_DATA_DIR lies below a folder that only root may enter, and Postgres and VMs do not run as root; choose another folder, such as /var/lib/berth.',
    )
  if (!builtInIssuer && issuers.length === 0 && hs256Secret === null)
    problems.push('BERTH_BUILT_IN_ISSUER is off and BERTH_ISSUERS names no other: nobody could sign in.')
  return problems
}

/** All four or none: an incomplete service would otherwise fail only at the first file. */
function readS3(
  { endpoint, bucket, region, accessKeyId, secretAccessKey }: { [Part in keyof S3Settings]: string | null },
  problems: string[],
): S3Settings | null {
  if (endpoint && bucket && region && accessKeyId && secretAccessKey)
    return { endpoint, bucket, region, accessKeyId, secretAccessKey }
  if (endpoint ?? bucket ?? accessKeyId ?? secretAccessKey)
    problems.push(
      'BERTH_S3_ENDPOINT, BERTH_S3_BUCKET, BERTH_S3_ACCESS_KEY_ID and BERTH_S3_SECRET_ACCESS_KEY belong together: set all four, or none for the data folder.',
    )
  return null
}

/** The names of all settings. */
const settingNames: readonly string[] = Object.values(settings).map(({ name }) => name)

/** This process's environment with some variables set; for the processes that we start. */
export function environmentWith(variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...variables }
}
