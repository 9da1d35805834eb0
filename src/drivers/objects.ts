/** The process's object store: a folder of this host, or an S3-compatible service when BERTH_S3_BUCKET is set. */
import type { Config } from '#src/platform/config.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import type { ObjectStore } from './objects/store.ts'
import { createLocalObjects } from './objects/local.ts'
import { createS3Objects } from './objects/s3.ts'

const stores = new WeakMap<Config, ObjectStore>()

/** The object store that the settings name. */
export function objectStore({ config, sealer }: { config: Config; sealer: Sealer }): ObjectStore {
  const known = stores.get(config)
  if (known) return known
  const made = config.s3 ? createS3Objects(config.s3, config.dataDir) : createLocalObjects(config, sealer)
  stores.set(config, made)
  return made
}
