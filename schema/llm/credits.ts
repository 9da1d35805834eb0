/** Credits and budgets for models in GraphQL. */
import { organizationArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import {
  getCredits,
  setKeyBudget,
  setOrganizationBudget,
  type Credits,
  type KeyBudget,
} from '#src/resources/llm/billing.ts'

const keyBudget = builder.objectRef<KeyBudget>('KeyBudget').implement({
  description: 'What an organization key may spend on models in a month (UTC).',
  fields: (t) => ({
    keyId: t.exposeString('keyId', { description: 'The key.' }),
    monthlyUsd: t.exposeFloat('monthlyUsd', { description: 'US dollars a month.' }),
    spentThisMonthUsd: t.exposeFloat('spentThisMonthUsd', { description: 'US dollars of it that are spent.' }),
  }),
})

const credits = builder.objectRef<Credits>('InferenceCredits').implement({
  description: 'What an organization may spend on models. Money is in US dollars with nine decimals.',
  fields: (t) => ({
    plan: t.exposeString('plan', { nullable: true, description: 'The plan; without one no model may be used.' }),
    grantedUsd: t.exposeFloat('grantedUsd', { description: 'All that was ever granted.' }),
    balanceUsd: t.exposeFloat('balanceUsd', { description: 'What is left: granted without spent.' }),
    reservedUsd: t.exposeFloat('reservedUsd', {
      description: 'How much of it processes hold ready for requests; they give back what nobody uses for 30 s.',
    }),
    spentUsd: t.exposeFloat('spentUsd', { description: 'All that was ever spent.' }),
    monthlyBudgetUsd: t.exposeFloat('monthlyBudgetUsd', {
      nullable: true,
      description: 'What may be spent in a month (UTC); null is no limit.',
    }),
    spentThisMonthUsd: t.exposeFloat('spentThisMonthUsd', { description: 'What was spent this month.' }),
    keyBudgets: t.field({
      type: [keyBudget],
      description: 'The budgets of its keys; 1,000 at most.',
      resolve: (all) => all.keyBudgets,
    }),
  }),
})

const monthlyArgument = { description: 'US dollars a month, 0 to 1,000,000; null or nothing ends the budget.' } as const

builder.queryFields((t) => ({
  inferenceCredits: t.field({
    type: credits,
    description: 'What the organization may spend on models. Errors: FORBIDDEN.',
    args: { ...organizationArguments },
    resolve: (_, { organizationId }, call) => getCredits(call, organizationId),
  }),
}))

builder.mutationFields((t) => ({
  setOrganizationBudget: t.field({
    type: credits,
    description:
      'Sets what the organization may spend on models in a month. For admins. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: { ...organizationArguments, monthlyUsd: t.arg.float(monthlyArgument) },
    resolve: (_, { organizationId, monthlyUsd }, call) =>
      setOrganizationBudget(call, organizationId, monthlyUsd ?? null),
  }),
  setKeyBudget: t.field({
    type: credits,
    description:
      'Sets what one of the organization’s keys may spend on models in a month. For admins. Errors: FORBIDDEN, INVALID_REQUEST, NOT_FOUND.',
    args: {
      ...organizationArguments,
      keyId: t.arg.string({ required: true, description: 'The key’s id.' }),
      monthlyUsd: t.arg.float(monthlyArgument),
    },
    resolve: (_, { organizationId, keyId, monthlyUsd }, call) =>
      setKeyBudget(call, organizationId, keyId, monthlyUsd ?? null),
  }),
}))
