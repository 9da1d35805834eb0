/** The configuration of an environment's VM in GraphQL: output types and inputs. */
import { builder } from '#schema/builder.ts'
import { forRest } from '../../rest-fields.ts'
import { kindOf, oneOfWords } from '../../words.ts'
import { enumOf } from '#schema/enums.ts'
import type { EnvironmentConfig, Networking, VmConfig } from '#src/resources/agents/environments/configs.ts'

const kind = enumOf('EnvironmentKind', 'What an environment runs on.', {
  vm: 'A VM in Berth.',
  cloud: 'A VM in Berth: Anthropic’s word for `VM`.',
  self_hosted: 'The caller’s own machine.',
})

const networkingKind = enumOf('EnvironmentNetworkingKind', 'How much an environment’s VM may connect to.', {
  unrestricted: 'Every public address.',
  limited: 'Some hosts only.',
} satisfies Record<Networking['type'], string>)

const unrestricted = builder.objectRef<Networking>('UnrestrictedNetworking').implement({
  description: 'The VM may connect to every public address.',
  isTypeOf: (value) => (value as Networking).type === 'unrestricted',
  fields: (t) => ({ type: t.field(kindOf(networkingKind, 'unrestricted')) }),
})

const limited = builder.objectRef<Networking & { type: 'limited' }>('LimitedNetworking').implement({
  description: 'The VM may connect to these hosts only.',
  isTypeOf: (value) => (value as Networking).type === 'limited',
  fields: (t) => ({
    type: t.field(kindOf(networkingKind, 'limited')),
    allowedHosts: t.exposeStringList('allowed_hosts', {
      description: 'Host names, or `*.name` for every subdomain of one.',
    }),
    allowPackageManagers: t.exposeBoolean('allow_package_managers', {
      description: 'Whether the public package registries are allowed too.',
    }),
    allowMcpServers: t.exposeBoolean('allow_mcp_servers', {
      description: 'Whether the tool servers of the session’s agent are allowed too.',
    }),
  }),
})

const networkingType = builder.unionType('EnvironmentNetworking', {
  description: 'What an environment’s VM may connect to.',
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
    path: t.exposeString('path', { description: 'Where it is cloned.' }),
  }),
})

const vmConfig = builder.objectRef<VmConfig>('VmEnvironmentConfig').implement({
  description: 'A VM in Berth, with every default filled in.',
  isTypeOf: (value) => (value as EnvironmentConfig).type !== 'self_hosted',
  fields: (t) => ({
    type: t.expose('type', {
      type: kind,
      ...oneOfWords(['vm', 'cloud'], '`VM`, or `CLOUD`, which is Anthropic’s word for it.'),
    }),
    templateId: t.id({
      nullable: true,
      description: 'The template’s id or name; null means `base`.',
      resolve: (config) => config.template_id,
    }),
    vcpuCount: t.exposeInt('vcpu', { description: 'Virtual processors.' }),
    memoryMb: t.exposeInt('memory_mb', { description: 'Memory in MB.' }),
    networking: t.field({
      type: networkingType,
      description: 'What it may connect to.',
      resolve: ({ networking }) => networking as never, // isTypeOf of the union's members tells them apart
    }),
    packages: t.field({
      type: packagesType,
      description: 'The packages to install.',
      resolve: ({ packages }) => packages,
    }),
    gitRepos: t.field({
      type: [gitRepo],
      description: 'The repositories to clone.',
      resolve: (config) => config.git_repos,
    }),
    setupScript: t.exposeString('setup_script', {
      nullable: true,
      description: 'A script that runs once, as `user`, when the VM is new.',
    }),
    idleTimeoutSeconds: t.exposeInt('idle_timeout_seconds', {
      description: 'How long the VM may be unused before it is stopped.',
    }),
  }),
})

const selfHosted = builder
  .objectRef<EnvironmentConfig & { type: 'self_hosted' }>('SelfHostedEnvironmentConfig')
  .implement({
    description: 'The caller’s own machine, which Berth does not manage.',
    isTypeOf: (value) => (value as EnvironmentConfig).type === 'self_hosted',
    fields: (t) => ({ type: t.field(kindOf(kind, 'self_hosted')) }),
  })

/** The configuration as the API shows it. */
export const environmentConfig = builder.unionType('EnvironmentConfig', {
  description: 'The configuration of an environment’s VM, with every default filled in.',
  types: [vmConfig, selfHosted],
})

const limitedInput = builder.inputType('LimitedNetworkingInput', {
  description: 'The VM may connect to these hosts only.',
  fields: (t) => ({
    allowedHosts: t.stringList({ description: 'Host names, or `*.name` for every subdomain of one.' }),
    allowPackageManagers: t.boolean({ description: 'Whether the public package registries are allowed too.' }),
    allowMcpServers: t.boolean({ description: 'Whether the tool servers of the session’s agent are allowed too.' }),
  }),
})

const networkingInput = builder.inputType('EnvironmentNetworkingInput', {
  description: 'What an environment’s VM may connect to: exactly one of these.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    unrestricted: t.boolean({ description: 'Every public address; send true.' }),
    limited: t.field({ type: limitedInput, description: 'Some hosts only.' }),
  }),
})

const packagesInput = builder.inputType('EnvironmentPackagesInput', {
  description: 'Packages to install, by package manager: names, optionally with a version.',
  fields: (t) => ({
    type: t.string({ description: 'Must be `packages`, or omitted.', ...forRest }),
    apt: t.stringList({ description: 'Of Debian.' }),
    pip: t.stringList({ description: 'Of Python.' }),
    npm: t.stringList({ description: 'Of Node.' }),
    cargo: t.stringList({ description: 'Of Rust.' }),
    gem: t.stringList({ description: 'Of Ruby.' }),
    go: t.stringList({ description: 'Of Go.' }),
  }),
})

const gitRepoInput = builder.inputType('EnvironmentGitRepoInput', {
  description: 'A repository to clone. Its URL must not contain credentials, because the configuration is readable.',
  fields: (t) => ({
    url: t.string({ required: true, description: 'https:// or ssh://, or http:// for host.berth.internal.' }),
    branch: t.string({ description: 'The branch; the default branch if omitted.' }),
    path: t.string({
      description: 'Where to clone it: a path relative to /home/user, or absolute; /home/user/<name> by default.',
    }),
  }),
})

/** The configuration as clients send it. */
export const environmentConfigInput = builder.inputType('EnvironmentConfigInput', {
  description:
    'The configuration of an environment’s VM. Every field has a default; in an update, omitted fields stay as they are.',
  fields: (t) => ({
    type: t.field({ type: kind, description: '`VM` by default.' }),
    templateId: t.id({ description: 'A template’s id or name; `base` by default.' }),
    vcpuCount: t.int({
      extensions: { word: 'vcpu' },
      description: 'Virtual processors, 1 to 16; 2 by default.',
    }),
    memoryMb: t.int({ description: 'Memory in MB, 256 to 65536; 2048 by default.' }),
    networking: t.field({
      type: networkingInput,
      description: 'What it may connect to; every public address by default.',
    }),
    packages: t.field({ type: packagesInput, description: 'The packages to install.' }),
    gitRepos: t.field({ type: [gitRepoInput], description: 'Repositories to clone: 20 at most.' }),
    setupScript: t.string({ description: 'A script that runs once, as `user`, when the VM is new.' }),
    idleTimeoutSeconds: t.int({ description: 'How long the VM may be unused before it is stopped.' }),
  }),
})
