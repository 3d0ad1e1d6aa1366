/** Programs that print and write nothing, whatever they are given; those with a way to write are in `UNLESS` too. */
const READERS = new Set(
  `cat cd cut echo expr false grep head id ls nl paste pwd rev seq stat tail tr true uname uniq wc which whoami numfmt tac
  base64 find rg sed git`.split(/\s+/),
)
/** With one of these words they do more than read. */
const UNLESS: Record<string, RegExp> = {
  base64: /^(-o|--output)/,
  find: /^-(exec|execdir|ok|okdir|delete|fls|fprint|fprint0|fprintf)$/,
  rg: /^(--pre|--hostname-bin|--search-zip|-z)/,
}
const GIT_READS = new Set(['status', 'log', 'diff', 'show', 'branch'])
const GIT_WRITES =
  /^(--output|--ext-diff|--textconv|--exec|-c$|-C$|--git-dir|--work-tree|-[dDmMcCf]$|--(delete|move|copy|force|edit-description|set-upstream-to|unset-upstream))/

/**
 * Whether a line of a shell is made of nothing but programs that read. It only decides whether a command that nobody was asked about is
 * taken for a breach: in doubt it is none of those.
 */
export function onlyReads(line: string): boolean {
  const bare = line.replaceAll(/'[^']*'/g, 'q').replaceAll(/"[^"$`\\]*"/g, 'q')
  if (/[<>()`$"'\\]/.test(bare)) return false
  return bare.split(/\|\||&&|[|;\n]/).every(part => !part.includes('&') && reads(part.trim()))
}

function reads(command: string): boolean {
  if (command === '') return true
  const [program = '', ...words] = command.split(/\s+/)
  if (!READERS.has(program) || words.some(word => UNLESS[program]?.test(word))) return false
  if (program === 'sed') return words[0] === '-n' && words.length <= 3 && /^(q|\d+(,\d+)?p)$/.test(words[1] ?? '')
  if (program === 'git') return GIT_READS.has(words[0] ?? '') && !words.some(word => GIT_WRITES.test(word))
  return true
}
