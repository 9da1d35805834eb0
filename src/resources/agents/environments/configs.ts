/** The `config` of an environment, complete with every default filled in. Keys are spelled as on the wire. */
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { readGitRepos } from '#src/resources/infra/git-repos.ts'
import { readNetworkPolicy } from '#src/resources/infra/vms/network-policies.ts'
import type { NetworkPolicy } from '#src/resources/infra/vms/rows.ts'
import { readShape, usually } from '#src/platform/shapes/fields.ts'
import { input, inWords, oneOf } from '#src/platform/shapes/inputs.ts'

/** The package managers of a VM, in the order in which their packages are installed. */
export const packageManagers = ['apt', 'pip', 'npm', 'cargo', 'gem', 'go'] as const
export type PackageManager = (typeof packageManagers)[number]

/** What an environment's VM may connect to. */
export type Networking =
  | { type: 'unrestricted' }
  | { type: 'limited'; allowed_hosts: string[]; allow_package_managers: boolean; allow_mcp_servers: boolean }

/** A VM in Berth, which Anthropic's clients call `cloud`, or the caller's own machine, which Berth does not manage. */
export type EnvironmentConfig = VmConfig | { type: 'self_hosted' }

/**
 * The configuration of an environment's VM; `template_id` null means `base`. URLs of repositories must not contain
 * credentials, because the config is readable.
 */
export type VmConfig = {
  type: 'vm' | 'cloud'
  template_id: string | null
  vcpu: number
  memory_mb: number
  networking: Networking
  packages: Record<PackageManager, string[]>
  git_repos: { url: string; branch: string | null; path: string }[]
  setup_script: string | null
  idle_timeout_seconds: number
}

// Refuses names that a package manager could take for an option, or a shell for a command.
const packageName = z
  .string()
  .max(limits.packageNameLength)
  .regex(/^[A-Za-z0-9@][A-Za-z0-9@._/+:=~<>!,[\]^*-]*$/, 'it must be the name of a package, optionally with a version')
const packageList = usually(z.array(packageName).max(limits.packagesMax), [])
const noPackages: Record<PackageManager, string[]> = { apt: [], pip: [], npm: [], cargo: [], gem: [], go: [] }
const networking = oneOf({
  unrestricted: true,
  limited: input({
    allowed_hosts: usually(z.array(z.string()), []),
    allow_package_managers: usually(z.boolean(), false),
    allow_mcp_servers: usually(z.boolean(), false),
  }),
})
const packagesType: z.ZodType<'packages', string> = z.literal('packages')
const repo = input({ url: z.string(), branch: z.string().nullish(), path: z.string().nullish() })
const names = { vcpu: 'vcpuCount' } as const
const selfHosted = input({ type: z.literal('self_hosted').nullish() }, names)
const fields = {
  type: usually(z.enum(['vm', 'cloud']), 'vm'),
  template_id: usually(z.string().min(1).max(limits.nameLength), null),
  vcpu: usually(z.int().min(1).max(16), 2),
  memory_mb: usually(z.int().min(256).max(65_536), 2048),
  networking: usually(networking, { type: 'unrestricted' }),
  packages: usually(
    input({
      type: packagesType.nullish(),
      apt: packageList,
      pip: packageList,
      npm: packageList,
      cargo: packageList,
      gem: packageList,
      go: packageList,
    }).transform(({ type: _type, ...lists }) => lists),
    noPackages,
  ),
  git_repos: usually(z.array(repo), []),
  setup_script: z
    .string()
    .max(limits.setupScriptLength)
    .nullish()
    .transform((given) => given || null),
  idle_timeout_seconds: usually(
    z.int().min(limits.environmentIdleSecondsMin).max(limits.environmentIdleSecondsMax),
    limits.environmentIdleSecondsDefault,
  ),
}
const shape = input(fields, names)

/** A config as callers give it. */
export type EnvironmentConfigInput = Omit<z.input<typeof shape>, 'type'> & { type?: EnvironmentConfig['type'] | null }

/**
 * Reads a config; omitted keys get their defaults, or in an update keep their values.
 * @throws BerthError invalid_request naming the key, never its value.
 */
export function readEnvironmentConfig(
  given: EnvironmentConfigInput | null | undefined,
  before?: EnvironmentConfig,
): EnvironmentConfig {
  if (given === undefined && before) return before
  if ((given?.type ?? before?.type) === 'self_hosted') {
    readShape(selfHosted, given ?? {}, 'config')
    return { type: 'self_hosted' }
  }
  const changes = inWords(given ?? {}, names)
  const kept = Object.entries(before?.type === 'self_hosted' ? {} : (before ?? {})).filter(([key]) => !(key in changes))
  const read = readShape(shape, given ?? {}, 'config')
  const { git_repos, ...config } = { ...read, ...(Object.fromEntries(kept) as Partial<VmConfig>) } // its own keys
  policyOf(config.networking, [])
  const wantsPackages = packageManagers.some((manager) => config.packages[manager].length > 0)
  if (wantsPackages && config.networking.type === 'limited' && !config.networking.allow_package_managers) {
    throw new BerthError(
      'invalid_request',
      'config.packages requires access to the package registries: set config.networking.allow_package_managers to true.',
    )
  }
  return { ...config, git_repos: readRepos(git_repos) }
}

/** The network policy of the VM; `mcpHosts` are those of the agent's tool servers. @throws BerthError invalid_request. */
export function policyOf(given: Networking, mcpHosts: readonly string[]): NetworkPolicy {
  if (given.type === 'unrestricted') return given
  const allowed_hosts = [
    ...new Set(
      [...given.allowed_hosts, ...(given.allow_mcp_servers ? mcpHosts : [])].map((host) => host.toLowerCase()),
    ),
  ]
  return readNetworkPolicy({ type: 'limited', allowed_hosts, allow_package_managers: given.allow_package_managers })
}

function readRepos(given: z.output<typeof repo>[]): VmConfig['git_repos'] {
  const repos = readGitRepos({ gitRepos: given })
  const secretive = repos.findIndex(({ url }) => {
    const parsed = URL.parse(url)
    return parsed !== null && (parsed.password !== '' || (parsed.protocol !== 'ssh:' && parsed.username !== ''))
  })
  if (secretive >= 0)
    throw new BerthError(
      'invalid_request',
      `config.git_repos[${secretive}].url contains a credential, which everybody who may read the environment would see. Remove it.`,
    )
  return repos
}
