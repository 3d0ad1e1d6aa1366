import { dirname } from 'node:path'
import type { ProgramCall, ProgramRule, ProgramRules } from '../classify/call.ts'
import { noteCompiled, wasWritten } from '../classify/judge-file.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, atDoubleDash, deriveArg, findFlag, findOperands, HOLE, isFlag } from '../shell/args.ts'
import { flagTable, scanFlags } from '../shell/flag-table.ts'
import { judgeUnlisted, judgeUpdate } from './lock-files.ts'
import { judgeInstalled } from './package-commands.ts'
import { named } from './rule-builders.ts'
import { judgeScriptFile, judgeToolWords } from './run-code.ts'
import { type ToolRow, tool } from './tool-rule.ts'

/** Compilers, and formatters and checkers for compiled languages. */
export const COMPILERS: ProgramRules = {
  // With `-w` it changes the files that it is given.
  gofmt: tool({ words: true, flags: '-l -d -s -e -w', high: /^--?(cpuprofile)(=|$)/, medium: /^--?r(=|$)/ }),
  ...named(
    'golangci-lint gotestsum golint ginkgo richgo gopls',
    tool({
      words: true,
      flags: `-l -d -s -e -r -p -f: -local: -tags: -checks: -tests -explain: -fix -timeout: -E: -D: -enable: -disable: -enable-all -disable-all -fast
        -new -new-from-rev: -out-format: -color: -sort-results -max-issues-per-linter: -max-same-issues: -print-issued-lines
        -format: -packages: -watch -rerun-fails -hide-summary: -no-summary: -test -show: -mode: -race -cover -randomize-all
        -focus: -skip: -min_confidence: -set_exit_status -formatter: -exclude: -concurrency: -presets: -no-config -allow-parallel-runners
        -issues-exit-code: -output.*`,
      medium:
        /^(-w|--?w|exec|attach|debug|serve|watch|custom|migrate|--?(destination|junitfile|jsonfile|cpuprofile|memprofile|trace|post-run-command|raw-command|exec|toolexec|destination))$/,
      high: /^--?(post-run-command|raw-command|exec_only|toolexec|exec)(=|$)/,
    }),
  ),
  dlv: call => call.say('debugger', 'MEDIUM', 'dlv runs a program from the inside'),
  ...named(
    'rustfmt rustc rustdoc',
    tool({
      flags: `-O -g -l --check --edition: --emit: --crate-type: --crate-name: --test --cfg: --cap-lints: --error-format: --color: --print: --explain:
        --backup --files-with-diff --config: --unstable-features --style-edition: --verbose --print-config:`,
      high: /^(-C|--codegen)?=?(linker=.*)|^--linker|^-Clinker|^linker=|^(-C)?link-arg|^-(C|Z)(link|codegen-backend|save)|^--sysroot/,
      medium: /^(-o|--out-dir|-Z.*|--emit.*|-L|--extern|--print-config|-C.*|--codegen.*|--test-runtool.*|--runtool.*)/,
    }),
  ),
  ...named(
    'gcc g++ cc c++ clang clang++ tcc icc nvcc emcc cpp',
    tool({
      words: true,
      flags: `-O -O0 -O1 -O2 -O3 -Os -Og -Oz -Ofast -g -g0 -g1 -g2 -g3 -ggdb -w -fsyntax-only -pedantic -pedantic-errors -ansi -pthread
        -std: -m32 -m64 -fPIC -fpic -fopenmp -fno-* -fsanitize* -fstack-* -fvisibility* -fdiagnostics-* -Wall -Wextra -Werror
        -Wpedantic -Wconversion -Wshadow -Wno-* -Werror=* -Wunused* -Wformat* -Wimplicit* -Wmissing* -Wcast* -I* -D* -U* -l* -M -MM
        -march* -mtune* -dumpversion -dumpmachine -print-* --version -v -x: -o: -o* -c -S -E -shared`,
      output: /^-(o.*|c|S|E|shared)$/,
      makes: '-o',
      high: /^(-fplugin.*|-specs.*|--specs.*|-B.*|-wrapper|--wrapper|-Xclang|-load|-fuse-ld=.*|-Wl,.*(plugin|dynamic-linker).*|--plugin|-plugin|@.*|--ld-path.*|-fpass-plugin.*|-ccbin.*|--compiler-bindir.*|-no-canonical-prefixes|-Xlinker|-Xpreprocessor|-Xassembler|-Wa,.*|-Wp,.*|--config.*)$/,
      medium: /^(--output.*|-Wl,.*|-save-temps.*|-MF.*|-MD|-MMD|-dump.*|-fprofile.*|-ftime-trace.*|-L.*|-include.*)$/,
    }),
  ),
  ...named('ld as ranlib strip nasm yasm', call => {
    call.say('tool.other', 'MEDIUM', `${call.name} writes object files`)
    OBJECTS(call)
  }),
  zig: tool({
    verbs: 'build test fmt ast-check version env targets zen',
    flags:
      '-O: -target: --release --summary: --check --verbose --test-filter: -fsummary -freference-trace --color: -j: -l --list-steps',
    medium: /^(--prefix|-p|--zig-lib-dir|--cache-dir|--global-cache-dir|-D.*|--build-runner.*|-femit.*)$/,
    high: /^(--build-runner.*|--zig-lib-dir.*|--test-cmd.*)$/,
  }),
  ...named(
    'javac kotlinc scalac',
    compile({
      words: true,
      flags:
        '-Xlint -Xlint:* -g -nowarn -parameters -source: -target: -release: -encoding: -cp: -classpath: -deprecation -feature -unchecked -Werror -proc:none',
      high: /^(-processorpath|-processor|--processor.*|-Xplugin.*|-J.*|-Xplugin|@.*|-P)/,
      output: /^-d$/,
    }),
  ),
  ...named(
    'clang-format clang-tidy cppcheck cpplint iwyu uncrustify astyle',
    tool({
      words: true,
      flags: `-i -n -Werror -style: -dry-run -p: -checks: -fix -header-filter: -quiet -enable: -std: -inconclusive -suppress: -error-exitcode: -language:
      -filter: -linelength: -extensions: -verbose -force -j: -I* -D* -platform: -check -sort-includes -fallback-style: -lines:`,
      high: /^--?(load|plugin|export-fixes|addon|cppcheck-build-dir|dump|rule-file|clang|library|project|vfsoverlay)(=|$)/,
    }),
  ),
  shellcheck: tool({
    flags:
      '-a -x -s: -S: -e: -i: -o: -f: -W: -P: -C? --shell: --severity: --exclude: --include: --enable: --format: --external-sources --norc --check-sourced --list-optional --wiki-link-count: --extended-analysis:',
  }),
  shfmt: tool({
    flags:
      '-d -l -s -i: -bn -ci -sr -kp -fn -mn -ln: -p -f --diff --list --simplify --indent: --find --language-dialect: --case-indent --binary-next-line --space-redirects',
    medium: /^(-w|--write)$/,
  }),
  hadolint: tool({
    flags:
      '-f: -t: --format: --failure-threshold: --ignore: --trusted-registry: --no-fail --strict-labels --error: --warning: --info: --style:',
  }),
  actionlint: tool({
    words: true,
    flags: '-color -no-color -verbose -oneline -ignore: -format: -pyflakes: -shellcheck:',
    high: /^--?(pyflakes|shellcheck)(=|$)/,
  }),
  yamllint: tool({ flags: '-s -f: -d: -c: --strict --format: --list-files --no-warnings --config-data:' }),
}

