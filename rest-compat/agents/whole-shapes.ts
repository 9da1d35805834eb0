/**
 * What REST shows whole, as it is stored: an event of a log, a definition of an agent. No selection says what such a
 * value is, so its shape is written by hand beside its noun; tests compare the shapes with what is answered.
 */
import type { Json, ShapeParts } from '../openapi/components.ts'
import { agentModelShape, agentToolShape, sessionAgentShape } from './agent-shapes.ts'
import { runChunkShape } from './group-streams.ts'
import { kickoffEventShape, logEventShape, streamEventShape, transcriptEntryShape } from './event-shapes.ts'

/** Fields of the scalar `RestObject`, as `Type.field`, and the shape of each; of an entry where the field is a list. */
export const wholeShapes: Readonly<Record<string, (parts: ShapeParts) => Json>> = {
  'Agent.wireModel': agentModelShape,
  'Agent.wireTools': agentToolShape,
  'Deployment.wireInitialEvents': kickoffEventShape,
  'GroupRunChunk.wire': runChunkShape,
  'Kickoff.wireEvents': kickoffEventShape,
  'Session.wireAgent': sessionAgentShape,
  'SessionEmission.wire': streamEventShape,
  'SessionEvent.wire': logEventShape,
  'TranscriptEntry.wire': transcriptEntryShape,
}
