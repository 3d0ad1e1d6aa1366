import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { type Arg, deriveArg, findFlags, findOperands, isFlag } from '../shell/args.ts'
import { judgeNamedScripts } from './package-scripts.ts'
import { named, verbs } from './rule-builders.ts'
import { judgeInline, judgeScriptFile, judgeToolWords } from './run-code.ts'
import { judgeStep } from './step-names.ts'
import { tool } from './tool-rule.ts'

/** Checkers, formatters and runners for Python, Ruby, PHP and Elixir. */
export const SCRIPTING_TOOLS: ProgramRules = {
  ...named(
    'mypy pyright',
    tool({
      flags: `-m: -p: -c: --strict --strict-* --ignore-missing-imports --show-* --pretty --no-* --disallow-* --check-untyped-defs --warn-*
        --python-version: --platform: --follow-imports: --follow-untyped-imports --install-types=false --explicit-package-bases
        --namespace-packages --exclude: --incremental --allow-* --implicit-* --local-partial-types --enable-error-code:
        --disable-error-code: --error-summary --hide-* --output: --outputjson --stats --warnings --level: --pythonversion:
        --pythonplatform: --threads: --skipunannotated --dependencies --verifytypes: --module: --package: --disable-* --extra-checks`,
      medium:
        /^--(python-executable|install-types|custom-typeshed-dir|cache-dir|junit-xml|.*-report|config-file|pythonpath|venv-?path|typeshedpath|createstub|plugin)/,
    }),
  ),
  ruff: tool({
    verbs: 'check format rule config linter version help analyze',
    flags: `-e -n -s -w --fix --unsafe-fixes --no-unsafe-fixes --show-fixes --no-show-fixes --diff --check --fix-only --no-fix
      --ignore-noqa --output-format: --target-version: --preview --no-preview --select: --ignore: --extend-select: --extend-ignore:
      --per-file-ignores: --fixable: --unfixable: --exclude: --extend-exclude: --respect-gitignore --no-respect-gitignore
      --force-exclude --exit-zero --exit-non-zero-on-fix --statistics --add-noqa --show-files --show-settings --isolated
      --line-length: --stdin-filename: --no-cache --range: --all --silent`,
    medium: /^--(output-file|cache-dir)|^-o$/,
  }),
  ...named(
    'black isort autopep8 yapf autoflake',
    tool({
      flags: `-l: -t: -S -C -i -r -d -a -p: -e: -m: -w: -c --check --check-only --diff --line-length: --target-version: --fast --safe --preview
        --skip-string-normalization --skip-magic-trailing-comma --include: --exclude: --extend-exclude: --force-exclude:
        --required-version: --workers: --no-color --stdin-filename: --pyi --ipynb --profile: --line-width: --multi-line:
        --trailing-comma --skip: --skip-glob: --filter-files --atomic --force-sort-within-sections --float-to-top
        --combine-as --src: --show-settings --show-files --only-modified --aggressive --recursive --in-place --max-line-length:
        --select: --ignore: --style: --parallel --remove-all-unused-imports --py3-plus --py36-plus --py37-plus --py38-plus
        --py39-plus --py310-plus --py311-plus --py312-plus --unstable --line-ranges: --quiet`,
    }),
  ),
  ...named(
    'flake8 pylint pyflakes pycodestyle pydocstyle bandit interrogate vulture radon',
    tool({
      flags: `-j: -E -r: -l -ll -lll -i -ii -n -s -d: -e: -f: -x: -c --select: --ignore: --extend-ignore: --extend-select: --max-line-length:
        --max-complexity: --exclude: --extend-exclude: --filename: --statistics --count --show-source --benchmark --jobs: --exit-zero
        --doctests --per-file-ignores: --format: --disable: --enable: --errors-only --reports: --score: --output-format:
        --msg-template: --fail-under: --fail-on: --ignore-paths: --ignore-patterns: --ignored-modules: --recursive: --list-msgs
        --max-args: --good-names: --severity-level: --confidence-level: --skip: --tests: --min-confidence: --convention: --match:
        --total-average --show-complexity --min: --max: --ignore-init-module --hang-closing --first --aggregate: -x --evaluation:`,
      medium:
        /^--(rcfile|load-plugins|init-hook|output-file|tee|config|append-config|generate-.*|output|html|bug-report|require-plugins|enable-extensions)|^-o$/,
      high: /^--init-hook/,
    }),
  ),
  ...named(
    'uvicorn gunicorn hypercorn daphne waitress-serve granian flask streamlit celery air reflex wgo gow rackup',
    serve,
  ),
  coverage: call => {
    const [verb] = call.args
    if (verb?.value === 'run') return coverageRun(call, call.args.slice(1))
    COVERAGE(call)
  },
  ...named(
    'tox nox',
    tool({
      flags: `-e: -s: -r -l -a -p: -k: -t: -x -R -n -f: -m: --env: --sessions: --recreate --notest --parallel: --skip-missing-interpreters --list
        --listenvs --listenvs-all --no-list-dependencies --sitepackages --reuse-existing-virtualenvs --no-install --stop-on-first-error
        --error-on-missing-interpreters --tags: --keywords: --showconfig --skip-pkg-install --develop --quiet --python: --session:`,
      medium:
        /^--(workdir|installpkg|index-url|override|noxfile|envdir|force-pythons|extra-pythons|runner|root|conf)|^-[cx]$/,
    }),
  ),
  ...named(
    'pre-commit pre_commit prek',
    tool({
      verbs: 'run validate-config validate-manifest sample-config',
      // Versions of hooks that nobody has reviewed, and hooks of another repository.
      medium: /^(auto-?update|try-repo|--bleeding-edge|--freeze|--repo)$/,
      flags:
        '-a --all-files --files --from-ref: --to-ref: --show-diff-on-failure --hook-stage: --color: --verbose --fail-fast',
    }),
  ),
  ...named(
    'sphinx-build mkdocs',
    tool({
      flags: '-b: -W -n -E -a -d: -j: -q -Q -T -N -D: -t: --keep-going --strict --clean --site-dir: --nitpicky --jobs:',
      medium: /^(gh-deploy|serve|new|--open-browser|-C|-c)$/,
    }),
  ),
  ...named(
    'unittest doctest behave',
    tool({
      flags:
        '-v -f -b -c -k: -s: -p: -t: -n: -i: -e: -o: --failfast --buffer --catch --locals --durations: --tags: --name: --stop --no-capture --format: --no-skipped --dry-run --summary',
    }),
  ),
  ...named(
    'rubocop standardrb reek brakeman solargraph',
    tool({
      flags: `-a -A -l -x -L -D -f: -S -P -E -q --autocorrect --autocorrect-all --auto-correct --auto-correct-all --safe --lint --fix --no-fix --only: --except:
        --format: --display-cop-names --extra-details --parallel --no-parallel --fail-level: --fail-fast --force-exclusion
        --list-target-files --show-cops --display-only-fail-level-offenses --cache: --no-pager --no-exit-on-warn
        --confidence-level: --rails --no-progress --no-summary --style-guide --stdin:`,
      medium:
        /^(-r|--require|--plugin|-o|--out|--output|--auto-gen-config|--init|--start-server|--restart-server|--server|socket|stdio|download-core)(=|$)/,
    }),
  ),
  ...named(
    'rspec minitest cucumber',
    tool({
      flags: `-b -e: -f: -p -P: -t: -w -n: -s: --backtrace --example: --format: --profile --pattern: --tag: --fail-fast --no-fail-fast --failure-exit-code:
        --only-failures --next-failure --bisect --order: --seed: --dry-run --force-color --no-profile --warnings --exclude-pattern:
        --example-matches: --name: --tags: --strict --guess --publish-quiet --no-source`,
      medium: /^(-r|--require|-I|-o|--out|--init|--drb.*|--publish|--options|-O)(=|$)/,
    }),
  ),
  mix: call => {
    const [verb, ...rest] = call.args
    if (verb?.value === 'cmd') call.run(rest)
    if (verb?.value === 'do') return judgeEach(call, rest)
    if (verb?.value === 'eval' && rest[0]) judgeInline(call, rest[0])
    if (verb) judgeStep(call, verb)
    for (const [at, flag] of rest.entries()) {
      const [, glued] = /^(?:--eval=|-e=?(?=.))(.*)$/s.exec(flag.value) ?? []
      const code = glued === undefined ? rest[at + 1] : deriveArg(glued, flag)
      if ((glued !== undefined || /^(-e|--eval)$/.test(flag.value)) && code) judgeInline(call, code)
      const file = /^(-r|--require)$/.test(flag.value) ? rest[at + 1] : undefined
      if (file) judgeScriptFile(call, file)
    }
    MIX(call)
  },
  rake: tool({
    steps:
      /^(test(:.*)?|spec(:.*)?|build|default|lint|rubocop|standard|doc|docs|compile|check|cucumber|stats|notes|about|assets:precompile)(\[.*\])?$/,
    flags:
      '-T -t -P -D -W -A -n -j: -m --tasks --trace --prereqs --dry-run --jobs: --multitask --all --describe --where',
    high: /^(-e|-E|-p|--execute.*|db:(drop|reset|purge|truncate.*|schema:load|rollback).*|.*:(drop|destroy|wipe|purge))$/,
  }),
  ...named(
    'phpunit pest phpstan psalm pint phpcs phpcbf rector',
    tool({
      flags: `-c: -s -p -l: --filter: --group: --exclude-group: --testsuite: --testdox --stop-on-* --fail-on-* --colors --order-by: --random-order
        --no-coverage --coverage-text --display-* --list-tests --list-suites --list-groups --process-isolation --repeat: --parallel
        --level: --memory-limit: --error-format: --no-progress --no-interaction --no-ansi --ansi --show-info --threads: --no-diff
        --test --dirty --standard: --report: --extensions: --ignore: --exclude: --dry-run --clear-cache --compact --bail --no-suggestions`,
      medium:
        /^(--bootstrap|-d|--include-path|--autoload-file|--report-file|--report-.*=|--log-.*|--coverage-(html|clover|xml|php)|--generate-baseline|--set-baseline|--init|--alter|--migrate-configuration|init|--prepend|--extension|--printer|--plugin)/,
    }),
  ),
}

