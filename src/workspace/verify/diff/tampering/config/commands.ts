/** Commands that check the work, and words for them in names of scripts, targets and steps. */
export const CHECKS =
  /\b(jest|vitest|mocha|ava|tap|node --test|playwright|cypress|karma|pytest|py\.test|unittest|tox|nox|go test|go vet|gotestsum|golangci-lint|staticcheck|cargo (test|nextest|clippy|check|fmt)|clippy|eslint|biome|oxlint|tsc|vue-tsc|ruff|flake8|mypy|pyright|pylint|black --check|prettier --check|prettier -c|stylelint|coverage|c8|nyc|codecov|npm (run )?(test|lint|check|typecheck|t\b)|npm t\b|(yarn|pnpm|bun) (run )?(test|lint|check|typecheck)|make (test|check|lint)|just (test|check|lint)|deno (test|lint|check)|bun test|rspec|phpunit|gradle\w* (test|check)|mvn (test|verify)|dotnet test|mix test|swift test|ctest)\b/

/** Names of scripts and targets that a person trusts to check. */
export const CHECK_NAME =
  /^(pre|post)?(test|tests|lint|check|checks|typecheck|type-check|types|tsc|coverage|cover|cov|verify|validate|ci|e2e|unit|integration|build|format-check|format:check)([:._-][\w:.-]+)?$/

/** What makes a command succeed whatever it does. */
export function silencerIn(command: string): string | undefined {
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

/** Flags that leave out some of what would be checked. */
const NARROWS =
  /(?<=\s)(--testPathIgnorePatterns|--testPathPatterns?|--testNamePattern|--test-name-pattern|--test-skip-pattern|--grep|-g|-t|-k|-m|--deselect|--ignore(-glob)?|--exclude|--skip|-run|-skip|--shard|--onlyChanged|-o|--changed|--bail|--lf|--last-failed|--sw|--maxfail|-x|--collect-only|--co|--listTests|--no-run|--lib|--bins|--related|--findRelatedTests|--dry-run|-short|-list)(?=[\s=]|$)/g

export function narrowingFlags(command: string): string[] {
  return [...` ${command}`.matchAll(NARROWS)]
    .map(([flag]) => flag)
    .filter(flag => !/^(--bail|-x|--maxfail|-m|-o|-t|-g)$/.test(flag) || isNarrowing(flag, command))
}

/** Short flags mean other things to other programs. */
function isNarrowing(flag: string, command: string): boolean {
  if (flag === '-m') return /pytest.*\s-m\s+["']?not /.test(command)
  if (flag === '-t') return /\b(jest|vitest)\b.*\s-t\s/.test(command)
  if (flag === '-g') return /\bmocha\b.*\s-g\s/.test(command)
  if (flag === '-o') return /\bjest\b.*\s-o(\s|$)/.test(command)
  return false
}

/** Flags without which a checker lets more pass. */
export const STRICT_FLAGS =
  /(--max-warnings[= ]\d+|-D warnings|--deny[= ][\w:-]+|-Werror|-W error|--strict\b|--fail-under[= ]\d+|--cov-fail-under[= ]\d+|--error-on-warnings|-race\b|--locked\b|--frozen-lockfile|--check\b|--noEmit\b|--all-targets|--workspace\b|--all-features|\.\/\.\.\.|set -e\b|-o pipefail|--exit-code|--coverage\b|--no-cache\b)/g

/** The tools that a line of commands runs. */
export function toolsIn(command: string): string[] {
  return [...command.matchAll(new RegExp(CHECKS, 'g'))].map(([tool]) => tool)
}
