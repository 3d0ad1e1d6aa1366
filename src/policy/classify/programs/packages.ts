import type { Risk } from '../../../domain/session.ts'
import type { Call, Rule, Rules } from '../call.ts'
import { type Arg, isFlag } from '../words/arg.ts'
import { atDoubleDash, operandsOf } from '../words/flags.ts'
import { named, verbs } from './build.ts'
import { judgeScriptFile } from './script-file.ts'
import { judgeToolWords } from './tool-words.ts'

interface Manager {
  /** LOW: they build, test, list, or fetch what the project names. */
  low: RegExp
  /** LOW like these, and the bare words after them are names of packages. */
  installs?: RegExp
  /** They run what comes next. */
  runs?: RegExp
  /** Like `runs`, but fetch it first. */
  fetches?: RegExp
  high: [RegExp, string][]
  /** Flags that may stand with a LOW verb; all others make it MEDIUM. */
  flags: RegExp
  /** Flags that point somewhere else: MEDIUM, or HIGH with a reason of their own. */
  highFlags?: RegExp
  valued: string[]
  /** Whether an unknown verb is the name of a script (`yarn lint`). */
  scripts?: boolean
  /** Verbs that are no scripts and not everyday either. */
  other?: RegExp
}

const NODE_HIGH: [RegExp, string][] = [
  [
    /^(publish|unpublish|deprecate|undeprecate|dist-tag (add|rm|set|remove)|owner (add|rm)|npm (publish|tag|owner)|stage|trust)\b/,
    'publishes or takes back packages',
  ],
  [/^(token|npm token)\b/, 'handles the tokens of the registry'],
  [
    /^(config|c) (set|delete|rm|edit|fix)\b.*(registry|auth|token|_password|script-shell|prefix|node-options|proxy|ca|strict-ssl|\/\/)/i,
    'changes where packages come from or who it logs in as',
  ],
  [/^config (delete|rm) /, 'changes settings'],
]

const NODE_FLAGS =
  /^(--(workspaces?|if-present|silent|save(-dev|-exact|-optional|-peer|-prod|-bundle)?|no-save|dev|exact|optional|peer|prod|production|omit|include|legacy-peer-deps|strict-peer-deps|json|depth|all|long|parseable|no-audit|audit|no-fund|fund|prefer-offline|prefer-online|offline|loglevel|verbose|quiet|color|no-color|progress|no-progress|ignore-scripts|dry-run|package-lock-only|no-package-lock|frozen-lockfile|no-frozen-lockfile|immutable|audit-level|recursive|filter|parallel|stream|if-present|no-bail|bail|reporter|watch|coverage|ci|version|help|latest|production|non-interactive|network-timeout|no-optional|no-lockfile|topological(-dev)?|interlaced|jobs|since|aggregate-output|sort|no-sort|resume-from|include-workspace-root|lockfile-only|fix-lockfile|mode|inline-builds|check-cache|check-files|pure-lockfile|strict|interactive|no-interactive|check|fix|bun|hot|smol|timeout|only|only-failures|rerun-each|todo|env-file-if-exists)(=.*)?|-[wsDSEOPBadqrFvhCWTRiAptLj?]+|-dd+|-r\d*)$/

