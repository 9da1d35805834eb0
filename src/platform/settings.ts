/** The names of all settings: how the text of each is read, and the sentence that says what it wants. config.ts reads them. */
import { z } from 'zod'

/** How log lines are written. */
export const logFormats = ['auto', 'json', 'pretty'] as const
export type LogFormat = (typeof logFormats)[number]

const portText = z
  .string()
  .regex(/^\d{1,5}$/)
  .transform(Number)
  .refine((port) => port >= 1 && port <= 65_535)
const moneyText = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .transform(Number)
const countText = z
  .string()
  .regex(/^\d{1,6}$/)
  .transform(Number)
const connectionCount = countText.refine((count) => count >= 8)
const switchText = z
  .enum(['0', '1', 'true', 'false', 'on', 'off'])
  .transform((text) => ['1', 'true', 'on'].includes(text))
const portList = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .pipe(z.array(portText))
/** Users as a range: above those of people, and within what a process can be. */
const uidRange = z
  .string()
  .regex(/^\d{4,10}-\d{4,10}$/)
  .transform((text) => {
    const [first = 0, last = 0] = text.split('-').map(Number)
    return { first, last }
  })
  .refine(({ first, last }) => first > 1000 && last < 2 ** 31 && last - first >= 99)
const hostPortList = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim().toLowerCase())
      .filter(Boolean),
  )
  .pipe(z.array(z.string().regex(/^(?:\[[0-9a-f:.]+\]|[a-z0-9_.-]{1,253}):\d{1,5}$/)).max(100))
/** As a browser writes them in the header Origin: nothing behind the port, none of them a pattern. */
const originList = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .pipe(z.array(z.string().refine(isOrigin)).max(100))
/** What may stand in a header. */
export const upstreamKey = z.string().regex(/^[\x21-\x7e]{1,4096}$/)
const issuerList = z
  .string()
  .transform((text, ctx) => {
    try {
      return JSON.parse(text) as unknown
    } catch {
      ctx.addIssue('not JSON')
      return z.NEVER
    }
  })
  .pipe(z.array(z.object({ issuer: z.url(), jwks_uri: z.url(), audience: z.string().min(1).default('berth') })))

