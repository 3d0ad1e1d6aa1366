import type { DiffFile } from './change.ts'
import { isToolConfig, nameOf } from './file-kind.ts'
import { block, type DiffFinding, type DiffRule } from './rule.ts'
import { narrowingFlags } from './script-rule.ts'

/** Lists of exclusions, where one more entry means that less is checked. */
const LEAVES_OUT =
  'exclude ignore ignores extend-exclude extend-ignore extend_exclude extend_ignore per-file-ignores omit skip skips deselect norecursedirs collect_ignore testPathIgnorePatterns coveragePathIgnorePatterns modulePathIgnorePatterns ignorePatterns ignoreFiles watchPathIgnorePatterns disable disable_error_code exclude-dirs exclude-files exclude-rules skip-dirs skip-files exclude_lines exclude_also testIgnore exclude-use-default'.split(
    ' ',
  )
/** Lists of inclusions, where one entry less means that less is checked. */
const TAKES_IN =
  'select extend-select enable include testMatch testRegex testpaths python_files python_functions python_classes roots projects testDir spec linters members workspaces collectCoverageFrom'.split(
    ' ',
  )
/** Paths that nobody checks anyway. */
const HARMLESS =
  /^(\*\*\/)?\/?(\.?\/)?(<rootDir>\/)?(node_modules|dist|build|out|coverage|target|vendor|\.next|\.nuxt|\.cache|\.git|\.venv|venv|__pycache__|\.tox|\.mypy_cache|\.pytest_cache|\.turbo|storybook-static|generated|gen|third_party|migrations|docs|public|static|\.idea|\.vscode|playwright-report|test-results|tmp|temp|logs|worktrees|\.perpetualcc|e2e|fixtures|__fixtures__|\.direnv)(\/.*|\/?\*\*.*)?$|\.(d\.ts|min\.js|generated\.\w+|pb\.go|snap)$|_pb2\.py$/

/** Switches that make a checker strict, and those that make it skip problems. */
const STRICT =
  /^(strict\w*|noImplicit\w+|noUnused\w+|noUnchecked\w+|exactOptional\w+|noFallthrough\w+|noEmitOnError|noProperty\w+|useUnknownInCatchVariables|alwaysStrict|allowUnusedLabels|disallow_\w+|warn_\w+|check_untyped_defs|no_implicit_\w+|strict_\w+|error_on_\w+|xfail_strict|forbidOnly|errorOnDeprecated|checkJs|doctest|test|autotests|tests|deny_warnings|fail-fast|injectGlobals|enabled|recommended|show_error_codes|isolatedModules|fail_on_flaky\w*)$/
const BLIND =
  /^(skipLibCheck|noCheck|ignore_errors|ignore_missing_imports|ignoreBuildErrors|ignoreDuringBuilds|passWithNoTests|allowUnreachableCode|allowUnusedLabels|allowJs|suppress\w+|allow_untyped_\w+|allow_redefinition|dangerouslyIgnoreUnhandledErrors|skipFailed|bail|forceExit|silent|continue-on-error|allowOnly|skip_covered|exit-zero|exit_zero|ignoreErrors|new|noUnusedDisable|ignoreFailures|testFailureIgnore|skipTests|skipITs|maven\.test\.skip|maven\.test\.failure\.ignore)$/

/** Settings of runners and checkers that were made less strict. */
export const checkerRule: DiffRule = change =>
  change.files.flatMap(file => {
    if (file.kind !== 'text') return []
    if (/^\.(eslintignore|prettierignore|stylelintignore|coveragerc-ignore)$/.test(nameOf(file.path)))
      return ignoreFile(file)
    if (!isToolConfig(file.path) || file.status === 'added') return []
    if (file.status === 'deleted') return goneConfig(file)
    return [
      ...listFindings(file),
      ...switchFindings(file),
      ...levelFindings(file),
      ...flagFindings(file),
      ...denialFindings(file),
    ]
  })

function goneConfig(file: DiffFile): DiffFinding[] {
  if (
    !/eslint|biome|ruff|flake8|mypy|pylint|golangci|clippy|tsconfig|pytest|jest|vitest|coverage|nyc|c8|codecov/.test(
      file.path,
    )
  )
    return []
  return [block('config.loosened', `${file.path}, which says what is checked, is gone.`, { file: file.path })]
}

