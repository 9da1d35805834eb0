/** What the host and the machine tell each other. */

/** The word of the kernel's command line before the test files to run, which commas separate. */
export const filesParameter = 'berth.files='

/** How the last line begins. */
export const verdictWord = 'Verdict:'
