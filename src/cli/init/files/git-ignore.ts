/** What git leaves out: all that pcc may come to keep in its folder, but not what a person writes there. */
export const IGNORE_LINES = [
  '# pcc: its index and what runs leave behind; features, notes and rules are yours to commit',
  '/.perpetualcc/*',
  '!/.perpetualcc/README.md',
  '!/.perpetualcc/features/',
  '!/.perpetualcc/knowledge/',
  '!/.perpetualcc/rules.toml',
]

export type IgnoreEdit = { text: string } | { kept: string }

/**
 * A `.gitignore` with our lines at its end, in its own line endings, with or without a last newline as it was. One that says
 * anything of `.perpetualcc/` already is left as it is: whoever took a line out of it meant that.
 */
export function withIgnoreLines(before: string | undefined): IgnoreEdit {
  const lines = (before ?? '').split(/\r?\n/).map(line => line.trim())
  const about = lines.filter(line => /^[!/]*(\*\*\/)?\.perpetualcc(\/|$)/.test(line))
  if (about.length > 0) return { kept: verdictOn(about) }
  if (before === undefined || before === '') return { text: `${IGNORE_LINES.join('\n')}\n` }
  const newline = newlineOf(before)
  const isEnded = before.endsWith('\n')
  const block = IGNORE_LINES.join(newline)
  const gap = /(^|\n)\r?\n$/.test(before) ? '' : newline
  return { text: `${before}${isEnded ? '' : newline}${gap}${block}${isEnded ? newline : ''}` }
}

function verdictOn(about: string[]): string {
  const missing = IGNORE_LINES.filter(line => !line.startsWith('#') && !about.includes(line))
  if (missing.length === 0) return 'has our lines'
  if (about.some(line => /^\/?\.perpetualcc\/?$/.test(line)))
    return 'leaves out all of .perpetualcc/, features and notes too'
  return `says what git leaves out of .perpetualcc/ in its own way; not in it: ${missing.join('  ')}`
}

/** The ending of most of its lines. */
function newlineOf(text: string): string {
  const all = text.split('\n').length - 1
  const crlf = text.split('\r\n').length - 1
  return crlf > all / 2 ? '\r\n' : '\n'
}
