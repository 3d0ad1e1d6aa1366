import { matchesGlob, posix } from 'node:path'
import { AGENT_DEFINITIONS } from '../../../domain/agents/agent-registry.ts'
import { LOCK_FILE, manifestsOf } from '../../../domain/package-managers.ts'
import type { DiffChange, DiffFile, DiffLine } from './change.ts'
import { isCi, isDocument, isGenerated, isSnapshot, isTestFile, isTestSupport, nameOf } from './file-kind.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

/** Files that an agent must not change by itself, whatever its task is. */
export const pathRule: DiffRule = (change, { forbiddenPaths }) =>
  change.files.flatMap(file => {
    const pattern = forbiddenPaths.find(each => fits(file.path, each))
    if (pattern !== undefined)
      return [block('path.forbidden', `${file.path} was changed, which "${pattern}" forbids to agents.`, at(file))]
    return builtIn(file, change)
  })

/** `docs/**`, `*.sql` (anywhere) and `migrations/` mean what people expect. */
export function fits(path: string, pattern: string): boolean {
  const plain = pattern.replace(/^\.?\//, '')
  if (plain.endsWith('/')) return path.startsWith(plain)
  if (path === plain || path.startsWith(`${plain}/`)) return true
  return matchesGlob(path, plain) || (!plain.includes('/') && matchesGlob(nameOf(path), plain))
}

function builtIn(file: DiffFile, change: DiffChange): DiffFinding[] {
  const { path } = file
  if (
    /(^|\/)\.perpetualcc(\.toml$|\/(?!features\/|notes\/|knowledge\/|specs?\/))/i.test(path) ||
    GUARD.test(path) ||
    AGENT_SETTINGS.test(path)
  )
    return [block('path.guard', `${path} steers the agent or its guard: leave it to a person.`, at(file))]
  if (HOOKS.test(path)) return [block('path.hook', `${path} is run by git: leave it to a person.`, at(file))]
  if (isCi(path))
    return [block('path.ci', `${path} runs elsewhere, with secrets at hand: leave it to a person.`, at(file))]
  if (INSTALLED.test(path)) {
    const text = `${path} is installed or loaded by other programs and does not belong in a commit.`
    return [block('path.installed', text, at(file))]
  }
  if (file.kind === 'submodule' && file.status === 'added') {
    const text = `${path} is a repository of its own, so no commit here contains its files: remove its .git and commit them.`
    return [block('diff.nested', text, at(file))]
  }
  if (file.kind === 'submodule') {
    const text = `${path} is a submodule, and points at another commit, which no gate has seen.`
    return [{ ...note('diff.submodule', text, at(file)), weight: 'review' }]
  }
  return [...lockFindings(file, change), ...modeFindings(file)]
}

const GUARD =
  /(^|\/)(\.claude\/(settings[^/]*|hooks(\/.*)?|agents\/.*|commands\/.*|skills\/.*|plugins\/.*)|\.mcp\.json|\.claude\.json)$/i
const AGENT_FOLDERS = [...AGENT_DEFINITIONS.map(({ settingsFolder }) => settingsFolder.slice(1)), 'cursor'].join('|')
const AGENT_SETTINGS = new RegExp(`(^|/)\\.(${AGENT_FOLDERS})/(settings|config|hooks|mcp)[^/]*$`, 'i')
const HOOKS = /(^|\/)(\.husky\/(?!\.gitignore$)[^/]+|\.githooks\/.+|\.git-hooks\/.+|\.gitmodules)$/
const INSTALLED =
  /(^|\/)(node_modules|site-packages|\.venv|venv)\/|(^|\/)(sitecustomize|usercustomize)\.py$|\.pth$|(^|\/)\.pnp\.c?js$/

function lockFindings(file: DiffFile, change: DiffChange): DiffFinding[] {
  if (!LOCK_FILE.test(file.path)) return []
  const manifests = manifestsOf(file.path)
  if (change.files.some(each => manifests.test(each.path))) return []
  return [note('path.lock', `${file.path} was changed without the manifest that it follows.`, at(file))]
}

function modeFindings(file: DiffFile): DiffFinding[] {
  const { oldMode, newMode, path } = file
  if (file.kind === 'link') {
    const to = file.added[0]?.text
    if (to !== undefined && leadsOut(path, to))
      return [
        block('diff.link', `${path} is a link out of the repository, to ${to}: its target is in no commit.`, at(file)),
      ]
    return [note('diff.mode', `${path} is a link to ${to ?? 'nowhere'}.`, at(file))]
  }
  if (file.status !== 'modified' || oldMode === newMode) return []
  return newMode === '100755' ? [note('diff.mode', `${path} was made executable.`, at(file))] : []
}

function leadsOut(path: string, to: string): boolean {
  return posix.isAbsolute(to) || /^\.\.(\/|$)/.test(posix.join(posix.dirname(path), to))
}

function at(file: DiffFile): { file: string } {
  return { file: file.path }
}

/** A change that is larger than a person allows. */
export const sizeRule: DiffRule = (change, { maxChangedLines }) => {
  const findings: DiffFinding[] = change.unread.map(file =>
    block('diff.unread', `${file} is too large to be looked at, or one of too many files.`, { file }),
  )
  const lines = changedLines(change)
  if (maxChangedLines > 0 && lines > maxChangedLines)
    findings.push(
      block(
        'diff.size',
        `${lines} lines were changed, ${maxChangedLines} are allowed: leave out what the task does not need, or say in your report how it can be split.`,
      ),
    )
  return findings
}

/** Added and removed lines, without generated files. */
function changedLines({ files }: DiffChange): number {
  let lines = 0
  for (const file of files) if (!isGenerated(file.path)) lines += file.added.length + file.removed.length
  return lines
}

/** Binary files: pictures and fonts are reported, programs and archives are refused. */
export const binaryRule: DiffRule = change => change.files.flatMap(binaryFindings)

function binaryFindings(file: DiffFile): DiffFinding[] {
  if (file.kind !== 'binary' || file.status === 'deleted') return []
  const at = { file: file.path }
  if (file.newMode === '100755')
    return [block('diff.binary', `${file.path} is a program: commit what it is made of instead.`, at)]
  if (MEDIA.test(file.path) || isTestSupport(file.path))
    return [note('diff.binary', `${file.path} is not text, and nobody has read it.`, at)]
  return [block('diff.binary', `${file.path} is not text: a person has to agree to it.`, at)]
}

const MEDIA = /\.(png|jpe?g|gif|webp|avif|ico|icns|bmp|tiff?|svgz|woff2?|ttf|otf|eot|mp3|ogg|wav|mp4|webm|pdf)$/i

/** Files of which git and other programs see different names or contents. */
export const sameFileRule: DiffRule = change =>
  change.files.flatMap(file => {
    if (file.status === 'deleted') return []
    // A byte that is no text is shown so.
    if (file.path.includes('\ufffd'))
      return [block('diff.name', `The name of ${file.path} is not UTF-8: give it another name.`, at(file))]
    const line = /^\.gitattributes$/i.test(nameOf(file.path)) && file.added.find(({ text }) => ENCODING.test(text))
    if (!line) return []
    const text = `${file.path} makes git write files in another encoding: what is reviewed is not what runs.`
    return [block('diff.encoding', text, { ...at(file), line: line.line })]
  })

const ENCODING = /\sworking-tree-encoding=/

/** Conflict markers of git. `=======` alone underlines a heading in documents. */
export const mergeMarkerRule: DiffRule = change =>
  change.files.flatMap(file => {
    const begin = file.added.find(({ text }) => /^(<{7}|>{7}|\|{7})( |$)/.test(text))
    const middle = isDocument(file.path) ? undefined : file.added.find(({ text }) => text === '=======')
    const found = begin ?? middle
    if (found === undefined) return []
    const text = `${file.path} still contains a conflict: line ${found.line} begins with "${found.text.slice(0, 7)}".`
    return [block('diff.merge-marker', text, { file: file.path, line: found.line })]
  })

/** Keys, tokens and passwords in added lines. The secret itself is never shown: only its kind and position. */
export const secretRule: DiffRule = change => change.files.flatMap(file => secretFindings(file))

/** How many findings one file may give: more would repeat the same. */
const MOST_OF_A_FILE = 5

function secretFindings(file: DiffFile): DiffFinding[] {
  if (file.kind !== 'text') return []
  const isMade = isTestFile(file.path, file.after) || isTestSupport(file.path) || isDocument(file.path)
  const known = new Set(file.removed.map(({ text }) => text.trim()))
  const findings: DiffFinding[] = []
  for (const line of file.added) {
    if (findings.length >= MOST_OF_A_FILE) break
    const text = line.text.slice(0, LONGEST_LINE)
    // A line that was only indented or moved within the file existed before.
    if (known.has(text.trim())) continue
    const seen = vendorKey(text) ?? (isMade || isHashed(file.path) ? undefined : namedSecret(text))
    if (seen !== undefined) findings.push(findingOf(seen, file, line, isMade))
  }
  return findings
}

/** Minified code is one line; only this much of a line is searched. */
const LONGEST_LINE = 4_000

function findingOf(kind: string, file: DiffFile, { line }: DiffLine, isMade: boolean): DiffFinding {
  const at = { file: file.path, line }
  // A key in a test or an example is usually made up; a person is shown it all the same.
  if (isMade) return note('diff.secret', `${kind} is in ${file.path}, line ${line}: is it made up?`, at)
  const way = 'read it from the environment instead, and treat this one as leaked'
  return block('diff.secret', `${kind} is in ${file.path}, line ${line}: ${way}.`, at)
}

/** Patterns that only keys of a certain vendor match. */
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

/** `apiKey: "…"`, `PASSWORD=…`: the name means a secret, and the value looks random. */
const NAMED =
  /(?<![A-Za-z])(?:[A-Za-z0-9]{0,30}[_-]?)?(password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|auth[_-]?key|credentials?)["'`]?\s{0,4}(?::=|=>|[:=])\s{0,4}["'`]?([A-Za-z0-9+/_=.~!@#$%^&*-]{12,200})["'`]?/gi

function namedSecret(text: string): string | undefined {
  for (const [, name = '', value = ''] of text.matchAll(NAMED)) {
    if (isMadeUp(value, text) || !isMixed(value)) continue
    return `Something called "${name.toLowerCase()}" with a value that looks real`
  }
  return undefined
}

/** A key has more letters, digits and entropy per character than a word of a program or a sentence. */
function isMixed(value: string): boolean {
  if (/^(process|os|env|config|settings|self|this|ctx|req|props|args|options|import|Deno|Bun)\b/.test(value))
    return false
  if (/[.(]$|\(\)|^[a-z]+(\.[a-zA-Z_]+)+$|^[A-Za-z_]+$/.test(value)) return false
  if (!/\d/.test(value) || !/[A-Za-z]/.test(value)) return false
  return entropy(value) >= (value.length >= 20 ? 3.5 : 3.2)
}

/** Shannon entropy in bits per character. */
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

/** Files that naturally contain many hashes. */
function isHashed(path: string): boolean {
  return isGenerated(path) || isSnapshot(path) || /\.(sum|lock|svg|csv|ipynb|map|sri|integrity)$/i.test(path)
}
