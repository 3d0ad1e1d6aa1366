import { nameOf } from '../change/file-kind.ts'
import { block, type DiffRule } from '../rules/rule.ts'

const TOOLS =
  /^(jest|vitest|mocha|ava|tap|c8|nyc|pytest|py\.test|_pytest|unittest|tox|nox|coverage|go|gotestsum|golangci-lint|cargo|nextest|cargo-nextest|rustc|npm|npx|pnpm|yarn|bun|node|tsx|tsc|eslint|biome|oxlint|ruff|flake8|mypy|pylint|make|python3?|git|sh|bash)(\.(sh|py|js|cjs|mjs|cmd|bat|ps1|exe))?$/
/** Where a shell or an interpreter finds a file before the real tool. */
const FOUND =
  /^([^/]+|(\.?bin|scripts?|tools?|\.local\/bin|venv\/bin|\.venv\/bin|node_modules\/\.bin|test|tests|src)\/[^/]+|(_pytest|unittest|pytest)\/.*)$/

/** Files that take the place of a tool by its name. */
export const shimRule: DiffRule = change =>
  change.files.flatMap(file => {
    const first = file.path.split('/')[0] ?? ''
    const isNamed = TOOLS.test(nameOf(file.path)) || /^(pytest|_pytest|unittest)$/.test(first)
    if (file.status !== 'added' || !isNamed || !FOUND.test(file.path) || /^makefile$/i.test(nameOf(file.path)))
      return []
    const text = `${file.path} is named like a tool and may run in its place: give it another name, or take it away.`
    return [block('script.shim', text, { file: file.path })]
  })
