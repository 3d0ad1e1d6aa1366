import { AGENT_DEFINITIONS } from '../../domain/agents/agent-registry.ts'
import { LOCK_FILE } from '../../domain/package-managers.ts'
import { foldName } from './wildcard.ts'

export interface SteeringRisk {
  code:
    | 'path.guard'
    | 'path.git'
    | 'path.startup'
    | 'path.hook'
    | 'path.ci'
    | 'path.runs'
    | 'path.lock'
    | 'path.instructs'
    | 'path.tool-config'
  risk: 'MEDIUM' | 'HIGH'
  why: string
}

const GUARD: SteeringRisk = { code: 'path.guard', risk: 'HIGH', why: 'it steers the agent or its guard' }
const GIT: SteeringRisk = {
  code: 'path.git',
  risk: 'HIGH',
  why: "it is git's own: hooks and settings there run programs",
}
const STARTUP: SteeringRisk = {
  code: 'path.startup',
  risk: 'HIGH',
  why: 'it runs by itself when a shell, login or editor starts',
}
const HOOK: SteeringRisk = {
  code: 'path.hook',
  risk: 'HIGH',
  why: 'it is run by other programs without being asked for',
}
const CI: SteeringRisk = { code: 'path.ci', risk: 'MEDIUM', why: 'it runs elsewhere with secrets at hand' }
const RUN: SteeringRisk = {
  code: 'path.runs',
  risk: 'MEDIUM',
  why: 'a tool runs it, or runs what it says, at its next start',
}
const LOCK: SteeringRisk = {
  code: 'path.lock',
  risk: 'MEDIUM',
  why: 'what it names is installed unasked, so its package manager writes it',
}
const INSTRUCTS: SteeringRisk = {
  code: 'path.instructs',
  risk: 'MEDIUM',
  why: 'every later agent follows what it says',
}
const TOOL: SteeringRisk = {
  code: 'path.tool-config',
  risk: 'HIGH',
  why: 'it says where packages come from or which programs run',
}

/** The settings folders of the agents that pcc knows, and of others, without the dot. */
const OWN_FOLDERS = AGENT_DEFINITIONS.map(({ settingsFolder }) => settingsFolder.slice(1))
const AGENT_FOLDERS = [
  ...OWN_FOLDERS,
  ...['cursor', 'windsurf', 'continue', 'aider', 'roo', 'cline', 'clinerules', 'kiro', 'amazonq'],
].join('|')
const AGENT_SETTINGS =
  /settings.*|hooks(\/.*|\.json)?|config\..*|\.credentials.*|(commands|agents|plugins|skills|rules|output-styles|workflows|steering)(\/.*)?|mcp\.json|[^/]+\.(py|rb|pl|php|ps1|(ba|z)?sh|[cm]?[jt]s)/
    .source

/** What an agent runs unasked wherever it finds it. */
const AGENT_HOOKS = AGENT_DEFINITIONS.flatMap(({ start }) => start.runsUnasked ?? []).map(path => RegExp.escape(path))

