import { resolve } from 'node:path'
import type { ProgramCall, ProgramRule, ProgramRules } from '../classify/call.ts'
import { wasWritten } from '../classify/judge-file.ts'
import { type Arg, deriveArg, findFlag, findOperands, HOLE, isFlag } from '../shell/args.ts'
import { cargo } from './compilers.ts'
import { isInstalled, judgeUnlisted, judgeUnlistedProgram, judgeUpdate } from './lock-files.ts'
import { judgeRemoved, type Manager, manager, namesOwnPackage } from './package-commands.ts'
import { pytest, python } from './python-packages.ts'
import { named, verbs } from './rule-builders.ts'
import { judgeInline, judgeToolWords } from './run-code.ts'
import { judgeStep } from './step-names.ts'

const NODE_HIGH: [RegExp, string][] = [
  [
    /^(publish|unpublish|deprecate|undeprecate|dist-tag (add|rm|set|remove)|owner (add|rm)|npm (publish|tag|owner)|stage|trust)\b/,
    'publishes or withdraws packages',
  ],
  [/^(token|npm token)\b/, 'handles the tokens of the registry'],
  [
    /^(config|c) (set|delete|rm|edit|fix)\b.*(registry|auth|token|_password|script-shell|prefix|node-options|proxy|ca|strict-ssl|\/\/)/i,
    'changes where packages come from or who it logs in as',
  ],
  [/^config (delete|rm) /, 'changes settings'],
]

const NODE_FLAGS =
  /^(--(no-browser|workspaces?|if-present|silent|save(-dev|-exact|-optional|-peer|-prod|-bundle)?|no-save|dev|exact|optional|peer|prod|production|omit|include|legacy-peer-deps|strict-peer-deps|json|depth|all|long|parseable|no-audit|audit|no-fund|fund|prefer-offline|prefer-online|offline|loglevel|verbose|quiet|color|no-color|progress|no-progress|ignore-scripts|dry-run|package-lock-only|no-package-lock|frozen-lockfile|no-frozen-lockfile|immutable|audit-level|recursive|filter|parallel|stream|if-present|no-bail|bail|reporter|watch|coverage|ci|version|help|latest|production|non-interactive|network-timeout|no-optional|no-lockfile|topological(-dev)?|interlaced|jobs|since|aggregate-output|sort|no-sort|resume-from|include-workspace-root|lockfile-only|fix-lockfile|mode|inline-builds|check-cache|check-files|pure-lockfile|strict|interactive|no-interactive|check|fix|bun|hot|smol|timeout|only|only-failures|rerun-each|todo|env-file-if-exists|yes|no-git-tag-version)(=.*)?|-[wsyDSEOPBadqrFvhCWTRiAptLj?]+|-dd+|-r\d*)$/

const npm: Manager = {
  low: /^(test|t|tst|it|cit|install-test|start|stop|restart|ls|list|ll|la|view|info|show|v|outdated|audit( fix)?|explain|why|root|prefix|bin|ping|search|s|se|find|fund|doctor|docs|home|repo|bugs|issues|query|sbom|help|help-search|completion|whoami|version|diff|config (get|list|ls)|c (get|list|ls)|get|cache (ls|verify)|pack|dist-tag ls|licenses|pkg get)( |$)/,
  installs:
    /^(install|i|in|ins|inst|isntall|add|ci|clean-install|update|up|upgrade|udpate|dedupe|ddp|prune|uninstall|un|remove|rm|r|unlink|import|fetch)( |$)/,
  runs: /^(run|run-script|rum|urn)( |$)/,
  fetches: /^(exec|x|create|init|dlx)( |$)/,
  execs: /^(exec|x)$/,
  isLocal: isLocalTool,
  high: NODE_HIGH,
  flags: NODE_FLAGS,
  highFlags:
    /^--(registry|script-shell|node-options|userconfig|globalconfig|git|shell|unsafe-perm|editor|viewer|browser|https?-proxy|proxy|cafile|ca|strict-ssl|otp|auth-type|_auth.*|.*:registry|.*authtoken.*|call|use-yarnrc|modules-folder)(=|$)/i,
  valued: [
    '-w',
    '--workspace',
    '--loglevel',
    '--depth',
    '--omit',
    '--include',
    '--filter',
    '-F',
    '--prefix',
    '-C',
    '--dir',
    '--cwd',
    '--registry',
    '--userconfig',
    '--cache',
    '--script-shell',
    '--reporter',
    '--tag',
    '--otp',
    '--audit-level',
    '--network-timeout',
    '-p',
    '--package',
    '--node-options',
    '--call',
    '-c',
  ],
}

