/** Imported first by the commands: an older Node gets a sentence instead of a stack trace. */

const oldestMajor = 26

/** The sentence for a version of Node that is too old; null for one that is new enough. */
export function nodeProblem(version: string): string | null {
  if (Number(version.split('.')[0]) >= oldestMajor) return null
  return `Berth runs on Node ${oldestMajor} or newer, and this is Node ${version}. Start it with npm (npm start, npm run doctor): npm ci has put the right Node into node_modules.`
}

const problem = nodeProblem(process.versions.node)
if (problem) {
  process.stderr.write(`${problem}\n`)
  process.exit(1)
}
