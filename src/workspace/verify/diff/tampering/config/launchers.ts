import type { ChangedFile } from '../../change/change.ts'
import { nameOf } from '../../change/file-kind.ts'
import { block, type DiffFinding, type DiffRule } from '../../rules/rule.ts'

/** By what else than its own words a command runs: each row a kind of file, and lines of it that say so. */
const LAUNCHERS: [file: RegExp, line: RegExp][] = [
  [/(^|\/)\.npmrc$/, /^\s*(script-shell|node-options)\s*=/],
  [/(^|\/)\.yarnrc(\.yml)?$/, /^\s*"?(yarnPath|yarn-path|script-shell)"?[:\s]+(?!"?\.?\/?\.yarn\/releases\/)\S/],
  [/(^|\/)\.cargo\/config(\.toml)?$/, /^\s*(runner|rustc|rustdoc|rustc-(workspace-)?wrapper|clippy|nextest)\s*=/],
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
  [
    /(^|\/)package\.json$/,
    /^\s*"(jest|vitest|mocha|ava|tap|c8|nyc|eslint|typescript|@biomejs\/biome|oxlint|tsx|ts-jest|@jest\/\w+|@playwright\/test)"\s*:\s*"(file:|link:|portal:|git|https?:|npm:|\.{0,2}\/)/,
  ],
]

/** Files that a tool reads in place of the one that a person wrote for it. */
const TAKES_PLACE = /^(GNUmakefile|makefile)$/

/** Where a run of tests by a script of the project's own says how it went. */
const RUNS_TESTS = /\b(unittest|pytest\.main|runCLI|new Mocha|node:test|subprocess\.\w+\(.*pytest)\b/
const TELLS = /\b(sys\.exit|os\._exit|raise SystemExit|process\.exit|process\.exitCode)\b/

/** Settings and files by which another program runs in the place of a check, or a check's failure gets lost. */
export const launcherRule: DiffRule = change =>
  change.files.flatMap(file => {
    if (file.kind !== 'text') return []
    return [...launched(file), ...inPlace(file), ...untold(file)]
  })

function launched(file: ChangedFile): DiffFinding[] {
  const lines = LAUNCHERS.filter(([path]) => path.test(file.path)).map(([, line]) => line)
  const known = new Set(file.removed.map(({ text }) => text.trim()))
  return file.added.flatMap(({ line, text }) => {
    if (known.has(text.trim()) || !lines.some(each => each.test(text))) return []
    const said = `${file.path} has other programs run in the place of checks: ${text.trim().slice(0, 80)}`
    return [block('script.replaced', said, { file: file.path, line })]
  })
}

function inPlace(file: ChangedFile): DiffFinding[] {
  if (file.status !== 'added' || !TAKES_PLACE.test(nameOf(file.path))) return []
  const text = `${file.path} is read in place of a Makefile: put what it says into that.`
  return [block('script.shim', text, { file: file.path })]
}

function untold({ path, status, before = '', after = '' }: ChangedFile): DiffFinding[] {
  if (status !== 'modified' || !RUNS_TESTS.test(before) || !RUNS_TESTS.test(after)) return []
  if (!TELLS.test(before) || TELLS.test(after)) return []
  return [block('test.exit', `${path} runs tests and does not tell any more whether they failed.`, { file: path })]
}
