/** What a VM uses, what listens in it and what its kernel printed, in GraphQL. */
import { builder, type Context } from '#schema/builder.ts'
import { heartbeat, withHeartbeats } from '#schema/heartbeats.ts'
import { linkTo } from '#schema/nodes.ts'
import { BerthError } from '#src/platform/errors.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { vmLookLimits } from '#src/platform/limits/vm-looks.ts'
import { findPreviewUrl } from '#src/resources/infra/proxies/previews.ts'
import {
  findVmKernelLog,
  findVmMetrics,
  findVmPorts,
  type VmMetrics,
  type VmPort,
} from '#src/resources/infra/vms/looks.ts'
import { followVmMetrics } from '#src/resources/infra/vms/watching.ts'
import { callIn } from '../../identity/organizations.ts'
import { vmType } from '../vms.ts'

const { everyMs, kernelLogLength, perOperation, portsMax } = vmLookLimits

const metrics = builder.objectRef<VmMetrics>('VmMetrics').implement({
  description: 'What a running VM uses, as its own system says.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'processorPercent' in value,
  fields: (t) => ({
    ...linkTo(t, 'vm', { type: vmType, description: 'The VM.', id: ({ vmId }) => vmId }),
    processorPercent: t.exposeFloat('processorPercent', {
      description: 'How busy its processors are: 0 to 100, of all of them together, since the reading before.',
    }),
    load: t.exposeFloat('load', { description: 'Its load average of the last minute.' }),
    memoryUsedBytes: t.expose('memoryUsedBytes', {
      type: 'BigInt',
      description: 'Memory that programs cannot get without taking it from others.',
    }),
    memoryTotalBytes: t.expose('memoryTotalBytes', { type: 'BigInt', description: 'All memory that its system has.' }),
    diskUsedBytes: t.expose('diskUsedBytes', { type: 'BigInt', description: 'What is used of the disk at `/`.' }),
    diskTotalBytes: t.expose('diskTotalBytes', { type: 'BigInt', description: 'The capacity of the disk at `/`.' }),
    receivedBytes: t.expose('receivedBytes', {
      type: 'BigInt',
      description: 'What came in by its network since it booted, commands and files included.',
    }),
    sentBytes: t.expose('sentBytes', {
      type: 'BigInt',
      description: 'What went out by its network since it booted, their output included.',
    }),
    at: t.expose('at', { type: 'DateTime', description: 'When it was read.' }),
  }),
})

const port = builder.objectRef<VmPort>('VmPort').implement({
  description: 'A TCP port at which something in a VM listens.',
  fields: (t) => ({
    port: t.exposeInt('port', { description: 'The port.' }),
    address: t.exposeString('address', {
      description: 'The address at which it listens: `0.0.0.0` and `::` are every address, `127.0.0.1` is its own.',
    }),
    isReachable: t.exposeBoolean('isReachable', {
      description:
        'Whether previews, proxy entries and domains reach it: they come to 127.0.0.1, then to ::1, so what listens there needs to be open to nobody else.',
    }),
    processName: t.string({
      nullable: true,
      description: 'The name of the process that listens.',
      resolve: ({ process }) => process?.name,
    }),
    pid: t.int({ nullable: true, description: 'Its number in the VM.', resolve: ({ process }) => process?.pid }),
    previewUrl: t.string({
      nullable: true,
      description:
        'An address at which whoever has it sees what listens there, until it expires; null where nothing would be seen, and for callers who may make none.',
      args: {
        ttlSeconds: t.arg.int({
          description: `For how many seconds it works: 1 to ${proxyLimits.previewSecondsMax}, for a program that acts for a person ${proxyLimits.previewSecondsByProgram} at most; ${proxyLimits.previewSeconds} by default.`,
        }),
      },
      resolve: ({ vm, port: number, isReachable }, { ttlSeconds }, call) =>
        isReachable ? findPreviewUrl(call, vm, { port: number, ttlSeconds }) : null,
    }),
  }),
})

/** The looks of an operation, one after the other. `root` is the event that a subscription answers with it: each begins anew. */
type Looks = { root: unknown; count: number; turn: Promise<unknown> }
const looksOf = new WeakMap<Context, Looks>()

/** Looks into a VM as the next of its operation. @throws BerthError invalid_request beyond the looks of an operation. */
async function lookInTurn<Seen>(call: Context, root: unknown, look: () => Promise<Seen>): Promise<Seen> {
  const known = looksOf.get(call)
  const looks = known && known.root === root ? known : { root, count: 0, turn: Promise.resolve() }
  looksOf.set(call, looks)
  if (++looks.count > perOperation)
    throw new BerthError(
      'invalid_request',
      `One operation looks into VMs ${perOperation} times at most, for metrics, ports and kernel logs. Ask for fewer VMs at once.`,
    )
  const turn = looks.turn.then(look, look) // whether or not the one before was refused
  looks.turn = turn
  return turn
}

const whenNull = 'Null when it does not run or does not answer, and for callers who may not look inside it.'
builder.objectFields(vmType, (t) => ({
  metrics: t.field({
    type: metrics,
    nullable: true,
    description: `What it uses now; looking is no use of it. ${whenNull} \`vmMetricsChanged\` follows it. Errors: RATE_LIMITED.`,
    resolve: (vm, _, call, { rootValue }) =>
      lookInTurn(call, rootValue, () => findVmMetrics(callIn(call, { id: vm.organizationId }), vm)),
  }),
  ports: t.field({
    type: [port],
    nullable: true,
    description: `At which TCP ports something in it listens, by port, ${portsMax} at most; Berth’s own are left out. ${whenNull} Errors: RATE_LIMITED.`,
    resolve: (vm, _, call, { rootValue }) =>
      lookInTurn(call, rootValue, () => findVmPorts(callIn(call, { id: vm.organizationId }), vm)),
  }),
  kernelLog: t.string({
    nullable: true,
    description: `What its kernel printed last, a line for each message with its time, ${kernelLogLength / 1024} KiB at most: what was killed for want of memory, and what crashed. ${whenNull} Errors: RATE_LIMITED.`,
    resolve: (vm, _, call, { rootValue }) =>
      lookInTurn(call, rootValue, () => findVmKernelLog(callIn(call, { id: vm.organizationId }), vm)),
  }),
}))

const metricsOrHeartbeat = builder.unionType('VmMetricsOrHeartbeat', {
  description: 'What a VM uses, or a heartbeat.',
  types: [metrics, heartbeat],
})

builder.subscriptionFields((t) => ({
  vmMetricsChanged: t.field({
    type: metricsOrHeartbeat,
    description: `What a running VM uses: now, then every ${everyMs / 1000} seconds, until it does not run any more. Watching does not keep it awake. Errors: NOT_FOUND, INVALID_REQUEST when it does not run, VM_UNREACHABLE, RATE_LIMITED.`,
    args: { vmId: t.arg.id({ required: true, description: 'The VM.' }) },
    subscribe: async (_, { vmId }, call) => withHeartbeats(await followVmMetrics(call, vmId)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
