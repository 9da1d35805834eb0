/** Making folders and renaming paths in a real VM; vms.vm.test.ts runs these tests on its own. */
import { describe, expect, test } from 'vitest'
import type { Berth } from '../../support/berth.ts'

type Inside = { berth: Berth; token: string; vmId: string; exec: (command: string) => Promise<{ stdout: string }> }

/** @param of what there is once the tests run. */
export function describePaths(of: () => Inside): void {
  describe('a path', () => {
    const ask = (verb: string, body: Record<string, string>) =>
      of().berth.call<{ path: string; message: string }>('POST', `/api/v1/vms/${of().vmId}/envd/${verb}`, {
        token: of().token,
        body,
      })

    test('that a folder is made at is there with those above it, and making it again changes nothing', async () => {
      const path = '/home/user/made/a b/$(touch x)'
      for (let time = 0; time < 2; time++)
        expect(await ask('mkdir', { path })).toMatchObject({ status: 200, body: { path } })
      expect((await of().exec(`ls 'made/a b'`)).stdout).toBe('$(touch x)\n')
      await of().exec('echo x > made/file')
      expect((await ask('mkdir', { path: '/home/user/made/file' })).body.message).toContain('is not a folder')
      expect((await ask('mkdir', { path: '/proc/x' })).status).toBe(400)
    })

    test('is renamed with what is in it, as itself where it is a link, and nothing is ever replaced', async () => {
      await of().exec('mkdir -p old/in kept && echo one > old/in/f && echo two > kept/f && ln -s old link')
      const at = (name: string) => `/home/user/${name}`
      const rename = (path: string, to: string) => ask('rename', { path: at(path), new_path: at(to) })
      expect(await rename('old', 'kept/new')).toMatchObject({ status: 200, body: { path: at('kept/new') } })
      expect(await rename('link', 'link2')).toMatchObject({ status: 200 })
      expect((await of().exec('cat kept/new/in/f && readlink link2')).stdout).toBe('one\nold\n')
      const refusals: [string, string, string][] = [
        ['kept/new/in/f', 'kept/f', 'something at /home/user/kept/f already'],
        ['kept/new', 'kept', 'already'],
        ['kept', 'kept', 'already'],
        ['kept', 'kept/new/deeper', 'inside of'],
        ['kept', 'absent/x', 'The folder of /home/user/absent/x is not there'],
        ['absent', 'x', 'There is nothing at /home/user/absent'],
        ['workspace', 'moved', 'mount point'],
        ['kept', '../../proc/x', 'part of the system'],
      ]
      for (const [path, to, words] of refusals) {
        const { status, body } = await rename(path, to)
        expect([path, status, body.message]).toEqual([path, 400, expect.stringContaining(words)])
      }
      expect((await ask('rename', { path: at('kept'), new_path: 'kept2' })).body.message).toContain(
        'new_path must be absolute',
      )
      expect((await of().exec('cat kept/f kept/new/in/f')).stdout).toBe('two\none\n')
    })
  })
}
