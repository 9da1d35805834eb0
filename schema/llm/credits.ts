/** Credits and budgets for models in GraphQL. */
import { organizationArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { apiKeyType } from '../identity/api-keys.ts'
import { organizationType } from '../identity/organizations.ts'
import { mutationOf } from '../mutations.ts'
import { encodeId } from '#src/platform/ids.ts'
import {
  getCredits,
  selfHostedPlan,
  setKeyBudget,
  setOrganizationBudget,
  type Credits,
  type KeyBudget,
} from '#src/resources/llm/billing.ts'

const inferencePlan = enumOf('InferencePlan', 'Under which plan an organization uses models.', {
  [selfHostedPlan]: 'That of an organization on a single host: credits are what the operator grants.',
})

const keyBudget = builder.objectRef<KeyBudget>('KeyBudget').implement({
  description: 'What an organization key may spend on models in a month (UTC).',
  fields: (t) => ({
    keyId: t.exposeID('keyId', { description: 'The key.' }),
    key: t.field({ type: apiKeyType, nullable: true, description: 'The same, whole.', resolve: ({ keyId }) => keyId }),
    monthlyUsd: t.expose('monthlyUsd', { type: 'Decimal', description: 'US dollars a month.' }),
    spentThisMonthUsd: t.expose('spentThisMonthUsd', {
      type: 'Decimal',
      description: 'US dollars of it that are spent.',
    }),
  }),
})

const credits = builder.objectRef<Credits>('InferenceCredits').implement({
  description: 'What an organization may spend on models. Money is in US dollars with nine decimals.',
  fields: (t) => ({
    plan: t.field({
      type: inferencePlan,
      nullable: true,
      description: 'The plan; without one no model may be used.',
      resolve: ({ plan }) => plan as typeof selfHostedPlan | null, // the only one that can be set
    }),
    grantedUsd: t.expose('grantedUsd', { type: 'Decimal', description: 'All that was ever granted.' }),
    balanceUsd: t.expose('balanceUsd', { type: 'Decimal', description: 'What is left: granted without spent.' }),
    reservedUsd: t.expose('reservedUsd', {
      type: 'Decimal',
      description: 'How much of it processes hold ready for requests; they give back what nobody uses for 30 s.',
    }),
    spentUsd: t.expose('spentUsd', { type: 'Decimal', description: 'All that was ever spent.' }),
    monthlyBudgetUsd: t.expose('monthlyBudgetUsd', {
      type: 'Decimal',
      nullable: true,
      description: 'What may be spent in a month (UTC); null is no limit.',
    }),
    spentThisMonthUsd: t.expose('spentThisMonthUsd', { type: 'Decimal', description: 'What was spent this month.' }),
    keyBudgets: t.field({
      type: [keyBudget],
      description: 'The budgets of its keys; 1,000 at most.',
      resolve: (all) => all.keyBudgets,
    }),
  }),
})

builder.objectFields(organizationType, (t) => ({
  inferenceCredits: t.field({
    type: credits,
    nullable: true,
    description: 'What it may spend on models. Errors: FORBIDDEN.',
    resolve: ({ id }, _arguments, call) => getCredits(call, encodeId('organization', id)),
  }),
}))

builder.queryFields((t) => ({
  inferenceCredits: t.field({
    type: credits,
    description: 'What the organization may spend on models. Errors: FORBIDDEN.',
    args: { ...organizationArguments },
    resolve: (_, { organizationId }, call) => getCredits(call, organizationId),
  }),
}))

const changed = { field: 'credits', type: credits }
const organizationId = { required: true, description: 'An organization that the caller belongs to.' } as const
const monthlyUsd = {
  type: 'Decimal',
  description: 'US dollars a month, 0 to 1,000,000; null or nothing ends the budget.',
} as const

mutationOf(
  'setOrganizationBudget',
  changed,
  'Sets what the organization may spend on models in a month. For admins. Errors: FORBIDDEN, INVALID_REQUEST.',
  (t) => ({ organizationId: t.id(organizationId), monthlyUsd: t.field(monthlyUsd) }),
  (call, input) => setOrganizationBudget(call, input.organizationId, input.monthlyUsd ?? null),
)
mutationOf(
  'setKeyBudget',
  changed,
  'Sets what one of the organization’s keys may spend on models in a month. For admins. Errors: FORBIDDEN, INVALID_REQUEST, NOT_FOUND.',
  (t) => ({
    organizationId: t.id(organizationId),
    keyId: t.id({ required: true, description: 'The key’s id.' }),
    monthlyUsd: t.field(monthlyUsd),
  }),
  (call, input) => setKeyBudget(call, input.organizationId, input.keyId, input.monthlyUsd ?? null),
)
