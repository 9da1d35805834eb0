/** Removes the disks of deleted folders. */
import type { Compute } from '#src/drivers/compute/machine.ts'
import { onNode, type Jobs } from '#src/platform/jobs.ts'
import { removeFolderDisk } from '#src/resources/infra/folders.ts'

/** Handles the node's folder jobs. */
export async function handleFolders(jobs: Jobs, compute: Compute, nodeId: string): Promise<void> {
  await jobs.handle(onNode(removeFolderDisk, nodeId), { concurrency: 1 }, ({ data }) =>
    compute.removeFolder(data.folderId),
  )
}
