import type { DiffFile } from './change.ts'
import { isCi, isScriptFile, nameOf } from './file-kind.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

/** Commands with which people and machines check the work: in package.json, Makefiles, shell scripts, CI. */
export const scriptRule: DiffRule = change =>
  change.files.flatMap(file => {
    if (file.kind !== 'text') return []
    const named = namedFindings(file)
    const isCommands =
      isScriptFile(file.path) ||
      isCi(file.path) ||
      /^(tox\.ini|noxfile\.py|pyproject\.toml|setup\.cfg|package\.json|Dockerfile|docker-compose.*\.ya?ml)$/.test(
        nameOf(file.path),
      )
    return [...named, ...(isCommands ? lineFindings(file, named.length > 0) : []), ...noVerify(file)]
  })

/** Named scripts and targets, compared one by one. */
function namedFindings(file: DiffFile): DiffFinding[] {
  const before = namedCommands(file.path, file.before ?? '')
  if (before === undefined) return []
  const after = namedCommands(file.path, file.after ?? '') ?? new Map<string, string>()
  const now = new Set(after.values())
  return [...before].flatMap(([name, command]) => {
    if (!CHECK_NAME.test(name) && !CHECKS.test(command)) return []
    const next = after.get(name)
    const shown = `"${name}" of ${file.path}`
    if (next !== undefined)
      return compareCommand({ name: shown, file: file.path, before: command, after: next, others: after })
    // It still exists under another name.
    if (now.has(command) || (!CHECK_NAME.test(name) && [...now].some(each => CHECKS.test(each)))) return []
    return [block('script.replaced', `${shown} is gone: ${command.slice(0, 80)}`, { file: file.path })]
  })
}

