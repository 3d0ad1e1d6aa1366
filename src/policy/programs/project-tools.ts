import { AGENT_DEFINITIONS } from '../../domain/agents/agent-registry.ts'
import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { type Arg, findOperands, isFlag } from '../shell/args.ts'
import { named, wrapper } from './rule-builders.ts'
import { judgeScriptFile, judgeToolWords } from './run-code.ts'
import { judgeStep } from './step-names.ts'
import { tool } from './tool-rule.ts'

const AGENT_PROGRAMS = AGENT_DEFINITIONS.map(({ start }) => start.command).join(' ')

/** Test runners for JavaScript. */
export const TEST_RUNNERS: ProgramRules = {
  jest: tool({
    flags: `-b -i -t: -u -w: -o -f -e -c: --bail --runInBand --testNamePattern: --updateSnapshot --maxWorkers: --onlyChanged
      --onlyFailures --expand --coverage --collectCoverage --collectCoverageFrom: --coverageReporters: --coverageProvider:
      --coverageThreshold: --changedSince: --changedFilesWithAncestor --clearMocks --resetMocks --restoreMocks --detectOpenHandles
      --detectLeaks --forceExit --findRelatedTests --listTests --logHeapUsage --noStackTrace --notify --passWithNoTests
      --reporters: --runTestsByPath --selectProjects: --ignoreProjects: --shard: --showConfig --showSeed --randomize --seed:
      --silent --testPathPattern: --testPathPatterns: --testPathIgnorePatterns: --testMatch: --testRegex: --testTimeout:
      --watchAll --no-watchman --watchman --verbose --useStderr --workerIdleMemoryLimit: --testLocationInResults --lastCommit
      --errorOnDeprecated --env: --testEnvironment: --no-coverage --no-watch --injectGlobals --maxConcurrency: --all
      --openHandlesTimeout: --preset: --colors --ci --cacheDirectory:`,
    // What the tests compare with is written anew.
    output: /^(-u|--updateSnapshot)$/,
    medium:
      /^--(outputFile|globalsConfig|rootDir|roots|globalSetup|globalTeardown|runner|testRunner|resolver|modulePaths|haste|filter|coverageDirectory|init|clearCache)/,
  }),
  vitest: tool({
    verbs: 'run related dev watch bench list',
    flags: `-r: -u -t: -w -c: --run --update --watch --testNamePattern: --dir: --coverage --coverage.* --mode: --isolate
      --no-isolate --globals --dom --pool: --fileParallelism --no-file-parallelism --maxWorkers: --minWorkers:
      --environment: --passWithNoTests --logHeapUsage --allowOnly --dangerouslyIgnoreUnhandledErrors --shard: --changed
      --sequence.* --bail: --retry: --diff: --exclude: --expand-snapshot-diff --disable-console-intercept --typecheck --typecheck.*
      --project: --expect.* --slowTestThreshold: --teardownTimeout: --testTimeout: --hookTimeout: --reporter: --reporters:
      --silent --hideSkippedTests --silent --poolOptions.* --no-watch --no-color --root: --includeTaskLocation
      --printConsoleTrace --max-concurrency: --threads --no-threads --singleThread --related --filesOnly --json`,
    output: /^(-u|--update)(=|$)/,
    medium:
      /^--(outputFile|ui$|api|browser$|open|inspect.*|globalSetup|standalone$|attachmentsDir|merge-reports|experimental.*)/,
  }),
  ...named(
    'mocha ava jasmine karma tap',
    tool({
      flags: `-b -g: -i -f: -t: -s: -R: -u: -C -p -j: -m: -w -S -u --bail --grep: --fgrep: --invert --timeout: --slow: --reporter:
        --ui: --check-leaks --full-trace --parallel --jobs: --recursive --extension: --spec: --ignore: --exit --no-exit --forbid-only
        --forbid-pending --retries: --sort --diff --no-diff --inline-diffs --dry-run --list-reporters --list-interfaces --delay
        --async-only --allow-uncaught --global: --fail-zero --pass-on-failing-test-suite --no-timeout --match: --serial
        --fail-fast --concurrency: --update-snapshots --tap --single-run --auto-watch --browsers: --no-auto-watch --log-level:
        --random --seed: --stop-on-failure --filter: --only --coverage-report: --disable-coverage --allow-incomplete-coverage`,
      medium:
        /^--(config|init|inspect.*|import|loader|node-option.*|before|after|plugin)|^(init|start|config|plugin|-r)$/,
    }),
  ),
  playwright: tool({
    verbs: 'test show-trace merge-reports',
    flags: `-c: -g: -j: -x -u --headed --project: --grep: --grep-invert: --workers: --retries: --repeat-each: --reporter: --shard:
      --timeout: --global-timeout: --max-failures: --list --forbid-only --fully-parallel --last-failed --only-changed
      --pass-with-no-tests --trace: --update-snapshots --update-source-method: --ignore-snapshots --no-deps --quiet --fail-on-flaky-tests
      --tsconfig: --browser: --workers`,
    output: /^(-u|--update-snapshots)(=|$)/,
    medium: /^(show-trace|--ui.*|--debug|--output|install|install-deps|codegen|open)$/,
  }),
  cypress: tool({
    verbs: 'run verify info version',
    flags: `-s: -b: -e: -q -C: --spec: --browser: --headless --headed --component --e2e --env: --config: --reporter: --quiet --no-exit
      --parallel --group: --tag: --port: --project:`,
    medium: /^--(record|key|ci-build-id)$/,
  }),
  ...named(
    'wdio react-scripts web-test-runner',
    tool({
      verbs: 'run test build',
      flags:
        '--spec: --suite: --coverage --watchAll --files: --node-resolve --group: --concurrency: --playwright --puppeteer',
    }),
  ),
  // They run the following command and measure its coverage.
  ...named('c8 nyc', call => {
    if (/^(report|check-coverage|merge|instrument)$/.test(call.args[0]?.value ?? '')) return judgeReport(call)
    const loads = call.args.find((_, at) => /^(-r|--reporter)$/.test(call.args[at - 1]?.value ?? ''))
    if (loads && /^[./~]/.test(loads.value)) call.say('flag.loads', 'HIGH', `${loads.text} is loaded as code`, loads)
    COVERED(call)
  }),
}