function ignoreFile(file: DiffFile): DiffFinding[] {
  const found = file.added.find(
    ({ text }) => text.trim() !== '' && !/^[#!]/.test(text.trim()) && !HARMLESS.test(text.trim()),
  )
  return found
    ? [block('config.loosened', `${file.path} leaves out ${found.text.trim()}.`, { file: file.path, line: found.line })]
    : []
}

function listFindings(file: DiffFile): DiffFinding[] {
  const { before = '', after = '' } = file
  const at = { file: file.path }
  const more = LEAVES_OUT.flatMap(key => {
    const was = listUnder(before, key)
    const now = listUnder(after, key)
    const fresh = [...(now ?? [])].filter(
      entry => !was?.has(entry) && !HARMLESS.test(entry) && entry.length > 1 && !/^[{}[\]()]+$/.test(entry),
    )
    if (fresh.length === 0 || now === undefined) return []
    const code = /test|collect|omit|norecurse|deselect|coverage|spec/i.test(`${key} ${fresh.join(' ')}`)
      ? 'config.excluded'
      : 'config.loosened'
    return [block(code, `${file.path}: ${key} leaves out more now (${fresh.slice(0, 3).join(', ')}).`, at)]
  })
  const less = TAKES_IN.flatMap(key => {
    const was = listUnder(before, key)
    const now = listUnder(after, key)
    if (was === undefined || now === undefined) return []
    const gone = [...was].filter(entry => !now.has(entry))
    const fresh = [...now].filter(
      entry => !was.has(entry) && (!entry.startsWith('!') || !HARMLESS.test(entry.slice(1))),
    )
    const negated = fresh.filter(entry => entry.startsWith('!'))
    // Wider patterns may replace narrow ones: only fewer entries, or as many different ones, count.
    if (gone.length === 0 && negated.length === 0) return []
    if (fresh.length > gone.length && negated.length === 0) return []
    if (key === 'include' && !/tsconfig|jest|vitest|coverage|pyproject|setup\.cfg/.test(file.path)) return []
    return [
      block(
        'config.excluded',
        `${file.path}: ${key} includes less now (${[...gone, ...negated].slice(0, 3).join(', ')}).`,
        at,
      ),
    ]
  })
  return [...more, ...less]
}

function switchFindings(file: DiffFile): DiffFinding[] {
  const before = switchesIn(file.before ?? '')
  const after = switchesIn(file.after ?? '')
  const at = { file: file.path }
  const findings: DiffFinding[] = []
  for (const [key, value] of before) {
    const now = after.get(key)
    if (
      STRICT.test(key) &&
      value &&
      now !== true &&
      (now === false || !/^(enabled|recommended|test|tests|doctest)$/.test(key))
    )
      findings.push(
        block('config.loosened', `${file.path}: ${key} was on and is ${now === false ? 'off' : 'gone'} now.`, at),
      )
  }
  for (const [key, value] of after) {
    const was = before.get(key)
    if (BLIND.test(key) && value && was !== true)
      findings.push(block('config.loosened', `${file.path}: ${key} is on now.`, at))
    if (STRICT.test(key) && !value && was === undefined)
      findings.push(block('config.loosened', `${file.path}: ${key} is off now.`, at))
  }
  return findings
}

function switchesIn(text: string): Map<string, boolean> {
  const found = new Map<string, boolean>()
  const plain = text.replace(/^\s*(#|\/\/).*$/gm, '')
  for (const [, key = '', value = ''] of plain.matchAll(
    /["']?([\w-]+)["']?\s*[:=]\s*["']?(true|false|True|False)\b/g,
  )) {
    const isOn = /^t/i.test(value)
    // If the key is in several sections, the least strict value counts.
    const held = found.get(key)
    found.set(key, held === undefined ? isOn : BLIND.test(key) ? held || isOn : held && isOn)
  }
  // In XML only switches that skip problems are known: other things are switched on and off there as well.
  for (const [, key = '', value] of plain.matchAll(/<([\w.]+)>\s*(true|false)\s*</g))
    if (BLIND.test(key)) found.set(key, (found.get(key) ?? false) || value === 'true')
  return found
}

const LEVELS: Record<string, number> = {
  off: 0,
  '0': 0,
  allow: 0,
  none: 0,
  ignore: 0,
  warn: 1,
  '1': 1,
  warning: 1,
  info: 1,
  on: 2,
  error: 2,
  '2': 2,
  deny: 2,
  forbid: 3,
}

/** Rules of linters with a level: `"no-console": "error"`, `unsafe_code = "forbid"`. */
function levelFindings(file: DiffFile): DiffFinding[] {
  if (!/eslint|biome|oxlint|stylelint|Cargo\.toml|clippy|package\.json|tslint|pyrightconfig|golangci/.test(file.path))
    return []
  const before = levelsIn(file.before ?? '')
  const after = levelsIn(file.after ?? '')
  const at = { file: file.path }
  const findings: DiffFinding[] = []
  for (const [rule, level] of before) {
    const now = after.get(rule)
    if (level > 0 && (now ?? 0) < level)
      findings.push(
        block('config.loosened', `${file.path}: the rule ${rule} is ${now === undefined ? 'gone' : 'weaker'}.`, at),
      )
  }
  for (const [rule, level] of after)
    if (level === 0 && !before.has(rule))
      findings.push(block('config.loosened', `${file.path}: the rule ${rule} is off now.`, at))
  return findings
}

function levelsIn(text: string): Map<string, number> {
  const found = new Map<string, number>()
  const plain = text.replace(/^\s*(#|\/\/).*$/gm, '')
  const shape =
    /["']?([@\w][\w/@-]*)["']?\s*[:=]\s*(?:\[\s*|\{\s*(?:["']?level["']?\s*[:=]\s*))?(?:["'](off|warn|error|allow|deny|forbid|warning|info|none|on)["']|([012])(?=\s*[,\]}\n]))/g
  for (const [, rule = '', word, digit] of plain.matchAll(shape))
    if (
      !/^(level|severity|logLevel|type|version|edition|mode)$/.test(rule) &&
      (digit === undefined || /[/-]/.test(rule))
    )
      found.set(rule, LEVELS[word ?? digit ?? ''] ?? 0)
  return found
}

/** `rustflags = ["-D", "warnings"]`, `filterwarnings = error`: settings that turn warnings into errors. */
function denialFindings({ path, before = '', after = '' }: DiffFile): DiffFinding[] {
  const denies = /-D["',\s]*warnings|-Werror|filterwarnings\s*=\s*\[?\s*["']?error|deny\(warnings\)/
  if (!denies.test(before) || denies.test(after)) return []
  return [block('config.loosened', `${path}: warnings are no longer errors.`, { file: path })]
}

/** `addopts = -k "not slow"` and the like. */
function flagFindings(file: DiffFile): DiffFinding[] {
  if (!/pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|\.mocharc|nextest\.toml|\.taprc|config\.toml/.test(file.path))
    return []
  const known = new Set(narrowingFlags(file.before ?? ''))
  return file.added.flatMap(({ line, text }) => {
    const flags = narrowingFlags(text.replace(/["']/g, ' ')).filter(flag => !known.has(flag))
    const isFilter =
      /^\s*(addopts|args|default-filter|filter|grep|forbid)\b/.test(text) ||
      /^\s+-/.test(text) ||
      /^\s*["']?--?\w/.test(text)
    const isMark = /-m\s*["']?\s*not\b/.test(text) && !/-m\s*["']?\s*not\b/.test(file.before ?? '')
    const isDefault = /^\s*default-filter\s*=.*not\b/.test(text)
    if ((flags.length === 0 || !isFilter) && !isMark && !isDefault) return []
    return [
      block('config.excluded', `${file.path} leaves tests out: ${text.trim().slice(0, 80)}`, { file: file.path, line }),
    ]
  })
}

/** The entries of a list under a key, in JSON, JavaScript, TOML, YAML or an ini file; undefined if there is no such key. */
function listUnder(text: string, key: string): Set<string> | undefined {
  const found = new Set<string>()
  let isThere = false
  const head = new RegExp(`^([ \\t]*)(?:.*[\\s{,])?["']?${key}["']?\\s*[:=]\\s*`, 'gm')
  for (const match of text.matchAll(head)) {
    if (/^\s*(#|\/\/)/.test(match[0])) continue
    isThere = true
    const rest = text.slice(match.index + match[0].length)
    for (const entry of rest.startsWith('[') ? bracketed(rest) : lined(rest, match[1]?.length ?? 0)) found.add(entry)
  }
  return isThere ? found : undefined
}

function bracketed(text: string): string[] {
  let depth = 0
  let end = 0
  for (; end < text.length; end++) {
    if (text[end] === '[') depth += 1
    if (text[end] === ']') depth -= 1
    if (depth === 0) break
  }
  const inner = text.slice(1, end).replace(/^\s*(#|\/\/).*$/gm, '')
  const quoted = [...inner.matchAll(/"([^"]*)"|'([^']*)'|`([^`]*)`/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
  return quoted.length > 0
    ? quoted
    : inner
        .split(',')
        .map(each => each.trim())
        .filter(Boolean)
}

/** `- a` below the key, or words after it and on more indented lines. */
function lined(text: string, indent: number): string[] {
  const [first = '', ...below] = text.split('\n')
  const entries = words(first)
  for (const line of below) {
    if (line.trim() === '' || /^\s*#/.test(line)) continue
    const depth = /^\s*/.exec(line)?.[0].length ?? 0
    const isItem = /^\s*-\s/.test(line)
    if (depth < indent || (depth === indent && !isItem)) break
    entries.push(...words(line.replace(/^\s*-\s*/, '')))
  }
  return entries
}

function words(line: string): string[] {
  return line
    .replace(/\s#.*$/, '')
    .split(/[,\s]+/)
    .map(each => each.replace(/^["'{]+|["'},]+$/g, ''))
    .filter(Boolean)
}