const npm: Manager = {
  low: /^(test|t|tst|it|cit|install-test|start|stop|restart|ls|list|ll|la|view|info|show|v|outdated|audit( fix)?|explain|why|root|prefix|bin|ping|search|s|se|find|fund|doctor|docs|home|repo|bugs|issues|query|sbom|help|help-search|completion|whoami|version|diff|config (get|list|ls)|c (get|list|ls)|get|cache (ls|verify)|pack|dist-tag ls|licenses)( |$)/,
  installs:
    /^(install|i|in|ins|inst|isntall|add|ci|clean-install|update|up|upgrade|udpate|dedupe|ddp|prune|uninstall|un|remove|rm|r|unlink|import|fetch)( |$)/,
  runs: /^(run|run-script|rum|urn)( |$)/,
  fetches: /^(exec|x|create|init|dlx)( |$)/,
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

const RUBY: Rule = verbs({
  ofProject: true,
  rows: [
    [
      /^(push|yank|owner|signin|signout|cert|release)( |$)|^global /,
      'HIGH',
      'pkg.publish',
      'publishes or takes back packages',
    ],
    [/^install \S/, 'MEDIUM', 'pkg.foreign', 'installs a program'],
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
  flags: [
    [
      /^(--source|-s|--clear-sources|--repository.*|--http-proxy|-P)(=|$)/,
      'HIGH',
      'pkg.registry',
      'other sources of packages',
    ],
    [/^--(working-dir|gemfile|path|install-dir|bindir)/, 'MEDIUM', 'pkg.elsewhere', 'somewhere else'],
  ],
})

/** Package managers: LOW for what the project itself names, MEDIUM for what is foreign, HIGH for publishing and other registries. */
export const PACKAGES: Rules = {
  npm: manager(npm),
  ...named(
    'pnpm',
    manager({
      ...npm,
      low: /^(test|t|tst|start|ls|list|ll|why|outdated|audit|root|bin|licenses( list)?|store (status|path)|view|info|config (get|list)|help|doctor)( |$)/,
      runs: /^(run|run-script|exec)( |$)/,
      fetches: /^(dlx|create|init|x)( |$)/,
      scripts: true,
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
      other:
        /^(link|ln|unlink|import|rebuild|rb|deploy|env|setup|patch\S*|store|server|self-update|self|config|c|login|logout|approve-builds|pack|fetch|completion|init|cache|owner|tag|team|version|policies|set|plugin|unplug|global|generate-lock-entry|npm|stage|prune|upgrade|repl|pm|exec|dlx|create)( |$)/,
    }),
  ),
  bun: manager({
    ...npm,
    low: /^(test|pm (ls|bin|cache|hash)|outdated|why|info|audit|lint|build|help)( |$)/,
    installs: /^(install|i|add|a|remove|rm|update|link|unlink)( |$)/,
    runs: /^run( |$)/,
    fetches: /^(x|create|init|c|upgrade|repl|exec)( |$)/,
    scripts: true,
    highFlags:
      /^(--registry|-r$|--preload|-e$|--eval|-p$|--print|--config|--ca|--cafile|--env-file|--inspect.*|--shell)(=|$)/,
  }),
  ...named('npx pnpx bunx npm-exec', npx),
  ...named(
    'pip pip3 pip2 pip3.8 pip3.9 pip3.10 pip3.11 pip3.12 pip3.13 pipx uv poetry pipenv pdm hatch rye conda mamba micromamba',
    python,
  ),
  uvx: call => call.say('pkg.exec', 'MEDIUM', 'uvx fetches a program and runs it'),
  ...named('pytest py.test', pytest),
  cargo,
  ...named('bundle bundler', call => {
    if (call.args[0]?.value === 'exec') return call.run(call.args.slice(1))
    RUBY(call)
  }),
  ...named('gem composer', RUBY),
  ...named(
    'apt apt-get aptitude yum dnf microdnf zypper pacman yay paru apk brew port snap flatpak emerge pkg pkgin xbps-install nix nix-env guix opkg rpm dpkg choco winget scoop mas tdnf swupd eopkg cards',
    system,
  ),
  ...named(
    'twine flit bumpversion semantic-release release-it np lerna changeset standard-version goreleaser jreleaser vsce ovsx',
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
  ...named(
    'nvm fnm volta asdf mise rbenv pyenv nodenv goenv jenv sdk rustup corepack n rvm tfenv proto',
    verbs({
      rows: [
        [
          /^(ls|list|current|which|show|version|versions|where|plugin list|outdated|local|toolchain list|component list|target list|alias|doctor|env)( |$)|^$/,
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

/** Scripts that by their name reach beyond the project. */
const FAR_SCRIPT =
  /(^|[:._-])(deploy|publish|release|ship|destroy|drop|wipe|nuke|purge|prod|production|provision|rollback|teardown|undeploy|unpublish|promote|seed:prod)([:._-]|$)/i

function manager(row: Manager): Rule {
  return call => {
    const { before, after } = atDoubleDash(call.args)
    const operands = operandsOf(before, row.valued)
    const line = operands.map(arg => arg.value.replaceAll('\0', '…')).join(' ')
    const high = row.high.find(([shape]) => shape.test(line))
    if (high) call.say('pkg.publish', 'HIGH', `${call.name} ${high[1]}`, operands[0])
    judgeFlags(call, ownFlags(before, operands[0], line, row), row)
    for (const arg of after) judgeToolWords(call, [arg])
    const [verb, second] = operands
    if (verb === undefined)
      return row.installs || before.length > 0 ? undefined : call.say('pkg.other', 'MEDIUM', call.name)
    if (!verb.known) return call.say('script.unknown', 'MEDIUM', 'which script it is, is known only when it runs', verb)
    if (high) return
    if (row.runs?.test(line)) return judgeScript(call, operands, after)
    if (row.fetches?.test(line)) return judgeFetched(call, operands.slice(1), after)
    if (row.installs?.test(line)) return judgeInstalled(call, operands.slice(1), after)
    if (row.low.test(line)) {
      if (/^version$/.test(verb.value) && second)
        return call.say('pkg.version', 'MEDIUM', 'it changes the version and commits', second)
      return judgeToolWords(call, operands.slice(1))
    }
    if (row.scripts && !row.other?.test(line) && /^[\w@:./-]+$/.test(verb.value))
      return judgeScript(call, [verb, ...operands], after)
    call.say('pkg.other', 'MEDIUM', `${call.name} ${verb.text} is not an everyday command`, verb)
  }
}

/** Behind the name of a script the flags are the script's. */
function ownFlags(before: readonly Arg[], verb: Arg | undefined, line: string, row: Manager): readonly Arg[] {
  const builtin = row.low.test(line) || row.installs?.test(line) || row.fetches?.test(line) || row.other?.test(line)
  if (!row.scripts || verb === undefined || builtin) return before
  return before.slice(0, before.indexOf(verb))
}

function judgeFlags(call: Call, before: readonly Arg[], row: Manager): undefined {
  for (const arg of before) {
    if (!isFlag(arg)) continue
    if (!arg.known && arg.value.startsWith('\0'))
      call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
    if (row.highFlags?.test(arg.value))
      call.say('pkg.registry', 'HIGH', `${arg.text} changes where packages come from or what runs them`, arg)
    else if (!row.flags.test(arg.value)) call.say('pkg.flag', 'MEDIUM', `${arg.text} is not an everyday flag`, arg)
    if (/^(--(prefix|dir|cwd|cache|global|location|force|cache-folder|global-dir)|-g|-C|-f)(=|$)/.test(arg.value))
      call.say('pkg.elsewhere', 'MEDIUM', `${arg.text} works elsewhere or by force`, arg)
  }
}

function judgeScript(call: Call, operands: readonly Arg[], after: readonly Arg[]): undefined {
  const words = operands.slice(1).filter(arg => !/^(run|exec|foreach)$/.test(arg.value))
  const script = call.name.startsWith('yarn') && operands[0]?.value === 'workspace' ? words[1] : words[0]
  if (script === undefined) return
  if (!script.known)
    return call.say('script.unknown', 'MEDIUM', 'which script it is, is known only when it runs', script)
  if (/^\.{0,2}\/|\.[cm]?[jt]sx?$|^~/.test(script.value) && call.name !== 'npm') judgeScriptFile(call, script)
  if (script.value === 'env') call.say('env.print', 'MEDIUM', 'it shows the environment', script)
  if (FAR_SCRIPT.test(script.value))
    call.say('script.far', 'MEDIUM', `${script.text} sounds as if it reached beyond the project`, script)
  if (operands[0]?.value === 'exec' || operands[1]?.value === 'exec') {
    const place = call.args.indexOf(script)
    return call.run(call.args.slice(place))
  }
  judgeToolWords(call, words.slice(1))
  judgeToolWords(call, after)
}

/** Packages by name from the registry are what `install` is for; by address, path or file they are foreign code. */
function judgeInstalled(call: Call, packages: readonly Arg[], after: readonly Arg[]): undefined {
  for (const arg of [...packages, ...after]) {
    if (!arg.known) call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
    else if (
      /^(https?|git|ssh|git\+\w+|file):|^[^@/]+@(https?|git|npm|file):|^(git@|github:|gitlab:|bitbucket:|gist:)|\.(tgz|tar\.gz|zip|whl)$|^(\.{1,2}\/|\/|~)|^[\w-]+\/[\w.-]+(#.*)?$/.test(
        arg.value,
      )
    )
      call.say(
        'pkg.foreign',
        /^(https?|git\+http):/.test(arg.value) ? 'HIGH' : 'MEDIUM',
        `${arg.text} is not a package of the registry`,
        arg,
      )
    else if (!/^(@[\w.~-]+\/)?[\w.~-]+(@[\w.^~*<>=| -]+)?$/.test(arg.value))
      call.say('pkg.foreign', 'MEDIUM', `${arg.text} is not a package of the registry`, arg)
  }
}

function judgeFetched(call: Call, words: readonly Arg[], after: readonly Arg[]): undefined {
  call.say('pkg.exec', 'MEDIUM', `${call.name} may fetch a program and runs it`, words[0])
  const inner = words.length > 0 ? words : after
  if (inner[0] && !/[@:]|^\./.test(inner[0].value)) call.run(call.args.slice(call.args.indexOf(inner[0])))
  for (const arg of inner)
    if (/^https?:/.test(arg.value)) call.say('net.run', 'HIGH', `${arg.text} is code from the network`, arg)
}

/** Tools that projects commonly have installed: `npx` runs the installed one. */
const LOCAL_TOOLS =
  /^(tsc|eslint|prettier|jest|vitest|mocha|ava|tap|c8|nyc|biome|knip|turbo|nx|vite|webpack|rollup|esbuild|next|nuxt|astro|tsup|stylelint|commitlint|markdownlint|markdownlint-cli2|cspell|playwright|cypress|tsx|ts-node|prisma|drizzle-kit|svelte-check|vue-tsc|ng|expo|react-scripts|lint-staged|depcheck|madge|size-limit|publint|attw|oxlint|dprint|karma|jasmine|wdio|storybook|sb|typedoc|tailwindcss|postcss|sass|babel|swc|rimraf|concurrently|npm-run-all|run-s|run-p|cross-env|dotenv|nodemon|http-server|serve|jsdoc|graphql-codegen|openapi-typescript|standard|xo|gulp|grunt|parcel)$/

function npx(call: Call): undefined {
  const { args } = call
  const place = args.findIndex(
    (arg, at) =>
      !isFlag(arg) &&
      !/^(-p|--package|-c|--call|--registry|--userconfig|--cache|-w|--workspace|--node-options|--shell|--script-shell)$/.test(
        args[at - 1]?.value ?? '',
      ),
  )
  const flags = place < 0 ? args : args.slice(0, place)
  const shell = flags.findIndex(arg => /^(-c|--call)$/.test(arg.value))
  const text = shell < 0 ? undefined : args[shell + 1]
  if (text) call.shell(text)
  const other = flags.find(arg =>
    /^--(registry|userconfig|node-options|shell|script-shell|node-arg)(=|$)|^-n$/.test(arg.value),
  )
  if (other) call.say('pkg.registry', 'HIGH', `${other.text} changes where packages come from or what runs them`, other)
  const tool = args[place]
  if (tool === undefined) return call.say('pkg.exec', 'MEDIUM', `${call.name} runs a program`)
  if (!tool.known) return call.say('script.unknown', 'HIGH', 'which program it is, is known only when it runs', tool)
  if (/^https?:|^git/.test(tool.value))
    return call.say('net.run', 'HIGH', `${tool.text} is code from the network`, tool)
  const fetches = flags.some(
    arg => !/^(--no-install|--no|--quiet|-q|--silent|--offline|--prefer-offline|--bun)$/.test(arg.value),
  )
  if (!LOCAL_TOOLS.test(tool.value) || fetches)
    call.say('pkg.exec', 'MEDIUM', `${tool.text} may be fetched and run`, tool)
  if (/^[\w-]+$/.test(tool.value)) call.run(args.slice(place))
}

function python(call: Call): undefined {
  const { args, name } = call
  const operands = operandsOf(args, [
    '-r',
    '--requirement',
    '-c',
    '--constraint',
    '-i',
    '--index-url',
    '--extra-index-url',
    '-f',
    '--find-links',
    '-e',
    '--editable',
    '-t',
    '--target',
    '--prefix',
    '--root',
    '-n',
    '--name',
    '-p',
    '--python',
    '--directory',
    '--project',
    '--group',
    '-G',
    '--channel',
    '--format',
    '-d',
    '--dest',
    '--with',
    '--extra',
    '--cache-dir',
    '--log',
    '--proxy',
    '--cert',
    '--client-cert',
    '--trusted-host',
    '--timeout',
  ])
  const [verb, ...rest] = operands
  const other = args.find(
    arg =>
      /^(-i|--index-url|--extra-index-url|--trusted-host|--proxy|--find-links|-f|--index|--default-index|--cert|--client-cert|--repository.*|--publish-url|--global-option|--install-option|--config-settings|--build-option|--override-channels)(=|$)/.test(
        arg.value,
      ) && !(name !== 'pip' && !/^pip\d/.test(name) && arg.value === '-f' && !/^(uv)$/.test(name)),
  )
  const channel = args.find((arg, at) => /^(-c|--channel)$/.test(args[at - 1]?.value ?? '') && /:\/\//.test(arg.value))
  if (other ?? channel)
    call.say('pkg.registry', 'HIGH', `${(other ?? channel)?.text} changes where packages come from`, other ?? channel)
  const places = args.find(arg =>
    /^(-t|--target|--prefix|--root|--user|--break-system-packages|--system|--force-reinstall|--no-deps|--pre|--ignore-installed|--python|--directory|--project|--cache-dir|--log|--isolated)(=|$)/.test(
      arg.value,
    ),
  )
  if (places) call.say('pkg.elsewhere', 'MEDIUM', `${places.text} installs elsewhere or by force`, places)
  if (verb === undefined) return
  const line = operands.map(arg => arg.value).join(' ')
  if (
    /^(publish|upload|self|pip publish)( |$)/.test(line) ||
    /^(cache purge|config (set|unset|edit|--add)|cache clear|env remove|env remove --all)/.test(line)
  )
    return call.say(
      /^(cache|env)/.test(line) ? 'pkg.remove' : 'pkg.publish',
      'HIGH',
      `${name} ${line} publishes, or changes settings`,
      verb,
    )
  if (/^(run|runpip|tool run|x|shell|script run)( |$)/.test(line)) {
    const inner = runWords(args, /^(run|runpip)$/)
    if (/^tool run/.test(line) || name === 'pipx' || args.some(arg => /^(--with|--from|-w)/.test(arg.value)))
      return call.say('pkg.exec', 'MEDIUM', `${name} fetches a program and runs it`, rest[0])
    if (inner.length > 0) call.run(inner)
    return
  }
  if (/^(uninstall|remove|pip uninstall)( |$)/.test(line))
    return call.say('pkg.remove', 'MEDIUM', `${name} removes packages`, verb)
  if (/^(install|add|sync|lock|update|pip (install|sync|compile)|develop)( |$)/.test(line)) {
    const risk: Risk = /^(pipx|conda|mamba|micromamba)$/.test(name) ? 'MEDIUM' : 'LOW'
    if (risk === 'MEDIUM') call.say('pkg.foreign', risk, `${name} installs programs`, verb)
    return judgePythonPackages(call, rest)
  }
  if (
    /^(list|show|freeze|check|search|config (get|list|debug)|debug|inspect|index versions|help|version|tree|info|pip (list|show|freeze|check|tree)|env info|python list|python find|deps|graph|--version|cache (dir|info|list)|export|build|outdated)( |$)/.test(
      line,
    )
  )
    return
  call.say('pkg.other', 'MEDIUM', `${name} ${verb.text} is not an everyday command`, verb)
}

function runWords(args: readonly Arg[], verb: RegExp): Arg[] {
  const place = args.findIndex(arg => verb.test(arg.value))
  const rest = args.slice(place + 1)
  const start = rest.findIndex(
    (arg, at) =>
      !isFlag(arg) &&
      !/^(-n|--name|-p|--prefix|--python|-e|--env-file|--group|--extra|--package)$/.test(rest[at - 1]?.value ?? ''),
  )
  const dash = rest[0]?.value === '--' ? 1 : start
  return dash < 0 ? [] : rest.slice(dash)
}

function judgePythonPackages(call: Call, packages: readonly Arg[]): undefined {
  const editable = call.args.find((_, at) => /^(-e|--editable)$/.test(call.args[at - 1]?.value ?? ''))
  for (const arg of [...packages, ...(editable ? [editable] : [])]) {
    if (!arg.known) call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
    else if (/^\.(\[[\w,-]+\])?$/.test(arg.value) || /^(install|pip|sync|compile)$/.test(arg.value)) continue
    else if (/:\/\/|^git\+|^(\.{1,2}\/|\/|~)|\.(whl|tar\.gz|zip)$|@ /.test(arg.value))
      call.say(
        'pkg.foreign',
        /^(https?|git\+http):|:\/\//.test(arg.value) ? 'HIGH' : 'MEDIUM',
        `${arg.text} is not a package of the index`,
        arg,
      )
  }
  for (const [at, arg] of call.args.entries()) {
    const file = /^(-r|-c|--requirement|--constraint)$/.test(call.args[at - 1]?.value ?? '')
      ? arg.value
      : /^(?:--requirement=|--constraint=|-r)(.+)$/.exec(arg.value)?.[1]
    if (file === undefined) continue
    if (/:\/\//.test(file)) call.say('pkg.foreign', 'HIGH', `${arg.text} is a list from the network`, arg)
    else judgeToolWords(call, [{ ...arg, value: file }])
  }
}

function pytest(call: Call): undefined {
  const odd = call.args.find(
    arg =>
      /^(-p|-o|-c|--(override-ini|basetemp|confcutdir|rootdir|config-file|import-mode|pyargs|debug|junit-?xml|result-log|log-file|pastebin|pdb|pdbcls|trace-config|cov-config|html|report-log))(=|$)/.test(
        arg.value,
      ) || /^-[pc]./.test(arg.value),
  )
  if (odd && !/^-p(no:|no)/.test(odd.value))
    call.say('pkg.flag', 'MEDIUM', `${odd.text} changes what pytest loads or writes`, odd)
  judgeToolWords(call, call.args)
}

function cargo(call: Call): undefined {
  const { before, after } = atDoubleDash(call.args)
  const operands = operandsOf(before, [
    '--manifest-path',
    '--target-dir',
    '-p',
    '--package',
    '--features',
    '-F',
    '--bin',
    '--example',
    '--test',
    '--bench',
    '--target',
    '--profile',
    '-j',
    '--jobs',
    '--color',
    '--config',
    '-Z',
    '-C',
    '--message-format',
    '--exclude',
    '--path',
    '--git',
    '--registry',
    '--index',
    '--version',
    '--root',
  ])
  const toolchain = operands[0]?.value.startsWith('+') ? operands[0] : undefined
  if (toolchain) call.say('pkg.tools', 'MEDIUM', `${toolchain.text} is another toolchain`, toolchain)
  const [verb, second] = toolchain ? operands.slice(1) : operands
  const other = before.find(arg =>
    /^(--config|-Z|--registry|--index|--git|--token|-C|--unstable.*)(=|$)/.test(arg.value),
  )
  if (other)
    call.say(
      'pkg.registry',
      /^--(registry|index|token|config)/.test(other.value) ? 'HIGH' : 'MEDIUM',
      `${other.text} changes where packages come from or what runs`,
      other,
    )
  const elsewhere = before.find(arg =>
    /^(--manifest-path|--target-dir|--root|--path|--lockfile-path|--out-dir|--artifact-dir)(=|$)/.test(arg.value),
  )
  if (elsewhere) {
    const value = elsewhere.value.includes('=')
      ? { ...elsewhere, value: elsewhere.value.slice(elsewhere.value.indexOf('=') + 1) }
      : before[before.indexOf(elsewhere) + 1]
    if (value) judgeToolWords(call, [value])
  }
  for (const arg of after) judgeToolWords(call, [arg])
  if (verb === undefined) return
  if (/^(publish|yank|owner|login|logout|release)$/.test(verb.value))
    return call.say('pkg.publish', 'HIGH', `cargo ${verb.value} publishes, or logs in`, verb)
  if (
    /^(install|uninstall|new|init|fix|generate|binstall|script|vendor|remove|rm|clean|miri|watch|make|xtask|expand|udeps|sqlx|shuttle|lambda|flamegraph)$/.test(
      verb.value,
    )
  )
    return call.say(verb.value === 'install' ? 'pkg.foreign' : 'pkg.other', 'MEDIUM', `cargo ${verb.value}`, verb)
  if (
    !/^(build|b|test|t|check|c|run|r|bench|doc|d|clippy|fmt|tree|metadata|search|info|update|fetch|add|verify-project|pkgid|locate-project|read-manifest|generate-lockfile|package|report|help|version|nextest|llvm-cov|audit|deny|outdated|machete|tarpaulin|hack|insta|semver-checks|criterion|mutants)$/.test(
      verb.value,
    )
  )
    return call.say('pkg.other', 'MEDIUM', `cargo ${verb.text} is not an everyday command`, verb)
  const opens = before.find(arg => arg.value === '--open')
  if (opens) call.say('open', 'MEDIUM', 'it opens a browser', opens)
  if (/^(add)$/.test(verb.value) && second) judgeInstalled(call, operands.slice(operands.indexOf(second)), [])
}

function system(call: Call): undefined {
  const line = operandsOf(call.args)
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
  if (/^(nix|guix)$/.test(call.name) && /^(run|shell|develop|build|eval|flake)/.test(line))
    return call.say('pkg.exec', 'MEDIUM', `${call.name} may fetch a program and runs it`)
  call.say('system.packages', 'HIGH', `${call.name} changes the programs of the machine`)
}