/** Tools that projects commonly have installed, so that `npx` runs the installed one. */
const LOCAL_TOOLS =
  /^(tsc|eslint|prettier|jest|vitest|mocha|ava|tap|c8|nyc|biome|knip|turbo|nx|vite|webpack|rollup|esbuild|next|nuxt|astro|tsup|stylelint|commitlint|markdownlint|markdownlint-cli2|cspell|playwright|cypress|tsx|ts-node|prisma|drizzle-kit|svelte-check|vue-tsc|ng|expo|react-scripts|lint-staged|depcheck|madge|size-limit|publint|attw|oxlint|dprint|karma|jasmine|wdio|storybook|sb|typedoc|tailwindcss|postcss|sass|babel|swc|rimraf|concurrently|npm-run-all|run-s|run-p|cross-env|dotenv|nodemon|http-server|serve|jsdoc|graphql-codegen|openapi-typescript|standard|xo|gulp|grunt|parcel|nest|react-native|knex|sequelize|sequelize-cli|typeorm|changeset|tsd|patch-package|syncpack|jscpd|unimported|ts-prune|type-coverage|api-extractor|wait-on|json-server|msw|license-checker|source-map-explorer|vite-node|vite-bundle-visualizer|eleventy|@11ty\/eleventy|@biomejs\/biome|npm-check|depcruise|dependency-cruiser|remark|alex|textlint|tsc-alias|tsc-watch|ts-jest|eslint_d|htmlhint|linthtml|pa11y|mikro-orm|node-pg-migrate|swagger-cli|redocly|spectral|ajv|quicktype|svgo|imagemin|terser|uglifyjs|clean-css|cleancss|purgecss|sirv|live-server|remix|pyright|lerna|gatsby|vitepress|vuepress|docusaurus|nuxi|cdk|cdklocal|serverless|sls|lighthouse|lhci|wait-port|start-server-and-test|autocannon|orval|kubb|formatjs|lingui|plop|hygen|stryker|testcafe|nightwatch|detox|wtr|hardhat|bundlewatch|es-check|webpack-bundle-analyzer|sort-package-json|ls-lint|lockfile-lint|i18next|svgr|vue-cli-service|rsbuild|rspack|unbuild|tsdown|rolldown|zx|env-cmd|newman|dredd|compodoc|json2ts|graphql-inspector|supabase|wrangler|tauri|cap|capacitor|ionic|electron|electron-forge|quasar|payload|medusa|strapi|keystone|contentlayer|velite|mdx|slidev|marp|histoire|ladle|backstop|axe|pa11y-ci|linkinator|htmltest|knip|tsr|artillery|k6)$/

/** Whether projects commonly have this program installed. */
function isLocalTool(name: string): boolean {
  return LOCAL_TOOLS.test(name)
}

