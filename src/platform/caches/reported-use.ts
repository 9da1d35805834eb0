/**
 * Which functions, or VMs, are in use: those that have requests, web sockets or streams open, or had some lately. They are
 * reported, so that they stay awake: at once when one begins to be used, so that it does not fall asleep under its first
 * request, and from then on every few seconds.
 */

/** What is used, by id. */
export type Use = {
  /** A request for it, or a web socket, begins. */
  begin(id: string): void
  end(id: string): void
}

/** Use that is reported. */
export type ReportedUse = Use & {
  /** Whether it is in use, or was in this round or the one before. */
  isRecent(id: string): boolean
  close(): void
}

const soonMs = 20

/** Begins without any. @param report reports that these are in use. @param everyMs how often it is called for each at most */
export function createReportedUse(report: (ids: readonly string[]) => void, everyMs: number): ReportedUse {
  const open = new Map<string, number>()
  let used = new Set<string>() // since the last round
  let reported = new Set<string>() // in the last round, or since
  let due: string[] = []
  let soon: NodeJS.Timeout | undefined

  function reportDue(): void {
    soon = undefined
    const ids = due
    due = []
    report(ids)
  }
  const rounds = setInterval(() => {
    reported = new Set([...used, ...open.keys()])
    used = new Set()
    if (reported.size > 0) report([...reported])
  }, everyMs).unref()
  return {
    begin(id) {
      open.set(id, (open.get(id) ?? 0) + 1)
      used.add(id)
      if (reported.has(id)) return
      reported.add(id)
      due.push(id)
      soon ??= setTimeout(reportDue, soonMs).unref()
    },
    end(id) {
      const left = (open.get(id) ?? 1) - 1
      if (left > 0) open.set(id, left)
      else open.delete(id)
    },
    isRecent: (id) => open.has(id) || used.has(id) || reported.has(id),
    close() {
      clearInterval(rounds)
      clearTimeout(soon)
    },
  }
}
