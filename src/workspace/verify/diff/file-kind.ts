import { languageOf as grammarOf } from '../../../base/syntax/languages.ts'
import { LOCK_FILE } from '../../../domain/package-managers.ts'

/** Languages whose tests are read one by one. */
export type Language = (typeof TESTED)[number]

const TESTED = ['javascript', 'python', 'go', 'rust', 'java', 'kotlin', 'csharp', 'ruby', 'php', 'swift', 'c'] as const
/** Grammars of one language under another name. */
const SAME: Record<string, Language> = {
  TypeScript: 'javascript',
  Tsx: 'javascript',
  JavaScript: 'javascript',
  cpp: 'c',
}

/** The language of a file, by its name. */
export function languageOf(path: string): Language | undefined {
  if (/\.(vue|svelte)$/i.test(path)) return 'javascript'
  const name = grammarOf(path.toLowerCase())?.name ?? ''
  return SAME[name] ?? TESTED.find(each => each === name)
}

/** Whether a runner treats the file as a test file. In Rust every file may contain tests, which only its text shows. */
export function isTestFile(path: string, text = ''): boolean {
  const name = nameOf(path)
  switch (languageOf(path)) {
    case 'javascript':
      if (/[._-](test|tests|spec|e2e|cy)\.[cm]?[jt]sx?$/i.test(name) || /^test\.[cm]?[jt]s$/.test(name)) return true
      return /(^|\/)(__tests__|tests?|specs?)\//.test(path) && JS_TESTS.test(text)
    case 'python':
      return /^(test_.*|.*_test|tests)\.py$/.test(name)
    case 'go':
      return /_test\.go$/.test(name)
    case 'rust':
      return /(^|\/)tests\//.test(path) || /#\s*\[\s*(cfg\s*\(\s*test|test\b|[\w:]+::test\b|rstest)/.test(text)
    default:
      return isNamedTest(path) && !DATA.test(name) && !isDocument(path) && !isToolConfig(path)
  }
}

/** Whether a file is called as runners of most languages expect of a test, or as what a test reads (`test.json`). */
export function isNamedTest(path: string): boolean {
  return (
    /(^|[._-])tests?([._-]|$)|(^|[._-])specs?\.|(Tests?|TestCase|Spec|[a-z\d]IT)\.\w+$|^Test[A-Z_]\w*\.\w+$|\.bats$/.test(
      nameOf(path),
    ) && /\.\w+$/.test(path)
  )
}

/** Files of data and of programs around the tests: an entry less in one of them is no test less. */
const DATA =
  /^(\.|(Docker|Container)file)|\.(jsonc?|json5|ya?ml|toml|xml|ini|conf|cfg|properties|env|[ct]sv|html?|css|svg|lock|snap)$/i

const JS_TESTS = /\b(describe|test|it|suite)(\.\w+)*\s*\(/

/** Whether a file belongs to tests without containing any: helpers, fixtures, set-up, snapshots. */
export function isTestSupport(path: string): boolean {
  return (
    /(^|\/)(__tests__|__mocks__|__fixtures__|tests?|testing|specs?|fixtures?|testdata|test-?utils?|e2e|cypress|mocks?)\//i.test(
      path,
    ) ||
    /(^|\/)conftest\.py$/.test(path) ||
    /(^|\/)(jest|vitest|test|tests)[.-]?(setup|helpers?|env|support|utils?)[^/]*$/i.test(path) ||
    /[._-](fixture|mock|stub)s?\.[a-z]+$/i.test(path) ||
    /(^|\/)setup-?tests?\.[cm]?[jt]sx?$/i.test(path)
  )
}

/** Files with the expectations of tests: a runner writes them when it is told to. */
export function isSnapshot(path: string): boolean {
  return (
    /(^|\/)__snapshots__\//.test(path) ||
    /(^|\/)snapshots\/[^/]+$/.test(path) ||
    /\.(snap|snapshot|ambr|golden|approved\.\w+|expected)$/.test(path) ||
    /(^|\/)(testdata|golden|goldens|expected)\/.*\.(golden|txt|json|html|out|svg|ya?ml|stdout|stderr)$/.test(path)
  )
}

