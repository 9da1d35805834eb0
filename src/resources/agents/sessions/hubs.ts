/** The shared reader of a session's log and previews: one for all subscribers of the session in this process. */
import { createFanOut } from '#src/platform/streams/fan-out.ts'
import { patiently } from '#src/platform/patience.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import { emit, emitPreview, readEmissions, type Emission } from './emissions.ts'
import { previewTopic, readNotice, sessionTopic } from './log.ts'
import { lastPreview, readPreviews } from './previews.ts'

/** Follows a session by its stored id. Previews are the asides of fan-out.ts. */
export const { follow: followEmissions } = createFanOut<Emission, number>({
  name: 'the log of a session',
  read: readEmissions,
  watch(db, id, { listen, ring, push, signal }) {
    let previewed: Promise<number> | undefined
    let previewsDue = false
    let held: Emission[] = []
    const readPieces = async (): Promise<Emission[]> => {
      if (!previewsDue) return []
      previewsDue = false
      const since = (await previewed) ?? 0
      const pieces = await patiently(() => readPreviews(db, id, since), signal)
      previewed = Promise.resolve(pieces.at(-1)?.seq ?? since)
      return pieces.map(emitPreview)
    }
    listen(sessionTopic, (payload) => {
      const entry = payload === null ? undefined : readNotice(payload)
      if (entry) push([emit(id, entry)])
      else ring()
    }) // before the position is read, so that nothing is missed
    return {
      start: patiently(
        () =>
          getOne<{ position: number }>(
            db,
            sql`select coalesce(max(event_position), 0) as position from sessions where id = ${id}`,
          ),
        signal,
      ).then(({ position }) => position),
      /**
       * Pieces of previews are read before the log and emitted after it, so that no piece overtakes an event that was
       * logged before it. Appending an event removes its pieces, so the pieces of an event come before it.
       */
      async read(after) {
        held.push(...(await readPieces()))
        const { items, more } = await patiently(() => readEmissions(db, id, after), signal)
        held = held.filter(({ preview }) => !items.some(({ event }) => event['id'] === preview))
        if (more) return { items, more }
        const pieces = held
        held = []
        return { items: [...items, ...pieces], more }
      },
      async beginAsides() {
        if (previewed) return void (await previewed)
        listen(previewTopic, () => {
          previewsDue = true
          ring()
        })
        await (previewed = patiently(() => lastPreview(db, id), signal))
      },
    }
  },
  positionOf: ({ position }) => position,
  isAfter: (one, other) => one > other,
  isNext: (one, other) => one === other + 1, // the log has no gaps
  isAside: ({ preview }) => preview !== null,
  isLast: ({ isLast }) => isLast,
  sizeBytes: ({ sizeBytes }) => sizeBytes,
})
