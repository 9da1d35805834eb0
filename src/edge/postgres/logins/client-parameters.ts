/**
 * Parameters of an address that are meant for a client, and that other clients pass on to the server as settings because they
 * do not know them. The server has no such settings and would refuse the session: as poolers do, the proxy drops them.
 */

/** What libpq understands, but no server (its documentation, "Parameter Key Words"). */
const ofLibpq = [
  'channel_binding',
  'connect_timeout',
  'fallback_application_name',
  'gssdelegation',
  'gssencmode',
  'gsslib',
  'host',
  'hostaddr',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'krbsrvname',
  'load_balance_hosts',
  'max_protocol_version',
  'min_protocol_version',
  'passfile',
  'password',
  'port',
  'require_auth',
  'requirepeer',
  'requiressl',
  'service',
  'ssl',
  'ssl_max_protocol_version',
  'ssl_min_protocol_version',
  'sslcert',
  'sslcertmode',
  'sslcompression',
  'sslcrl',
  'sslcrldir',
  'sslkey',
  'sslkeylogfile',
  'sslmode',
  'sslnegotiation',
  'sslpassword',
  'sslrootcert',
  'sslsni',
  'target_session_attrs',
  'tcp_user_timeout',
]

/** What drivers and libraries above them understand: node-postgres, postgres.js, pgx, lib/pq, JDBC, Npgsql, Prisma, SQLAlchemy. */
const ofDrivers = [
  'binary_parameters',
  'connection_limit',
  'connecttimeout',
  'default_query_exec_mode',
  'description_cache_capacity',
  'disable_prepared_binary_result',
  'fetch_types',
  'idle_timeout',
  'krbspn',
  'logintimeout',
  'max_lifetime',
  'pgbouncer',
  'pool_max_conn_idle_time',
  'pool_max_conn_lifetime',
  'pool_max_conns',
  'pool_min_conns',
  'pool_size',
  'pool_timeout',
  'prepare',
  'prepared_statement_cache_size',
  'preparethreshold',
  'reconnect',
  'schema',
  'single_use_connections',
  'socket_timeout',
  'socketfactory',
  'sockettimeout',
  'sslaccept',
  'sslidentity',
  'sslinline',
  'statement_cache_capacity',
  'statement_cache_mode',
  'statement_cache_size',
  'tcpkeepalive',
  'uselibpqcompat',
]

const names: ReadonlySet<string> = new Set([...ofLibpq, ...ofDrivers])

/** Whether a parameter of a first packet, by its name, is for a client. */
export function isOfClient(name: string): boolean {
  return names.has(name.toLowerCase())
}
