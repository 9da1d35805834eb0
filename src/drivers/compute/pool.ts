/** Keeps a few machines of the default shape warm: restored, personalised, connected. Taking one only writes its new name. */
import type { Logger } from 'pino'
import type { RunningMachine } from './qemu/running-machine.ts'

/** Starting one costs a second of processor time, so it waits until the VMs that just took one are running. */
const refillDelayMs = 300
const firstPauseMs = 500
const longestPauseMs = 30_000

/** The warm machines of a node. */
export type Pool = {
  /** How many are ready to be taken. */
  readonly warm: number
  /** A warm machine, or the one that is being started; undefined when there is neither. @param busyMs how long to wait before the next one is started */
  take(busyMs?: number): Promise<RunningMachine | undefined>
  /** Adds a machine that an earlier worker started. False when the pool is full. */
  add(machine: RunningMachine): boolean
  /** Removes a machine that has died. */
  forget(machine: RunningMachine): void
  /** Starts keeping the pool full. */
  start(): void
  /** Stops starting machines, waits for the one that is being started, and returns the warm ones. */
  stop(): Promise<RunningMachine[]>
}

/** @param make starts one machine that belongs to no VM. */
export function createPool(size: number, make: () => Promise<RunningMachine>, log: Logger): Pool {
  const warm: RunningMachine[] = []
  let making: Promise<RunningMachine> | undefined
  let promised = false
  let running = false
  let timer: NodeJS.Timeout | undefined
  let pauseMs = firstPauseMs

  const schedule = (delayMs: number): void => {
    clearTimeout(timer)
    if (running) timer = setTimeout(fill, delayMs)
  }
  const fill = (): void => {
    if (!running || making || warm.length >= size) return
    promised = false
    making = make()
    making.then(
      (machine) => {
        making = undefined
        pauseMs = firstPauseMs
        if (!promised) warm.push(machine)
        schedule(promised ? refillDelayMs : 0)
      },
      (error: Error) => {
        making = undefined
        log.warn({ err: error }, 'a warm machine could not be made')
        schedule(pauseMs)
        pauseMs = Math.min(pauseMs * 2, longestPauseMs)
      },
    )
  }
  return {
    get warm() {
      return warm.length
    },
    async take(busyMs = refillDelayMs) {
      const machine = warm.shift()
      if (machine || !making || promised) {
        schedule(busyMs)
        return machine
      }
      promised = true
      return making.catch(() => undefined) // its failure is logged above; the caller starts a machine itself
    },
    add(machine) {
      if (warm.length >= size) return false
      warm.push(machine)
      return true
    },
    forget(machine) {
      const index = warm.indexOf(machine)
      if (index >= 0) warm.splice(index, 1)
      schedule(pauseMs)
    },
    start() {
      running = true
      fill()
    },
    async stop() {
      running = false
      clearTimeout(timer)
      await making?.catch(() => undefined) // logged above
      return warm.splice(0)
    },
  }
}
