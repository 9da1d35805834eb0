/** Shows how far a long step is: a bar on one line in a terminal, elsewhere a line for every tenth. */

const barWidth = 30
const sentenceWidth = 40

/** Where progress is shown, such as process.stdout. */
export type Screen = { isTTY?: boolean; write: (text: string) => unknown }

/**
 * Makes a function that shows progress.
 * @returns the function, which takes a fraction from 0 to 1 and what is being done.
 */
export function showProgress(title: string, screen: Screen): (fraction: number, sentence: string) => void {
  let tenthShown = -1
  let finished = false
  return (fraction, sentence) => {
    const part = Math.min(Math.max(fraction, 0), 1)
    if (finished) return
    finished = part === 1
    const percent = `${Math.floor(part * 100)}`.padStart(3)
    if (screen.isTTY) {
      const full = Math.round(part * barWidth)
      const bar = '█'.repeat(full) + '░'.repeat(barWidth - full)
      screen.write(`\r${title} ${bar} ${percent} %  ${sentence.slice(0, sentenceWidth)}\x1b[K${finished ? '\n' : ''}`)
      return
    }
    const tenth = Math.floor(part * 10 + 1e-9) // 0.3 * 10 is a hair under 3
    if (tenth === tenthShown) return
    tenthShown = tenth
    screen.write(`${title} ${percent} %  ${sentence}\n`)
  }
}
