/** A build that a silent node runs: it exists as rows, and a benchmark writes its log. */
import { newUuid } from '#src/platform/ids.ts'
import { sql, type Db } from '#src/platform/postgres.ts'
import { claimBuild, type BuildClaim } from '#src/resources/infra/builds/runs.ts'
import { idsOf, makeSilentNode } from '../../support/makers.ts'

/** Makes one of the token's organization; its stored id. */
export async function makeRunningBuild(db: Db, token: string): Promise<{ id: string; claim: BuildClaim }> {
  const [id, node] = [newUuid(), await makeSilentNode(db)]
  await sql`
    insert into build_jobs (id, organization_id, status, sealed_spec, template_id, vcpu_count, memory_mb, timeout_seconds, output_type, output_name, node_id, started_at)
    values (${id}, ${idsOf(token).organizationId}, 'running', '', '00000000-0000-7000-8000-000000000001', 2, 2048, 60, 'artifact', 'build', ${node}, now())`.execute(
    db,
  )
  const claimed = await claimBuild(db, id, { nodeId: node, workerNumber: 0 })
  if (!claimed) throw new Error('the build could not be taken up')
  return { id, claim: claimed.claim }
}