function npx(given: ProgramCall): undefined {
  const prefix = given.args.findIndex(({ value }) => /^--prefix(=|$)/.test(value))
  const folder = prefix < 0 ? undefined : given.args[prefix]
  // The programs of a package of the project, from the folder of the command.
  const isOwn = folder !== undefined && given.args.slice(0, prefix).every(isFlag) && namesOwnPackage(given, folder)
  const attached = folder?.value.includes('=') ? 1 : 2
  const name = folder?.value.split('=')[1] ?? given.args[prefix + 1]?.value ?? ''
  const call = isOwn
    ? {
        ...given,
        args: given.args.toSpliced(prefix, attached),
        scope: { ...given.scope, cwd: resolve(given.scope.cwd ?? '/', name) },
      }
    : given
  const { args } = call
  const index = args.findIndex(
    (arg, at) =>
      !isFlag(arg) &&
      !/^(-p|--package|-c|--call|--registry|--userconfig|--cache|-w|--workspace|--node-options|--shell|--script-shell)$/.test(
        args[at - 1]?.value ?? '',
      ),
  )
  const flags = index < 0 ? args : args.slice(0, index)
  const shell = flags.findIndex(arg => /^(-c|--call)$/.test(arg.value))
  const text = shell < 0 ? undefined : args[shell + 1]
  if (text) call.shell(text)
  const other = flags.find(arg =>
    /^--(registry|userconfig|node-options|shell|script-shell|node-arg)(=|$)|^-n$/.test(arg.value),
  )
  if (other) call.say('pkg.registry', 'HIGH', `${other.text} changes where packages come from or what runs them`, other)
  const tool = args[index]
  if (tool === undefined) return call.say('pkg.exec', 'MEDIUM', `${call.name} runs a program`)
  if (!tool.known) return call.say('script.unknown', 'HIGH', 'which program it is, is known only when it runs', tool)
  if (/^https?:|^git/.test(tool.value))
    return call.say('net.run', 'HIGH', `${tool.text} is code from the network`, tool)
  const fetches = flags.some(
    arg => !/^(--no-install|--no|--quiet|-q|--silent|--offline|--prefer-offline|--bun)$/.test(arg.value),
  )
  if (!(isLocalTool(tool.value) || isInstalled(call, tool.value)) || fetches)
    call.say('pkg.exec', 'MEDIUM', `${tool.text} may be fetched and run`, tool)
  const packages = packagesOf(flags)
  if (packages.length === 0) judgeUnlistedProgram(call, tool)
  judgeUnlisted(call, packages, 'npm')
  if (/^[\w-]+$/.test(tool.value)) call.run(args.slice(index))
}

/** The packages that `-p` and `--package` name. */
function packagesOf(flags: readonly Arg[]): Arg[] {
  return flags.flatMap((arg, at) => {
    if (/^(-p|--package)$/.test(flags[at - 1]?.value ?? '')) return [arg]
    const joined = /^--package=(.+)$/.exec(arg.value)?.[1]
    return joined === undefined ? [] : [deriveArg(joined, arg)]
  })
}

/** Verbs of gem, bundler and composer that install what is named. */
const RUBY_ADDS = /^(install|i|add|inject|require|req|r)$/