const COVERED = wrapper({
  loose: true,
  harmless: `-a -x: -n: -r: --all --reporter: --include: --exclude: --extension: --check-coverage --lines: --branches: --functions:
    --statements: --per-file --skip-full --100 --src: --temp-directory: --clean --silent --watermarks: --exclude-after-remap
    --exclude-node-modules --no-exclude-node-modules --omit-relative --wrapper-length: --source-map --produce-source-map
    --reports-dir: --report-dir: --cache --no-cache --experimental-monocart --allowExternal`,
  asks: '-c: --config: --cwd: --nycrc-path: --resolve: --hook-* --instrumenter:',
  runs: '-i: --require: --import: --babel-cache --node-options:',
})

function judgeReport(call: ProgramCall): undefined {
  if (/^(merge|instrument)$/.test(call.args[0]?.value ?? ''))
    call.say('tool.other', 'MEDIUM', `${call.name} writes files`, call.args[0])
  REPORT(call)
}

const REPORT = tool({
  flags:
    '-r: --reporter: --report-dir: --reports-dir: --lines: --branches: --functions: --statements: --per-file --check-coverage --exclude: --include: --skip-full --all --src: --temp-directory:',
})

/** Documents, sites, editors, and other agents. */
export const OTHER_TOOLS: ProgramRules = {
  buf: tool({
    high: /^(push|registry|plugin|beta)$/,
    verbs: 'lint build breaking format',
    flags: '-d --diff --exit-code --error-format: --against: --path:',
  }),
  ...named(
    'protoc',
    tool({
      words: true,
      flags:
        '-I* -I: -proto_path: -decode_raw -print_free_field_numbers --go_out* --go-grpc_out* --go_opt* --go-grpc_opt* --python_out* --pyi_out* --grpc_python_out* --ts_out* --ts_opt* --es_out* --es_opt* --js_out* --java_out* --kotlin_out* --cpp_out* --csharp_out* --ruby_out* --php_out* --swift_out* --dart_out* --grpc_out* --doc_out* --validate_out*',
      output: /^--\w+_out=/,
      medium: /^-o.*$/,
      high: /^--plugin.*$/,
    }),
  ),
  ...named(
    'pdflatex xelatex lualatex latex tex latexmk pdftex luatex bibtex',
    tool({
      high: /^--?(shell-escape|enable-write18|shell-restricted|output-directory=\/.*|luaonly|lua=.*|pdflatex=.*|e|r|usepretex.*|pretex.*)$|^-?\\|write18/,
      medium: /./,
    }),
  ),
  ...named(
    'hugo jekyll zola',
    tool({
      verbs: 'build check version env config list',
      flags:
        '-D -F -E -b: -s: --minify --gc --drafts --future --incremental --destination: --buildDrafts --cleanDestinationDir --printI18nWarnings --baseURL: --strict_front_matter --profile',
    }),
  ),
  ...named('code codium cursor idea subl atom windsurf', call =>
    call.say(
      call.args.some(arg => /^--(install-extension|uninstall-extension|install-source.*)/.test(arg.value))
        ? 'persist'
        : 'editor',
      call.args.some(arg => /^--(install-extension|uninstall-extension)/.test(arg.value)) ? 'HIGH' : 'MEDIUM',
      `${call.name} opens an editor`,
    ),
  ),
  ...named(
    'autoreconf autoconf automake aclocal libtoolize autoheader nest react-native openapi-typescript json-server openapi-generator-cli sqlc oapi-codegen mockgen mockery wire swag templ stringer gqlgen genqlient easyjson gofumpt goimports golines staticcheck govulncheck revive license-checker tsd patch-package syncpack jscpd unimported ts-prune type-coverage api-extractor npm-check depcruise dependency-cruiser remark alex textlint tsc-alias eslint_d htmlhint linthtml pa11y redocly swagger-cli spectral ajv quicktype svgo terser uglifyjs cleancss purgecss source-map-explorer vite-bundle-visualizer eleventy xcbeautify xcpretty tuist xcodegen swiftgen ktlint detekt scalafmt scalafix fourmolu ormolu hlint hpack stylish-haskell erlfmt nixfmt alejandra deadnix statix tflint terraform-docs conftest kubeconform kubeval kube-linter helm-docs markdown-link-check mdl mdformat blacken-docs nbstripout nbqa wasm-pack trunk maturin graphql-codegen ansible-lint openapi-generator ffprobe tldr cargo-nextest typos taplo vale lychee dotslash sqlfluff djlint pyupgrade codespell semgrep',
    call => {
      call.say('tool.other', 'MEDIUM', `${call.name} builds or checks the project`)
      PROJECT_TOOL(call)
    },
  ),
  ...named('venv virtualenv', call => {
    call.say('tool.other', 'MEDIUM', 'it makes a folder for packages')
    const clears = call.args.find(arg => /^--cl/.test(arg.value))
    for (const arg of findOperands(call.args, ['--prompt', '-p', '--python'])) {
      call.path(arg, 'write')
      if (clears && !/^(\.\/)?\.?(v?env|virtualenv)[\w.-]*\/?$/.test(arg.value))
        call.say('file.delete', 'HIGH', `${clears.text} empties ${arg.text} first`, clears)
    }
  }),
  ...named(`${AGENT_PROGRAMS} aider pcc perpetualcc cursor-agent amp`, (call: ProgramCall) => {
    const loose = call.args.find(arg =>
      /dangerously|bypass|yolo|--allow-all|full-auto|never|acceptEdits/i.test(arg.value),
    )
    call.say(
      'agent.start',
      loose || /^(pcc|perpetualcc)$/.test(call.name) ? 'HIGH' : 'MEDIUM',
      `${call.name} starts or steers an agent`,
      loose,
    )
  }),
}