/** Patterns for the whole folded path, which begins with a slash. The first match counts. */
const STEERING: [RegExp, SteeringRisk][] = [
  [/\/\.perpetualcc(\.toml|\/)?/, GUARD],
  // The folder itself counts too: a file that is copied into it keeps its own name.
  [new RegExp(`/\\.(${AGENT_FOLDERS})(/(${AGENT_SETTINGS}))?$`), GUARD],
  [/\/(\.mcp\.json|\.claude\.json|\.cursorrules|\.aider\.conf\.yml|managed-settings\.json)$/, GUARD],
  // Settings of an agent under its own name, beside the files of the project.
  [new RegExp(`/\\.?(${OWN_FOLDERS.join('|')})\\.jsonc?$`), GUARD],
  [new RegExp(`/(${AGENT_HOOKS.join('|')})(/|$)`), HOOK],
  [/\/\.git(\/|$)/, GIT],
  [/\/git~\d+(\/|$)/, GIT],
  [/\/\.(gitconfig|gitmodules|gitattributes)$/, GIT],
  [/\/\.config\/git(\/|$)/, GIT],
  [/\/(\.husky|\.?git[-_]?hooks)(\/|$)/, HOOK],
  // git runs a file of such a name in whichever folder it is told to look.
  [
    /\/((pre|post)-(commit|merge-commit|merge|checkout|rebase|rewrite|push|receive|update|applypatch|auto-gc)|(prepare-)?commit-msg|applypatch-msg)(\.(sh|bash|py|[cm]?js))?$/,
    RUN,
  ],
  [/\/\.(ba|z|k|tc|c|da|fi)?sh(rc|env)$/, STARTUP],
  [
    /\/\.(bash_profile|bash_login|bash_logout|bash_aliases|zprofile|zlogin|zlogout|zshenv|profile|login|logout|inputrc|xprofile|xinitrc|xsession|xsessionrc|pam_environment|vimrc|exrc|nanorc|emacs|tmux\.conf|screenrc|gdbinit|lldbinit|pythonrc|pythonstartup|irbrc|pryrc|psqlrc|sqliterc|rprofile|curlrc|wgetrc|lesskey|ackrc|direnvrc|hushlogin|envrc|nvimrc|nvim\.lua|dir-locals\.el|rvmrc)$/,
    STARTUP,
  ],
  [
    /\/(\.config\/(fish|autostart|systemd|nvim|environment\.d|direnv)|\.local\/(bin|share\/(applications|systemd))|\.emacs\.d|\.vim|\.oh-my-zsh|library\/launch(agents|daemons)|\.config\/upstart)(\/|$)/,
    STARTUP,
  ],
  [/\/(crontab|cron\.(d|daily|hourly|weekly|monthly)(\/.*)?|authorized_keys2?|rc\.local|ld\.so\.preload)$/, STARTUP],
  [/\/\.vscode(\/(tasks|settings|launch|extensions)\.json)?$/, HOOK],
  [/\/\.zed(\/(tasks|settings|debug)\.json)?$/, HOOK],
  [/\/\.idea(\/(runconfigurations(\/.*)?|workspace\.xml|externaldependencies\.xml))?$/, HOOK],
  [/\/\.devcontainer(\/|\.json$|$)/, HOOK],
  [/\/(lefthook\.ya?ml|\.lefthook\.ya?ml|\.pre-commit-config\.yaml|\.lintstagedrc.*)$/, CI],
  [/\/\.(npmrc|yarnrc|yarnrc\.yml|pnpmrc|pypirc|condarc|gemrc|bowerrc)$/, TOOL],
  [
    /\/(\.pnpmfile\.cjs|pip\.conf|pip\.ini|\.cargo(\/config(\.toml)?)?|\.yarn\/(plugins|releases)(\/.*)?|sitecustomize\.py|usercustomize\.py|[^/]*\.pth)$/,
    TOOL,
  ],
  [/\/(node_modules\/\.bin|\.?venv\/(bin|scripts)|vendor\/bin)(\/|$)/, RUN],
  // Installed packages: what is in them is run by everything that loads them.
  [/\/(node_modules\/(?!\.(cache|vite)(\/|$))|\.?venv\/lib|site-packages\/|vendor\/(composer|bundle)\/)/, RUN],
  [LOCK_FILE, LOCK],
  [
    /\/(gradlew(\.bat)?|mvnw(\.cmd)?|\.mvn(\/.*)?|gradle\/wrapper(\/.*)?|init\.gradle(\.kts)?|\.bazelrc|\.bazeliskrc|\.bazelversion|tools\/bazel|bunfig\.toml|\.sbtopts|\.jvmopts|\.?mise\.toml|nuget\.config|\.bundle\/config|\.corepack\.env)$/,
    RUN,
  ],
  [
    /\/(\.overcommit\.yml|\.rultor\.yml|\.lefthook-local\.yml|lefthook-local\.yml|\.simple-git-hooks\.(json|[cm]?js)|simple-git-hooks\.(json|[cm]?js)|\.pre-commit-hooks\.yaml|captainhook\.json|grumphp\.ya?ml|\.tool-versions|\.config\/(dotnet-tools\.json|mise.*)|(lint-staged|commitlint|release|semantic-release)\.config\.[cm]?[jt]s|\.(commitlintrc|releaserc|release-it|versionrc|czrc|goreleaser)(\.\w+)?|goreleaser\.ya?ml)$/,
    RUN,
  ],
  [
    /\/(\.fleet(\/.*)?|\.nova(\/.*)?|\.run(\/.*)?|\.sublime-project|[^/]*\.sublime-(project|build)|[^/]*\.code-workspace|\.vs(\/.*)?|\.helix(\/.*)?|\.lapce(\/.*)?|\.nvim(\/.*)?|\.exrc|\.projectile|\.gitpod\.yml|\.stackblitzrc|\.replit|\.idx(\/.*)?|codemagic\.yaml)$/,
    RUN,
  ],
  [/\/(setup\.py|build\.rs|bin\/(rails|rake|bundle|setup|dev|console|spring|yarn|webpack|importmap|jobs))$/, RUN],
  [new RegExp(`/((${AGENT_FOLDERS}|agents)\\.md|[\\w-]+-instructions\\.md|\\.goosehints)$`), INSTRUCTS],
  [/\/\.github(\/(workflows|actions)(\/|$)|$)/, CI],
  [
    /\/(\.gitlab-ci\.ya?ml|\.travis\.yml|jenkinsfile|azure-pipelines\.ya?ml|bitbucket-pipelines\.yml|\.drone\.yml|cloudbuild\.ya?ml|appveyor\.yml|\.appveyor\.yml|\.cirrus\.(yml|star)|\.semaphore(\/.*)?|\.gitea(\/.*)?|\.forgejo(\/.*)?|\.gitlab(\/.*)?|\.harness(\/.*)?|\.sourcehut(\/.*)?|\.build\.yml|\.builds(\/.*)?|wercker\.yml|bitrise\.yml|screwdriver\.yaml|\.tekton(\/.*)?|concourse\.yml|buddy\.yml|\.circleci(\/.*)?|\.buildkite(\/.*)?|\.teamcity(\/.*)?|\.woodpecker.*|buildspec\.ya?ml|codeowners|dependabot\.ya?ml|renovate\.json5?|\.?ci\/(.*\/)?[^/]+\.(sh|bash|ya?ml|groovy)|fly\.toml|render\.ya?ml|railway\.(json|toml))$/,
    CI,
  ],
]

