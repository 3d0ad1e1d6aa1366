import { stripVTControlCharacters } from 'node:util'
import { redactText } from '../../base/redact.ts'

/** More shapes than a log needs: what is told leaves the machine. Every repetition is bounded: an agent chooses the text. */
const SECRET_SHAPES: [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[hidden key]'],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, '[hidden token]'],
  [/((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/:@]{0,200}):[^\s/@]{1,500}@/gi, '$1:[hidden]@'],
  [/\b(npm_|glpat-|hf_|dop_v1_|pypi-|tk_)[A-Za-z0-9_-]{16,}/g, '$1[hidden]'],
  [/\b\d{8,10}:[A-Za-z0-9_-]{30,}/g, '[hidden token]'],
  [/\b([sr]k_(?:live|test)_|whsec_|SG\.)[A-Za-z0-9_.-]{16,}/g, '$1[hidden]'],
  // What stands behind a flag of a command. Of a token only what looks like one: people also ask about flags.
  [/((?<![\w-])--?[\w-]{0,40}?(?:password|passwd|passphrase)\s+)(?!-)("[^"]*"|'[^']*'|[^\s"']+)/gi, '$1[hidden]'],
  [
    /((?<![\w-])--[\w-]{0,40}?(?:secret|token|api-?key|credential)s?\s+)(?!-)("[^"]*"|'[^']*'|(?=\S*\d)[^\s"']{4,}|[^\s"']{16,})/gi,
    '$1[hidden]',
  ],
  [
    /\b((?:curl|wget|https?)\s[^|;&\n]{0,300}?-(?:[a-z]{0,6}u|-user|-proxy-user)[ =]?["']?[^\s:"'/]{1,60}):[^\s"']+/gi,
    '$1:[hidden]',
  ],
  [/\b((?:mysql\w*|mariadb\w*)\s[^|;&\n]{0,300}?\s-p)[^\s-]\S*/g, '$1[hidden]'],
  [/\b(sshpass\s+-p\s*)\S+/g, '$1[hidden]'],
  [/(hooks\.slack\.com\/services\/)[A-Za-z0-9/]+/g, '$1[hidden]'],
  [
    /(?<![\w-])([\w-]{0,60}?(?:password|passwd|secret|token|api[_-]?key|credential)[\w-]{0,60})(["']?\s*[:=]\s*["']?)(?!\[hidden)[^\s"',;]{4,}/gi,
    '$1$2[hidden]',
  ],
]

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** Text that may leave the machine: no secrets, no control or invisible characters, and not longer than `longest`. */
export function plain(text: string, longest: number, hidden: Iterable<string> = []): string {
  const visible = stripVTControlCharacters(text.slice(0, LONGEST_READ)).replace(UNSEEN, '')
  let clean = redactText(visible, hidden)
  for (const [shape, instead] of SECRET_SHAPES) clean = clean.replace(shape, instead)
  const trimmed = clean.trim()
  return trimmed.length > longest ? `${trimmed.slice(0, longest - 1).toWellFormed()}…` : trimmed.toWellFormed()
}

/** The same on one line. */
export function plainLine(text: string, longest: number, hidden: Iterable<string> = []): string {
  return plain(text.slice(0, LONGEST_READ).replace(/\s+/g, ' '), longest, hidden)
}

/** A tool's whole output is no notification, and patterns over megabytes take their time. */
const LONGEST_READ = 20_000
