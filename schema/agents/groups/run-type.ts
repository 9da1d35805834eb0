/** The type of runs, by itself: messages lead to it, and it leads to messages. */
import { nodeOf } from '../../nodes.ts'
import { findGroupRuns } from '#src/resources/agents/groups/runs.ts'

/** A run of a member of a group. */
export const groupRunType = nodeOf('GroupRun', findGroupRuns)