/** Generated files, which nobody reads line by line. */
export function isGenerated(path: string): boolean {
  return (
    LOCK_FILE.test(path) ||
    isSnapshot(path) ||
    /(^|\/)(dist|vendor|third_party|node_modules)\/|\.min\.(js|css)$|\.map$|\.pb\.go$|_pb2\.py$|\.generated\./.test(
      path,
    )
  )
}

/** Documents, which do not change what a program does. */
export function isDocument(path: string): boolean {
  return /\.(md|mdx|rst|adoc|txt)$/i.test(path) || /(^|\/)(docs?|LICENSE|CHANGELOG|README)[^/]*$/i.test(path)
}

/** Whether a change of the file can change what the program does: it is neither test nor document nor lock file. */
export function isProductCode(path: string, text = ''): boolean {
  if (isDocument(path) || LOCK_FILE.test(path) || isSnapshot(path) || isTestSupport(path) || isToolConfig(path))
    return false
  return languageOf(path) === 'rust' ? !/(^|\/)tests\//.test(path) : !isTestFile(path, text)
}

/** Settings of runners, linters, type checkers and builds: of the manifests those in which tools keep their settings. */
export function isToolConfig(path: string): boolean {
  const name = nameOf(path)
  return (
    /^(package|tsconfig.*|jsconfig|biome|deno|turbo|nx|lerna|\.?eslintrc|\.?jshintrc|\.swcrc|\.babelrc|\.nycrc|\.c8rc|\.mocharc|\.taprc|renovate)\.(jsonc?|json5)$/.test(
      name,
    ) ||
    /^(jest|vitest|vite|karma|playwright|cypress|ava|eslint|stylelint|prettier|wdio|stryker|babel|mocha|nyc|c8|tap|rollup|webpack)\.(config|conf|workspace)(\.[\w-]+)*$/.test(
      name,
    ) ||
    /^\.(eslintrc|eslintignore|stylelintrc|prettierrc|mocharc|nycrc|c8rc|coveragerc|flake8|pylintrc|golangci|rubocop|swcrc|babelrc|taprc|codecov)(\.[\w-]+)*$/.test(
      name,
    ) ||
    /^(pytest\.ini|tox\.ini|setup\.cfg|noxfile\.py|pyproject\.toml|mypy\.ini|\.mypy\.ini|ruff\.toml|\.ruff\.toml|pyrightconfig\.json|Cargo\.toml|clippy\.toml|\.clippy\.toml|nextest\.toml|rustfmt\.toml|go\.mod|codecov\.ya?ml|\.codecov\.ya?ml|sonar-project\.properties|pom\.xml|phpunit(\.dist)?\.xml(\.dist)?|\.rspec)$/.test(
      name,
    ) ||
    /(^|\/)\.(cargo|config)\/[^/]+\.toml$/.test(path) ||
    isScriptFile(path)
  )
}

/** Files with commands that a person or a machine runs to check the work. */
export function isScriptFile(path: string): boolean {
  return (
    /^(GNU)?[Mm]akefile$|\.mk$|^[Jj]ustfile$|^Taskfile\.ya?ml$|^Rakefile$|^Procfile$|^build\.(gradle(\.kts)?|xml|sbt)$|\.(sh|bash|zsh|fish|ps1|bat|cmd)$/.test(
      nameOf(path),
    ) || /(^|\/)(lefthook\.ya?ml|\.pre-commit-config\.yaml|\.husky\/[^/]+)$/.test(path)
  )
}

/** Files that run on somebody else's machine with access to secrets. */
export function isCi(path: string): boolean {
  return (
    /^\.github\/(workflows|actions)\//.test(path) ||
    /(^|\/)(\.gitlab-ci\.ya?ml|\.travis\.yml|Jenkinsfile|azure-pipelines\.ya?ml|bitbucket-pipelines\.yml|\.drone\.yml|cloudbuild\.ya?ml|appveyor\.yml|buildspec\.ya?ml|\.cirrus\.yml|CODEOWNERS)$/i.test(
      path,
    ) ||
    /^\.(circleci|buildkite|teamcity|woodpecker|gitlab|forgejo|gitea|ci)\//.test(path)
  )
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