const OBJECTS = tool({
  words: true,
  flags: '-o: -l* -L* -f: -g -t -x',
  high: /^(-plugin.*|--plugin.*|@.*|-dynamic-linker.*|-I.*|--dynamic-linker.*|--input.*|-P|-T.*)$/,
})

const GO_FLAGS = flagTable({
  words: true,
  loose: true,
  harmless: `-v -x -n -a -i -l -c -e -m -u -t -s -f: -p: -run: -skip: -count: -timeout: -bench: -benchtime: -benchmem -cover -coverpkg:
    -covermode: -race -msan -asan -short -parallel: -cpu: -tags: -json -list: -failfast -fullpath -shuffle: -vet: -fuzz: -fuzztime:
    -fuzzminimizetime: -trimpath -mod: -buildvcs: -buildmode: -ldflags: -gcflags: -asmflags: -work -deps -test -find -export
    -compat: -go: -diff -all -short -src -cmd -html: -func: -versions -retracted -reuse: -o: -coverprofile: -vendor -require:
    -changed -C: -testcache -fuzzcache -cache`,
  asks: '-cpuprofile: -memprofile: -blockprofile: -mutexprofile: -trace: -outputdir: -w -pgo: -installsuffix: -compiler:',
  runs: '-exec: -toolexec: -vettool: -overlay: -modfile: -pkgdir: -gccgoflags: -linkmode: -modcacherw',
})