/** `mix do a + b, c`: each is a call of its own. */
function judgeEach(call: ProgramCall, words: readonly Arg[]): undefined {
  const part: Arg[] = []
  for (const word of [...words, undefined]) {
    const ends = word === undefined || /^[+,]$|,$/.test(word.value)
    if (word && !/^[+,]$/.test(word.value)) part.push(deriveArg(word.value.replace(/,$/, ''), word))
    if (ends && part.length > 0) call.run([{ ...call.head, value: call.name }, ...part.splice(0)])
  }
}

const MIX = verbs({
  ofProject: true,
  known:
    /^(-v|--(check-locked|trace|cover|failed|stale|only|exclude|include|seed|max-failures|warnings-as-errors|check-formatted|dry-run|strict|force|all|no-color|slowest|partitions|no-compile|no-deps-check|no-start|only-.*|umbrella|format)(=.*)?)$/,
  rows: [
    [
      /^(test|compile|format|deps(\.get|\.compile|\.tree)?|credo|dialyzer|docs|xref|hex\.(info|outdated|audit)|help)( |$)/,
      'LOW',
      '',
      '',
    ],
    [/^(hex\.publish|hex\.retire|ecto\.drop|ecto\.reset|hex\.user)/, 'HIGH', 'pkg.publish', 'publishes or deletes'],
  ],
  otherwise: { risk: 'MEDIUM', code: 'tool.other', text: 'runs a task of the project' },
})

