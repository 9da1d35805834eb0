/** How many VMs one host holds, and what each of them takes while it idles. */
import { availableMemoryMb, privateMemoryMb } from './processes.ts'
import type { Table } from './benchmark.ts'
import { median, shown } from './rounds.ts'
import { coresOf, startHost } from './vm-host.ts'
import type { World } from './world.ts'

const watches = 10

/** Makes VMs until the node refuses or there are `most`, and looks at the idle host. */
export async function fillHost(world: World, most: number): Promise<Table[]> {
  const host = await startHost(world, 0)
  await host.calm(0)
  const availableBefore = availableMemoryMb()
  const made: string[] = []
  let refused = false
  while (made.length < most && !refused) {
    const { status, body } = await host.call<{ vm_id: string; message?: string }>('POST', '', {})
    if (status === 201) made.push(body.vm_id)
    else if (status === 503) refused = true
    else throw new Error(`a VM was not made: ${status} ${body.message ?? ''}`)
  }
  await host.calm(made.length)
  const pids = await host.machines()
  const cores: number[] = []
  for (let watch = 0; watch < watches; watch++) cores.push(await coresOf(pids))
  const available = availableMemoryMb()
  const memory = pids.map(privateMemoryMb)
  for (const id of made) await host.remove(id)
  await host.calm(0)
  await host.stop()
  return [
    {
      title: 'What fits',
      columns: ['what', 'figure'],
      rows: [
        [
          'VMs at once',
          `${made.length}, ${refused ? 'then the memory promised to VMs was used up (BERTH_VM_MEMORY_MB)' : 'where this benchmark stops'}`,
        ],
        ['private memory of an idle VM’s QEMU, median', `${shown(median(memory))} MB`],
        [
          'memory that the host had less, for each VM',
          `${shown((availableBefore - available) / Math.max(1, made.length))} MB`,
        ],
        ['memory still available with all of them', `${shown(available)} MB`],
        ['cores that all of them use while idle', shown(median(cores))],
      ],
    },
  ]
}
