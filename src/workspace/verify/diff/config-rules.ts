import { isObject, parseJson } from '../../../base/json.ts'
import { parseToml } from '../../../base/toml.ts'
import type { DiffFile } from './change.ts'
import { isCi, isTestFile, isTestSupport, isToolConfig, nameOf } from './file-kind.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

interface Bound {
  shape: RegExp
  /** The direction of change that lets more pass. */
  weaker: 'lower' | 'higher'
  finding: (text: string, at: { file: string }) => DiffFinding
  /** Whether it is searched in tests too, and not only in settings. */
  inTests?: true
}

const threshold = (text: string, at: { file: string }) => block('config.threshold', text, at)

/** Numbers that decide what passes. Group 1 is the key, group 2 the number. */
const BOUNDS: Bound[] = [
  {
    shape:
      /["']?\b(branches|functions|lines|statements|fail[_-]?under|cov-fail-under|minimum[_-]?coverage|min[_-]?coverage|coverage[_-]?threshold|coverageThreshold|test-coverage-(?:lines|branches|functions)|check-coverage|target|mutation[_-]?score|break|fail-under-lines|fail-uncovered-lines|minimumCoverage)["']?\s*[:= ]\s*["']?(\d+(?:\.\d+)?)/g,
    weaker: 'lower',
    finding: threshold,
  },
  {
    shape:
      /["']?\b(max-warnings|maxWarnings|max[_-]complexity|complexity|max-lines(?:-per-function)?|max-depth|max-params|max-statements|cognitive-complexity-threshold|cyclomatic-complexity|max[_-]line[_-]length|line-length|too-many-(?:lines|arguments)-threshold|max-args|max-branches|max-returns|max-locals|min-complexity|min-len|maxAllowedComplexity|gocyclo|threshold-tolerance|failureThreshold|maxDiffPixels|maxDiffPixelRatio|threshold)["']?\s*[:= ]\s*(?:\[\s*["']?\w+["']?\s*,\s*)?(?:\{\s*["']?max["']?\s*:\s*)?["']?(\d+(?:\.\d+)?)/g,
    weaker: 'higher',
    finding: threshold,
  },
  {
    shape:
      /\b(testTimeout|hookTimeout|test_timeout|--timeout|--test-timeout|-timeout|timeout|slow-timeout|jest\.setTimeout\(|setTimeout\(|this\.timeout\()\s*["']?\s*[:= ]?\s*["']?(\d[\d_]*)/g,
    weaker: 'higher',
    finding: (text, at) => note('test.timeout', text, at),
    inTests: true,
  },
  {
    shape:
      /\b(retries|retry|retryTimes\(|--retries|--retry|--reruns|reruns|flaky\(|test-retries)\s*["']?\s*[:= (]?\s*(?:max_runs\s*=\s*)?["']?(\d+)/g,
    weaker: 'higher',
    finding: (text, at) => note('test.retries', text, at),
    inTests: true,
  },
]

/** Thresholds that were changed so that more passes. */
export const thresholdRule: DiffRule = change =>
  change.files.flatMap(file => {
    if (file.kind !== 'text') return []
    const isConfig = isToolConfig(file.path) || isCi(file.path)
    const isTest = isTestFile(file.path, file.after) || isTestSupport(file.path)
    if (!isConfig && !isTest) return []
    return BOUNDS.filter(bound => isConfig || bound.inTests).flatMap(bound => boundFindings(bound, file))
  })

function boundFindings({ shape, weaker, finding }: Bound, file: DiffFile): DiffFinding[] {
  const before = numbersIn(file.before ?? '', shape)
  const after = numbersIn(file.after ?? '', shape)
  const at = { file: file.path }
  const findings: DiffFinding[] = []
  for (const [key, was] of before) {
    const now = after.get(key) ?? []
    const name = key.replace(/\($/, '')
    for (const [place, value] of was.entries()) {
      const next = now[place]
      if (next === undefined && weaker === 'lower' && now.length === 0 && file.status === 'modified') {
        findings.push(finding(`${file.path}: ${name} ${value} is gone: bring it back.`, at))
        break
      }
      if (next === undefined) continue
      if (weaker === 'lower' ? next < value : next > value) {
        findings.push(finding(`${file.path}: ${name} was ${value} and is ${next} now.`, at))
        break
      }
    }
  }
  if (weaker === 'higher')
    for (const [key, now] of after)
      if (!before.has(key) && /retr|rerun|flaky/i.test(key) && (now[0] ?? 0) > 0)
        findings.push(finding(`${file.path}: failing tests are tried again (${key.replace(/\($/, '')} ${now[0]}).`, at))
  return findings
}

function numbersIn(text: string, shape: RegExp): Map<string, number[]> {
  const found = new Map<string, number[]>()
  const plain = text.replace(/^\s*(#|\/\/).*$/gm, '')
  for (const [, key = '', number = ''] of plain.matchAll(shape)) {
    const value = Number(number.replaceAll('_', ''))
    found.set(key, [...(found.get(key) ?? []), value])
  }
  return found
}

/** Settings that change what a command runs: each row is a kind of file, and the lines in it that do so. */
const LAUNCHERS: [file: RegExp, line: RegExp][] = [
  [
    /(^|\/)\.yarnrc(\.yml)?$/,
    /^\s*["']?(yarnPath|yarn-path|script-shell|plugins)["']?\s*[:\s](?!\s*["']?\.?\/?\.yarn\/releases\/)/,
  ],
  [/(^|\/)\.cargo\/config(\.toml)?$/, /--cap-lints/],
  [
    /(^|\/)((GNU)?[Mm]akefile|[^/]+\.mk)$/,
    /^\s*(export\s+|override\s+)*SHELL\s*[:?]*=(?!\s*(\S*\/)?(env\s+)?(ba|z|da|k)?sh\b)/,
  ],
  [
    /(^|\/)((GNU)?[Mm]akefile|[^/]+\.mk)$/,
    /^\s*(\.IGNORE\s*:|(export\s+|override\s+)*MAKEFLAGS\s*[:?+]*=(.*--(ignore-errors|keep-going)|(\s*-?|.*\s-)[a-zA-Z]{0,6}[ik][a-zA-Z]{0,6}(\s|$)))/,
  ],
  [/(^|\/)\.env(\.[\w-]+)*$/, /^\s*(export\s+)?(NODE_OPTIONS|PYTEST_ADDOPTS|GOFLAGS|BASH_ENV|LD_PRELOAD)\s*=/],
]

/** Files that a tool reads instead of the one that a person wrote for it. */
const TAKES_PLACE = /^(GNUmakefile|makefile)$/

/** Where a test run by the project's own script reports its result. */
const RUNS_TESTS = /\b(unittest|pytest\.main|runCLI|new Mocha|node:test|subprocess\.\w+\(.*pytest)\b/
const TELLS = /\b(sys\.exit|os\._exit|raise SystemExit|process\.exit|process\.exitCode)\b/

/** Settings and files that make another program run instead of a check, or that hide the failure of a check. */
export const launcherRule: DiffRule = change =>
  change.files.flatMap(file => {
    if (file.kind !== 'text') return []
    return [...launched(file), ...launchedByKey(file), ...inPlace(file), ...untold(file)]
  })

function launched(file: DiffFile): DiffFinding[] {
  const lines = LAUNCHERS.filter(([path]) => path.test(file.path)).map(([, line]) => line)
  const known = new Set(file.removed.map(({ text }) => text.trim()))
  return file.added.flatMap(({ line, text }) => {
    if (known.has(text.trim()) || !lines.some(each => each.test(text))) return []
    const said = `${file.path} runs other programs instead of checks: ${text.trim().slice(0, 80)}`
    return [block('script.replaced', said, { file: file.path, line })]
  })
}

/** Keys of npm and cargo that name programs, however they are written: quoted, dotted or in a table in one line. */
function launchedByKey({ path, before = '', after = '' }: DiffFile): DiffFinding[] {
  const read = /(^|\/)\.npmrc$/.test(path)
    ? npmKeys
    : /(^|\/)\.cargo\/config(\.toml)?$/.test(path)
      ? cargoKeys
      : undefined
  if (read === undefined) return []
  const known = read(before)
  return [...read(after)].flatMap(([key, value]) =>
    known.get(key) === value
      ? []
      : [block('script.replaced', `${path} runs other programs instead of checks: ${key}`, { file: path })],
  )
}

/** npm takes quotes from keys, and puts variables into them: then nobody knows what is set. */
function npmKeys(text: string): Map<string, string> {
  const rows = text.split('\n').flatMap(line => {
    const [, written = '', value = ''] = /^([^=]*)=(.*)$/.exec(line) ?? []
    const trimmed = written.trim().replace(/\[\]$/, '')
    const quoted = trimmed.startsWith('"') ? parseJson(trimmed) : undefined
    const key = typeof quoted === 'string' ? quoted : trimmed.replace(/^'(.*)'$/, '$1').replaceAll('\\', '')
    return /^(script-shell|node-options)$/i.test(key) || key.includes('${') ? [[key, value.trim()] as const] : []
  })
  return new Map(rows)
}

function cargoKeys(text: string): Map<string, string> {
  const parsed = parseToml(text)
  const rows = parsed.ok ? listValues(parsed.table) : []
  return new Map(
    rows.filter(([key]) => /(^|\.)(runner|rustc|rustdoc|rustc-(workspace-)?wrapper|clippy|nextest)$/.test(key)),
  )
}

/** All values of a table, each with its keys joined by dots. A list is one value. */
function listValues(value: unknown, key = ''): [key: string, text: string][] {
  if (!isObject(value)) return [[key, JSON.stringify(value)]]
  return Object.entries(value).flatMap(([name, below]) => listValues(below, key === '' ? name : `${key}.${name}`))
}

/**
 * Checks run with what is installed. So a person looks at scripts that run while it is installed, and at packages that were there before and come
 * from another place now: either can put another test runner in the place of the real one.
 */
export const installRule: DiffRule = change =>
  change.files.flatMap(file => {
    if (file.kind !== 'text' || file.status === 'deleted') return []
    return /(^|\/)package\.json$/.test(file.path) ? inManifest(file) : inLock(file)
  })

const DURING_INSTALL = /^(pre|post)?(install|prepare|prepublish)$|^dependencies$/
const FROM_ELSEWHERE = /^(file:|link:|portal:|workspace:|git\b|github:|https?:|npm:|[.~]|\/|[\w-]+\/[\w.-]+(#|$))/

/** Test runners and checkers: as a package from elsewhere, each is another program. */
const RUNNERS =
  /^(jest|vitest|mocha|ava|tap|c8|nyc|eslint|typescript|@biomejs\/biome|oxlint|tsx|ts-jest|@jest\/\w+|@playwright\/test)$/

function inManifest({ path, before = '', after = '' }: DiffFile): DiffFinding[] {
  const [was, now] = [before, after].map(text => new Map(listValues(parseJson(text) ?? {})))
  return [...(now ?? [])].flatMap(([key, value]) => {
    if (was?.get(key) === value) return []
    const [section = '', ...rest] = key.split('.')
    const name = rest.join('.')
    const shown = `${name}: ${value.slice(0, 80)}`
    if (section === 'scripts' && DURING_INSTALL.test(name))
      return [forReview(path, `a script runs while packages are installed (${shown})`)]
    if (/^(overrides|resolutions|pnpm)$/.test(section)) return [forReview(path, `packages are replaced (${shown})`)]
    if (!/ependencies$/.test(section) || !FROM_ELSEWHERE.test(value.slice(1, -1))) return []
    const said = `${path} runs other programs instead of checks: ${shown}`
    if (RUNNERS.test(name)) return [block('script.replaced', said, { file: path })]
    return was?.has(key) ? [forReview(path, `a package comes from another place (${shown})`)] : []
  })
}

function forReview(path: string, text: string): DiffFinding {
  return { ...note('install.changed', `${path}: ${text}`, { file: path }), weight: 'review' }
}

/** Lines of other manifests and of lock files that take a package from a folder, a repository or an address. */
const OTHER_SOURCES: [file: RegExp, line: RegExp][] = [
  [/(^|\/)(package-lock|npm-shrinkwrap)\.json$/, /"link"\s*:\s*true|"resolved"\s*:\s*"(?!https:)/],
  [/(^|\/)(yarn|bun)\.lock$|(^|\/)pnpm-lock\.yaml$/, /\b(link|file|portal|git\+\w+|patch):/],
  [
    /(^|\/)[\w.-]*(requirements|constraints)[\w.-]*\.(txt|in)$/,
    /^\s*(-e|--editable|-i|--index-url|--extra-index-url|-f|--find-links)\b|@\s*(file:|git\+|https?:)|^\s*(\.{1,2}\/|file:|git\+|https?:)/,
  ],
  [
    /(^|\/)(pyproject\.toml|Pipfile|uv\.toml|pip\.conf)$/,
    /=\s*\{[^}]*\b(path|git|url|file)\s*=|^\s*(index|extra-index|find-links|index-url)\b[\w-]*\s*=|@\s*(file:|git\+|https?:)/,
  ],
  [
    /(^|\/)(poetry|uv|pdm)\.lock$/,
    /^\s*type\s*=\s*"(directory|file|git|url)"|\bsource\s*=\s*\{(?!\s*(registry\s*=\s*"https:|virtual\b|editable\s*=\s*"\."))/,
  ],
  [/(^|\/)go\.(mod|work)$/, /=>/],
  [/(^|\/)Cargo\.toml$/, /^\s*\[\s*(patch|replace)\b/],
  [/(^|\/)Gemfile$/, /\bgem\b.*\b(path|git|github)\b\s*(:|=>)/],
]

/** The server from which a lock file takes a package. */
const SERVER = /\b(?:resolved|tarball|resolution|registry|url)\b["']?\s*[:= ]\s*[^\n]{0,200}?https?:\/\/([^/\s"']+)\//g

function inLock({ path, before = '', after, added }: DiffFile): DiffFinding[] {
  const lines = OTHER_SOURCES.filter(([file]) => file.test(path)).map(([, line]) => line)
  if (lines.length === 0) return []
  const known = new Set(before.split('\n').map(line => line.trim()))
  const servers = new Set([...before.matchAll(SERVER)].map(([, host]) => host))
  const isElsewhere = (text: string) =>
    lines.some(line => line.test(text)) ||
    (servers.size > 0 && [...text.matchAll(SERVER)].some(([, host]) => !servers.has(host)))
  const found = added.find(({ text }) => !known.has(text.trim()) && isElsewhere(text))
  if (found) return [forReview(path, `a package comes from another place (${found.text.trim().slice(0, 80)})`)]
  const swapped = after === undefined ? undefined : swappedPackage(parseJson(before), parseJson(after))
  return swapped === undefined ? [] : [forReview(path, `${swapped} has the same version and other content`)]
}

/** A package of npm's lock file whose content is another one although its version is the same. */
function swappedPackage(before: unknown, after: unknown): string | undefined {
  const [was, now] = [before, after].map(lock => (isObject(lock) && isObject(lock['packages']) ? lock['packages'] : {}))
  return Object.entries(now ?? {}).find(([name, entry]) => {
    const old = was?.[name]
    if (!isObject(entry) || !isObject(old) || name === '') return false
    const isSame = entry['version'] === old['version']
    return isSame && ['resolved', 'integrity'].some(key => old[key] !== undefined && entry[key] !== old[key])
  })?.[0]
}

function inPlace(file: DiffFile): DiffFinding[] {
  if (file.status !== 'added' || !TAKES_PLACE.test(nameOf(file.path))) return []
  const text = `${file.path} is read instead of the Makefile: move its content there.`
  return [block('script.shim', text, { file: file.path })]
}

function untold({ path, status, before = '', after = '' }: DiffFile): DiffFinding[] {
  if (status !== 'modified' || !RUNS_TESTS.test(before) || !RUNS_TESTS.test(after)) return []
  if (!TELLS.test(before) || TELLS.test(after)) return []
  return [block('test.exit', `${path} runs tests and no longer reports whether they failed.`, { file: path })]
}

const TOOLS =
  /^(jest|vitest|mocha|ava|tap|c8|nyc|pytest|py\.test|_pytest|unittest|tox|nox|coverage|go|gotestsum|golangci-lint|cargo|nextest|cargo-nextest|rustc|npm|npx|pnpm|yarn|bun|node|tsx|tsc|eslint|biome|oxlint|ruff|flake8|mypy|pylint|make|python3?|git|sh|bash)(\.(sh|py|js|cjs|mjs|cmd|bat|ps1|exe))?$/
/** Paths at which a shell or an interpreter finds a file before the real tool. */
const FOUND =
  /^([^/]+|(\.?bin|scripts?|tools?|\.local\/bin|venv\/bin|\.venv\/bin|node_modules\/\.bin|test|tests|src)\/[^/]+|(_pytest|unittest|pytest)\/.*)$/

/** Files that replace a tool by having its name. */
export const shimRule: DiffRule = change =>
  change.files.flatMap(file => {
    const first = file.path.split('/')[0] ?? ''
    const isNamed = TOOLS.test(nameOf(file.path)) || /^(pytest|_pytest|unittest)$/.test(first)
    if (file.status !== 'added' || !isNamed || !FOUND.test(file.path) || /^makefile$/i.test(nameOf(file.path)))
      return []
    const text = `${file.path} has the name of a tool and may run instead of it: rename it, or remove it.`
    return [block('script.shim', text, { file: file.path })]
  })