/** javac and the like: notes which classes of the project it makes in /tmp. */
function compile(row: ToolRow): ProgramRule {
  const rule = tool(row)
  return call => {
    rule(call)
    const into = findFlag(call.args, ['-d'])?.value
    const sources = findOperands(call.args, ['-d', '-cp', '-classpath', '-source', '-target', '-release', '-encoding'])
    if (!into?.known || !sources.every(arg => arg.known && isInProject(call, arg) && !wasWritten(arg, call))) return
    for (const { value } of sources)
      noteCompiled(
        { ...into, value: `${into.value.replace(/\/+$/, '')}/${value.replace(/^.*\/|\.\w+$/g, '')}.class` },
        call,
      )
  }
}

/** Words for a program of the project that name what others use, or take something back. */
const FAR_WORD = /^(--?[\w-]+=)?(prod\w*|live|stag\w*|down|rollback|reset|drop|wipe|purge|destroy|delete)$/i

/** go: LOW for building, testing and listing the module with known flags. */
export function go(call: ProgramCall): undefined {
  // What follows the package of `go run` goes to a program of the project.
  const start = call.args.findIndex((arg, at) => at > 0 && /^(\.|\.\/[\w./-]*|[\w./-]+\.go)$/.test(arg.value))
  const isRun = call.args[0]?.value === 'run' && start > 0
  const { flags, operands, unknown } = scanFlags(isRun ? call.args.slice(0, start + 1) : call.args, GO_FLAGS)
  const [verb, ...rest] = operands
  judgeToolWords(call, call.args)
  const far = isRun && call.args.slice(start + 1).find(arg => FAR_WORD.test(arg.value))
  if (far) call.say('script.far', 'MEDIUM', `${far.text} may reach beyond the project, or take something back`, far)
  for (const { kind, arg, name, value } of flags) {
    if (kind === 'runs' || (value && /-extld|-plugin|-toolexec|-linkmode|-B |-fplugin/.test(value.value)))
      call.say('flag.runs', 'HIGH', `${arg.text} makes go run something else`, arg)
    else if (kind === 'asks') call.hold('tool.flag', 'MEDIUM', `${arg.text} is an unusual flag`, arg)
    else if (name === 'o' && value) {
      call.path(value, 'write')
      if (/\.\w*(go|mod|sum)$/.test(value.value))
        call.say('file.delete', 'HIGH', `${value.text} is code, and would be overwritten by a program`, value)
      const isOwn = rest.every(
        arg => arg.known && /^\.(\/[\w-][\w./-]*)?$/.test(arg.value) && !/\.\.|\.go$/.test(arg.value),
      )
      const isHere = isInProject(call, deriveArg('.', value))
      if (verb?.value === 'build' && isOwn && isHere && !flags.some(flag => flag.name === 'C'))
        noteCompiled(value, call)
    } else if (name === 'C' && !(value && isInProject(call, value)))
      call.say('flag.runs', 'HIGH', `${arg.text} makes go work elsewhere`, arg)
  }
  for (const arg of unknown)
    call.hold('tool.flag', 'MEDIUM', `${arg.text} is not a flag of go that the policy knows`, arg)
  if (verb === undefined) return
  judgeVerb(call, verb, rest)
}

/** Whether a word is the path of something in the project for certain. */
function isInProject({ scope: { cwd }, fence }: ProgramCall, { known, value }: Arg): boolean {
  return known && cwd !== undefined && locatePath(value.replace(/^=/, ''), cwd, fence).where === 'inside'
}

function judgeVerb(call: ProgramCall, verb: Arg, rest: readonly Arg[]): undefined {
  if (verb.value === 'env' && call.args.some(arg => /^-[wu]$/.test(arg.value)))
    return call.say('tool.settings', 'MEDIUM', 'go env -w changes go for good', verb)
  if (/^(test|build|vet|fmt|list|doc|env|version)$/.test(verb.value)) return
  const foreign = call.args.find(({ value }) => /^--?(drop)?(replace|exclude|tool|require|use)(=|$)/.test(value))
  if (foreign && /^(mod|work)$/.test(verb.value) && rest[0]?.value === 'edit')
    return call.say('pkg.foreign', 'MEDIUM', `${foreign.text} changes which modules are fetched and run`, foreign)
  if (verb.value === 'mod')
    return rest[0] && /^(graph|why|verify|tidy|download|vendor)$/.test(rest[0].value)
      ? undefined
      : call.say('tool.other', 'MEDIUM', 'go mod changes the module', verb)
  if (/^(get|install)$/.test(verb.value)) judgeUnlisted(call, rest, 'go')
  if (verb.value === 'get' && call.args.some(({ value }) => /^--?u(=|$)|@(latest|upgrade|patch)$/.test(value)))
    judgeUpdate(call, verb)
  if (verb.value === 'run') return judgeGoRun(call, rest[0])
  if (verb.value === 'generate') judgeGenerators(call, verb)
  if (verb.value === 'get' && rest.every(arg => /^(\.|\.\/\.\.\.|all|[\w-]+(\.[\w-]+)+\/[\w./@+-]+)$/.test(arg.value)))
    return call.say('pkg.read', 'MEDIUM', 'go get adds a module that the project names', verb)
  call.say(
    verb.value === 'install' || verb.value === 'get' ? 'pkg.foreign' : 'tool.other',
    'MEDIUM',
    `go ${verb.value}`,
    verb,
  )
}

