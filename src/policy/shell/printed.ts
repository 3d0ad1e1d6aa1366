import type { Arg } from './args.ts'
import type { ShellScope } from './scope.ts'

/** What `echo` or `printf` prints with these words; `undefined` if that differs between shells or is not known. */
export function printText(name: string, words: readonly string[]): string | undefined {
  if (name === 'echo') return printEcho(words)
  return name === 'printf' ? printFormat(words) : undefined
}

function printEcho(words: readonly string[]): string | undefined {
  // Some shells print `-n` and interpret backslashes, others do not.
  if (words.some(word => word.includes('\\')) || /^-[neE]*[eE]/.test(words[0] ?? '')) return undefined
  const plain = words[0] === '-n' ? words.slice(1) : words
  return `${plain.join(' ')}${plain === words ? '\n' : ''}`
}

/** `printf` uses its format again until no value is left. Only `%s`, `%b` of plain text, `%%` and common escapes are followed. */
function printFormat(words: readonly string[]): string | undefined {
  const [format, ...values] = words[0] === '--' ? words.slice(1) : words
  if (format === undefined || (words[0] !== '--' && format.startsWith('-'))) return undefined
  if (/%(?![s%])/.test(format.replaceAll('%%', ''))) return undefined
  const takes = format.replaceAll('%%', '').includes('%s')
  let text = ''
  let next = 0
  do {
    for (const [token] of format.matchAll(/%%|%s|\\[0-7]{1,3}|\\[\s\S]?|[^%\\]+/g)) {
      if (token === '%s') text += values[next++] ?? ''
      else if (token === '%%') text += '%'
      else if (token.startsWith('\\')) {
        const letter = ESCAPES[token] ?? readOctal(token)
        if (letter === undefined) return undefined
        text += letter
      } else text += token
    }
  } while (takes && next < values.length)
  return text
}

/** `\055` is a dash. Bytes beyond ASCII depend on the locale. */
function readOctal(token: string): string | undefined {
  const code = /^\\[0-7]+$/.test(token) ? Number.parseInt(token.slice(1), 8) : Number.NaN
  return code < 0x80 ? String.fromCharCode(code) : undefined
}

const ESCAPES: Record<string, string> = { '\\n': '\n', '\\t': '\t', '\\0': '\0', '\\\\': '\\' }

/** Programs that pass on some of the lines that they get, or one column of them. */
const FILTERS = /^(grep|egrep|fgrep|rg|head|tail|sort|uniq|cut)$/

/**
 * Whether a pipe of programs only prints names of files in the folder that the shell is in, so that reading them is like any other
 * read of the project. A list that can hold hidden files must say by a pattern which files it means, unless they are only searched
 * for a text, as `grep -r` does.
 */
export function listsFiles(pipe: readonly (readonly Arg[])[], scope: ShellScope, searched = false): boolean {
  const [first, ...filters] = pipe
  if (first === undefined || !first.every(arg => arg.known)) return false
  return listsNames(first, scope, searched) && filters.every(words => isFilter(words))
}

function isFilter(words: readonly Arg[]): boolean {
  const [name, ...rest] = words.map(arg => arg.value)
  if (name === 'awk') return rest.length === 1 && /^\{ ?print \$\w+ ?\}$/.test(rest[0] ?? '')
  // With a file of its own it prints lines of that file.
  return name !== undefined && FILTERS.test(name) && rest.filter(word => !word.startsWith('-')).length <= 1
}

function listsNames(words: readonly Arg[], scope: ShellScope, searched: boolean): boolean {
  const [name = '', ...rest] = words.map(arg => arg.value)
  if (scope.functions.has(name) || rest.some(word => leadsOut(word, scope))) return false
  switch (name) {
    case 'git':
      return GIT_LISTS.test(rest.join(' '))
    case 'rg':
      return printsNames(rest) && (searched || !rest.some(word => /^(-[a-zA-Z]*[u.]|--(hidden|unr|no-ig))/.test(word)))
    case 'grep':
      return printsNames(rest)
    case 'ls':
      return !rest.some(word => /^(-[a-zA-Z0-9]*[aAf]|--a)/.test(word) || /(^|\/)\./.test(word))
    case 'fd':
    case 'fdfind':
      return !rest.some(word => /^(-[a-zA-Z0]*[HIux]|--(hidden|unrestricted|no-ignore))/.test(word)) || searched
    case 'find':
      return searched || hasPattern(rest)
    case 'which':
      return true
    case 'command':
      return rest[0] === '-v'
    default:
      return false
  }
}

function printsNames(words: readonly string[]): boolean {
  return words.some(word => /^(-[a-zA-Z]*l[a-zA-Z]*|--files|--files-with-matches|--files-without-match)$/.test(word))
}

/** Git commands that print names of files, and nothing of what is in them. */
const GIT_LISTS =
  /^(ls-files\b|(diff|show|log)\b.* --name-only\b|status\b.* (-s|--short|--porcelain)\b|grep\b.* (-l|--name-only|--files-with-matches)\b|rev-parse --show-(toplevel|prefix|cdup)$|merge-base( --fork-point)?( [\w./^~@][\w./^~@-]*){1,2}$|rev-parse( --short| --verify| --abbrev-ref)?( [\w./^~@][\w./^~@-]*)$|branch --show-current$|describe --tags( --abbrev=0)?( --always)?$|rev-list --max-parents=0 HEAD$)/

/** Whether words of `find` or `fd` say by name or ending which files are meant, in each alternative. `*` alone says nothing. */
export function hasPattern(words: readonly string[]): boolean {
  const choice = words.findIndex(word => /^(-o|-or|,)$/.test(word))
  if (choice >= 0) return hasPattern(words.slice(0, choice)) && hasPattern(words.slice(choice + 1))
  return words.some(
    (word, at) =>
      /^(-i?(name|path|wholename|regex)|-e|--extension|-g|--glob)$/.test(words[at - 1] ?? '') &&
      !/^(!|-not)$/.test(words[at - 2] ?? '') &&
      /\w/.test(word),
  )
}

/** Whether a word may be a path outside of the folder that the shell is in. */
export function leadsOut(word: string, { cwd }: Pick<ShellScope, 'cwd'>): boolean {
  if (cwd === undefined || word.split('/').includes('..')) return true
  return /^[/~]/.test(word) && word !== '/dev/null' && word !== cwd && !word.startsWith(`${cwd}/`)
}
