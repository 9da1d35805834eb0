/**
 * Builds the templates of Berth's own. Each is stored under the hash of its recipe, so a changed recipe is another
 * template; it is built in a separate folder and renamed when complete.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isRoot } from '#src/platform/settings/places.ts'
import { withHostLock } from './host-lock.ts'
import type { Progress } from './machine.ts'
import { templatePlaces, type TemplatePlaces } from './places.ts'
import { baseRecipe } from './templates/base.ts'
import { dataRecipe } from './templates/data.ts'
import { postgresRecipe } from './templates/postgres.ts'
import type { TemplateName } from './templates/names.ts'
import type { Recipe } from './templates/recipe.ts'

/** A template, its hash, and the size of its disk. */
export type Template = { name: TemplateName; hash: string; places: TemplatePlaces; diskMb: number }

const recipes: Readonly<Record<TemplateName, Recipe>> = {
  base: baseRecipe,
  data: dataRecipe,
  postgres: postgresRecipe,
}

/** The template that the current recipe makes, whether or not it is built. */
export function currentTemplate(cacheDir: string, name: TemplateName): Template {
  const recipe = recipes[name]
  const hash = recipe.hash()
  return { name, hash, places: templatePlaces(cacheDir, name, hash), diskMb: recipe.diskMb }
}

/** All of them. */
export function currentTemplates(cacheDir: string): Record<TemplateName, Template> {
  return {
    base: currentTemplate(cacheDir, 'base'),
    data: currentTemplate(cacheDir, 'data'),
    postgres: currentTemplate(cacheDir, 'postgres'),
  }
}

/**
 * Whether the current template is there, or is being built by a process of this host, and how much it takes on disk; for
 * the doctor. Unit: bytes.
 */
export function templateStatus(
  cacheDir: string,
  name: TemplateName,
): { built: boolean; beingBuilt: boolean; sizeBytes: number } {
  const { places } = currentTemplate(cacheDir, name)
  if (!existsSync(places.made)) {
    const folder = dirname(places.folder)
    const prefix = unfinishedPrefix(name)
    const builders = existsSync(folder) ? readdirSync(folder).filter((file) => file.startsWith(prefix)) : []
    const beingBuilt = builders.some((file) => existsSync(`/proc/${file.slice(prefix.length)}`))
    return { built: false, beingBuilt, sizeBytes: 0 }
  }
  const sizes = readdirSync(places.folder).map((file) => statSync(join(places.folder, file)).blocks * 512)
  return { built: true, beingBuilt: false, sizeBytes: sizes.reduce((sum, size) => sum + size, 0) }
}

/** What the folders begin with in which a template is being built; the number of the process follows. */
function unfinishedPrefix(name: TemplateName): string {
  return name === 'base' ? 'building-' : `${name}-building-`
}

/**
 * Builds the template unless it exists. Templates do not wait for one another.
 * @throws Error with the end of what the build printed.
 */
export async function ensureTemplate(cacheDir: string, name: TemplateName, progress: Progress): Promise<Template> {
  const template = currentTemplate(cacheDir, name)
  const { places, diskMb } = template
  if (existsSync(places.made)) return template
  const folder = dirname(places.folder)
  const unfinished = unfinishedPrefix(name)
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  await withHostLock(
    join(folder, name === 'base' ? 'lock' : `${name}.lock`),
    () => progress(0, 'Waiting for another Berth on this host that builds templates'),
    async () => {
      if (existsSync(places.made)) return
      // We hold the lock, so anything half built was left by a build that died.
      // Whose builder was killed is written to for a moment more.
      for (const left of readdirSync(folder))
        if (left.startsWith(unfinished)) rmSync(join(folder, left), { recursive: true, force: true, maxRetries: 5 })
      const building = join(folder, `${unfinished}${process.pid}`)
      mkdirSync(building)
      // Without root, the build's hook runs as a user of mmdebstrap's own, who must be able to write here.
      chmodSync(building, isRoot() ? 0o755 : 0o777)
      try {
        await recipes[name].build(building, cacheDir, progress)
        writeFileSync(join(building, 'made.json'), JSON.stringify({ diskMb }))
        rmSync(places.folder, { recursive: true, force: true })
        renameSync(building, places.folder)
      } finally {
        rmSync(building, { recursive: true, force: true })
      }
    },
  )
  return template
}
