/** A VM's environment variables in GraphQL. */
import type { GraphQLResolveInfo } from 'graphql'
import type { InputFieldBuilder, InputFieldMap, InputShapeFromFields } from '@pothos/core'
import { builder, type Context } from '../builder.ts'
import { enumOf } from '../enums.ts'
import {
  asMap,
  deleteEnv,
  findEnvs,
  patchEnv,
  replaceEnv,
  variableOf,
  type EnvChange,
  type EnvVariable,
} from '#src/resources/infra/vm-env.ts'
import type { EnvSource } from '#src/resources/infra/vms/variables.ts'
import type { Visibility } from '#src/platform/shapes/env.ts'
import { notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { readInTurn } from '../large-reads.ts'
import { callIn } from '../identity/organizations.ts'
import { inPublic } from '../rest-fields.ts'
import { vmType } from './vms.ts'

type Types = (typeof builder)['$inferSchemaTypes']

const visibilityType = enumOf('EnvVisibility', 'How much of a variable’s value readers see.', {
  plaintext: 'The whole value.',
  sensitive: 'The whole value, except for viewers.',
  secret: 'Never anything.',
} satisfies Record<Visibility, string>)
const sourceType = enumOf('EnvSource', 'Who set a variable.', {
  user: 'A caller, through the API.',
  provision: 'Whoever created the VM.',
  system: 'Berth.',
  session: 'The session that the VM works for.',
  vault: 'A credential of a vault.',
  link: 'A linked database or service. No variable has it yet.',
} satisfies Record<EnvSource, string>)

const envVariable = builder.objectRef<EnvVariable>('EnvVariable').implement({
  description: 'An environment variable of a VM, as the caller may see it.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'Letters, digits and underscores, at most 128.' }),
    value: t.exposeString('value', {
      description:
        'The value in clear text, or `********`: always for `SECRET` variables, and for viewers also for `SENSITIVE` ones.',
    }),
    visibility: t.field({
      type: visibilityType,
      description: 'How much of the value readers see.',
      resolve: (variable) => variable.visibility,
    }),
    source: t.field({ type: sourceType, description: 'Who set it.', resolve: (variable) => variable.source }),
  }),
})

const sourceArguments = builder.args((t) => ({
  source: t.string({
    description: 'Only variables of this source, as REST spells it, such as `user`; an unknown source matches none.',
    ...inPublic('EnvSource', 'Only variables of this source.'),
  }),
}))
const keyArguments = builder.args((t) => ({ key: t.string({ required: true, description: 'Its key.' }) }))
type Owner = { id: string; organizationId: string }

/** The variables of all VMs of one level, read together; what fails for one organization is an error of its VMs alone. */
async function envsOf<Value>(
  vms: readonly Owner[],
  call: Context,
  info: GraphQLResolveInfo,
  source: string | null | undefined,
  make: (variables: EnvVariable[]) => Value,
): Promise<(Value | Error)[]> {
  const found = new Map<string, EnvVariable[] | Error>()
  for (const [organizationId, members] of Map.groupBy(vms, (vm) => vm.organizationId)) {
    const ids = [...new Set(members.map(({ id }) => id))]
    const read = async (bytesMax: number) => findEnvs(callIn(call, { id: organizationId }), ids, { source, bytesMax })
    try {
      for (const [id, variables] of await readInTurn(call, info, read)) found.set(id, variables)
    } catch (error) {
      for (const id of ids) found.set(id, error as Error) // an Error is all that is thrown
    }
  }
  return vms.map(({ id }) => {
    const variables = found.get(id) ?? notFound('VM')
    if (variables instanceof Error) return variables
    try {
      return make(variables)
    } catch (error) {
      return error as Error // as above
    }
  })
}
const together = { byPath: true, loaderOptions: { cache: false } } as const