const PROJECT_TOOL = tool({
  flags:
    '-i: -o: -g: -w -l -d -s -f: --to: --summary --production --development --csv --check --fix --write --diff --strict --recursive --out: --input: --format: --all --dialect: --target: --release --dev --stdout -strict -summary -verbose -ignore-missing-schemas -kubernetes-version: -skip: -output: -n:',
  medium: /^(publish|deploy|login|upload|install)$/,
})

/**
 * Checkers, measuring tools and builders of many languages, which work on the project and send nothing. Tools that run what a word or a
 * folder's own file says are not among them.
 */
const WORKS_ON_PROJECT = `verilator iverilog ghdl verible-verilog-lint svlint tfsec checkov cfn-lint cfn_nag_scan
  srb steep rbs solhint slither bloaty include-what-you-use gcov gcovr lcov genhtml pdoc pydeps pipdeptree mutmut
  asciidoctor mmdc neato elm-test purs ameba luacheck stylua busted php-cs-fixer deptrac pyre pytype
  pip-audit erblint fasterer packwerk haml-lint slim-lint wtr nightwatch
  formatjs lingui es-check benchstat errcheck ineffassign misspell gosec
  ctags cscope loc onefetch git-cliff conventional-changelog auto-changelog compodoc esdoc mdbook bats shellspec godog robot pabot
  stryker stryker-js infection mutant uvu japa wasm-opt qmake flex bison re2c
  cython optipng jpegoptim cwebp pdftotext tidy csslint lessc stylus bundlesize import-linter lint-imports docformatter pyroma
  check-manifest validate-pyproject djade curlylint jsonnetfmt toml-sort prettierd protolint flatc
  dart_code_metrics periphery clj-kondo cljfmt weeder delta difft diff-so-fancy hexyl
  jdeps javap ts-json-schema-generator json2ts json-schema-to-typescript graphql-inspector openapi-diff i18next svgr mypyc
  gocyclo gocognit nilaway deadcode gci ktfmt google-java-format rubycritic flog flay bundler-audit ruby-audit yard rdoc sdoc
  phploc phpmd phan twigcs pylint-exit vermin refurb pyrefly ty basedpyright zizmor dotenv-linter editorconfig-checker ec
  checkmake mbake regal cargo-deny cargo-audit cargo-machete cargo-llvm-cov cargo-tarpaulin typst aspell hunspell proselint write-good
  tsr tsx-lint ls-lint sort-package-json package-lint npm-package-json-lint lockfile-lint check-dts dtslint api-documenter`

