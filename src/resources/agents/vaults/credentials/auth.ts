/** A credential's `auth` as clients send it: validated, and split into what may be shown and what is sealed. */
import { z } from 'zod'
import { timestamp } from '#src/platform/clock.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { readServerUrl } from '#src/drivers/outbound-fetch.ts'
import { hostShape } from '#src/resources/infra/vms/network-policies.ts'
import { checkEnv } from '#src/platform/shapes/env.ts'
import type {
  Credential,
  CredentialAuth,
  CredentialSecrets,
  EnvironmentVariableSecrets,
  McpOauthSecrets,
  StaticBearerSecrets,
} from './rows.ts'
import { readShape } from '#src/platform/shapes/fields.ts'
import { input, oneOf } from '#src/platform/shapes/inputs.ts'

/** A validated credential: what is shown, what is sealed, and the key that is unique in its vault. */
export type ReadAuth = { auth: CredentialAuth; secrets: CredentialSecrets; keyKind: Credential['keyKind']; key: string }

const notAToken = `must be 1 to ${limits.tokenLength} printable ASCII characters without spaces`
/** A token that is allowed in a header. */
const token = z
  .string(notAToken)
  .min(1, notAToken)
  .max(limits.tokenLength, notAToken)
  .regex(/^[\x21-\x7e]+$/, notAToken)
const plainText = z.string().min(1).max(limits.serverUrlLength)
const networking = oneOf({
  unrestricted: true,
  limited: input({ allowed_hosts: z.array(hostShape.toLowerCase()).min(1).max(limits.credentialHostsMax) }),
})
const carries: z.ZodType<boolean, boolean | null> = z.boolean()
const clientSecret = input({ client_secret: token })
const shape = oneOf({
  static_bearer: input({ mcp_server_url: z.string(), token }),
  mcp_oauth: input({
    mcp_server_url: z.string(),
    access_token: token,
    expires_at: z.iso.datetime({ offset: true }).nullish(),
    refresh: input({
      client_id: plainText,
      refresh_token: token,
      token_endpoint: z.string(),
      scope: plainText.nullish(),
      resource: plainText.nullish(),
      token_endpoint_auth: oneOf({ none: true, client_secret_basic: clientSecret, client_secret_post: clientSecret }),
    }).nullish(),
  }),
  environment_variable: input({
    secret_name: z.string(),
    secret_value: z.string(),
    networking: networking.nullish(),
    injection_location: input({ header: carries.default(false), body: carries.default(false) }).nullish(),
  }),
})
type Given = z.output<typeof shape>

/** The `auth` of a new credential as callers give it. */
export type AuthInput = z.input<typeof shape>

/**
 * Reads the `auth` of a new credential.
 * @throws BerthError invalid_request, invalid_env_key, invalid_env_value; their sentences contain no secret.
 */
export function readAuth(config: Pick<Config, 'privateHosts'>, given: AuthInput | null | undefined): ReadAuth {
  if (given === undefined || given === null)
    throw new BerthError(
      'invalid_request',
      'auth is required: an object of type static_bearer, mcp_oauth or environment_variable.',
    )
  const auth = readShape(shape, given, 'auth')
  switch (auth.type) {
    case 'static_bearer':
      return readStaticBearer(config, auth)
    case 'mcp_oauth':
      return readMcpOauth(config, auth)
    case 'environment_variable':
      return readEnvironmentVariable(auth)
  }
}

function readStaticBearer(
  config: Pick<Config, 'privateHosts'>,
  { mcp_server_url, token }: Given & { type: 'static_bearer' },
): ReadAuth {
  const url = readServerUrl(config, mcp_server_url, 'auth.mcp_server_url')
  const secrets: StaticBearerSecrets = { token }
  return {
    auth: { type: 'static_bearer', mcp_server_url: url.text },
    secrets,
    keyKind: 'mcp_server_url',
    key: url.normal,
  }
}

