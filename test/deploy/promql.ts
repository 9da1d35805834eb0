/** What a PromQL expression names, as far as the dashboard and the alerts need it: no expression there is richer than this reads. */

/** A metric in an expression, with the labels that its selector asks for. */
export type Selected = { metric: string; labels: string[] }
/** All metrics of an expression, and the labels by which their values are put together. */
export type Named = { selected: Selected[]; grouped: string[] }

const words = new Set(['by', 'without', 'and', 'or', 'unless', 'on', 'ignoring', 'offset', 'bool'])
const grouping = new Set(['by', 'without', 'on', 'ignoring'])
const token = /"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\d[\w.]*|[A-Za-z_:][\w:]*|=~|!~|!=|==|>=|<=|\S/g

/** Reads an expression. @throws Error when braces do not close. */
export function readExpression(text: string): Named {
  const tokens = [...text.matchAll(token)].map(([one]) => one)
  const named: Named = { selected: [], grouped: [] }
  for (let at = 0; at < tokens.length; at++) {
    const one = tokens[at] ?? ''
    if (!/^[A-Za-z_:]/.test(one)) continue
    if (grouping.has(one)) {
      const end = tokens.indexOf(')', at)
      named.grouped.push(...tokens.slice(at + 2, end).filter((each) => each !== ','))
      at = end
    } else if (!words.has(one) && tokens[at + 1] !== '(' && !grouping.has(tokens[at + 1] ?? '')) {
      const labels: string[] = []
      if (tokens[at + 1] === '{') {
        const end = tokens.indexOf('}', at)
        if (end < 0) throw new Error(`a brace does not close: ${text}`)
        for (let inner = at + 2; inner < end; inner++)
          if (/^[A-Za-z_]/.test(tokens[inner] ?? '') && /[=~]$/.test(tokens[inner + 1] ?? ''))
            labels.push(tokens[inner] ?? '')
        at = end
      }
      named.selected.push({ metric: one, labels })
    }
  }
  return named
}
