import { stripVTControlCharacters } from 'node:util'
import { redactText } from '../../base/redact.ts'

/** More shapes than a log needs: what is told leaves the machine. */
const SECRET_SHAPES: [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[hidden key]'],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, '[hidden token]'],
  [/([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*):[^\s/@]+@/gi, '$1:[hidden]@'],
  [/\b(npm_|glpat-|hf_|dop_v1_|pypi-|tk_)[A-Za-z0-9_-]{16,}/g, '$1[hidden]'],
  [/\b\d{8,10}:[A-Za-z0-9_-]{30,}/g, '[hidden token]'],
  [/(hooks\.slack\.com\/services\/)[A-Za-z0-9/]+/g, '$1[hidden]'],
  [
    /\b([\w-]*(?:password|passwd|secret|token|api[_-]?key|credential)[\w-]*)(["']?\s*[:=]\s*["']?)(?!\[hidden)[^\s"',;]{4,}/gi,
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