builder.objectFields(vmType, (t) => ({
  env: t.loadableList({
    type: envVariable,
    nullable: true,
    description: 'Its readable variables. Those given at creation are write-only and never listed.',
    args: sourceArguments,
    ...together,
    resolve: (vm): Owner => vm,
    load: (vms: Owner[], call, { source }, info) => envsOf(vms, call, info, source, (variables) => variables),
  }),
  envMap: t.loadable({
    type: 'TextMap',
    nullable: true,
    description: 'Its environment variables, as a map from key to value.',
    args: sourceArguments,
    ...together,
    resolve: (vm): Owner => vm,
    load: (vms: Owner[], call, { source }, info) => envsOf(vms, call, info, source, asMap),
  }),
  envVariable: t.loadable({
    type: envVariable,
    nullable: true,
    description: 'One of them. Errors: NOT_FOUND.',
    args: keyArguments,
    ...together,
    resolve: (vm): Owner => vm,
    load: (vms: Owner[], call, { key }, info) =>
      envsOf(vms, call, info, null, (variables) => variableOf(variables, key)),
  }),
}))

// Text and JSON in REST: a caller without permission must get that error before one about the value.
const variablesInPublic = inPublic('TextMap', 'The variables, as a map from key to value.')
const visibilityText = '`plaintext`, `sensitive` or `secret`.'

/** A mutation of a VM's variables; all have the same payload. */
function envMutation<Map extends InputFieldMap>(
  name: string,
  description: string,
  input: (t: InputFieldBuilder<Types, 'InputObject'>) => Map,
  resolve: (call: Context, vmId: string, input: InputShapeFromFields<Map>) => Promise<EnvChange>,
): void {
  builder.relayMutationField(
    name,
    {
      description: `What \`${name}\` takes.`,
      inputFields: (t) => ({ vmId: t.id({ required: true, description: 'The VM.' }), ...input(t) }),
    },
    {
      description,
      resolve: async (_, arguments_, call) => {
        const given = (arguments_ as unknown as { input: { vmId: string } & InputShapeFromFields<Map> }).input // Pothos cannot resolve a generic type
        return { vmId: given.vmId, ...(await resolve(call, given.vmId, given)) }
      },
    },
    {
      description: `What \`${name}\` answers.`,
      outputFields: (t) => ({
        vmId: t.exposeID('vmId', { description: 'The VM.' }),
        vm: t.field({
          type: vmType,
          nullable: true,
          description: 'The VM.',
          resolve: ({ vmId }) => decodeId('vm', vmId),
        }),
        env: t.field({
          type: 'TextMap',
          description: 'All readable variables after the change, as a map from key to value.',
          resolve: (changed) => changed.env,
        }),
        warning: t.exposeString('warning', {
          nullable: true,
          description: 'When the change takes effect, if not immediately everywhere.',
        }),
      }),
    },
  )
}

envMutation(
  'setVmEnv',
  'Sets variables and keeps the others; one invalid key refuses the whole change. Errors: NOT_FOUND, INVALID_ENV_KEY, INVALID_ENV_VALUE.',
  (t) => ({
    env: t.field({
      type: 'JSON',
      required: true,
      description: 'A flat object from text to text.',
      ...variablesInPublic,
    }),
    visibility: t.string({
      description: `${visibilityText} If omitted, existing keys keep theirs and new ones are sensitive.`,
      ...inPublic('EnvVisibility', 'If omitted, existing keys keep theirs and new ones are `SENSITIVE`.'),
    }),
  }),
  (call, vmId, { env, visibility }) => patchEnv(call, vmId, env, visibility),
)
envMutation(
  'replaceVmEnv',
  'Sets exactly these variables of source `USER`. Errors: NOT_FOUND, INVALID_ENV_KEY, INVALID_ENV_VALUE.',
  (t) => ({
    env: t.field({
      type: 'JSON',
      required: true,
      description: 'A flat object from text to text.',
      ...variablesInPublic,
    }),
    visibility: t.string({
      description: `${visibilityText} \`sensitive\` by default.`,
      ...inPublic('EnvVisibility', '`SENSITIVE` by default.'),
    }),
  }),
  (call, vmId, { env, visibility }) => replaceEnv(call, vmId, env, visibility),
)
envMutation(
  'deleteVmEnvVariable',
  'Deletes a variable of source `USER`. Errors: NOT_FOUND.',
  (t) => ({ key: t.string({ required: true, description: 'Its key.' }) }),
  (call, vmId, { key }) => deleteEnv(call, vmId, key),
)
