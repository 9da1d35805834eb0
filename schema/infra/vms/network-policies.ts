/** Network policies in GraphQL: what a VM may connect to. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { refuseFalse } from '#src/platform/shapes/inputs.ts'
import type { NetworkPolicy } from '#src/resources/infra/vms/rows.ts'

type UnlimitedPolicy = Extract<NetworkPolicy, { type: 'unrestricted' | 'none' }>
type LimitedPolicy = Extract<NetworkPolicy, { type: 'limited' }>

const isOf = (type: NetworkPolicy['type']) => (value: unknown) =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === type

const policyType = enumOf('NetworkPolicyType', 'How much a VM may connect to.', {
  unrestricted: 'Every public address.',
  limited: 'Some hosts only.',
  none: 'Nowhere.',
} satisfies Record<NetworkPolicy['type'], string>)
/** A VM’s policy. */
export const networkPolicyType = builder.interfaceRef<NetworkPolicy>('NetworkPolicy').implement({
  description: 'What a VM may connect to. Private and loopback addresses are refused under every policy.',
  fields: (t) => ({
    type: t.expose('type', { type: policyType, description: 'The kind of policy.' }),
  }),
})
builder.objectType(builder.objectRef<UnlimitedPolicy>('UnrestrictedNetworkPolicy'), {
  description: 'Every public address.',
  interfaces: [networkPolicyType],
  isTypeOf: isOf('unrestricted'),
})
builder.objectType(builder.objectRef<UnlimitedPolicy>('NoNetworkPolicy'), {
  description: 'Nowhere.',
  interfaces: [networkPolicyType],
  isTypeOf: isOf('none'),
})
builder.objectType(builder.objectRef<LimitedPolicy>('LimitedNetworkPolicy'), {
  description: 'The named hosts only.',
  interfaces: [networkPolicyType],
  isTypeOf: isOf('limited'),
  fields: (t) => ({
    allowedHosts: t.exposeStringList('allowedHosts', {
      description: 'Host names, or `*.name` for every subdomain of one.',
    }),
    allowPackageManagers: t.exposeBoolean('allowPackageManagers', {
      description: 'Whether the public package registries are allowed too.',
    }),
  }),
})

const limitedInput = builder.inputType('LimitedNetworkPolicyInput', {
  description: 'The named hosts only.',
  fields: (t) => ({
    allowedHosts: t.stringList({ description: 'Host names, or `*.name` for every subdomain of one: 100 at most.' }),
    allowPackageManagers: t.boolean({ description: 'Whether the public package registries are allowed too.' }),
  }),
})
/** A network policy as a client sends it. */
export const networkPolicyInput = builder.inputType('NetworkPolicyInput', {
  description: 'What a VM may connect to: exactly one of these.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    unrestricted: t.boolean({ description: 'True: every public address.' }),
    none: t.boolean({ description: 'True: nowhere.' }),
    limited: t.field({ type: limitedInput, description: 'The named hosts only.' }),
  }),
})

/**
 * A policy that a client sent, in the form in which it is stored, which is REST's; undefined and null are kept.
 * @throws BerthError invalid_request for a member that is false.
 */
export function wirePolicy(
  sent: typeof networkPolicyInput.$inferInput | null | undefined,
): Record<string, unknown> | null | undefined {
  if (!sent) return sent
  for (const [name, given] of Object.entries(sent)) refuseFalse(name, given)
  if (!sent.limited) return { type: sent.none === undefined || sent.none === null ? 'unrestricted' : 'none' }
  const { allowedHosts, allowPackageManagers } = sent.limited
  return {
    type: 'limited',
    allowed_hosts: allowedHosts ?? undefined,
    allow_package_managers: allowPackageManagers ?? undefined,
  }
}