const COVERAGE = tool({
  verbs: 'report xml html json combine lcov debug help',
  flags:
    '-m -i -a -q --show-missing --skip-covered --skip-empty --include: --omit: --fail-under: --precision: --sort: --format: --ignore-errors --append --keep --no-skip-covered --title:',
})

/** `coverage run x.py` and `coverage run -m pytest` run Python; flags of coverage come before that. */
function coverageRun(call: Parameters<typeof COVERAGE>[0], rest: typeof call.args): undefined {
  const own = rest.findIndex(arg => arg.value === '-m' || !arg.value.startsWith('-'))
  const flags = own < 0 ? rest : rest.slice(0, own)
  const odd = flags.find(
    arg =>
      !/^(-a|-p|-L|--(branch|append|parallel-mode|pylib|timid|source=.*|source_pkgs=.*|include=.*|omit=.*|concurrency=.*|context=.*))$/.test(
        arg.value,
      ),
  )
  if (odd) call.hold('tool.flag', 'MEDIUM', `${odd.text} is not a flag of coverage that the policy knows`, odd)
  if (own >= 0) call.run([{ ...call.head, value: 'python3' }, ...rest.slice(own)])
}

/** Servers that run the application of the project, and reload it. Open to other machines, they are asked about. */
function serve(call: ProgramCall): undefined {
  const { name, args } = call
  const [verb] = findOperands(args, ['--app', '-A', '-e', '--env-file', '--host', '-h', '--port', '-p', '-c'])
  judgeToolWords(
    call,
    args.filter(arg => !/^[\w.]+:[\w.()]+$/.test(arg.value)),
  )
  const door = args.find((arg, at) => /^(.*=)?(0\.0\.0\.0|::)(:\d+)?$/.test(arg.value) && isFlag(args[at - 1] ?? arg))
  if (door) call.say('net.serve', 'MEDIUM', `${door.text} lets other machines connect`, door)
  if (name === 'flask' && verb?.value === 'db') {
    const isForward = args.some(arg =>
      /^(upgrade|migrate|current|history|heads|init|revision|show|check)$/.test(arg.value),
    )
    return call.say(
      isForward ? 'db.migrate' : 'db.destroy',
      isForward ? 'MEDIUM' : 'HIGH',
      'flask migrates a database',
      verb,
    )
  }
  if (name === 'flask' && verb?.value === 'shell')
    return call.say('code.interactive', 'MEDIUM', 'flask waits for input', verb)
  if (verb) judgeStep(call, verb)
  call.say('script.run', 'MEDIUM', `${name} runs the application of the project`)
}