/** `go generate` runs what the comments in the files of the module say. */
function judgeGenerators(call: ProgramCall, verb: Arg): undefined {
  const { look } = call.fence
  const into = findFlag(call.args, ['-C'], 'C')?.value
  const place = call.scope.cwd === undefined ? undefined : locatePath(into?.value ?? '.', call.scope.cwd, call.fence)
  if (look === undefined) return
  const found = place?.where === 'inside' ? look(place.path) : undefined
  const names =
    found?.is === 'folder' ? found.names.filter(name => /\.go$/.test(name) && !SKIPPED.test(name)) : undefined
  if (place?.where !== 'inside' || names === undefined || names.length > MAX_GO_FILES)
    return call.say('script.unread', 'MEDIUM', 'it is not known what go generate runs', verb)
  for (const name of names) {
    const path = `${place.path}/${name}`
    const file = look(path)
    if (file?.is !== 'file') {
      call.say('script.unread', 'MEDIUM', `${name} is not read, and go generate runs what it says`, verb)
      continue
    }
    const lines = [...file.bytes.toString('utf8').matchAll(/^\/\/go:generate[ \t]+(.*)$/gm)].map(([, text = '']) =>
      text.trim(),
    )
    const strange = lines.find(text => !GENERATORS.test(text))
    if (strange !== undefined)
      call.say('script.unread', 'MEDIUM', `${name} makes go generate run ${strange.slice(0, 60)}`, verb)
    const texts = lines.map(text => ({ text }))
    if (texts.length > 0) call.lines({ id: path, name, cwd: dirname(path), lines: texts, is: 'task' }, verb)
  }
}

