/** `berth completion`. */
import { script } from '@bomb.sh/tab'
import { UsageError } from '../errors.ts'
import type { Noun } from '../grammar.ts'

const shells = ['bash', 'zsh', 'fish'] as const

/** What bash's script calls of the package bash-completion, for machines without it; the package replaces it where it comes later. */
const withoutPackage = `if ! type _get_comp_words_by_ref >/dev/null 2>&1; then
    _get_comp_words_by_ref() {
        words=("\${COMP_WORDS[@]}")
        cword=$COMP_CWORD
        cur=\${COMP_WORDS[COMP_CWORD]}
        prev=\${COMP_WORDS[COMP_CWORD-1]}
    }
fi
`

/** The script for a shell. */
export const completion: Noun = {
  alone: {
    args: '<shell>',
    run(_cli, [shell = '']) {
      if (!shells.some((one) => one === shell)) throw new UsageError(`There is completion for ${shells.join(', ')}.`)
      if (shell === 'bash') process.stdout.write(withoutPackage)
      script(shell, 'berth', 'berth')
      return Promise.resolve()
    },
  },
}
