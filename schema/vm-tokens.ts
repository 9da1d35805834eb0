/** The token inside a VM: which operations it may ask for. REST runs on the same root fields. */
import type { GraphQLFieldResolver, GraphQLSchema } from 'graphql'
import { closedToVmTokens } from '#src/platform/access.ts'
import type { Context } from './builder.ts'

/**
 * The root fields that are open to it, where its permissions and the rows say so too. Every other one is refused before it
 * looks at anything, so that a new one is closed until somebody has decided about it.
 */
const openToVmTokens: Readonly<Record<'Query' | 'Mutation' | 'Subscription', readonly string[]>> = {
  Query: namesIn(`
    instance viewer organization node nodes models model
    vm vmByExternalRef vms folders templates vmProcesses vmProcess vmFile vmFolder
    build builds buildSecrets
    agent agents agentMcpTools builtInTools
    session sessions sharedSession sessionEvents sessionResource sessionResources`),
  Mutation: namesIn(`
    createVm runSandbox updateVm deleteVm startVm resumeVm stopVm pauseVm execInVm killVmProcess
    openTerminal createTerminalTicket closeTerminal createTunnelTicket openVmSsh deleteFolder
    setVmEnv replaceVmEnv deleteVmEnvVariable refreshVmSystemEnv writeVmFile createVmFolder renameVmPath createVmFileUrl removeVmPath
    createBuild cancelBuild createUpload
    createAgent updateAgent archiveAgent deleteAgent
    createSession createRun updateSession sendSessionEvents markSessionSeen setSessionSharing archiveSession deleteSession`),
  Subscription: namesIn(
    'vmEvents vmMetricsChanged vmProcessOutputEvents buildEvents buildLogEvents sessionEvents sessionStateChanged',
  ),
}

function namesIn(text: string): string[] {
  return text.trim().split(/\s+/)
}

/** Closes the root fields of a schema to the token inside a VM, all but those that are listed. */
export function withoutVmTokens(made: GraphQLSchema): GraphQLSchema {
  for (const root of [made.getQueryType(), made.getMutationType(), made.getSubscriptionType()]) {
    const open: readonly string[] = root ? openToVmTokens[root.name as keyof typeof openToVmTokens] : [] // the three roots
    for (const field of Object.values(root?.getFields() ?? {})) {
      if (open.includes(field.name)) continue
      if (field.subscribe) field.subscribe = refusing(field.subscribe)
      else if (field.resolve) field.resolve = refusing(field.resolve)
      else throw new Error(`${field.name} has no resolver to close`)
    }
  }
  return made
}

type Resolver = GraphQLFieldResolver<unknown, Context>

function refusing(resolve: Resolver): Resolver {
  return (source, given, call, info) => {
    if (call.caller.kind === 'person' && call.caller.vmId !== null) throw closedToVmTokens('this')
    return resolve(source, given, call, info)
  }
}
