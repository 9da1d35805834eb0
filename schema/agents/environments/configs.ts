/** What an environment's VM is made of, in GraphQL: as it is shown, and as it is given. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import type { EnvironmentConfig, Networking, VmConfig } from '#src/resources/agents/environments/configs.ts'

const unrestricted = builder.objectRef<Networking>('UnrestrictedNetworking').implement({
  description: 'Every public address may be reached.',
  isTypeOf: (value) => (value as Networking).type === 'unrestricted',
  fields: (t) => ({ type: t.exposeString('type', { description: 'Always `unrestricted`.' }) }),
})

const limited = builder.objectRef<Networking & { type: 'limited' }>('LimitedNetworking').implement({
  description: 'Only these hosts may be reached.',
  isTypeOf: (value) => (value as Networking).type === 'limited',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Always `limited`.' }),
    allowedHosts: t.exposeStringList('allowed_hosts', { description: 'Host names, or `*.name` for all below one.' }),
    allowPackageManagers: t.exposeBoolean('allow_package_managers', {
      description: 'Whether the public package registries are allowed too.',
    }),
    allowMcpServers: t.exposeBoolean('allow_mcp_servers', {
      description: 'Whether the tool servers of the session’s agent are allowed too.',
    }),
  }),
})

const networkingType = builder.unionType('EnvironmentNetworking', {
  description: 'Where an environment’s VM may connect to.',
  types: [unrestricted, limited],
})

const packagesType = builder.objectRef<VmConfig['packages']>('EnvironmentPackages').implement({
  description: 'Packages that are installed in the VM, by package manager, in this order.',
  fields: (t) => ({
    apt: t.exposeStringList('apt', { description: 'Of Debian.' }),
    pip: t.exposeStringList('pip', { description: 'Of Python.' }),
    npm: t.exposeStringList('npm', { description: 'Of Node.' }),
    cargo: t.exposeStringList('cargo', { description: 'Of Rust.' }),
    gem: t.exposeStringList('gem', { description: 'Of Ruby.' }),
    go: t.exposeStringList('go', { description: 'Of Go.' }),
  }),
})

const gitRepo = builder.objectRef<VmConfig['git_repos'][number]>('EnvironmentGitRepo').implement({
  description: 'A repository that is cloned into the VM.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Its address.' }),
    branch: t.exposeString('branch', { nullable: true, description: 'Its branch; null for the default one.' }),
    path: t.exposeString('path', { description: 'Where it is cloned to.' }),
  }),
})

const vmConfig = builder.objectRef<VmConfig>('VmEnvironmentConfig').implement({
  description: 'A VM of Berth’s, with every default filled in.',
  isTypeOf: (value) => (value as EnvironmentConfig).type !== 'self_hosted',
  fields: (t) => ({
    type: t.exposeString('type', { description: '`vm`, or `cloud`, as clients of Anthropic’s call it.' }),
    templateId: t.string({
      nullable: true,
      description: 'The template’s id or name; null for `base`.',
      resolve: (config) => config.template_id,
    }),
    vcpu: t.exposeInt('vcpu', { description: 'Virtual processors.' }),
    memoryMb: t.exposeInt('memory_mb', { description: 'Memory in MB.' }),
    networking: t.field({
      type: networkingType,
      description: 'Where it may connect to.',
      resolve: ({ networking }) => networking as never, // the union's own types tell them apart
    }),
    packages: t.field({ type: packagesType, description: 'What is installed.', resolve: ({ packages }) => packages }),
    gitRepos: t.field({ type: [gitRepo], description: 'What is cloned.', resolve: (config) => config.git_repos }),
    setupScript: t.exposeString('setup_script', {
      nullable: true,
      description: 'Run once as `user` when the VM is new.',
    }),
    idleTimeoutSeconds: t.exposeInt('idle_timeout_seconds', {
      description: 'Without use for so long, the VM is stopped.',
    }),
  }),
})

const selfHosted = builder
  .objectRef<EnvironmentConfig & { type: 'self_hosted' }>('SelfHostedEnvironmentConfig')
  .implement({
    description: 'The caller’s own machine, of which Berth knows nothing.',
    isTypeOf: (value) => (value as EnvironmentConfig).type === 'self_hosted',
    fields: (t) => ({ type: t.exposeString('type', { description: 'Always `self_hosted`.' }) }),
  })

/** As it is shown. */
export const environmentConfig = builder.unionType('EnvironmentConfig', {
  description: 'What an environment’s VM is made of, with every default filled in.',
  types: [vmConfig, selfHosted],
})