function readMcpOauth(
  config: Pick<Config, 'privateHosts'>,
  { mcp_server_url, access_token, expires_at, refresh }: Given & { type: 'mcp_oauth' },
): ReadAuth {
  const url = readServerUrl(config, mcp_server_url, 'auth.mcp_server_url')
  const client = refresh?.token_endpoint_auth
  const secrets: McpOauthSecrets = {
    access_token,
    refresh_token: refresh?.refresh_token ?? null,
    client_secret: client && client.type !== 'none' ? client.client_secret : null,
  }
  const shown = refresh && {
    client_id: refresh.client_id,
    token_endpoint: readServerUrl(config, refresh.token_endpoint, 'auth.refresh.token_endpoint').text,
    token_endpoint_auth: { type: refresh.token_endpoint_auth.type },
    scope: refresh.scope ?? null,
    resource: refresh.resource ?? null,
  }
  const auth: CredentialAuth = {
    type: 'mcp_oauth',
    mcp_server_url: url.text,
    expires_at: expires_at ? timestamp(Date.parse(expires_at)) : null,
    refresh: shown ?? null,
  }
  return { auth, secrets, keyKind: 'mcp_server_url', key: url.normal }
}

function readEnvironmentVariable({
  secret_name,
  secret_value,
  networking,
  injection_location,
}: Given & { type: 'environment_variable' }): ReadAuth {
  checkEnv({ [secret_name]: secret_value }, 'secret')
  if (secret_value === '') throw new BerthError('invalid_env_value', 'auth.secret_value must not be empty.')
  const location = networking ? (injection_location ?? { header: true, body: false }) : null // by default in headers, where keys usually are
  if (injection_location && !networking)
    throw new BerthError(
      'invalid_request',
      'auth.injection_location says where a placeholder is replaced, which requires auth.networking; give both or neither.',
    )
  if (location && !location.header && !location.body)
    throw new BerthError('invalid_request', 'auth.injection_location must have header or body, or both.')
  if (location?.header && !/^[\x20-\x7e]+$/.test(secret_value))
    throw new BerthError(
      'invalid_env_value',
      'auth.secret_value goes into headers, so it must be printable ASCII on one line.',
    )
  const secrets: EnvironmentVariableSecrets = { secret_value }
  return {
    auth: { type: 'environment_variable', secret_name, networking: networking ?? null, injection_location: location },
    secrets,
    keyKind: 'secret_name',
    key: secret_name,
  }
}

const fixed = 'cannot be changed: archive the credential and create another. Only static_bearer accepts a new token.'
const kept: z.ZodType<string, string | null> = z.string()
const changeShape = input(
  {
    type: kept.optional(),
    mcp_server_url: kept.optional(),
    secret_name: kept.optional(),
    token: token.nullish(),
  },
  {},
  {
    access_token: fixed,
    expires_at: fixed,
    refresh: fixed,
    secret_value: fixed,
    networking: fixed,
    injection_location: fixed,
  },
)

/** The `auth` of an update as callers give it. */
export type AuthChange = z.input<typeof changeShape>

/**
 * Reads the `auth` of an update: a new `token` for a static_bearer, and nothing else.
 * @returns the new secrets, or null when they stay.
 * @throws BerthError mcp_server_url_immutable, secret_name_immutable, invalid_request.
 */
export function readNewToken(
  config: Pick<Config, 'privateHosts'>,
  { auth, key, keyKind }: Pick<Credential, 'auth' | 'key' | 'keyKind'>,
  given: AuthChange | null | undefined,
): StaticBearerSecrets | null {
  if (given === undefined || given === null) return null
  const change = readShape(changeShape, given, 'auth')
  if (
    change.mcp_server_url !== undefined &&
    (keyKind !== 'mcp_server_url' || readServerUrl(config, change.mcp_server_url, 'auth.mcp_server_url').normal !== key)
  ) {
    throw new BerthError(
      'mcp_server_url_immutable',
      'A credential keeps its mcp_server_url. Archive this one and create another.',
    )
  }
  if (change.secret_name !== undefined && (keyKind !== 'secret_name' || change.secret_name !== key)) {
    throw new BerthError(
      'secret_name_immutable',
      'A credential keeps its secret_name. Archive this one and create another.',
    )
  }
  if (change.type !== undefined && change.type !== auth.type)
    throw new BerthError(
      'invalid_request',
      `A credential keeps its type, which is ${auth.type}. Archive this one and create another.`,
    )
  if (auth.type !== 'static_bearer')
    throw new BerthError(
      'invalid_request',
      `The secrets of a credential of type ${auth.type} cannot be changed: archive it and create another. Only static_bearer accepts a new token.`,
    )
  return change.token ? { token: change.token } : null
}