/** Programs whose words are steps that a file of the project describes. */
const STEP_PROGRAMS = 'inv invoke doit mage earthly pio platformio idf.py forge hardhat nuke'

/** Programs that talk to a server which a word names. On this machine that is a server of the project. */
const CLIENTS =
  'ab wrk wrk2 hey oha bombardier autocannon siege wait-on wait-port lighthouse axe grpcurl websocat wscat'

const FAR_VERBS =
  /^(publish|deploy|login|logout|upload|install|uninstall|push|submit|register|auth|send|share|cloud|remote|token|account|flash|erase|broadcast|create|script|run-operation|snapshot|seed|reset|gc|destroy|remove|delete|pull|import|import-url|get-url|exp)$/
/** An environment that others use. */
const OTHERS = /(^|[-_./@:=])(prod|production|prd|live|staging|mainnet)([-_./@:]|$)/i

/** Flags that say how much is done and how it is shown, in every tool that has them. What other flags mean differs from tool to tool. */
const SHOWS =
  /^(-|-v|-q|-h|-V|-w|-l|-Wall|-Wextra|-j\d+|--(verbose|quiet|silent|help|version|check|diff|strict|json|color|no-color|summary|list|dry-run|stats|all|lint-only|fix|write|coverage|no-progress|fail-fast|recursive|csv|watch=false|(format|output-format|severity|level|jobs|timeout)=(\d+|json|text|table|csv|xml|sarif|github|junit|html|markdown|compact|unix|error|warning|info|low|medium|high|critical)))$/