const BUNDLER = `-w -d -m -p -f -c -o: --mode: --minify --no-minify --sourcemap --source-map --no-source-map --bundle --production
  --profile --stats --analyze --target --format --platform --external --define --splitting --metafile --tree-shaking
  --log-level --logLevel --no-progress --progress --base --emptyOutDir --ssr --clean --dts --treeshake --no-lint --turbo
  --turbopack --experimental-* --out-dir: --outDir: --outdir: --outfile: --clearScreen --failAfterWarnings --environment --node-env
  --no-mangling --no-stats --fail-on-warnings --filter-logs --strict --env-mode`

/** Checkers and bundlers for JavaScript. */
export const JAVASCRIPT: ProgramRules = {
  ...named(
    'tsc vue-tsc',
    tool({
      words: true,
      flags: `-b -w -p: -t: -m: -d -noEmit -watch -build -project: -pretty -listFiles -listFilesOnly -listEmittedFiles -showConfig
        -explainFiles -incremental -strict -noImplicitAny -strictNullChecks -skipLibCheck -esModuleInterop -target: -module:
        -moduleResolution: -jsx: -lib: -types: -allowJs -checkJs -resolveJsonModule -isolatedModules -noUnusedLocals
        -noUnusedParameters -noUncheckedIndexedAccess -exactOptionalPropertyTypes -declaration -emitDeclarationOnly
        -sourceMap -force -verbose -dry -diagnostics -extendedDiagnostics -preserveWatchOutput -noErrorTruncation
        -traceResolution -noEmitOnError -allowImportingTsExtensions -rootDir: -baseUrl: -removeComments -downlevelIteration -all
        -noFallthroughCasesInSwitch -noImplicitReturns -forceConsistentCasingInFileNames -verbatimModuleSyntax -composite
        -erasableSyntaxOnly -outDir: -stopBuildOnErrors -locale: -clean`,
      medium: /^--?(init|generateTrace|generateCpuProfile|outFile|declarationDir|tsBuildInfoFile|plugins)$/i,
    }),
  ),
  ...named(
    'eslint oxlint stylelint standard xo',
    tool({
      flags: `-c: -f: -D -W -A --ext: --fix --fix-dry-run --fix-type: --max-warnings: --quiet --no-eslintrc --env: --format: --global:
        --ignore-pattern: --no-ignore --ignore-path: --no-inline-config --report-unused-disable-directives
        --report-unused-disable-directives-severity: --rule: --cache-strategy: --no-error-on-unmatched-pattern
        --exit-on-fatal-error --no-warn-ignored --pass-on-no-patterns --print-config: --stats --env-info --parser-options:
        --flag: --concurrency: --suppress-all --prune-suppressions --formatter: --custom-syntax: --allow-empty-input --deny-warnings
        --type-aware --threads: --space --semicolon --prettier --react --deny: --allow: --warn: --import-plugin --react-plugin
        --jest-plugin --vitest-plugin --tsconfig: --fix-suggestions --inspect-config`,
      medium:
        /^--(stdin-filename|init|output-file|cache-location|cache-file|inspect-config|rulesdir|resolve-plugins-relative-to)|^-o$/,
    }),
  ),
  prettier: tool({
    flags: `-c -l -w -u --check --write --list-different --ignore-unknown --no-config --no-editorconfig --config-precedence:
      --find-config-path: --support-info --file-info: --ignore-path: --parser: --print-width: --tab-width: --use-tabs --no-semi
      --single-quote --jsx-single-quote --quote-props: --trailing-comma: --no-bracket-spacing --bracket-same-line --arrow-parens:
      --prose-wrap: --end-of-line: --html-whitespace-sensitivity: --embedded-language-formatting: --log-level:
      --loglevel: --no-error-on-unmatched-pattern --cache-strategy: --with-node-modules --stdin-filepath: --insert-pragma
      --require-pragma --vue-indent-script-and-style --experimental-ternaries --object-wrap:`,
    medium: /^--cache-location/,
  }),
  biome: tool({
    verbs: 'check lint format ci explain rage version search',
    flags: `--write --fix --apply --unsafe --apply-unsafe --changed --staged --since: --diagnostic-level: --max-diagnostics:
      --error-on-warnings --no-errors-on-unmatched --skip-errors --log-level: --log-kind: --reporter: --formatter-enabled:
      --linter-enabled: --only: --skip: --suppress --reason: --stdin-file-path: --vcs-enabled: --assist-enabled:
      --files-ignore-unknown: --config-path: --enforce-assist: --profile-rules`,
  }),
  ...named(
    'svelte-check dprint markdownlint markdownlint-cli2 cspell commitlint knip depcheck madge publint attw size-limit typedoc jsdoc',
    tool({
      flags: `-f -t -e --fix --fix-type: --check --list --staged --no-progress --no-summary --show-context --show-suggestions --unique
        --words-only --from: --to: --edit --last --production --strict --include: --exclude: --workspace: --reporter:
        --max-issues: --no-exit-code --include-entry-exports --tags: --no-config-hints --circular --orphans --leaves --extensions:
        --warning --no-spinner --ts-config: --ignore: --ignores: --ignore-patterns: --skip-missing --parsers: --detectors:
        --pack --level: --fail-on-warnings --threshold: --diagnostic-sources: --output: --workspace --compiler-warnings:
        --dot --gitignore --cache --dependencies --files --exports --treatWarningsAsErrors --emit: --validation --profile:
        --incremental --no-must-find-files --locale: --dictionary: --no-gitignore --color`,
      medium: /^--(init|output-file|image|cache-location|upgrade|out|destination)|^-[od]$|^init$/,
    }),
  ),
  ...named(
    'webpack rollup parcel tsup swc babel rspack rsbuild unbuild ncc microbundle snowpack brunch metro esbuild',
    tool({
      words: true,
      flags: BUNDLER,
      medium: /^(serve|watch|init|dev|start|--serve.*|--servedir.*|publish)$/,
    }),
  ),
  ...named(
    'vite next nuxt astro remix gatsby vitepress vuepress docusaurus',
    tool({ verbs: 'build lint check info typecheck optimize prepare analyze preview', flags: BUNDLER }),
  ),
  ...named(
    'ng nx turbo lage moon wireit',
    tool({
      verbs: `run build test lint run-many affected affected:test affected:build affected:lint graph show format:check e2e
        typecheck type-check check version report list print-affected tsc query ls info unit coverage`,
      flags: `-t: -p: -c: --configuration: --project: --projects: --target: --targets: --all --parallel: --skip-nx-cache --nx-bail
        --nxBail --base: --head: --files: --exclude: --output-style: --outputStyle: --code-coverage --codeCoverage --browsers:
        --no-watch --filter: --concurrency: --continue --force --dry --dry-run --graph --no-daemon --only --output-logs:
        --summarize --affected --scope: --since: --include-dependencies --env-mode: --log-order: --ui: --log-prefix: --no-cache
        --fix --prod --aot --verbose --skip-cache --no-cloud --max-parallel: --tags: --with: --uncommitted --untracked --types`,
      medium: /^--(graph|open|file|profile|trace|token|team|api|remote-.*|cache-dir|daemon|watch-all)=?/,
    }),
  ),
  storybook: tool({
    verbs: 'build doctor info',
    flags:
      '-o: -c: --output-dir: --config-dir: --test --quiet --loglevel: --docs --disable-telemetry --webpack-stats-json',
  }),
  ...named('sass postcss tailwindcss', call => {
    call.say('tool.other', 'MEDIUM', `${call.name} writes the files that its words name`)
    for (const { value } of findFlags(call.args, ['-o', '--output'], 'o')) if (value) call.path(value, 'write')
    STYLES(call)
  }),
  ...named(
    'gulp grunt expo lint-staged',
    tool({
      steps: /^(test|build|lint|check|default|watch|unit|e2e|doctor|jshint|eslint|compile|typecheck|tsc|dist)$/,
      flags:
        '--tasks --tasks-simple --series --no-stash --allow-empty --concurrent: --relative --no-color --force --stack --production',
    }),
  ),
  ...named('npm-run-all npm-run-all2 run-s run-p', call => {
    judgeNamedScripts(
      call,
      call.args.filter(arg => !isFlagLike(arg.value)),
    )
    RUN_ALL(call)
  }),
  ...named('concurrently conc', call => {
    for (const arg of call.args)
      if (!isFlagLike(arg.value) && !takesNext(call.args[call.args.indexOf(arg) - 1]?.value)) judgePart(call, arg)
    const odd = call.args.find(arg => isFlagLike(arg.value) && !CONCURRENTLY.test(arg.value))
    if (odd) call.hold('tool.flag', 'MEDIUM', `${odd.text} is not a flag of concurrently that the policy knows`, odd)
  }),
  nodemon: call => {
    call.say('script.run', 'MEDIUM', 'nodemon runs a program again and again')
    const exec = call.args.findIndex(arg => /^(-x|--exec)(=|$)/.test(arg.value))
    const flag = call.args[exec]
    if (flag) {
      const text = flag.value.includes('=')
        ? { ...flag, value: flag.value.replace(/^[^=]*=/, '') }
        : call.args[exec + 1]
      if (text) call.shell(text)
    }
    NODEMON(call)
  },
}