/** name, how it is read, what it wants: the sentence shown when the value is wrong. */
/** The table. */
export const settings = {
  PORT: [portText, 'a port from 1 to 65535'],
  BERTH_HOST: [z.string().min(1), 'an address to listen on, such as 127.0.0.1 or 0.0.0.0'],
  BERTH_PUBLIC_URL: [z.url({ protocol: /^https?$/ }), 'the http(s) address where callers reach Berth'],
  BERTH_DATA_DIR: [z.string().min(1), 'a folder'],
  BERTH_CACHE_DIR: [z.string().min(1), 'a folder'],
  DATABASE_URL: [z.string().regex(/^postgres(ql)?:\/\//), 'a postgres:// address'],
  BERTH_WEB_PROCESSES: [
    z
      .string()
      .regex(/^\d{1,2}$/)
      .transform(Number)
      .refine((count) => count >= 1 && count <= 64),
    'how many web processes share the port, 1 to 64',
  ],
  BERTH_METRICS_PORT: [portText, 'a port from 1 to 65535'],
  BERTH_WORKER_METRICS_PORT: [portText, 'a port from 1 to 65535'],
  BERTH_VM_HOST_PORTS: [portList, 'host ports separated by commas, such as 3000,8080'],
  BERTH_PRIVATE_HOSTS: [hostPortList, 'hosts with ports separated by commas, such as 10.0.0.5:8080,tools.internal:443'],
  BERTH_VMS: [switchText, 'on or off'],
  BERTH_VM_POOL: [countText, 'how many machines to keep warm, 0 or more'],
  BERTH_VM_MEMORY_MB: [countText, 'megabytes that all VMs may be promised together'],
  BERTH_VM_DISK_GB: [countText, 'gigabytes that all disks of VMs may be promised together'],
  BERTH_ORG_MEMORY_MB: [countText, 'megabytes of memory that one organization may hold, or 0 for no limit'],
  BERTH_ORG_DISK_GB: [countText, 'gigabytes of disk that one organization may be promised, or 0 for no limit'],
  BERTH_ORG_VMS: [countText, 'how many VMs one organization may have, or 0 for no limit'],
  BERTH_ORG_FILES_GB: [
    countText,
    'gigabytes of uploads and build outputs that one organization may store, or 0 for no limit',
  ],
  BERTH_DISK_FLOOR_MB: [countText, 'megabytes that must stay free on a disk before anything large is stored there'],
  BERTH_VM_UIDS: [uidRange, 'a range of at least 100 numbers of system users that nobody has, such as 50000-59999'],
  BERTH_ISSUERS: [issuerList, 'a JSON list of {"issuer","jwks_uri","audience"}'],
  BERTH_BUILT_IN_ISSUER: [switchText, 'on or off'],
  BERTH_LOCAL_SIGN_IN: [switchText, 'on or off'],
  BERTH_AUDIENCE: [z.string().min(1), 'the audience that tokens must name'],
  BERTH_JWT_HS256_SECRET: [z.string().min(32), 'at least 32 characters'],
  BERTH_SECRET_KEY: [
    z.string().refine((text) => Buffer.from(text, 'base64').length === 32),
    '32 bytes as base64: openssl rand -base64 32',
  ],
  BERTH_KEY_PREFIX: [
    z.string().regex(/^[a-z][a-z0-9_]{0,30}_$/),
    'lower-case letters, digits and underscores, ending in one',
  ],
  BERTH_S3_ENDPOINT: [z.url({ protocol: /^https?$/ }), 'the http(s) address of an S3-compatible service'],
  BERTH_S3_BUCKET: [
    z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/),
    'the name of a bucket that is there already',
  ],
  BERTH_S3_REGION: [z.string().min(1), 'the region of the bucket, such as us-east-1'],
  BERTH_S3_ACCESS_KEY_ID: [z.string().min(1), 'the id of a key that may read, write and delete in the bucket'],
  BERTH_S3_SECRET_ACCESS_KEY: [z.string().min(1), 'the secret of that key'],
  BERTH_ARTIFACT_DAYS: [countText, 'how many days the artifacts of builds are kept; 0 keeps them for ever'],
  BERTH_UPLOAD_DAYS: [
    countText,
    'how many days an upload is kept after a build last asked for it; 0 keeps it for ever',
  ],
  BERTH_MODELS_FILE: [z.string().min(1), 'a file of models and upstreams; see "Chat with a model" in the README'],
  BERTH_SEARCH_URL: [
    z.url({ protocol: /^https?$/ }),
    'the http(s) address of a SearXNG search, such as http://localhost:8888/search',
  ],
  OPENAI_API_KEY: [upstreamKey, 'a key of the OpenAI API'],
  ANTHROPIC_API_KEY: [upstreamKey, 'a key of the Anthropic API'],
  BERTH_COST_PER_VCPU_HOUR: [moneyText, 'US dollars, such as 0.04'],
  BERTH_COST_PER_GB_HOUR: [moneyText, 'US dollars, such as 0.005'],
  BERTH_CORS_ORIGINS: [
    originList,
    'origins separated by commas, each exact, such as https://app.example.com,http://localhost:5173; * is not taken',
  ],
  BERTH_CONNECTIONS_PER_ADDRESS: [connectionCount, 'how many connections one address may have open, from 8 up'],
  BERTH_CONNECTIONS: [connectionCount, 'how many connections may be open together, from 8 up'],
  BERTH_LOG_FORMAT: [z.enum(logFormats), 'auto, json or pretty'],
  BERTH_LOG_LEVEL: [
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    'trace, debug, info, warn, error, fatal or silent',
  ],
  BERTH_RATE_LIMIT_FACTOR: [
    z
      .string()
      .regex(/^[1-9]\d{0,6}$/)
      .transform(Number),
    'a whole number from 1: how many times the usual limits',
  ],
  BERTH_DATABASE_CONNECTIONS: [countText, 'a number of connections'],
} as const satisfies Record<string, readonly [z.ZodType, string]>

function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.origin === text &&
    !text.includes('*')
  )
}