function ruby(call: ProgramCall): undefined {
  const [verb, ...packages] = findOperands(call.args, ['-v', '--version', '--source', '-s', ...RUBY_VALUED])
  if (verb && RUBY_ADDS.test(verb.value)) judgeUnlisted(call, packages, call.name === 'composer' ? 'php' : 'ruby')
  if (verb && /^(update|upgrade|u)$/.test(verb.value)) judgeUpdate(call, verb)
  if (verb) judgeRemoved(call, [verb, ...packages])
  if (verb?.value === 'build' && call.name === 'gem' && isOwnGem(call, packages)) return
  const branch = packages.find(arg => /[:@ ]dev-|@dev$|#/.test(arg.value))
  if (branch) call.say('pkg.foreign', 'MEDIUM', `${branch.text} is no released version`, branch)
  const [script] = packages
  if (call.name === 'composer' && /^(run|run-script)$/.test(verb?.value ?? '') && script?.known) {
    for (const word of packages) judgeStep(call, word)
    judgeToolWords(call, call.args)
    return call.say('script.run', 'MEDIUM', 'composer runs a script of the project', script)
  }
  RUBY(call)
}

/** `gem build x.gemspec -o /tmp/x.gem`: a program of the project, which packs it. */
function isOwnGem(call: ProgramCall, words: readonly Arg[]): boolean {
  const out = findFlag(call.args, ['-o', '--output'], 'oC')?.value
  const [spec, ...others] = words.filter(word => word !== out)
  const isPlain = call.args.every(
    ({ known, value }) => known && (!value.startsWith('-') || /^(-o|--output|--strict|-q|--quiet)$/.test(value)),
  )
  if (!isPlain || spec === undefined || others.length > 0 || wasWritten(spec, call)) return false
  if (!/^[\w-][\w./-]*\.gemspec$/.test(spec.value) || spec.value.includes('..')) return false
  if (out && !/^(\/tmp\/)?[\w.-]+\.gem$/.test(out.value)) return false
  if (out) call.path(out, 'write')
  call.say('script.run', 'MEDIUM', `${spec.text} says what gem packs`, spec)
  return true
}

const RUBY_VALUED = ['-g', '--group', '--jobs', '-j', '--retry', '--without', '--with', '--path']

const RUBY: ProgramRule = verbs({
  ofProject: true,
  valued: RUBY_VALUED,
  rows: [
    [
      /^(push|yank|owner|signin|signout|cert|release)( |$)|^global /,
      'HIGH',
      'pkg.publish',
      'publishes or withdraws packages',
    ],
    [/^install \S/, 'MEDIUM', 'pkg.foreign', 'installs a program'],
    [
      /^config (set )?(path|without|with|deployment|jobs|retry|frozen|clean|bin|no_prune) [\w:./-]+$/,
      'MEDIUM',
      'tool.other',
      'sets where and what bundler installs',
    ],
    [
      /^(list|search|info|show|outdated|check|which|contents|env|environment|dependency|specification|validate|licenses|why|why-not|diagnose|audit|status|doctor|platform|about|config list)( |$)/,
      'LOW',
      '',
      '',
    ],
    [
      /^(install|update|add|require|remove|lock|dump-autoload|test|run-script test|pristine|binstubs)?( |$)/,
      'LOW',
      '',
      '',
    ],
  ],
  otherwise: { risk: 'MEDIUM', code: 'pkg.other', text: 'does something with packages' },
  known:
    /^(-[vVqhnojWoDlai]+|--(version|help|verbose|quiet|local|remote|all|no-document|no-doc|jobs|retry|without|with|deployment|frozen|conservative|patch|minor|major|strict|groups|dry-run|pre|prerelease|no-dev|no-interaction|no-ansi|ansi|no-progress|prefer-dist|prefer-source|optimize-autoloader|classmap-authoritative|with-all-dependencies|with-dependencies|no-scripts|no-plugins|ignore-platform-reqs?|tree|direct|outdated|latest|format|locked|dev|fixed|no-suggest|no-update|sort-packages|audit|platform|name-only|path|gemfile-lock|only-explicit|parseable|filter-.*|profile|lock|no-audit|no-security-blocking)(=.*)?)$/,
  flags: [
    [/^--global$/, 'MEDIUM', 'pkg.other', 'changes it for everything a person does'],
    [
      /^(--source|-s|--clear-sources|--repository.*|--http-proxy|-P)(=|$)/,
      'HIGH',
      'pkg.registry',
      'other sources of packages',
    ],
    [/^--(working-dir|gemfile|path|install-dir|bindir)/, 'MEDIUM', 'pkg.elsewhere', 'somewhere else'],
  ],
})

const UVX_VALUED = ['--from', '--with', '-p', '--python', '--index', '--index-url']

const BUN = manager({
  ...npm,
  low: /^(test|pm (ls|bin|cache|hash)|outdated|why|info|audit|lint|build|help)( |$)/,
  installs: /^(install|i|add|a|remove|rm|update|link|unlink)( |$)/,
  runs: /^run( |$)/,
  fetches: /^(x|create|init|c|upgrade|repl|exec)( |$)/,
  scripts: true,
  highFlags:
    /^(--registry|-r$|--preload|-e$|--eval|-p$|--print|--config|--ca|--cafile|--env-file|--inspect.*|--shell)(=|$)/,
})

/** Package managers: LOW for packages that the project names, MEDIUM for foreign ones, HIGH for publishing and other registries. */
export const PACKAGES: ProgramRules = {
  npm: manager(npm),
  ...named(
    'pnpm',
    manager({
      ...npm,
      low: /^(test|t|tst|start|ls|list|ll|why|outdated|audit|root|bin|licenses( list)?|store (status|path)|view|info|config (get|list)|help|doctor)( |$)/,
      runs: /^(run|run-script|exec)( |$)/,
      fetches: /^(dlx|create|init|x)( |$)/,
      scripts: true,
      scriptVerbs: /^(test|t|tst|start)( |$)/,
      other:
        /^(link|ln|unlink|import|rebuild|rb|deploy|env|setup|patch\S*|store|server|self-update|self|config|c|login|logout|approve-builds|pack|fetch|completion|init|cache|owner|tag|team|version|policies|set|plugin|unplug|global|generate-lock-entry|npm|stage|prune|upgrade|repl|pm|exec|dlx|create)( |$)/,
    }),
  ),
  ...named(
    'yarn yarnpkg',
    manager({
      ...npm,
      low: /^(test|start|list|info|why|outdated|audit|versions?|check|licenses list|config (get|list)|workspaces (info|list)|constraints|explain|npm (info|audit)|help|node -v|npm whoami)( |$)|^$/,
      installs: /^(install|add|upgrade|up|remove|dedupe|import|upgrade-interactive)( |$)/,
      runs: /^(run|exec|workspaces (foreach|run)( (run|exec))?|workspace \S+( run| exec)?)( |$)/,
      fetches: /^(dlx|create|init|global|link|policies|set|plugin|node|patch.*|unplug)( |$)/,
      scripts: true,
      scriptVerbs: /^(test|t|tst|start)( |$)/,
      other:
        /^(link|ln|unlink|import|rebuild|rb|deploy|env|setup|patch\S*|store|server|self-update|self|config|c|login|logout|approve-builds|pack|fetch|completion|init|cache|owner|tag|team|version|policies|set|plugin|unplug|global|generate-lock-entry|npm|stage|prune|upgrade|repl|pm|exec|dlx|create)( |$)/,
    }),
  ),
  bun: call => {
    const [flag, text] = call.args
    if (flag && text && /^(-e|--eval|-p|--print)$/.test(flag.value) && call.args.length === 2) judgeInline(call, text)
    else BUN(call)
  },
  ...named('npx pnpx bunx npm-exec', npx),
  ...named(
    'pip pip3 pip2 pip3.8 pip3.9 pip3.10 pip3.11 pip3.12 pip3.13 pipx uv poetry pipenv pdm hatch rye conda mamba micromamba',
    python,
  ),
  uvx: call => {
    call.say('pkg.exec', 'MEDIUM', 'uvx fetches a program and runs it')
    judgeUnlisted(call, findOperands(call.args, UVX_VALUED).slice(0, 1), 'python')
  },
  ...named('pytest py.test', pytest),
  cargo,
  ...named('bundle bundler', call => {
    if (call.args[0]?.value === 'exec') return call.run(call.args.slice(1))
    ruby(call)
  }),
  ...named('gem composer', ruby),
  ...named(
    'apt apt-get aptitude yum dnf microdnf zypper pacman yay paru apk brew port snap flatpak emerge pkg pkgin xbps-install nix nix-env guix opkg rpm dpkg choco winget scoop mas tdnf swupd eopkg cards',
    system,
  ),
  ...named(
    'twine flit bumpversion semantic-release release-it np standard-version goreleaser jreleaser vsce ovsx',
    verbs({
      rows: [
        [/^(publish|upload|release|version|package)( |$)|^$/, 'HIGH', 'pkg.publish', 'publishes'],
        [
          /^(list|ls|check|status|run|build|bootstrap|changed|diff|add|init|show)( |$)/,
          'MEDIUM',
          'pkg.other',
          'works on packages',
        ],
      ],
      otherwise: { risk: 'HIGH', code: 'pkg.publish', text: 'publishes' },
    }),
  ),
  changeset: verbs({
    rows: [
      [/^(publish|tag|pre)( |$)/, 'HIGH', 'pkg.publish', 'publishes'],
      [/^(add|status|init|version)( |$)|^$/, 'MEDIUM', 'tool.other', 'notes changes for the next version'],
    ],
    otherwise: { risk: 'MEDIUM', code: 'pkg.other', text: 'works on packages' },
  }),
  lerna: call => {
    for (const step of findOperands(call.args, ['--scope', '--ignore', '--since', '--concurrency']).slice(1))
      judgeStep(call, step)
    LERNA(call)
  },
  ...named(
    'nvm fnm volta asdf mise rbenv pyenv nodenv goenv jenv sdk rustup corepack n rvm tfenv proto',
    verbs({
      rows: [
        [/^(env|set|config|settings)( |$)/, 'MEDIUM', 'secret.maybe', 'prints what the environment is set to'],
        [
          /^(use|install|prepare|up|pack|hydrate|local|shell) \S*(:\/|@(https?|git|file|npm):)/,
          'HIGH',
          'pkg.foreign',
          'takes a tool from an address',
        ],
        [/^use \S*@(latest|next|canary|nightly|beta|alpha|rc)( |$)/, 'MEDIUM', 'pkg.tools', 'takes the newest version'],
        [
          /^(ls|list|current|which|show|version|versions|where|plugin list|outdated|local|toolchain list|component list|target list|alias|doctor|use|local|shell|ls-remote|list-remote|help)( |$)|^$/,
          'MEDIUM',
          'pkg.read',
          'looks at installed versions',
        ],
        [/^(exec|run|x) /, 'MEDIUM', 'pkg.exec', 'runs a program'],
        [/^(uninstall|remove|self uninstall|implode|self|purge)( |$)/, 'HIGH', 'pkg.remove', 'removes tools'],
      ],
      otherwise: { risk: 'MEDIUM', code: 'pkg.tools', text: 'changes which tools are used' },
    }),
  ),
  ...named('easy_install', call => call.say('pkg.foreign', 'MEDIUM', 'it installs packages')),
}

function system(call: ProgramCall): undefined {
  const line = findOperands(call.args)
    .map(arg => arg.value)
    .join(' ')
  if (
    /^(list|search|show|info|policy|madison|depends|rdepends|why|ls|leaves|deps|uses|home|doctor|config|outdated|cat|desc|log|--version|query|files|provides|repolist|changelog|options)( |$)/.test(
      line,
    ) ||
    call.args.some(
      arg =>
        /^(-Q.*|-S[si]+|--list|-l|-L|-s|-S|-qa?|-qi|-ql|--simulate|--dry-run)$/.test(arg.value) &&
        /^(pacman|yay|dpkg|rpm|apt|apt-get|paru)$/.test(call.name),
    )
  )
    return call.say('pkg.read', 'MEDIUM', `${call.name} looks at packages`)
  const words = call.args.map(({ known, value }) => (known ? value : HOLE)).join(' ')
  if (call.name === 'nix' && /^flake (check|show|metadata)$/.test(words))
    return call.say('tool.other', 'MEDIUM', 'nix checks the project')
  // The packages are those that the project's own file names.
  if (call.name === 'nix' && /^develop (-c|--command) /.test(words)) {
    call.say('script.run', 'MEDIUM', 'nix runs a command with the packages of the project')
    return call.run(call.args.slice(2))
  }
  if (/^(nix|guix)$/.test(call.name) && /^(run|shell|develop|build|eval|flake)/.test(line))
    return call.say('pkg.exec', 'MEDIUM', `${call.name} may fetch a program and runs it`)
  call.say('system.packages', 'HIGH', `${call.name} changes the programs of the machine`)
}

const LERNA = verbs({
  rows: [
    [/^(publish|version)( |$)/, 'HIGH', 'pkg.publish', 'publishes'],
    [
      /^(run|ls|list|la|ll|changed|diff|bootstrap|info|build|test)( |$)/,
      'MEDIUM',
      'script.run',
      'runs scripts of the project',
    ],
    [/^exec( |$)/, 'MEDIUM', 'pkg.exec', 'runs a program in every package'],
  ],
  otherwise: { risk: 'MEDIUM', code: 'pkg.other', text: 'works on packages' },
})
