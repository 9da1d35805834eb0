/**
 * Every setting once: its name in the environment, how its text is read, its default, and what it is for. config.ts
 * reads the process's configuration from this table, and the table in the documentation is generated from it.
 */
import { connectorSettings } from './settings/connectors.ts'
import { databaseSettings } from './settings/databases.ts'
import { edgeSettings } from './settings/edge.ts'
import { optional, setting } from './settings/entries.ts'
import { identitySettings } from './settings/identity.ts'
import { metricsSettings } from './settings/metrics.ts'
import { modelSettings } from './settings/models.ts'
import { defaultCacheDir, defaultDataDir, isRoot } from './settings/places.ts'
import {
  baseUrl,
  count,
  dollars,
  factor,
  hostsWithPorts,
  httpUrl,
  logFormats,
  logLevels,
  onOff,
  oneOf,
  origins,
  path,
  port,
  ports,
  sealingKey,
  text,
  textLike,
  uidRange,
} from './settings/readers.ts'
import { roomSettings } from './settings/rooms.ts'

/**
 * Numbers that no system assigns: above those of useradd for users and their containers, and of systemd for its own.
 */
const defaultVmUids = { first: 1_900_000_000, last: 1_900_065_535 }

/**
 * The table, by the names in the code, which include units. Columns: name, reader, default, description, and the
 * default in words if it is not a plain value.
 */
