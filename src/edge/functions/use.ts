/**
 * Which functions are in use: those that have requests, web sockets or streams open, or had some lately. They are reported, so
 * that they stay awake: at once when one begins to be used, so that it does not fall asleep under its first request, and
 * from then on every few seconds.
 */

/** The functions that requests are for. */
export type FunctionUse = {
  /** A request for it, or a web socket, begins. */
  begin(functionId: string): void
  end(functionId: string): void
}

/** Use that is reported. */
export type ReportedUse = FunctionUse & { close(): void }

const soonMs = 20

/** Begins without any. @param report tells that these are in use. @param everyMs how often it is called for each at most */
export function createFunctionUse(report: (functionIds: readonly string[]) => void, everyMs: number): ReportedUse {
  const open = new Map<string, number>()
  let used = new Set<string>() // since the last round
  let told = new Set<string>() // in the last round, or since
  let due: string[] = []
  let soon: NodeJS.Timeout | undefined

  function tellDue(): void {
    soon = undefined
    const ids = due
    due = []
    report(ids)
  }
  const rounds = setInterval(() => {
    told = new Set([...used, ...open.keys()])
    used = new Set()
    if (told.size > 0) report([...told])
  }, everyMs).unref()
  return {
    begin(functionId) {
      open.set(functionId, (open.get(functionId) ?? 0) + 1)
      used.add(functionId)
      if (told.has(functionId)) return
      told.add(functionId)
      due.push(functionId)
      soon ??= setTimeout(tellDue, soonMs).unref()
    },
    end(functionId) {
      const left = (open.get(functionId) ?? 1) - 1
      if (left > 0) open.set(functionId, left)
      else open.delete(functionId)
    },
    close() {
      clearInterval(rounds)
      clearTimeout(soon)
    },
  }
}
