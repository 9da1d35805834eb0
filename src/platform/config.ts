/**
 * The settings: the only reader of process.env. Every problem is reported at once, at start, so that
 * an operator mends them in one go. Values are never echoed in a problem: they may be secrets.
 */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, resolve } from 'node:path'
import type { z } from 'zod'
import { settings, upstreamKey, type LogFormat } from './settings.ts'
import { withoutEnding } from './texts.ts'

/** An identity provider whose tokens are accepted. */
export type Issuer = { issuer: string; jwksUri: string; audience: string }

/** An S3-compatible service: its address without a slash at the end, and what signs our requests. */
export type S3Settings = {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

/** Numbers of system users, both ends included. */
export type UidRange = { first: number; last: number }

/** The settings of this process; durations, sizes and prices have their unit in the name. */
export type Config = {
  /** The public port of the web process. */
  port: number
  /** The address it listens on; loopback unless the operator opens it. */
  host: string
  /** Where callers reach us, without a slash at the end. */
  publicUrl: string
  /** This host's own state: database, VM disks, keys. */
  dataDir: string
  /** Sockets and pid files; short, because a socket path holds 107 bytes. */
  runDir: string
  /** Templates, shared by the checkouts of this host. */
  cacheDir: string
  /** Postgres; null means the embedded one. */
  databaseUrl: string | null
  /** Web processes that `npm start` runs on the one public port. */
  webProcesses: number
  /** Preferred private ports of /metrics; the next free one is taken when busy. */
  webMetricsPort: number
  workerMetricsPort: number
  /** Host ports that a VM may reach as host.berth.internal:PORT. */
  vmHostPorts: readonly number[]
  /** Hosts as `host:port` that agents' tool servers may be at although their address is private, and without TLS. */
  privateHosts: readonly string[]
  /** Whether this host's worker runs VMs. */
  runsVms: boolean
  /** Machines kept warm for each template and size. */
  vmPoolSize: number
  /** Memory that all VMs of this node may be promised together, in MB. */
  vmMemoryMb: number
  /** Disk that all VMs, folders and templates of this node may be promised together, in GB; 0 is the usual share of its file system. */
  vmDiskGb: number
  /** What one organization may hold of all nodes; null leaves a share to others, 0 is no limit. */
  orgMemoryMb: number | null
  orgDiskGb: number | null
  /** VMs that an organization may have at once; 0 is no limit. */
  orgVms: number
  /** Files that one organization may store, in GB; null leaves a share to others, 0 is no limit. */
  orgFilesGb: number | null
  /** What must stay free of a disk on which files are stored, in MB; null is a share of it. */
  diskFloorMb: number | null
  /** The system users that machines run as, one for each; null when Berth is not root and they run as itself. */
  vmUids: UidRange | null
  /** Identity providers beside the built-in one. */
  issuers: readonly Issuer[]
  /** Whether the built-in issuer for a single host signs tokens. */
  builtInIssuer: boolean
  /** Whether GraphiQL may mint a token for a person at this machine. */
  localSignIn: boolean
  audience: string
  /** For development only: accept HS256 tokens made with this secret. */
  hs256Secret: string | null
  /** Seals stored secrets: 32 bytes as base64, or null for the key file in the data folder. */
  secretKey: string | null
  apiKeyPrefix: string
  /** Where files are stored; null is the data folder. */
  s3: S3Settings | null
  /** How long a build's artifact is kept; 0 is for ever. */
  artifactDays: number
  /** How long an upload is kept after a build last asked for it; 0 is for ever. */
  uploadDays: number
  /** The operator's table of models; null is ours alone. */
  modelsFile: string | null
  /** A search engine for agents, which answers `?q=…&format=json` as SearXNG does; null is none. */
  searchUrl: string | null
  /** The key of a model provider, by the name of its environment variable; null when that is not set. */
  upstreamKey: (variable: string) => string | null
  costPerVcpuHour: number
  costPerGbHour: number
  logLevel: string
  /** `pretty` is for people; `auto` is that in a terminal and JSON elsewhere. */
  logFormat: LogFormat
  /** Origins whose pages may call us from a browser. */
  corsOrigins: readonly string[]
  /** Connections that one address may have open, and all together. */
  connectionsPerAddress: number
  connectionsMax: number
  /** Multiplies every rate limit. */
  rateLimitFactor: number
  /** The largest number of database connections of this process. */
  databaseConnections: number
}

/** Numbers that no system gives away: above what useradd takes for users and their containers, and what systemd takes for its own. */
const defaultVmUids: UidRange = { first: 1_900_000_000, last: 1_900_065_535 }

type Settings = { [Name in keyof typeof settings]?: z.output<(typeof settings)[Name][0]> }

/** Every wrong setting, one sentence each. */
export class ConfigError extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(['Berth cannot start with these settings:', ...problems.map((problem) => `  - ${problem}`)].join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/**
 * Reads the settings from the environment.
 * @throws ConfigError naming every wrong one.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const problems: string[] = []
  const read: Record<string, unknown> = {}
  for (const [name, [kind, wanted]] of Object.entries(settings)) {
    const text = env[name]
    if (text === undefined || text === '') continue
    const outcome = kind.safeParse(text)
    if (outcome.success) read[name] = outcome.data
    else problems.push(`${name} must be ${wanted}.`)
  }
  for (const name of Object.keys(env)) {
    // A misspelt setting would be ignored in silence, which is worse than a refusal. BERTH_TEST_* belongs to the tests.
    if (name.startsWith('BERTH_') && !name.startsWith('BERTH_TEST_') && !(name in settings))
      problems.push(`${name} is not a setting of Berth; see "Settings" in the README.`)
  }
  const set = read as Settings
  const port = set.PORT ?? 4000
  const dataDir = set.BERTH_DATA_DIR ? resolve(set.BERTH_DATA_DIR) : defaultDataDir()
  if (set.BERTH_DATA_DIR && isRoot() && !othersMayEnter(dirname(dataDir))) {
    problems.push(
      'BERTH_DATA_DIR lies below a folder that only root may enter, and Postgres and VMs do not run as root; choose another folder, such as /var/lib/berth.',
    )
  }
  if (set.BERTH_BUILT_IN_ISSUER === false && !set.BERTH_ISSUERS?.length && !set.BERTH_JWT_HS256_SECRET) {
    problems.push('BERTH_BUILT_IN_ISSUER is off and BERTH_ISSUERS names no other: nobody could sign in.')
  }
  const s3 = readS3(set, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  const host = set.BERTH_HOST ?? '127.0.0.1'
  const builtInIssuer = set.BERTH_BUILT_IN_ISSUER ?? true
  return {
    port,
    host,
    publicUrl: withoutEnding(set.BERTH_PUBLIC_URL ?? `http://localhost:${port}`, '/'),
    dataDir,
    runDir: runDirOf(dataDir),
    cacheDir: resolve(set.BERTH_CACHE_DIR ?? (isRoot() ? '/var/cache/berth' : `${homedir()}/.cache/berth`)),
    databaseUrl: set.DATABASE_URL ?? null,
    webProcesses: set.BERTH_WEB_PROCESSES ?? 1,
    webMetricsPort: set.BERTH_METRICS_PORT ?? besidePort(port, 10_000),
    workerMetricsPort: set.BERTH_WORKER_METRICS_PORT ?? besidePort(port, 20_000),
    vmHostPorts: set.BERTH_VM_HOST_PORTS ?? [],
    privateHosts: set.BERTH_PRIVATE_HOSTS ?? [],
    runsVms: set.BERTH_VMS ?? true,
    vmPoolSize: set.BERTH_VM_POOL ?? 2,
    vmMemoryMb: set.BERTH_VM_MEMORY_MB ?? 0,
    vmDiskGb: set.BERTH_VM_DISK_GB ?? 0,
    orgMemoryMb: set.BERTH_ORG_MEMORY_MB ?? null,
    orgDiskGb: set.BERTH_ORG_DISK_GB ?? null,
    orgVms: set.BERTH_ORG_VMS ?? 200,
    orgFilesGb: set.BERTH_ORG_FILES_GB ?? null,
    diskFloorMb: set.BERTH_DISK_FLOOR_MB ?? null,
    vmUids: isRoot() ? (set.BERTH_VM_UIDS ?? defaultVmUids) : null,
    issuers: (set.BERTH_ISSUERS ?? []).map((one) => ({
      issuer: one.issuer,
      jwksUri: one.jwks_uri,
      audience: one.audience,
    })),
    builtInIssuer,
    localSignIn: set.BERTH_LOCAL_SIGN_IN ?? (builtInIssuer && isLoopback(host)),
    audience: set.BERTH_AUDIENCE ?? 'berth',
    hs256Secret: set.BERTH_JWT_HS256_SECRET ?? null,
    secretKey: set.BERTH_SECRET_KEY ?? null,
    apiKeyPrefix: set.BERTH_KEY_PREFIX ?? 'svc_live_ak_',
    s3,
    artifactDays: set.BERTH_ARTIFACT_DAYS ?? 30,
    uploadDays: set.BERTH_UPLOAD_DAYS ?? 30,
    modelsFile: set.BERTH_MODELS_FILE ? resolve(set.BERTH_MODELS_FILE) : null,
    searchUrl: set.BERTH_SEARCH_URL ?? null,
    upstreamKey: (variable) => upstreamKey.safeParse(env[variable]).data ?? null,
    costPerVcpuHour: set.BERTH_COST_PER_VCPU_HOUR ?? 0.04,
    costPerGbHour: set.BERTH_COST_PER_GB_HOUR ?? 0.005,
    ...logAndConnections(set),
    rateLimitFactor: set.BERTH_RATE_LIMIT_FACTOR ?? 1,
    databaseConnections: set.BERTH_DATABASE_CONNECTIONS ?? 10,
  }
}

function logAndConnections(
  set: Settings,
): Pick<Config, 'logLevel' | 'logFormat' | 'corsOrigins' | 'connectionsPerAddress' | 'connectionsMax'> {
  return {
    logLevel: set.BERTH_LOG_LEVEL ?? 'info',
    logFormat: set.BERTH_LOG_FORMAT ?? 'auto',
    corsOrigins: set.BERTH_CORS_ORIGINS ?? [],
    connectionsPerAddress: set.BERTH_CONNECTIONS_PER_ADDRESS ?? 512,
    connectionsMax: set.BERTH_CONNECTIONS ?? 8192,
  }
}

/** All of it, or none: a service half described would be noticed at the first file only. */
function readS3(set: Settings, problems: string[]): S3Settings | null {
  const parts = {
    endpoint: set.BERTH_S3_ENDPOINT,
    bucket: set.BERTH_S3_BUCKET,
    accessKeyId: set.BERTH_S3_ACCESS_KEY_ID,
    secretAccessKey: set.BERTH_S3_SECRET_ACCESS_KEY,
  }
  const { endpoint, bucket, accessKeyId, secretAccessKey } = parts
  if (endpoint && bucket && accessKeyId && secretAccessKey)
    return {
      endpoint: withoutEnding(endpoint, '/'),
      bucket,
      region: set.BERTH_S3_REGION ?? 'us-east-1',
      accessKeyId,
      secretAccessKey,
    }
  if (Object.values(parts).some((part) => part !== undefined))
    problems.push(
      'BERTH_S3_ENDPOINT, BERTH_S3_BUCKET, BERTH_S3_ACCESS_KEY_ID and BERTH_S3_SECRET_ACCESS_KEY belong together: set all four, or none for the data folder.',
    )
  return null
}

/** The names of all settings, for the README's table and its test. */
export const settingNames: readonly string[] = Object.keys(settings)

/** This process's environment with some variables set; for the processes that we start. */
export function environmentWith(variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...variables }
}

/** Whether this process is root, who hands Postgres and QEMU to users of their own. */
export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Whether users other than the owner may pass through this folder and all above it. */
export function othersMayEnter(folder: string): boolean {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const stat = statSync(at, { throwIfNoEntry: false })
    if (stat && (stat.mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

/** `.berth` in the checkout, or, where its users could not get there, a folder of this checkout's own in /var/lib. */
function defaultDataDir(): string {
  const inCheckout = resolve('.berth')
  if (!isRoot() || othersMayEnter(dirname(inCheckout))) return inCheckout
  return `/var/lib/berth/${shortHash(inCheckout)}`
}

/** Sockets inside the data folder when their path stays short enough, else in /tmp under a name of this folder's own. */
function runDirOf(dataDir: string): string {
  const longestRunDirBytes = 60 // leaves room for `/vms/<uuid>.qmp` within the 107 bytes of a socket path
  const inside = `${dataDir}/run`
  return Buffer.byteLength(inside) <= longestRunDirBytes ? inside : `/tmp/berth-${shortHash(dataDir)}`
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

/** A port that follows from the public one and stays below the ports that outgoing connections take (32768). */
function besidePort(port: number, by: number): number {
  return port + by < 32_768 ? port + by : ((port + by) % 19_999) + 10_000 // a modulus for which no port is beside itself
}
