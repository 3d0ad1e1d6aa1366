import type { ChangedFile, DiffLine } from '../change/change.ts'
import { isDocument, isGenerated, isSnapshot, isTestFile, isTestSupport } from '../change/file-kind.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

/** Keys, tokens and passwords in lines that were added. What was found is never shown: only which kind, and where. */
export const secretRule: DiffRule = change => change.files.flatMap(file => secretFindings(file))

/** One file tells the same story many times; after this many nobody reads on. */
const MOST_OF_A_FILE = 5

function secretFindings(file: ChangedFile): DiffFinding[] {
  if (file.kind !== 'text') return []
  const isMade = isTestFile(file.path, file.after) || isTestSupport(file.path) || isDocument(file.path)
  const known = new Set(file.removed.map(({ text }) => text.trim()))
  const findings: DiffFinding[] = []
  for (const line of file.added) {
    if (findings.length >= MOST_OF_A_FILE) break
    const text = line.text.slice(0, LONGEST_LINE)
    // Indented anew or moved within the file: it was there before.
    if (known.has(text.trim())) continue
    const seen = vendorKey(text) ?? (isMade || isHashed(file.path) ? undefined : namedSecret(text))
    if (seen !== undefined) findings.push(findingOf(seen, file, line, isMade))
  }
  return findings
}

/** Minified code is one line; what is in it beyond this is not looked at twice. */
const LONGEST_LINE = 4_000

function findingOf(kind: string, file: ChangedFile, { line }: DiffLine, isMade: boolean): DiffFinding {
  const at = { file: file.path, line }
  // A key of a test or an example is mostly made up; a person looks at it all the same.
  if (isMade) return note('diff.secret', `${kind} stands in ${file.path}, line ${line}: is it made up?`, at)
  const way = 'read it from the environment instead, and treat it as known to others from now on'
  return block('diff.secret', `${kind} stands in ${file.path}, line ${line}: ${way}.`, at)
}

/** Shapes that only a vendor's own keys have. */
const VENDOR_KEYS: [RegExp, string][] = [
  [/-----BEGIN ((RSA|EC|DSA|OPENSSH|PGP|ENCRYPTED) )?PRIVATE KEY( BLOCK)?-----/, 'A private key'],
  [/\b(AKIA|ASIA)[A-Z0-9]{16}\b/, 'A key of AWS'],
  [/\bgh[pousr]_[A-Za-z0-9]{30,}\b/, 'A token of GitHub'],
  [/\bgithub_pat_[A-Za-z0-9_]{50,}\b/, 'A token of GitHub'],
  [/\bglpat-[A-Za-z0-9_-]{20,}\b/, 'A token of GitLab'],
  [/\bxox[abprs]-[A-Za-z0-9-]{20,}\b/, 'A token of Slack'],
  [/\bhooks\.slack\.com\/services\/T\w{6,}\/B\w{6,}\/\w{16,}/, 'An address of Slack that is a secret'],
  [/\bsk-ant-[A-Za-z0-9_-]{24,}/, 'A key of Anthropic'],
  [/\bsk-(proj-)?[A-Za-z0-9_-]{32,}/, 'A key of OpenAI'],
  [/\bAIza[A-Za-z0-9_-]{35}\b/, 'A key of Google'],
  [/\b(sk|rk)_live_[A-Za-z0-9]{20,}\b/, 'A key of Stripe'],
  [/\bnpm_[A-Za-z0-9]{36}\b/, 'A token of npm'],
  [/\bpypi-[A-Za-z0-9_-]{50,}/, 'A token of PyPI'],
  [/\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/, 'A key of SendGrid'],
  [/\bdop_v1_[a-f0-9]{64}\b/, 'A token of DigitalOcean'],
  [/\bhf_[A-Za-z0-9]{30,}\b/, 'A token of Hugging Face'],
  [/\bAGE-SECRET-KEY-1[A-Z0-9]{50,}/, 'A key of age'],
  [/\beyJ[A-Za-z0-9_-]{16,}\.eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/, 'A signed web token'],
  [
    /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@'"`$<{]{1,64}:(?![$<{*])[^\s:/@'"`]{8,128}@(?!localhost|127\.0\.0\.1|example\.)[\w.-]+/,
    'An address with a password',
  ],
]

function vendorKey(text: string): string | undefined {
  for (const [shape, kind] of VENDOR_KEYS) {
    const found = shape.exec(text)?.[0]
    if (found !== undefined && (kind === 'A private key' || !isMadeUp(found, text))) return kind
  }
  return undefined
}

/** `apiKey: "…"`, `PASSWORD=…`: the name says secret, and the value is as mixed as one. */
const NAMED =
  /(?<![A-Za-z])(?:[A-Za-z0-9]{0,30}[_-]?)?(password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|auth[_-]?key|credentials?)["'`]?\s{0,4}(?::=|=>|[:=])\s{0,4}["'`]?([A-Za-z0-9+/_=.~!@#$%^&*-]{12,200})["'`]?/gi

function namedSecret(text: string): string | undefined {
  for (const [, name = '', value = ''] of text.matchAll(NAMED)) {
    if (isMadeUp(value, text) || !isMixed(value)) continue
    return `Something called "${name.toLowerCase()}" with a value that looks real`
  }
  return undefined
}

/** A word of a program or a sentence has less of everything than a key: letters, digits, and bits for each sign. */
function isMixed(value: string): boolean {
  if (/^(process|os|env|config|settings|self|this|ctx|req|props|args|options|import|Deno|Bun)\b/.test(value))
    return false
  if (/[.(]$|\(\)|^[a-z]+(\.[a-zA-Z_]+)+$|^[A-Za-z_]+$/.test(value)) return false
  if (!/\d/.test(value) || !/[A-Za-z]/.test(value)) return false
  return entropy(value) >= (value.length >= 20 ? 3.5 : 3.2)
}

/** Bits for each sign, by Shannon. */
function entropy(value: string): number {
  const counts = new Map<string, number>()
  for (const sign of value) counts.set(sign, (counts.get(sign) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length)
  return bits
}

function isMadeUp(value: string, line: string): boolean {
  if (
    /example|sample|dummy|fake|placeholder|change-?me|your[-_]|redacted|xxxx|test[-_]?(key|token|secret)|\.\.\.|0000000|1234567|abcdef/i.test(
      value,
    )
  )
    return true
  if (/^[${<*]|\$\{|\{\{|%\(|<[a-z]/i.test(value)) return true
  if (entropy(value) < 2.8) return true
  return /\b(example|made[- ]up|not a (real )?secret|pragma: allowlist secret|gitleaks:allow)\b/i.test(line)
}

/** Files that are full of hashes by their nature. */
function isHashed(path: string): boolean {
  return isGenerated(path) || isSnapshot(path) || /\.(sum|lock|svg|csv|ipynb|map|sri|integrity)$/i.test(path)
}