/** Verbs of such tools that look at the project or build it. A word with a dot or a slash, or the name of a folder for code, is a file. */
const LOOKING =
  /^(check|lint|test|run|build|generate|doc|docs|verify|format|fmt|report|list|show|status|analyze|analyse|compile|info|diff|stats|typecheck|tc|validate|health|missing|unused|find|scan|audit|coverage|version|help|parse|json|text|html|fix|watch|compare|extract|src|lib|apps?|tests?|specs?|packages|internal|cmd|pkg|features|components|examples|infra|modules|charts|k8s|models|services|notebooks|bench|frontend|backend|\d+)$/
const FILE = /^(\.|(\.\/)?[\w@][\w@+-]*([./][\w@+*.-]+)+\/?|[\w-]+\/|\.\/\.\.\.)$/

/** Tools that are known by what they do, and not by each of their flags. */
export const PROJECT_TOOLS: ProgramRules = {
  ...named(WORKS_ON_PROJECT.replace(/\s+/g, ' '), call => {
    call.say('tool.other', 'MEDIUM', `${call.name} builds or checks the project`)
    judgeToolWords(call, call.args)
    for (const [at, arg] of call.args.entries()) {
      const before = call.args[at - 1]?.value ?? ''
      if (isOutputFlag(arg.value)) continue
      if ((isOutputFlag(before) || (before === '-f' && call.name === 'ctags')) && arg.known) call.path(arg, 'write')
      else if (!arg.known) call.unknown(arg)
      else if (!SHOWS.test(arg.value) && !LOOKING.test(arg.value) && !FILE.test(arg.value) && !isOwnWord(call, arg))
        call[namesNoCode(arg, call.args[at + 1]) ? 'hold' : 'say'](
          'tool.word',
          'MEDIUM',
          `${arg.text} is no word of ${call.name} that the policy knows`,
          arg,
        )
    }
    if (call.feed.text || call.feed.file || call.feed.piped)
      call.say('tool.word', 'MEDIUM', `${call.name} works on what it is fed`)
  }),
  ...named(STEP_PROGRAMS, call => {
    call.say('tool.other', 'MEDIUM', `${call.name} runs a step of the project`)
    judgeToolWords(call, call.args)
    for (const arg of call.args) {
      if (!isFlag(arg)) judgeStep(call, arg)
      if (OTHERS.test(arg.value) || FAR_VERBS.test(arg.value))
        call.say('script.far', 'MEDIUM', `${arg.text} reaches beyond the project`, arg)
      if (!arg.known) call.unknown(arg)
      else if (
        !SHOWS.test(arg.value) &&
        !isOwnWord(call, arg) &&
        !/^\+?[a-zA-Z][\w:-]*$/.test(arg.value) &&
        !/^(\.\/)?\w[\w./-]*$/.test(arg.value)
      )
        call.say('tool.word', 'MEDIUM', `${arg.text} is no word of ${call.name} that the policy knows`, arg)
      if (/\.\w+$/.test(arg.value) && !isFlag(arg)) judgeScriptFile(call, arg)
    }
  }),
  ...named(CLIENTS, call => judgeClient(call, false)),
  ...named('k6 locust artillery', call => judgeClient(call, true)),
  bear: wrapper({ harmless: '-v --verbose --append', writes: '--output: --libexec:' }),
  jar: call => {
    const [verb] = call.args
    if (verb && /^(-?t[vf]*f?|--list)$/.test(verb.value)) for (const arg of call.args.slice(1)) call.path(arg, 'read')
    else call.say('file.archive', 'MEDIUM', 'jar packs or unpacks files')
  },
  adb: call => {
    const line = call.args.map(({ value }) => value).join(' ')
    const looks =
      /^(-s \S+ )?(devices( -l)?|logcat -d( .*)?|get-state|version|shell (getprop|dumpsys|pm list|wm size)\b[\w. -]*)$/
    call.say(
      looks.test(line) ? 'tool.other' : 'infra.remote',
      'MEDIUM',
      `adb ${looks.test(line) ? 'looks at' : 'changes'} a device`,
    )
  },
}

