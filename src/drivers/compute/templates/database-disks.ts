/** The disks of a database's machine: one for the data, and the machine's own. */

const systemMb = 2 * 1024
/** Temporary files, of sorts and hashes that do not fit into memory, have so much room for all sessions together. */
const temporaryShare = 0.25

/** The size of the machine's own disk, which has the system and the temporary files, by that of the data's disk. */
export function rootDiskMbOf(dataDiskMb: number): number {
  return systemMb + Math.ceil(dataDiskMb * temporaryShare)
}
