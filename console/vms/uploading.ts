/** The uploads of a tab: one after the other, until they are done, cancelled, or the tab is left. */
import { useEffect, useRef, useState } from 'react'
import { useClient } from 'urql'
import { plain } from '../parts/plain.ts'
import { upload } from './transfers.ts'

/** Files that are taken at once. */
export const filesMax = 100

/** A file on its way; `message` says why it failed. */
export type Transfer = {
  key: number
  file: File
  path: string
  sentBytes: number
  end: 'done' | 'failed' | null
  message: string
}

/** The uploads of this tab, one after the other; they end with it. */
export function useTransfers(
  vmId: string,
  bytesMax: number,
  onDone: () => void,
): {
  transfers: readonly Transfer[]
  refusal: string
  add: (folder: string, files: readonly File[]) => void
  cancel: (key: number) => void
} {
  const client = useClient()
  const [transfers, setTransfers] = useState<readonly Transfer[]>([])
  const [refusal, setRefusal] = useState('')
  const count = useRef(0)
  const stops = useRef(new Map<number, AbortController>())
  const turn = useRef(Promise.resolve())
  const done = useRef(onDone)
  useEffect(() => {
    done.current = onDone
  })
  useEffect(() => {
    const all = stops.current
    return () => {
      for (const stop of all.values()) stop.abort()
    }
  }, [])
  const change = (key: number, to: Partial<Transfer>): void =>
    setTransfers((before) => before.map((one) => (one.key === key ? { ...one, ...to } : one)))

  async function send({ key, file, path }: Transfer, { signal }: AbortController): Promise<void> {
    try {
      await upload(client, { vmId, path, file }, (sentBytes) => change(key, { sentBytes }), signal)
      change(key, { end: 'done', sentBytes: file.size })
      done.current()
    } catch (error) {
      const message = signal.aborted ? 'cancelled' : error instanceof Error ? error.message : String(error)
      change(key, { end: 'failed', message })
    } finally {
      stops.current.delete(key)
    }
  }

  function add(folder: string, files: readonly File[]): void {
    const large = files.find(({ size }) => size > bytesMax)
    const running = stops.current.size
    if (large)
      return setRefusal(`${plain(large.name)} has ${large.size.toLocaleString('en')} bytes, more than the disk.`)
    if (running + files.length > filesMax)
      return setRefusal(`${filesMax} files at once are the most: upload the others afterwards.`)
    setRefusal('')
    const added = files.map(
      (file): Transfer => ({
        key: count.current++,
        file,
        path: `${folder === '/' ? '' : folder}/${file.name}`,
        sentBytes: 0,
        end: null,
        message: '',
      }),
    )
    setTransfers((before) => [...before.filter(({ end }) => end === null), ...added])
    for (const one of added) {
      const stop = new AbortController()
      stops.current.set(one.key, stop)
      turn.current = turn.current.then(() => send(one, stop))
    }
  }
  return { transfers, refusal, add, cancel: (key) => stops.current.get(key)?.abort() }
}
