/** `berth completion`. */
import { script } from '@bomb.sh/tab'
import { UsageError } from '../errors.ts'
import type { Noun } from '../grammar.ts'

const shells = ['bash', 'zsh', 'fish'] as const

/** The script for a shell. */
export const completion: Noun = {
  alone: {
    args: '<shell>',
    run(_cli, [shell = '']) {
      if (!shells.some((one) => one === shell)) throw new UsageError(`There is completion for ${shells.join(', ')}.`)
      script(shell, 'berth', 'berth')
      return Promise.resolve()
    },
  },
}