export const settings = {
  port: setting('PORT', port, 4000, 'the public port'),
  host: setting(
    'BERTH_HOST',
    text('an address to listen on, such as 127.0.0.1 or 0.0.0.0'),
    '127.0.0.1',
    'the address to listen on; `0.0.0.0` opens it to the network',
  ),
  publicUrl: setting(
    'BERTH_PUBLIC_URL',
    baseUrl('the http(s) address where callers reach Berth'),
    (earlier) => `http://localhost:${earlier.port}`,
    'where callers reach Berth; also the issuer of its tokens',
    '`http://localhost:PORT`',
  ),
  dataDir: setting(
    'BERTH_DATA_DIR',
    path('a folder'),
    defaultDataDir,
    "Berth's own Postgres, VM disks, keys. As root below a folder that only root may enter: `/var/lib/berth/<hash>`",
    '`.berth`',
  ),
  cacheDir: setting(
    'BERTH_CACHE_DIR',
    path('a folder'),
    defaultCacheDir,
    'VM templates, shared by checkouts',
    '`~/.cache/berth`, for root `/var/cache/berth`',
  ),
  databaseUrl: optional(
    'DATABASE_URL',
    textLike(/^postgres(ql)?:\/\//, 'a postgres:// address'),
    'a Postgres of your own, 15 or newer, with a session connection',
    'the embedded Postgres',
  ),
  vmHostPorts: setting(
    'BERTH_VM_HOST_PORTS',
    ports,
    [],
    'ports of this host that VMs may reach as `host.berth.internal:PORT`',
  ),
  privateHosts: setting(
    'BERTH_PRIVATE_HOSTS',
    hostsWithPorts,
    [],
    "hosts of a private network, as `host:port`, where agents' tool servers, their authorization servers and webhook endpoints may be; `http://` is taken for these only",
  ),
  runsVms: setting('BERTH_VMS', onOff, true, 'whether this host runs VMs'),
  vmPoolSize: setting(
    'BERTH_VM_POOL',
    count('how many machines to keep warm, 0 or more'),
    2,
    'VMs kept warm for each template and size',
  ),
  vmMemoryMb: setting(
    'BERTH_VM_MEMORY_MB',
    count('megabytes that all VMs may be promised together'),
    0,
    'what all VMs may be promised together',
    "1.6 × this host's memory",
  ),
  vmDiskGb: setting(
    'BERTH_VM_DISK_GB',
    count('gigabytes that all disks of VMs may be promised together'),
    0,
    'what the disks of all VMs, folders and templates may be promised together; they take what is written',
    "4 × the data folder's file system, at least 1000",
  ),
  orgMemoryMb: optional(
    'BERTH_ORG_MEMORY_MB',
    count('megabytes of memory that one organization may hold, or 0 for no limit'),
    'what one organization may hold of that memory; `0` is no limit',
    'what leaves a quarter for others',
  ),
  orgDiskGb: optional(
    'BERTH_ORG_DISK_GB',
    count('gigabytes of disk that one organization may be promised, or 0 for no limit'),
    'what one organization may hold of that disk; `0` is no limit',
    'what leaves a quarter for others',
  ),
  orgVms: setting(
    'BERTH_ORG_VMS',
    count('how many VMs one organization may have, or 0 for no limit'),
    200,
    'VMs of one organization, stopped ones and those of databases and functions too; `0` is no limit',
  ),
  ...databaseSettings,
  ...edgeSettings,
  orgFilesGb: optional(
    'BERTH_ORG_FILES_GB',
    count('gigabytes of uploads and build outputs that one organization may store, or 0 for no limit'),
    'uploads, outputs of builds, backups, files and skills of agents that one organization may store; `0` is no limit',
    'a quarter of the disk for files; with S3 none',
  ),
  ...roomSettings,
  diskFloorMb: optional(
    'BERTH_DISK_FLOOR_MB',
    count('megabytes that must stay free on a disk before anything large is stored there'),
    'what stays free: below it nothing large is stored, and no VM begins',
    '5 % of the disk, 64 MB to 5 GB',
  ),
  vmUids: setting(
    'BERTH_VM_UIDS',
    uidRange,
    () => (isRoot() ? defaultVmUids : null),
    'as root: numbers of system users that nobody has; each VM runs as one of its own',
    `\`${defaultVmUids.first}-${defaultVmUids.last}\``,
  ),
  ...identitySettings,
  secretKey: optional(
    'BERTH_SECRET_KEY',
    sealingKey,
    'seals stored secrets: 32 bytes as base64',
    '`secret.key` in the data folder',
  ),
  apiKeyPrefix: setting(
    'BERTH_KEY_PREFIX',
    textLike(/^[a-z][a-z0-9_]{0,30}_$/, 'lower-case letters, digits and underscores, ending in one'),
    'svc_live_ak_',
    'what organization keys begin with',
  ),
  s3Endpoint: optional(
    'BERTH_S3_ENDPOINT',
    baseUrl('the http(s) address of an S3-compatible service'),
    'an S3-compatible service for uploads and what builds leave behind: this and the next three, or none of them',
    'none: the data folder',
  ),
  s3Bucket: optional(
    'BERTH_S3_BUCKET',
    textLike(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'the name of a bucket that is there already'),
    'a bucket that is there already',
  ),
  s3AccessKeyId: optional(
    'BERTH_S3_ACCESS_KEY_ID',
    text('the id of a key that may read, write and delete in the bucket'),
    'the id of a key that may read, write and delete in it',
  ),
  s3SecretAccessKey: optional('BERTH_S3_SECRET_ACCESS_KEY', text('the secret of that key'), 'the secret of that key'),
  s3Region: setting(
    'BERTH_S3_REGION',
    text('the region of the bucket, such as us-east-1'),
    'us-east-1',
    "the bucket's region",
  ),
  ...modelSettings,
  ...connectorSettings,
  searchUrl: optional(
    'BERTH_SEARCH_URL',
    httpUrl('the http(s) address of a SearXNG search, such as http://localhost:8888/search'),
    'a SearXNG search for agents, such as `http://localhost:8888/search`; it may be at a private address',
    'none: agents have no `web_search`',
  ),
  artifactDays: setting(
    'BERTH_ARTIFACT_DAYS',
    count('how many days the artifacts of builds are kept; 0 keeps them for ever'),
    30,
    'how long the artifacts of builds are kept; `0` is for ever',
  ),
  uploadDays: setting(
    'BERTH_UPLOAD_DAYS',
    count('how many days an upload is kept after a build last asked for it; 0 keeps it for ever'),
    30,
    'how long an upload is kept after a build last asked for it; `0` is for ever',
  ),
  costPerVcpuHour: setting('BERTH_COST_PER_VCPU_HOUR', dollars('0.04'), 0.04, 'US dollars, for usage'),
  costPerGbHour: setting('BERTH_COST_PER_GB_HOUR', dollars('0.005'), 0.005, 'US dollars, for usage'),
  rateLimitFactor: setting(
    'BERTH_RATE_LIMIT_FACTOR',
    factor,
    1,
    'multiplies every rate limit, and how many environments of an organization may be on their way at once',
  ),
  webProcesses: setting(
    'BERTH_WEB_PROCESSES',
    count('how many web processes share the port, 1 to 64', 1, 64),
    1,
    'web processes that `npm start` runs on the one port (Linux shares connections out); one can use one processor',
  ),
  databaseConnections: setting(
    'BERTH_DATABASE_CONNECTIONS',
    count('a number of connections'),
    10,
    "connections of one process to Berth's own Postgres",
  ),
  corsOrigins: setting(
    'BERTH_CORS_ORIGINS',
    origins,
    [],
    'origins whose pages may call Berth from a browser: exact ones, separated by commas, such as `https://app.example.com`',
  ),
  connectionsPerAddress: setting(
    'BERTH_CONNECTIONS_PER_ADDRESS',
    count('how many connections one address may have open, from 8 up', 8),
    512,
    'connections to one web process from one address; loopback has eight times as many',
  ),
  connectionsMax: setting(
    'BERTH_CONNECTIONS',
    count('how many connections may be open together, from 8 up', 8),
    8192,
    'connections to one web process from all addresses together',
  ),
  ...metricsSettings,
  logFormat: setting(
    'BERTH_LOG_FORMAT',
    oneOf(logFormats),
    'auto',
    '`json` lines, `pretty` ones for people, or `auto`: pretty in a terminal, JSON elsewhere',
  ),
  logLevel: setting('BERTH_LOG_LEVEL', oneOf(logLevels), 'info', logLevels.join(', ')),
}

/** The table of settings in Markdown. @param toRoot the path from the document's folder to the checkout, for links. */
export function settingsTable(toRoot: string): string {
  const rows = Object.values(settings).map(
    ({ name, shownDefault, what }) => `| \`${name}\` | ${shownDefault} | ${what.replace('](', `](${toRoot}`)} |`,
  )
  return ['| name | default | what |', '|---|---|---|', ...rows].join('\n')
}