/** `npm:lint` is a script of the project; anything else is a shell command. */
function judgePart(call: ProgramCall, arg: Arg): undefined {
  const [, script] = /^(?:npm|yarn|pnpm|bun|node):([\w:*-]+)$/.exec(arg.value) ?? []
  if (script !== undefined) {
    judgeNamedScripts(call, [deriveArg(script, arg)])
    return call.say('script.run', 'MEDIUM', `${arg.text} is a script of the project`, arg)
  }
  call.shell(arg)
}

const RUN_ALL = tool({
  flags:
    '-s -p -l -n -c -r -sn -ln --serial --parallel --sequential --print-label --print-name --continue-on-error --race --aggregate-output --max-parallel:',
})

const STYLES = tool({ flags: '-i: -o: -m -w --input: --output: --minify --watch --content: --style: --no-source-map' })
const NODEMON = tool({
  flags: '-w: -e: -i: -x: -d: -L --watch: --ext: --ignore: --exec: --delay: --legacy-watch --signal:',
})

const CONCURRENTLY =
  /^(-[nckrsplPm]|--(names|kill-others|kill-others-on-fail|kill-signal|success|raw|prefix|prefix-colors|prefix-length|timestamp-format|no-color|hide|group|timings|max-processes|restart-tries|restart-after|handle-input|default-input-target|passthrough-arguments|name-separator|pad-prefix))(=|$)/

function isFlagLike(value: string): boolean {
  return value.length > 1 && value.startsWith('-')
}

/** Flags of concurrently that take the next word. */
function takesNext(flag: string | undefined): boolean {
  return (
    flag !== undefined &&
    /^(-[nlpmct]|--(names|prefix|prefix-colors|prefix-length|max-processes|success|hide|restart-tries|restart-after|timestamp-format|kill-signal|name-separator|default-input-target))$/.test(
      flag,
    )
  )
}