/** How writing this file steers programs that run later; `undefined` if it is an ordinary file. */
export function findSteering(path: string): SteeringRisk | undefined {
  const folded = `/${path.split('/').filter(Boolean).map(foldName).join('/')}`
  for (const [shape, steering] of STEERING) if (shape.test(folded)) return steering
  return undefined
}

const SCRIPTS = ['js', 'cjs', 'mjs', 'ts', 'mts']

/**
 * Files of which a tool takes the first that is there, each with what says that a file for other things counts too: a new one before the others
 * takes their place without a word about it.
 */
const IN_ORDER: readonly (readonly [names: readonly string[], section?: RegExp])[][] = [
  [[['GNUmakefile']], [['makefile']], [['Makefile']]],
  [
    [['pytest.ini', '.pytest.ini']],
    [['pyproject.toml'], /\[tool\.pytest/],
    [['tox.ini'], /\[pytest\]/],
    [['setup.cfg'], /\[tool:pytest\]/],
  ],
  [[['mypy.ini', '.mypy.ini']], [['pyproject.toml'], /\[tool\.mypy/], [['setup.cfg'], /\[mypy/]],
  [[['.ruff.toml']], [['ruff.toml']], [['pyproject.toml'], /\[tool\.ruff/]],
  [[['.coveragerc']], [['setup.cfg', 'tox.ini'], /\[coverage:/], [['pyproject.toml'], /\[tool\.coverage/]],
  [[['.flake8']], [['setup.cfg', 'tox.ini'], /\[flake8\]/]],
  [[['compose.yaml']], [['compose.yml']], [['docker-compose.yml']], [['docker-compose.yaml']]],
  [[SCRIPTS.map(end => `vitest.config.${end}`)], [SCRIPTS.map(end => `vite.config.${end}`), /\btest\s*:/]],
  [
    [SCRIPTS.map(end => `eslint.config.${end}`)],
    [['', '.js', '.cjs', '.json', '.yml', '.yaml'].map(end => `.eslintrc${end}`)],
    [['package.json'], /"eslintConfig"\s*:/],
  ],
  [[[...SCRIPTS, 'json'].map(end => `jest.config.${end}`)], [['package.json'], /"jest"\s*:\s*\{/]],
  [[['.mocharc.js', '.mocharc.cjs']], [['.mocharc.yaml', '.mocharc.yml', '.mocharc.json', '.mocharc.jsonc']]],
  [[['biome.json']], [['biome.jsonc']]],
  [[['.golangci.yml']], [['.golangci.yaml']], [['.golangci.toml', '.golangci.json']]],
  [[['phpunit.xml']], [['phpunit.xml.dist']]],
  [[['phpstan.neon']], [['phpstan.neon.dist']]],
  [[['Taskfile.yml', 'taskfile.yml', 'Taskfile.yaml']], [['Taskfile.dist.yml', 'Taskfile.dist.yaml']]],
  [[['justfile', 'Justfile']], [['.justfile']]],
]

/** Which file of its folder a new file takes the place of; `read` gives the text of a file there. */
export function findShadowed(path: string, read: (name: string) => string | undefined): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  for (const rows of IN_ORDER) {
    const place = rows.findIndex(([names]) => names.includes(name))
    if (place < 0) continue
    for (const [names, section = /^/] of rows.slice(place + 1))
      for (const other of names) if (section.test(read(other) ?? '') && read(other) !== undefined) return other
  }
  return undefined
}

/** A module of Python that every script beside it would load. */
export const SHADOWS =
  /^\/tmp\/(json|re|os|sys|math|csv|ast|time|random|datetime|collections|itertools|functools|pathlib|typing|string|struct|hashlib|uuid|io|enum|copy|decimal|statistics|textwrap|dataclasses|subprocess|yaml|numpy|pandas)(\/__init__)?\.py$/
