/** All sections of files, in the order in which what they have is made; it is deleted the other way round. */
import type { Section } from './section.ts'
import { agents, environments, vaults } from './sections/agents.ts'
import { deployments, schedules, triggers } from './sections/automation.ts'
import { databases, domains, functions, projects, vms } from './sections/machines.ts'

/** By their names in files. */
export const sections: Readonly<Record<string, Section>> = {
  projects,
  vms,
  functions,
  databases,
  domains,
  vaults,
  environments,
  agents,
  deployments,
  schedules,
  triggers,
}

/** The section of this name. @throws Error for none, which the schema of files does not let in. */
export function sectionOf(name: string): Section {
  const found = sections[name]
  if (!found) throw new Error(`no section ${name}`)
  return found
}

/** These sections, and all whose rows they name. */
export function withReferences(names: readonly string[]): string[] {
  const all = new Set(names)
  for (const name of all) for (const other of sectionOf(name).refersTo) all.add(other)
  return Object.keys(sections).filter((name) => all.has(name))
}
