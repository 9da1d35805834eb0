/** `berth open`. */
import { openBrowser } from '../browser.ts'
import type { Noun } from '../grammar.ts'
import { lineOf } from '../text.ts'

/** The console. */
export const open: Noun = {
  alone: {
    async run(cli) {
      const { url } = cli.target()
      cli.out.result({ url }, lineOf(url))
      const failure = await openBrowser(cli.env, new URL(url))
      if (failure) cli.out.note(failure)
    },
  },
}
