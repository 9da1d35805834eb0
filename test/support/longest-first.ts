/** In which order files run. A long one that begins last would leave a processor idle until it is over. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, in the order in which they begin. */
export const firstFiles = [
  'test/contract/stalls.test.ts',
  'test/backup.test.ts',
  'test/contract/tenants.test.ts',
  'test/infra/compute/ssh-hostile.test.ts',
  'test/start.test.ts',
  'test/adding-a-noun.test.ts',
  'test/contract/agents-hostile.test.ts',
  'test/gateway/graphiql.test.ts',
  'test/gateway/connections.test.ts',
  'test/gateway/http.test.ts',
  'test/infra/builds.vm.test.ts',
  'test/databases-chaos.vm.test.ts',
  'test/builds-chaos.vm.test.ts',
  'test/agents-chaos.vm.test.ts',
  'test/infra/compute.vm.test.ts',
  'test/infra/builds/package.vm.test.ts',
  'test/infra/vms/idle.vm.test.ts',
  'test/commands-chaos.vm.test.ts',
  'test/infra/compute/isolation.vm.test.ts',
  'test/backup.vm.test.ts',
  'test/infra/vms.vm.test.ts',
  'test/infra/databases/networks.vm.test.ts',
  'test/data-walk.vm.test.ts',
  'test/agents/environments.vm.test.ts',
  'test/examples.vm.test.ts',
  'test/infra/builds/full-disk.vm.test.ts',
  'test/infra/builds/ssh.vm.test.ts',
  'test/infra/databases.vm.test.ts',
  'test/infra/compute/postgres-machines.vm.test.ts',
  'test/infra/database-backups.vm.test.ts',
  'test/chaos.vm.test.ts',
  'test/edge/databases.vm.test.ts',
  'test/edge/database-roles.vm.test.ts',
]

/** Begins with these files, then with the other slow ones; within a group of projects, which run after each other. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId, project }: TestSpecification): number => {
      const index = firstFiles.findIndex((path) => moduleId.endsWith(`/${path}`))
      if (index >= 0) return index
      return firstFiles.length + (project.name === 'fast' ? 1 : 0)
    }
    const groupOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder
    return (await super.sort(files)).toSorted((a, b) => groupOf(a) - groupOf(b) || rankOf(a) - rankOf(b))
  }
}
