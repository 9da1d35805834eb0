/**
 * How much space a disk has, and the floor below which nothing large is stored: Postgres, which may be on the same disk,
 * stops when the disk is full.
 */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '#src/platform/config.ts'

/** The share of a disk that stays free, and its bounds. */
const floorShare = 0.05
const floorBytesMin = 64 * 1024 * 1024
const floorBytesMax = 5 * 1024 * 1024 * 1024

/** A disk's total space, its free space, and the part that must stay free. */
export type DiskRoom = { totalBytes: number; freeBytes: number; floorBytes: number }

/** The room of the disk that has this folder, or will have it. */
export async function diskRoom({ diskFloorMb }: Pick<Config, 'diskFloorMb'>, folder: string): Promise<DiskRoom> {
  let place = folder
  while (!existsSync(place) && place !== dirname(place)) place = dirname(place)
  const { blocks, bavail, bsize } = await statfs(place)
  const totalBytes = blocks * bsize
  const usual = Math.min(Math.max(totalBytes * floorShare, floorBytesMin), floorBytesMax)
  return {
    totalBytes,
    freeBytes: bavail * bsize,
    floorBytes: diskFloorMb === null ? Math.floor(usual) : diskFloorMb * 1024 * 1024,
  }
}