/** Flags, and other words, of one such program. */
const OWN_WORDS: Record<string, RegExp> = {
  ctags: /^(-R|-f|--(languages|exclude|fields|extras|kinds-\w+|tag-relative|sort)(=[\w.,+*/-]+)?)$/,
  checkov: /^(-d|-f|--(directory|file|compact|framework|soft-fail))$/,
  erblint: /^(-a|--(lint-all|autocorrect))$/,
  gcovr: /^(-r|--(root|exclude|filter|txt|html|xml|json|html-details|print-summary))$/,
  genhtml: /^--(output-directory|branch-coverage|legend)$/,
  'git-cliff': /^--(unreleased|latest|current|bumped-version)$/,
  gocyclo: /^-(over|avg|top)$/,
  javap:
    /^(-[pcsv]|-cp|-classpath|-private|-public|-protected|-verbose|-constants|[A-Z]\w*([.$]\w+)*|[a-z]\w*(\.\w+)+(\$\w+)*)$/,
  jdeps:
    /^(-[sRv]|-cp|-summary|-recursive|--(print-module-deps|list-deps|class-path|multi-release|ignore-missing-deps))$/,
  lcov: /^(-[cd]|--(capture|directory|summary|ignore-errors))$/,
  pio: /^(-e|--environment)$/,
  'pip-audit': /^(-[rlfsd]|--(requirement|local|strict|desc|progress-spinner|skip-editable))$/,
  pipdeptree: /^(-[pra]|--(packages|reverse|warn|depth|local-only))$/,
  platformio: /^(-e|--environment)$/,
  tfsec: /^--(soft-fail|no-colou?r|minimum-severity|concise-output)$/,
  yard: /^--(list-undoc|no-save|no-output)$/,
}

function isOwnWord({ name }: ProgramCall, { value, known }: Arg): boolean {
  return known && Object.hasOwn(OWN_WORDS, name) && OWN_WORDS[name]?.test(value) === true
}

const ONLY_SAYS = /^--(print|show|list|no|only|skip|exclude|max|min|soft|fail|ignore)-[\w-]+$/

/** Whether a word is a flag without a file of code, which the tool may run. */
function namesNoCode(arg: Arg, next: Arg | undefined): boolean {
  const [, value = next?.value ?? ''] = /=(.*)$/s.exec(arg.value) ?? []
  return (
    /^--?[a-z][\w-]*(=[\w.,/-]*)?$/.test(arg.value) &&
    (ONLY_SAYS.test(arg.value) || !/^\.?\/|\.([cm]?[jt]sx?|py|rb|lua|sh|pl|php|so|jar|exe|ya?ml)$/.test(value))
  )
}

/** `-o` is a file that the tool writes. */
function isOutputFlag(word: string): boolean {
  return /^(-o|--output|--out)$/.test(word)
}

/** A client whose every word is an address on this machine, a number, or how much is asked; and a script of the project, if it runs one. */
function judgeClient(call: ProgramCall, runs: boolean): undefined {
  call.say('net.get', 'MEDIUM', `${call.name} talks to a server`)
  for (const arg of call.args) {
    if (!arg.known) call.unknown(arg)
    else if (LOCAL.test(arg.value) || CLIENT_WORD.test(arg.value)) continue
    else if (runs && (arg.value === 'run' || FILE.test(arg.value))) {
      if (arg.value !== 'run') judgeScriptFile(call, arg)
    } else call.say('net.elsewhere', 'MEDIUM', `${arg.text} is no word of ${call.name} that the policy knows`, arg)
  }
}

const CLIENT_WORD =
  /^(-[nctdrzqkv]|-plaintext|list|describe|--output=(json|html|csv)|--output-path=(\/tmp\/)?[\w-]+\.(json|html)|--(chrome-flags=--headless(=new)?|only-categories=[\w,-]+)|--(latency|no-tui|threads|connections|duration|requests|concurrency|timeout|quiet|headless|vus|users|spawn-rate|run-time)(=\d+[a-z]{0,2})?|\d+[a-z]{0,2})$/

const LOCAL =
  /^((https?|wss?|grpc|tcp|http-get):(\/\/)?)?(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)?(:\d+)([/?].*)?$|^(https?|wss?):\/\/(localhost|127\.0\.0\.1)([/?].*)?$|^tcp:\d+$/