const kind = enumOf('EnvironmentKind', 'What an environment’s work runs on.', {
  vm: 'A VM of Berth’s.',
  cloud: 'The same, as clients of Anthropic’s call it.',
  self_hosted: 'The caller’s own machine.',
})

const limitedInput = builder.inputType('LimitedNetworkingInput', {
  description: 'Only these hosts may be reached.',
  fields: (t) => ({
    allowedHosts: t.stringList({ description: 'Host names, or `*.name` for all below one.' }),
    allowPackageManagers: t.boolean({ description: 'Whether the public package registries are allowed too.' }),
    allowMcpServers: t.boolean({ description: 'Whether the tool servers of the session’s agent are allowed too.' }),
  }),
})

const networkingInput = builder.inputType('EnvironmentNetworkingInput', {
  description: 'Where an environment’s VM may connect to: one of them.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    unrestricted: t.boolean({ description: 'Every public address: always true.' }),
    limited: t.field({ type: limitedInput, description: 'Some hosts only.' }),
  }),
})

const packagesInput = builder.inputType('EnvironmentPackagesInput', {
  description: 'Packages to install, by package manager: names, perhaps with a version.',
  fields: (t) => ({
    type: t.string({ description: 'Must be `packages`, or left out.' }),
    apt: t.stringList({ description: 'Of Debian.' }),
    pip: t.stringList({ description: 'Of Python.' }),
    npm: t.stringList({ description: 'Of Node.' }),
    cargo: t.stringList({ description: 'Of Rust.' }),
    gem: t.stringList({ description: 'Of Ruby.' }),
    go: t.stringList({ description: 'Of Go.' }),
  }),
})

const gitRepoInput = builder.inputType('EnvironmentGitRepoInput', {
  description: 'A repository to clone. Its address may hold no credential: the config is shown.',
  fields: (t) => ({
    url: t.string({ required: true, description: 'https:// or ssh://, or http:// for host.berth.internal.' }),
    branch: t.string({ description: 'The default branch without it.' }),
    path: t.string({ description: 'Where to: relative to /home/user, or absolute; /home/user/<name> without it.' }),
  }),
})

/** As it is given. */
export const environmentConfigInput = builder.inputType('EnvironmentConfigInput', {
  description: 'What an environment’s VM is made of. Every field has a default; in a change, what is left out stays.',
  fields: (t) => ({
    type: t.field({ type: kind, description: '`VM` without it.' }),
    templateId: t.string({ description: 'A template’s id or name; `base` without it.' }),
    vcpu: t.int({ description: 'Virtual processors, 1 to 16; 2 without it.' }),
    memoryMb: t.int({ description: 'Memory in MB, 256 to 65536; 2048 without it.' }),
    networking: t.field({ type: networkingInput, description: 'Where it may connect to; anywhere without it.' }),
    packages: t.field({ type: packagesInput, description: 'What is installed.' }),
    gitRepos: t.field({ type: [gitRepoInput], description: 'Repositories to clone: 20 at most.' }),
    setupScript: t.string({ description: 'Run once as `user` when the VM is new.' }),
    idleTimeoutSeconds: t.int({ description: 'Without use for so long, the VM is stopped.' }),
  }),
})
