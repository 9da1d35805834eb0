/** A VM's environment variables in GraphQL. */
import { builder } from '../builder.ts'
import {
  asMap,
  deleteEnv,
  getEnv,
  listEnv,
  patchEnv,
  replaceEnv,
  type EnvChange,
  type EnvVariable,
} from '#src/resources/infra/vm-env.ts'

const envVariable = builder.objectRef<EnvVariable>('EnvVariable').implement({
  description: 'An environment variable of a VM, as the caller may see it.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'Letters, digits and underscores, at most 128.' }),
    value: t.exposeString('value', {
      description: 'In clear, or `********`: `secret` values always, `sensitive` ones for viewers.',
    }),
    visibility: t.exposeString('visibility', { description: '`plaintext`, `sensitive` or `secret`.' }),
    source: t.exposeString('source', { description: 'Who set it: `user`, `system`, `session`, `vault` or `link`.' }),
  }),
})

const envChange = builder.objectRef<EnvChange>('EnvChange').implement({
  description: 'The variables after a change.',
  fields: (t) => ({
    env: t.field({
      type: 'TextMap',
      description: 'All readable variables, key to value.',
      resolve: (changed) => changed.env,
    }),
    warning: t.exposeString('warning', {
      nullable: true,
      description: 'When the change applies, if not at once for everything.',
    }),
  }),
})

const vmIdArgument = { required: true, description: 'The VM.' } as const
const visibilityText = '`plaintext`, `sensitive` or `secret`.'

builder.queryFields((t) => ({
  vmEnvVariables: t.field({
    type: [envVariable],
    description:
      'The VM’s readable variables. Those given at creation are write-only and never among them. Errors: NOT_FOUND.',
    args: {
      vmId: t.arg.id(vmIdArgument),
      source: t.arg.string({ description: 'Only those of one source; an unknown one answers none.' }),
    },
    resolve: (_, { vmId, source }, call) => listEnv(call, vmId, source),
  }),
  vmEnv: t.field({
    type: 'TextMap',
    description: 'The VM’s readable variables, key to value. Errors: NOT_FOUND.',
    args: {
      vmId: t.arg.id(vmIdArgument),
      source: t.arg.string({ description: 'Only those of one source; an unknown one answers none.' }),
    },
    resolve: async (_, { vmId, source }, call) => asMap(await listEnv(call, vmId, source)),
  }),
  vmEnvVariable: t.field({
    type: envVariable,
    description: 'One variable. Errors: NOT_FOUND.',
    args: { vmId: t.arg.id(vmIdArgument), key: t.arg.string({ required: true, description: 'Its key.' }) },
    resolve: (_, { vmId, key }, call) => getEnv(call, vmId, key),
  }),
}))

builder.mutationFields((t) => ({
  setVmEnv: t.field({
    type: envChange,
    description:
      'Sets variables and keeps the others; one bad key refuses all. Errors: NOT_FOUND, INVALID_ENV_KEY, INVALID_ENV_VALUE.',
    args: {
      vmId: t.arg.id(vmIdArgument),
      env: t.arg({ type: 'JSON', required: true, description: 'A flat object from text to text.' }),
      visibility: t.arg.string({
        description: `${visibilityText} Without it existing keys keep theirs and new ones are sensitive.`,
      }),
    },
    resolve: (_, { vmId, env, visibility }, call) => patchEnv(call, vmId, env, visibility),
  }),
  replaceVmEnv: t.field({
    type: envChange,
    description:
      'Sets exactly these variables of source `user`. Errors: NOT_FOUND, INVALID_ENV_KEY, INVALID_ENV_VALUE.',
    args: {
      vmId: t.arg.id(vmIdArgument),
      env: t.arg({ type: 'JSON', required: true, description: 'A flat object from text to text.' }),
      visibility: t.arg.string({ description: `${visibilityText} \`sensitive\` without it.` }),
    },
    resolve: (_, { vmId, env, visibility }, call) => replaceEnv(call, vmId, env, visibility),
  }),
  deleteVmEnvVariable: t.field({
    type: envChange,
    description: 'Deletes a variable of source `user`. Errors: NOT_FOUND.',
    args: { vmId: t.arg.id(vmIdArgument), key: t.arg.string({ required: true, description: 'Its key.' }) },
    resolve: (_, { vmId, key }, call) => deleteEnv(call, vmId, key),
  }),
}))