/** More files than are remembered for one request; a module with more is left to a person. */
const MAX_GO_FILES = 100
const SKIPPED = /(^|\/)(vendor|node_modules|testdata)\//
/** Programs that make code of code, and programs of the project. */
const GENERATORS =
  /^(go run (-mod=\w+ )?(\.{1,2}\/[\w./-]*|[\w-]+\.go|[\w-]+(\.[\w-]+)+\/[\w./-]+(@v[\w.-]+)?)|go tool [\w./-]+|stringer|mockgen|moq|mockery|enumer|protoc|buf|sqlc|wire|gqlgen|oapi-codegen|counterfeiter|easyjson|ent|templ|swag|goyacc|ragel|msgp|jsonenums|gomarkdoc|controller-gen|bpf2go|rice|statik|genny|goimports|gofmt)( [^;|&<>`]*)?$/

function judgeGoRun(call: ProgramCall, target: Arg | undefined): undefined {
  if (target === undefined) return
  if (/@|^[\w-]+\.[a-z]+\//.test(target.value)) {
    judgeUnlisted(call, [target], 'go')
    return call.say('pkg.exec', 'MEDIUM', `${target.text} may be fetched and run`, target)
  }
  judgeScriptFile(call, target)
}

/** Flags with which cargo works only on the project. */
const CARGO_FLAGS =
  /^(-[vqrhVejinde]+|-[pFjZ].*|-vv|--(release|verbose|quiet|help|version|list|features|all-features|no-default-features|workspace|all|exclude|package|lib|bin|bins|example|examples|test|tests|bench|benches|all-targets|target|profile|jobs|color|message-format|no-run|no-fail-fast|keep-going|doc|no-deps|document-private-items|open|check|frozen|locked|offline|dry-run|edges|invert|depth|prefix|charset|format|duplicates|no-dedupe|prune|dev|build|optional|rename|fix|allow-dirty|allow-staged|allow-no-vcs|broken-code|precise|recursive|aggressive|timings|future-incompat-report|unit-graph|build-plan|ignore-rust-version|format-version|filter-platform|limit|no-verify|explain|success-output|failure-output|test-threads|retries|partition|run-ignored|no-capture|nocapture|status-level|final-status-level|filter-expr|html|json|lcov|summary-only|deny|branch|rev|tag|path|git|no-track|manifest-path|target-dir|lockfile-path|compact|hide-inclusion-graph|exit-code|root-deps-only|direct|ignore|no-optional|default-features|public)(=.*)?)$/

export function cargo(call: ProgramCall): undefined {
  const { before, after } = atDoubleDash(call.args)
  const operands = findOperands(before, [
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
  if (toolchain)
    call.say(
      /^\+(stable|beta|nightly|1\.\d+(\.\d+)?)$/.test(toolchain.value) ? 'tool.other' : 'pkg.tools',
      'MEDIUM',
      `${toolchain.text} is another toolchain`,
      toolchain,
    )
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
    /^(--manifest-path|--target-dir|--root|--path|--lockfile-path|--out-dir|--artifact-dir|--config-file|--tool-config-file|--output-dir|--output-path)(=|$)/.test(
      arg.value,
    ),
  )
  if (elsewhere) {
    const value = elsewhere.value.includes('=')
      ? { ...elsewhere, value: elsewhere.value.slice(elsewhere.value.indexOf('=') + 1) }
      : before[before.indexOf(elsewhere) + 1]
    if (value) judgeToolWords(call, [value])
  }
  for (const arg of after) judgeToolWords(call, [arg])
  if (verb === undefined) {
    const odd = before.find(arg => isFlag(arg) && !CARGO_FLAGS.test(arg.value))
    if (odd) call.hold('tool.flag', 'MEDIUM', `${odd.text} is not a flag of cargo that the policy knows`, odd)
    return
  }
  if (/^(add|install|binstall)$/.test(verb.value))
    judgeUnlisted(call, operands.slice(operands.indexOf(verb) + 1), 'cargo')
  if (/^(update|upgrade)$/.test(verb.value)) judgeUpdate(call, verb)
  if (/^(publish|yank|owner|login|logout|release)$/.test(verb.value))
    return call.say('pkg.publish', 'HIGH', `cargo ${verb.value} publishes, or logs in`, verb)
  const line = call.args.map(({ known, value }) => (known ? value : HOLE)).join(' ')
  if (/^sqlx prepare( --check| --workspace| -- --tests)*$/.test(line))
    return call.say('tool.other', 'MEDIUM', 'cargo sqlx prepare checks the queries of the project', verb)
  if (/^sqlx (migrate (run|info)|database (create|setup))( --(source|ignore-missing|dry-run)( [\w./-]+)?)*$/.test(line))
    return call.say('db.migrate', 'MEDIUM', 'cargo sqlx migrates the database of the project', verb)
  if (
    /^(install|uninstall|new|init|fix|generate|binstall|script|vendor|remove|rm|watch|make|sqlx|shuttle|lambda|flamegraph)$/.test(
      verb.value,
    )
  )
    return call.say(verb.value === 'install' ? 'pkg.foreign' : 'pkg.other', 'MEDIUM', `cargo ${verb.value}`, verb)
  if (verb.value === 'xtask') return call.say('script.run', 'MEDIUM', 'cargo runs a program of the project', verb)
  if (verb.value === 'clean') {
    const where = call.args.find(({ known, value }) => !known || value.startsWith('--target-dir'))
    if (where) return call.say('file.delete', 'HIGH', `${where.text} says which folder cargo clean removes`, where)
    return call.say('tool.other', 'MEDIUM', 'cargo clean removes what it has built', verb)
  }
  if (
    !/^(build|b|test|t|check|c|run|r|bench|doc|d|clippy|fmt|tree|metadata|search|info|update|fetch|add|verify-project|pkgid|locate-project|read-manifest|generate-lockfile|package|report|help|version|nextest|llvm-cov|audit|deny|outdated|machete|tarpaulin|hack|insta|semver-checks|criterion|mutants|miri|expand|udeps|bloat|careful|geiger|sort|show-asm|asm)$/.test(
      verb.value,
    )
  )
    return call.say('pkg.other', 'MEDIUM', `cargo ${verb.text} is not an everyday command`, verb)
  const odd = before.find(arg => isFlag(arg) && !CARGO_FLAGS.test(arg.value) && arg !== other && arg !== elsewhere)
  if (odd) call.hold('tool.flag', 'MEDIUM', `${odd.text} is not a flag of cargo that the policy knows`, odd)
  const opens = before.find(arg => arg.value === '--open')
  if (opens) call.say('open', 'MEDIUM', 'it opens a browser', opens)
  if (/^(add)$/.test(verb.value) && second) judgeInstalled(call, operands.slice(operands.indexOf(second)), [])
}
