/** What makes a new, renamed or removed entry of a folder survive a loss of power. */
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Writes a folder's list of entries to the disk. Takes about 1 ms. */
export function flushFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
