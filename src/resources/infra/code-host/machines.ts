/** What machines use of connected accounts: git's requests from a VM, and from a build while it checks out its repository. */
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import type { MachineSecret } from '#src/drivers/compute/egress/secrets.ts'
import { codeHostPlace } from '#src/drivers/code-host/places.ts'
import { findLinkOfBuild, findLinkOfVm, type CodeHostLink } from './rows.ts'
import { freshToken, type TokenServices } from './tokens.ts'

/** A checkout that is under way: the build, and the only repository that it reads, `owner/name`. */
export type Checkout = { buildId: string; repository: string }

/** The token of the account that a VM was given, for git at the code host only; none without a link. */
export async function findGitSecrets(services: TokenServices, vmId: string): Promise<MachineSecret[]> {
  if (!isOffered(services)) return []
  return secretsOf(services, await findLinkOfVm(services.db, services.config, vmId), {
    repository: null,
    mayPush: true,
  })
}

/** The hosts of these, one entry for each. */
export async function findGitHosts(services: TokenServices, vmId: string): Promise<string[][]> {
  if (!isOffered(services)) return []
  return (await findLinkOfVm(services.db, services.config, vmId)) ? [[codeHostPlace(services.config).host]] : []
}

/** The token with which a build reads its own repository, and no other. */
export async function findCheckoutSecrets(
  services: TokenServices,
  { buildId, repository }: Checkout,
): Promise<MachineSecret[]> {
  const link = await findLinkOfBuild(services.db, services.config, buildId)
  return secretsOf(services, link, { repository, mayPush: false })
}

/**
 * The checkout of a build that may use an account: its repository is at the code host, and its URL has no credential of its
 * own; null for any other.
 */
export async function findCheckout(
  services: Pick<TokenServices, 'config' | 'db'>,
  buildId: string,
  repoUrl: string,
): Promise<(Checkout & { link: CodeHostLink }) | null> {
  const place = codeHostPlace(services.config)
  const url = URL.parse(repoUrl)
  if (!isOffered(services) || !url || url.origin !== new URL(place.url).origin) return null
  if (url.username !== '' || url.password !== '' || url.search !== '') return null
  const link = await findLinkOfBuild(services.db, services.config, buildId)
  const repository = url.pathname
    .replace(/^\//, '')
    .replace(/\/$/, '')
    .replace(/\.git$/, '')
  return link ? { buildId, repository, link } : null
}

/** Without TLS anybody on the way could read the token, so then no machine gets it. */
function isOffered({ config }: Pick<TokenServices, 'config'>): boolean {
  return config.codeHostClientId !== null && codeHostPlace(config).isSecure
}

async function secretsOf(
  services: TokenServices,
  link: CodeHostLink | undefined,
  use: { repository: string | null; mayPush: boolean },
): Promise<MachineSecret[]> {
  if (!link) return []
  const { host, port } = codeHostPlace(services.config)
  try {
    const secret = await freshToken(services, link)
    return [{ credentialId: link.id, secret, hosts: [host], inHeaders: true, inBody: false, git: { port, ...use } }]
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    log.warn({ reason: error.code }, 'a connected account has no token that could be used')
    return [] // git is told by the code host that it needs a credential
  }
}
