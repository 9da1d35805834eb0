/** Credits and budgets for models in GraphQL. */
import { findInTurn } from '../large-reads.ts'
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

const inferencePlan = enumOf('InferencePlan', 'The plan under which an organization uses models.', {
  [selfHostedPlan]: 'The plan of a self-hosted installation: the operator grants credits.',
})

const keyBudget = builder.objectRef<KeyBudget>('KeyBudget').implement({
  description: 'What an API key may spend on models in a month (UTC).',
  fields: (t) => ({
    keyId: t.exposeID('keyId', { description: 'The key.' }),
    key: t.field({
      type: apiKeyType,
      nullable: true,
      description: 'The key, as an object.',
      resolve: ({ keyId }) => keyId,
    }),
    monthlyUsd: t.expose('monthlyUsd', { type: 'Decimal', description: 'The budget in US dollars per month.' }),
    spentThisMonthUsd: t.expose('spentThisMonthUsd', {
      type: 'Decimal',
      description: 'How much of it is spent, in US dollars.',
    }),
  }),
})

const credits = builder.objectRef<Credits>('InferenceCredits').implement({
  description: 'What an organization may spend on models. Money is in US dollars with nine decimals.',
  fields: (t) => ({
    plan: t.field({
      type: inferencePlan,
      nullable: true,
      description: 'The plan; an organization without one cannot use models.',
      resolve: ({ plan }) => plan as typeof selfHostedPlan | null, // the only plan that can be set
    }),
    grantedUsd: t.expose('grantedUsd', { type: 'Decimal', description: 'All credits ever granted.' }),
    balanceUsd: t.expose('balanceUsd', { type: 'Decimal', description: 'The remaining credits: granted minus spent.' }),
    reservedUsd: t.expose('reservedUsd', {
      type: 'Decimal',
      description:
        'How much of the balance web processes have reserved for requests; they return what is unused for 30 s.',
    }),
    spentUsd: t.expose('spentUsd', { type: 'Decimal', description: 'All credits ever spent.' }),
    monthlyBudgetUsd: t.expose('monthlyBudgetUsd', {
      type: 'Decimal',
      nullable: true,
      description: 'What may be spent in a month (UTC); null means no limit.',
    }),
    spentThisMonthUsd: t.expose('spentThisMonthUsd', {
      type: 'Decimal',
      description: 'What has been spent this month.',
    }),
    keyBudgets: t.field({
      type: [keyBudget],
      description: 'The budgets of its API keys; 1,000 at most.',
      resolve: (all) => all.keyBudgets,
    }),
  }),
})

builder.objectFields(organizationType, (t) => ({
  inferenceCredits: t.field({
    type: credits,
    nullable: true,
    description: 'What it may spend on models. Errors: FORBIDDEN.',
    resolve: ({ id }, _arguments, call, info) =>
      findInTurn(call, info, () => getCredits(call, encodeId('organization', id))),
  }),
}))

builder.queryFields((t) => ({
  inferenceCredits: t.field({
    type: credits,
    description: 'What the organization may spend on models. Errors: FORBIDDEN.',
    args: { ...organizationArguments },
    resolve: (_, { organizationId }, call, info) => findInTurn(call, info, () => getCredits(call, organizationId)),
  }),
}))

const changed = { field: 'credits', type: credits }
const organizationId = {
  description: 'An organization that the caller belongs to; by default the active one.',
} as const
const monthlyUsd = {
  type: 'Decimal',
  description: 'US dollars per month, 0 to 1,000,000; null or omitted removes the budget.',
} as const

mutationOf(
  'setOrganizationBudget',
  changed,
  'Sets what the organization may spend on models in a month. Requires the admin role. Errors: FORBIDDEN, INVALID_REQUEST, NOT_PERMITTED_FOR_ROLE.',
  (t) => ({ organizationId: t.id(organizationId), monthlyUsd: t.field(monthlyUsd) }),
  (call, input) => setOrganizationBudget(call, input.organizationId, input.monthlyUsd ?? null),
)
mutationOf(
  'setApiKeyBudget',
  changed,
  'Sets what one of the organization’s API keys may spend on models in a month. Requires the admin role. Errors: FORBIDDEN, INVALID_REQUEST, NOT_FOUND, NOT_PERMITTED_FOR_ROLE.',
  (t) => ({
    organizationId: t.id(organizationId),
    keyId: t.id({ required: true, description: 'The key’s id.' }),
    monthlyUsd: t.field(monthlyUsd),
  }),
  (call, input) => setKeyBudget(call, input.organizationId, input.keyId, input.monthlyUsd ?? null),
)