/** Lines of a script: a check that can no longer fail, or was removed. */
function lineFindings(file: DiffFile, isTold: boolean): DiffFinding[] {
  const known = new Set(file.removed.map(({ text }) => text.trim()))
  const findings: DiffFinding[] = []
  for (const { line, text } of file.added) {
    const at = { file: file.path, line }
    if (known.has(text.trim())) continue
    if (
      /^\s*-?\s*["']?(continue-on-error|allow_failure|ignore_errors|continueOnError|ignore_outcome)["']?\s*[:=]\s*true/i.test(
        text,
      )
    )
      findings.push(block('script.silenced', `${file.path} hides the failure of a step: ${text.trim()}`, at))
    const silencer = silencerIn(text.replace(/["',]+\s*$/, ''))
    if (isTold || silencer === undefined) continue
    if (CHECKS.test(text) || (/set \+e/.test(text) && CHECKS.test(file.after ?? '')))
      findings.push(
        block('script.silenced', `A check in ${file.path} can no longer fail (${silencer}): remove that.`, at),
      )
    else if (/^\s*exit 0\s*$/.test(text) && CHECKS.test(file.after ?? '') && isScriptFile(file.path))
      findings.push(block('script.silenced', `${file.path} ends as if everything had passed.`, at))
  }
  const early = file.added.find(({ text }) => /^\s*exit 0\s*$/.test(text))
  if (early && !isTold && isScriptFile(file.path) && CHECKS.test(file.after ?? '') && findings.length === 0)
    findings.push(
      block('script.silenced', `${file.path} ends as if everything had passed.`, { file: file.path, line: early.line }),
    )
  return isTold || findings.length > 0 ? findings : goneLines(file)
}

function goneLines(file: DiffFile): DiffFinding[] {
  if (file.status !== 'modified' || namedCommands(file.path, '') !== undefined || /\.cfg$/.test(file.path)) return []
  const stops = /^\s*set -\w*e/m
  if (
    isScriptFile(file.path) &&
    stops.test(file.before ?? '') &&
    !stops.test(file.after ?? '') &&
    CHECKS.test(file.after ?? '')
  )
    return [
      block('script.silenced', `${file.path} goes on after a check that failed: bring "set -e" back.`, {
        file: file.path,
      }),
    ]
  const after = file.after ?? ''
  const gone = file.removed.find(({ text }) => {
    const tool = CHECKS.exec(text)?.[0]
    return tool !== undefined && !/^\s*(#|echo|-?\s*name:)/.test(text) && !uncommented(after).includes(tool)
  })
  if (gone === undefined) return []
  return [
    block('script.replaced', `${file.path} no longer runs a check: ${gone.text.trim().slice(0, 80)}`, {
      file: file.path,
    }),
  ]
}

function uncommented(text: string): string {
  return text
    .split('\n')
    .filter(line => !/^\s*(#|\/\/|- name:|name:|echo )/.test(line))
    .join('\n')
}

function noVerify(file: DiffFile): DiffFinding[] {
  const found = file.added.find(({ text }) =>
    /--no-verify\b|\bHUSKY=0\b|\bSKIP=\w+ git\b|core\.hooksPath[= ]\/dev\/null/.test(text),
  )
  if (found === undefined || /\.(md|rst|txt|adoc)$/.test(file.path) || file.before?.includes(found.text.trim()))
    return []
  const isRun = isScriptFile(file.path) || isCi(file.path) || nameOf(file.path) === 'package.json'
  if (!isRun) return []
  return [
    block('script.no-verify', `${file.path} bypasses hooks: ${found.text.trim().slice(0, 80)}`, {
      file: file.path,
      line: found.line,
    }),
  ]
}

interface Compared {
  /** The name that a person uses: `npm test`, `make lint`. */
  name: string
  file: string
  line?: number | undefined
  before: string
  after: string
  /** The commands behind other names, so that `npm run unit` is known to run something. */
  others: ReadonlyMap<string, string>
}

/** The findings about a change to a command that checks the work. */
function compareCommand({ name, file, line, before, after, others }: Compared): DiffFinding[] {
  if (before === after) return []
  const at = { file, ...(line === undefined ? {} : { line }) }
  const whole = withOthers(after, others)
  const silencer = silencerIn(after)
  if (silencer !== undefined && silencerIn(before) === undefined)
    return [block('script.silenced', `${name} can no longer fail (${silencer}): remove that.`, at)]
  if (isNothing(after)) return [block('script.replaced', `${name} no longer checks anything: ${shown(after)}`, at)]
  const lost = [...new Set(toolsIn(withOthers(before, others)))].filter(tool => !whole.includes(tool))
  const tools = toolsIn(whole)
  if (lost.length > 0) {
    // Replacing one runner by another is a migration; removing it is not.
    const isReplaced = tools.some(tool => !before.includes(tool))
    return isReplaced
      ? [note('script.replaced', `${name} runs something else: ${shown(after)}`, at)]
      : [block('script.replaced', `${name} no longer runs ${lost.join(', ')}: ${shown(after)}`, at)]
  }
  const narrowed = narrowingFlags(after).filter(flag => !narrowingFlags(before).includes(flag))
  if (narrowed.length > 0)
    return [block('config.excluded', `${name} leaves something out (${narrowed.join(' ')}): ${shown(after)}`, at)]
  const strict = [...before.matchAll(STRICT_FLAGS)].map(([flag]) => flag)
  const gone = strict.filter(flag => !whole.includes(flag) && !after.includes(flag.replace(/[= ].*$/, '')))
  if (gone.length > 0) return [block('config.loosened', `${name} is less strict: ${gone.join(' ')} is gone.`, at)]
  const files = operandFiles(after).filter(each => !operandFiles(before).includes(each))
  if (files.length > 0 && operandFiles(before).length === 0 && toolsIn(before).length > 0)
    return [block('config.excluded', `${name} checks only ${files.join(', ')}.`, at)]
  return []
}

function withOthers(command: string, others: ReadonlyMap<string, string>): string {
  const called = [
    ...command.matchAll(/(?:npm run|yarn|pnpm|bun run|npm-run-all|run-s|run-p|make|just)\s+([\w:.\- ]+)/g),
  ].flatMap(([, names = '']) => names.split(/\s+/).map(each => others.get(each) ?? ''))
  return [command, ...called].join(' ; ')
}

function isNothing(command: string): boolean {
  return /^\s*(@?(echo|printf)\b[^&|;]*|true|:|exit 0|node -e ["'].*["']|node --version|python3? -c ["'].*["']|sleep \d+|)\s*$/.test(
    command,
  )
}

/** Single files after a runner: `vitest run test/easy.test.ts`. */
function operandFiles(command: string): string[] {
  return command.match(/(?<=\s)[\w./-]+(\.test|\.spec|_test|\/test_\w+)\.[cm]?[a-z]{2,3}x?(::\w+)?(?=\s|$)/g) ?? []
}

function shown(command: string): string {
  return command.length > 100 ? `${command.slice(0, 97)}…` : command
}

/** Commands of a file by name; undefined for a kind of file without named commands. */
function namedCommands(path: string, text: string): Map<string, string> | undefined {
  const name = nameOf(path)
  if (name === 'package.json' || name === 'composer.json') return jsonScripts(text, 'scripts')
  if (/^deno\.jsonc?$/.test(name)) return jsonScripts(text, 'tasks')
  if (/^(GNU)?[Mm]akefile$|\.mk$|^[Jj]ustfile$/.test(name)) return targets(text)
  if (name === 'pyproject.toml' || name === 'tox.ini') return sections(text)
  return undefined
}

function jsonScripts(text: string, key: string): Map<string, string> {
  try {
    const found: unknown = (JSON.parse(text || '{}') as Record<string, unknown>)[key]
    if (typeof found !== 'object' || found === null) return new Map()
    return new Map(
      Object.entries(found).flatMap(([name, command]) => (typeof command === 'string' ? [[name, command]] : [])),
    )
  } catch {
    return new Map() // invalid JSON, which the build reports
  }
}

/** `test: deps` and the lines below it that begin with a tab. */
function targets(text: string): Map<string, string> {
  const found = new Map<string, string>()
  let name: string | undefined
  for (const line of text.split('\n')) {
    const head = /^([\w.:-]+)(?:\s+[\w=*+"']+)*\s*:(?!=)\s*(.*)$/.exec(line)
    if (head) {
      name = head[1] ?? ''
      const needs = (head[2] ?? '').replace(/#.*$/, '').trim()
      found.set(name, needs === '' ? '' : `make ${needs}`)
    } else if (name !== undefined && /^(\t| {2,})\S/.test(line)) {
      const command = line.trim().replace(/^@/, '')
      if (!command.startsWith('#')) found.set(name, [found.get(name), command].filter(Boolean).join(' && '))
    } else if (line.trim() !== '') name = undefined
  }
  return found
}

/** `commands = …` of tox, tasks of poe and taskipy. */
function sections(text: string): Map<string, string> {
  const found = new Map<string, string>()
  let section = ''
  let key: string | undefined
  for (const line of text.split('\n')) {
    const head = /^\[+([^\]]+)\]+\s*$/.exec(line)
    const pair = /^([\w.-]+)\s*=\s*(.*)$/.exec(line)
    if (head) {
      section = head[1] ?? ''
      key = undefined
    } else if (pair && /testenv|tox|poe|taskipy|pdm\.scripts|hatch.*scripts|rye\.scripts/.test(section)) {
      key = /^commands/.test(pair[1] ?? '') ? `test:${section}` : (pair[1] ?? '')
      if (
        /^(commands|[\w-]+)/.test(pair[1] ?? '') &&
        !/^(deps|passenv|setenv|description|envlist|skip_install|basepython|allowlist_externals)$/.test(pair[1] ?? '')
      )
        found.set(key, (pair[2] ?? '').replace(/^["']|["']$/g, '').trim())
      else key = undefined
    } else if (key !== undefined && /^\s+\S/.test(line))
      found.set(key, [found.get(key), line.trim()].filter(Boolean).join(' && '))
  }
  return found
}

/** Commands that check the work, and their names in scripts, targets and steps. */
const CHECKS =
  /\b(jest|vitest|mocha|ava|tap|node --test|playwright|cypress|karma|pytest|py\.test|unittest|tox|nox|go test|go vet|gotestsum|golangci-lint|staticcheck|cargo (test|nextest|clippy|check|fmt)|clippy|eslint|biome|oxlint|tsc|vue-tsc|ruff|flake8|mypy|pyright|pylint|black --check|prettier --check|prettier -c|stylelint|coverage|c8|nyc|codecov|npm (run )?(test|lint|check|typecheck|t\b)|npm t\b|(yarn|pnpm|bun) (run )?(test|lint|check|typecheck)|make (test|check|lint)|just (test|check|lint)|deno (test|lint|check)|bun test|rspec|phpunit|gradle\w* (test|check)|mvn (test|verify)|dotnet test|mix test|swift test|ctest)\b/

/** Names of scripts and targets that people rely on as checks. */
const CHECK_NAME =
  /^(pre|post)?(test|tests|lint|check|checks|typecheck|type-check|types|tsc|coverage|cover|cov|verify|validate|ci|e2e|unit|integration|build|format-check|format:check)([:._-][\w:.-]+)?$/

/** Additions that make a command succeed whatever it does. */
function silencerIn(command: string): string | undefined {
  return (
    /\|\|\s*(true|:|exit 0|\/bin\/true|echo\b[^|&;]*|\(exit 0\)|cd \.|ver>nul)\s*(\)|"|'|$|;|&&)/
      .exec(command)?.[0]
      ?.trim() ??
    /(;|&)\s*(true|exit 0|:)\s*(\)|"|'|$)/.exec(command)?.[0]?.trim() ??
    /--passWithNoTests\b|--pass-with-no-tests\b|--no-error-on-unmatched-pattern\b|--exit-zero\b|--no-fail\b|--allow-no-tests\b|--suppress-no-test-exit-code\b|--test-force-exit\b/.exec(
      command,
    )?.[0] ??
    /\bset \+e\b/.exec(command)?.[0] ??
    /(?<=\s)(-u|--updateSnapshot|--update-snapshots?|--snapshot-update|--inline-snapshot=\w+)(?=\s|$|"|')/.exec(
      command,
    )?.[0] ??
    /\bpython3? -O+ |PYTHONOPTIMIZE=|INSTA_UPDATE=(always|1)|INSTA_FORCE_PASS/.exec(command)?.[0] ??
    /^\s*-\s*(?=\$\(|npm|npx|node |deno |bun|pytest|go |cargo |yarn|pnpm|jest|vitest|mocha|eslint|biome|tsc|ruff|mypy|python)/
      .exec(command)?.[0]
      ?.trim() ??
    /\|\s*tee\b(?![\s\S]*pipefail)/.exec(command)?.[0]?.trim()
  )
}

/** Flags that exclude something from the check. */
const NARROWS =
  /(?<=\s)(--testPathIgnorePatterns|--testPathPatterns?|--testNamePattern|--test-name-pattern|--test-skip-pattern|--grep|-g|-t|-k|-m|--deselect|--ignore(-glob)?|--exclude|--skip|-run|-skip|--shard|--onlyChanged|-o|--changed|--bail|--lf|--last-failed|--sw|--maxfail|-x|--collect-only|--co|--listTests|--no-run|--lib|--bins|--related|--findRelatedTests|--dry-run|-short|-list)(?=[\s=]|$)/g

export function narrowingFlags(command: string): string[] {
  return [...` ${command}`.matchAll(NARROWS)]
    .map(([flag]) => flag)
    .filter(flag => !/^(--bail|-x|--maxfail|-m|-o|-t|-g)$/.test(flag) || isNarrowing(flag, command))
}

/** Short flags have other meanings for other programs. */
function isNarrowing(flag: string, command: string): boolean {
  if (flag === '-m') return /pytest.*\s-m\s+["']?not /.test(command)
  if (flag === '-t') return /\b(jest|vitest)\b.*\s-t\s/.test(command)
  if (flag === '-g') return /\bmocha\b.*\s-g\s/.test(command)
  if (flag === '-o') return /\bjest\b.*\s-o(\s|$)/.test(command)
  return false
}

/** Flags without which a checker lets more pass. */
const STRICT_FLAGS =
  /(--max-warnings[= ]\d+|-D warnings|--deny[= ][\w:-]+|-Werror|-W error|--strict\b|--fail-under[= ]\d+|--cov-fail-under[= ]\d+|--error-on-warnings|-race\b|--locked\b|--frozen-lockfile|--check\b|--noEmit\b|--all-targets|--workspace\b|--all-features|\.\/\.\.\.|set -e\b|-o pipefail|--exit-code|--coverage\b|--no-cache\b)/g

/** The tools that a line of commands runs. */
function toolsIn(command: string): string[] {
  return [...command.matchAll(new RegExp(CHECKS, 'g'))].map(([tool]) => tool)
}
