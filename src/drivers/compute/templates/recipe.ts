/** What a template of Berth's own is made by. */
import type { Progress } from '#src/drivers/compute/machine.ts'
import { sha256 } from '#src/platform/secrets.ts'
import type { TemplateName } from './names.ts'

/** How a template that every host builds itself is made. */
export type Recipe = {
  name: TemplateName
  /** The size of the disk that machines start from. */
  diskMb: number
  /** Names what it makes: a changed recipe is another template. */
  hash(): string
  /** Puts everything into an empty folder. @throws Error with the end of what the build printed. */
  build(out: string, cacheDir: string, progress: Progress): Promise<void>
}

/** The hash of a recipe from all that it is made of: 16 hexadecimal digits. */
export function hashOfParts(parts: readonly string[]): string {
  return sha256(JSON.stringify(parts)).toString('hex').slice(0, 16)
}
