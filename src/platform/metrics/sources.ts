/**
 * Metrics that are read when they are scraped: together, not too often and with a time limit, so that a scrape neither
 * loads what it measures nor waits for what is down. What cannot be read is omitted.
 */
import { Gauge } from 'prom-client'
import { log } from '#src/platform/log.ts'

/** One figure of a gauge. Labels never name a tenant. */
export type Sample = { labels?: Readonly<Record<string, string>>; value: number }
/** A gauge: what it says, and its labels. */
export type GaugeShape = { help: string; labels?: readonly string[] }

const readLimitMs = 1_000
const rememberedMs = 5_000
/** A slow source is read less often: at most this share of the time is spent on it. */
const busyShare = 0.02

type Samples = Readonly<Partial<Record<string, readonly Sample[]>>>
type Source = {
  read: () => Promise<Samples>
  samples: Samples
  up: boolean
  reading: Promise<void> | null
  freshUntilMs: number
}

const sources = new Map<string, Source>()
new Gauge({
  name: 'berth_metrics_source_up',
  help: 'Whether the last reading of this source of metrics succeeded; when it is 0, its metrics are missing.',
  labelNames: ['source'],
  async collect() {
    await Promise.all([...sources.values()].map(latest))
    for (const [source, { up }] of sources) this.set({ source }, up ? 1 : 0)
  },
})

/**
 * Adds a source with its gauges. If it is added again, as by a test that starts a second Berth, the new one replaces
 * it.
 */
export function addMetricSource<Name extends string>(
  name: string,
  gauges: Readonly<Record<Name, GaugeShape>>,
  read: () => Promise<Readonly<Record<Name, readonly Sample[]>>>,
): void {
  const known = sources.get(name)
  const source: Source = known ?? { read, samples: {}, up: false, reading: null, freshUntilMs: 0 }
  Object.assign(source, { read, freshUntilMs: 0 })
  if (known) return
  sources.set(name, source)
  for (const [gauge, { help, labels = [] }] of Object.entries<GaugeShape>(gauges)) {
    new Gauge({
      name: gauge,
      help,
      labelNames: [...labels],
      async collect() {
        await latest(source)
        this.reset()
        for (const sample of source.samples[gauge] ?? []) this.set({ ...sample.labels }, sample.value)
        if (labels.length === 0 && !source.samples[gauge]?.length) this.remove()
      },
    })
  }
}

/** Waits until the source is fresh, or until it took too long: then its reading goes on, and is not begun again meanwhile. */
async function latest(source: Source): Promise<void> {
  if (performance.now() < source.freshUntilMs) return
  source.reading ??= readNow(source).finally(() => (source.reading = null))
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), readLimitMs)))
  if ((await Promise.race([source.reading, late])) === 'late') forget(source)
  clearTimeout(timer)
}

async function readNow(source: Source): Promise<void> {
  const begunMs = performance.now()
  try {
    source.samples = await source.read()
    source.up = true
  } catch (error) {
    log.debug({ err: error }, 'some metrics could not be read')
    forget(source)
  }
  const tookMs = performance.now() - begunMs
  source.freshUntilMs = performance.now() + Math.max(rememberedMs, tookMs / busyShare)
}

function forget(source: Source): void {
  source.samples = {}
  source.up = false
}
