import type { ProgramCall, ProgramRule, ProgramRules } from '../classify/call.ts'
import { judgeAssignment } from '../classify/environment.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, atDoubleDash, deriveArg, findFlag, isFlag } from '../shell/args.ts'
import { flagTable, type SeenFlag, scanFlags } from '../shell/flag-table.ts'
import { go } from './compilers.ts'
import { listRecipeLines, type MakeFile, onlyPrints, readJustFile, readMakeFile } from './make-file.ts'
import { named, verbs } from './rule-builders.ts'
import { judgeScriptFile, judgeToolWords } from './run-code.ts'
import { judgeStep } from './step-names.ts'
import { tool } from './tool-rule.ts'

const MAKE_FLAGS = flagTable({
  loose: true,
  harmless: `-bBehiknpqrRsStvwyla -d? -j? -l? -O? -C: -I: -o: -W: -f: -t: -p? --always-make --jobs --keep-going --dry-run --just-print --recon
    --silent --quiet --question --touch --print-data-base --print-directory --no-print-directory --directory: --dir: --include-dir:
    --file: --makefile: --justfile: --taskfile: --load-average --output-sync --ignore-errors --no-builtin-rules --no-builtin-variables --trace --warn-undefined-variables
    --debug --stop --list --list-all --summary --show: --status --parallel --dry --verbose --color: --unsorted
    --working-directory: --dump --concurrency: --force --watch --exit-code`,
})

/** Names of targets that seem to reach beyond the project. */
const FAR =
  /(^|[-_:./])(install|uninstall|deploy|publish|release|destroy|drop|wipe|nuke|purge|prod|production|distclean|mrproper|teardown|provision|push|upload|flash|burn)([-_:./]|$)/i

/** A variable of the makefile: often a compiler or a list of flags, which are run. A number or a switch is neither. */
function judgeVariable(call: ProgramCall, arg: Arg): undefined {
  const value = arg.value.slice(arg.value.indexOf('=') + 1)
  if (/^(\d+|true|false|yes|no|on|off|)$/.test(value)) return
  // make hands its variables to the programs that it runs.
  const name = /^\w+/.exec(arg.value)?.[0] ?? ''
  if (!/^(C|CXX|CPP)FLAGS$/.test(name) || !COMPILER_FLAGS.test(value))
    judgeAssignment({ name, value: deriveArg(value, arg), at: arg.at, alone: true }, ({ code, risk, text }) =>
      call.say(code, risk, text, arg),
    )
  if (PROGRAM_NAME.test(arg.value) || /\s/.test(value)) {
    call.say('flag.runs', 'MEDIUM', `${arg.text} may be a command that ${call.name} runs`, arg)
    call.shell(deriveArg(value, arg))
  }
  if (/^[/~]|(^|\/)\.\.(\/|$)|[;`|&$]|\$\(/.test(value))
    return call.say('flag.runs', 'HIGH', `${arg.text} makes ${call.name} run or use something outside the project`, arg)
  call.hold('tool.flag', 'MEDIUM', `${arg.text} changes a variable of the makefile`, arg)
}

const COMPILER_FLAGS = /^\s*(-(O\w?|g\d?|W[\w-]*|std=[\w+]+|D\w+(=\w+)?|fsanitize=[\w,]+|pg|pthread)\s*)+$/

/** Variables that hold a program, in most makefiles. */
const PROGRAM_NAME =
  /^(CC|CXX|CPP|LD|AR|AS|FC|LEX|YACC|SHELL|MAKE|[A-Z_]*(CMD|COMMAND|EXEC|RUNNER|LAUNCHER|WRAPPER|COMPILER))[:+?]?=/

/** make and the like run what the project's own file says for a target, as `npm run` does. */
const make: ProgramRule = call => {
  const runs = call.args.find(arg =>
    /^(--ev|-E|SHELL=|.*\.SHELLFLAGS|MAKEFLAGS=|--shell|-c$|--command)/.test(arg.value),
  )
  if (runs) call.say('flag.runs', 'HIGH', `${runs.text} makes ${call.name} run something else`, runs)
  const { flags, operands, unknown } = scanFlags(call.args, MAKE_FLAGS)
  for (const { name, value } of flags) {
    if (/^(p|print-data-base)$/.test(name) && RULE_FILES[call.name]?.includes('Makefile'))
      call.say('env.print', 'MEDIUM', 'make -p shows the environment')
    if (value === undefined) continue
    if (/^(f|file|makefile|justfile|taskfile)$/.test(name)) judgeScriptFile(call, value)
    else if (/^(C|I|d|t|dir|directory|include-dir|working-directory)$/.test(name)) judgeToolWords(call, [value])
  }
  for (const arg of unknown)
    call.hold('tool.flag', 'MEDIUM', `${arg.text} is not a flag of ${call.name} that the policy knows`, arg)
  const found = findRules(call, flags)
  const isPrinted =
    flags.some(({ name }) => /^(n|dry-run|just-print|recon)$/.test(name)) &&
    !flags.some(({ name }) => /^(t|touch|B|always-make|W|I|include-dir)$/.test(name)) &&
    found !== undefined &&
    /^(g?make|remake)$/.test(call.name) &&
    onlyPrints(found.file)
  for (const arg of operands) {
    if (!arg.known) call.unknown(arg)
    else if (/^\w+[:+?]?=/.test(arg.value)) judgeVariable(call, arg)
    else if (isPrinted) continue
    else if (arg.value === 'install' && found && installsPackages(found.file)) continue
    else if (FAR.test(arg.value))
      call.say('script.far', 'MEDIUM', `${arg.text} sounds as if it reached beyond the project`, arg)
    else judgeStep(call, arg)
  }
  judgeToolWords(call, call.args.filter(isFlag))
  if (found) judgeRecipes(call, { found, flags, operands })
}

/** Whether the recipe of `install` only fetches packages that the project names, as it does in projects that are no programs for the system. */
function installsPackages(file: MakeFile): boolean {
  const lines = listRecipeLines(
    { ...file, atOnce: [] },
    { targets: ['install'], given: new Map(), found: new Map(), onlyLooks: false },
  )
  return lines.length > 0 && lines.every(({ text }) => FETCHES.test(text))
}

const FETCHES =
  /^((cd [\w-]+ && )?((\.?v?env\/bin\/|\.venv\/bin\/)?(python3? -m )?(pip3?|uv( pip)?|poetry|pipenv|pdm) (install|sync)|(\.venv\/bin\/)?pre-commit install|(npm|pnpm|yarn|bun) (ci|install)|bundle install|go mod download|composer install|mix deps\.get|cargo fetch)( (-[qreEU]+|--[\w-]+(=[\w,-]+)?|[\w./-]+\.(txt|in|lock)|['"]?\.\[?[\w,]*\]?['"]?))*|python3? -m venv \.?v?env|test -d \.?v?env \|\| python3? -m venv \.?v?env|@?echo [^;&|`$]*)$/

/**
 * Programs that run targets of the project's own file, with the names of that file in the order in which they look for it. None: its form is not
 * read, and a target is judged by its name alone.
 */
const RULE_FILES: Record<string, string[]> = {
  ...Object.fromEntries(
    'make gmake bmake remake'.split(' ').map(name => [name, ['GNUmakefile', 'makefile', 'Makefile']]),
  ),
  just: ['justfile', 'Justfile', '.justfile'],
  task: [],
}

/** The rules of a call, and the folder in which they run. `task` has a form of its own, which is not read. */
function findRules(call: ProgramCall, flags: readonly SeenFlag[]) {
  const findValue = (names: RegExp) => flags.findLast(flag => names.test(flag.name))?.value
  const isJust = call.name === 'just'
  const { cwd } = call.scope
  const usual = RULE_FILES[call.name] ?? []
  if (usual.length === 0 || cwd === undefined || !call.fence.look) return undefined
  const moved = findValue(isJust ? /^(d|working-directory)$/ : /^(C|directory)$/)
  const place = locatePath(moved?.value ?? '.', cwd, call.fence)
  if (place.where !== 'inside') return undefined
  const given = findValue(isJust ? /^(f|justfile)$/ : /^(f|file|makefile)$/)
  const names = given ? [given.value] : usual
  const found = names.map(name => readRules(call, name, place.path, isJust)).find(file => file !== undefined)
  return found && { ...found, folder: place.path, isJust }
}

interface MakeCall {
  found: NonNullable<ReturnType<typeof findRules>>
  flags: readonly SeenFlag[]
  operands: readonly Arg[]
}

/**
 * Judges the lines that the targets of a call run, as if they had been typed. What a line does only because of a variable of the call is not the
 * project's own step.
 */
function judgeRecipes(call: ProgramCall, { found, flags, operands }: MakeCall): undefined {
  const isSetting = (arg: Arg) => /^\w+[:+?]?=/.test(arg.value)
  const wanted = operands.filter(arg => arg.known && !isSetting(arg))
  const settings = operands.filter(isSetting).map(({ value }) => value.split(/[:+?]?=(.*)/s))
  const targets = found.isJust ? wanted.slice(0, 1) : wanted
  const given = new Map(settings.map(([name = '', value = '']) => [name, value]))
  const outer = found.isJust ? new Map<string, string>() : findEnvironment(call, found.file.soft)
  // With `-e` the environment wins.
  if (flags.some(({ name }) => /^(e|environment-overrides)$/.test(name)))
    for (const [name, value] of outer) if (!given.has(name)) given.set(name, value ?? '$(MAKE_VALUE)')
  const how = { targets: targets.map(({ value }) => value), onlyLooks: flags.some(flag => ONLY_LOOKS.test(flag.name)) }
  const lines = listRecipeLines(found.file, { ...how, given, found: outer })
  const own = new Set(
    given.size + outer.size === 0
      ? lines.map(({ text }) => text)
      : listRecipeLines(found.file, { ...how, given: new Map(), found: new Map() }).map(({ text }) => text),
  )
  const id = `${found.path} ${targets.map(({ value }) => value).join(' ')}`
  const at = targets[0] ?? call.head
  const source = { id, name: found.name, cwd: found.folder }
  call.lines({ ...source, lines: lines.filter(({ text }) => own.has(text)), is: 'task' }, at)
  call.lines({ ...source, lines: lines.filter(({ text }) => !own.has(text)) }, at)
}

/** The variables that make finds and takes: those in front of it, and those that the shell has set, of which any may have been exported. */
function findEnvironment({ scope }: ProgramCall, soft: ReadonlySet<string>): Map<string, string | undefined> {
  const set = [...soft].filter(name => scope.values.has(name) || scope.unknown.has(name))
  return new Map([...set.map(name => [name, scope.values.get(name)?.value] as const), ...scope.given])
}

const ONLY_LOOKS = /^(n|q|t|dry-run|just-print|recon|question|touch|list|summary|show|dump)$/

function readRules(call: ProgramCall, name: string, folder: string, isJust: boolean) {
  const place = locatePath(name, folder, call.fence)
  if (place.where !== 'inside') return call.say('script.foreign', 'HIGH', `${name} leads out of the project`, call.head)
  const found = call.fence.look?.(place.path)
  if (found?.is !== 'file') return undefined
  const text = found.bytes.toString('utf8')
  const file = isJust ? readJustFile(text) : readMakeFile(text)
  for (const included of file.includes.slice(0, MAX_INCLUDES)) {
    const other = included.includes('$') ? undefined : locatePath(included, folder, call.fence)
    if (other?.where === 'outside' && !other.path.startsWith('/usr/'))
      call.say('script.unread', 'MEDIUM', `${name} includes ${included}, which is outside the project`)
    const content = other?.where === 'inside' ? call.fence.look?.(other.path) : undefined
    const more = content?.is === 'file' ? readMakeFile(content.bytes.toString('utf8')) : undefined
    const unnumbered = ({ text }: { text: string }) => ({ text })
    file.recipes.push(...(more?.recipes ?? []).map(rule => ({ ...rule, lines: rule.lines.map(unnumbered) })))
    file.atOnce.push(...(more?.atOnce ?? []).map(unnumbered))
    for (const [variable, values] of more?.variables ?? []) file.variables.set(variable, values)
  }
  return { file, path: place.path, name }
}

/** Further included files are not read. */
const MAX_INCLUDES = 8

/** Targets and tasks that every build tool may run without a question. */
const KNOWN_TARGETS =
  /^:?([\w.-]+:)*(test|tests|check|build|compile|assemble|verify|validate|package|lint|clean|classes|testClasses|test-compile|process-resources|integration-test|site|spotlessCheck|ktlintCheck|detekt|checkstyle\w*|pmd\w*|spotbugs\w*|tasks|dependencies|properties|projects|help|compileJava|compileKotlin|compileTestJava|compileTestKotlin|javadoc|jar|war|bootJar|jacocoTestReport|koverReport|testDebugUnitTest|testReleaseUnitTest|assembleDebug|lintDebug|dependency:(tree|analyze|list|resolve)|help:effective-pom|versions:display-\S+|surefire:test|compiler:compile|resources:resources|scalafmtCheck(All)?|scalafmt(All)?|testOnly|testQuick|Test\/compile|doc|docs|format|fmt|analyze|doctor|query|cquery|info|deps|outline|all|unit|default|benchmark|bench)$/

/** Phases of Maven, and goals of plugins that only check or show. Any other plugin is fetched by its name, and may do anything. */
const GOALS =
  /^(validate|compile|test|package|verify|clean|site|(process|generate)-[a-z-]+|test-compile|integration-test|(dependency|versions):(tree|analyze|list|resolve|resolve-plugins|sources|go-offline|build-classpath|display-\S+)|help:\S+|surefire:test|failsafe:(integration-test|verify)|compiler:\S+|resources:\S+|(checkstyle|pmd|spotbugs|spotless|fmt|formatter|license|enforcer):(check|apply|format|enforce)|spring-boot:(run|test-run|start|stop)|quarkus:(dev|test)|exec:java|jetty:run|tomcat7:run|mn:run|liberty:dev|jacoco:report|javadoc:javadoc)$/

/** Tools that build whole projects from their own build files. */
export const BUILDERS: ProgramRules = {
  go,
  ...named(Object.keys(RULE_FILES).join(' '), make),
  ...named(
    'mvn mvnw mvnd',
    tool({
      words: true,
      steps: GOALS,
      fetched: /:/,
      flags: `-q -B -o -e -X -U -N -C -V -T: -pl: -am -amd -P: -rf: -fae -ff -fn -ntp -batch-mode -offline -errors -no-transfer-progress
        -also-make -also-make-dependents -projects: -threads: -fail-fast -fail-at-end -non-recursive -update-snapshots -quiet
        -DskipTests* -Dtest=* -Dmaven.test.* -DfailIfNoTests* -Dsurefire.failIfNoSpecifiedTests* -Dskip* -Dcheckstyle.skip* -Dit.test*
        -Dspotless.* -Dstyle.color* -Dincludes=* -Dexcludes=* -DignoreNonCompile* -DoutputType=* -Dgroups=*
        -Dspring-boot.run.profiles=dev -Dspring-boot.run.profiles=local -Dspring-boot.run.profiles=test -resume-from: -activate-profiles:`,
      medium: /^(-f|--file|-s|--settings|-gs|.*=\/.*)$/,
      high: /^(deploy.*|release:.*|-Dmaven\.ext\.class\.path.*|-javaagent.*|exec:.*)$/,
    }),
  ),
  ...named(
    'gradle gradlew',
    tool({
      words: true,
      steps: KNOWN_TARGETS,
      flags: `-q -i -d -s -S -w -x: -a -m -t -tests: -info -debug -stacktrace -full-stacktrace -warn -quiet -exclude-task: -dry-run -continue
        -continuous -offline -parallel -no-parallel -daemon -no-daemon -rerun-tasks -rerun -build-cache -no-build-cache
        -configuration-cache -no-configuration-cache -console: -warning-mode: -max-workers: -refresh-dependencies -profile
        -no-scan -configure-on-demand -status -foreground -all -no-rebuild -Pversion=* -Dorg.gradle.daemon* -Dorg.gradle.jvmargs* -fail-fast
        -configuration: -dependency: -write-locks -args=*`,
      medium:
        /^(wrapper|--gradle-(version|distribution-url)|-b|--build-file|-p|--project-dir|-c|--settings-file|-g|--gradle-user-home|--include-build|--stop|--scan|-D.*exec.*|.*=\/.*|install.*|--args=.*(prod|live|stag|deploy|migrat|drop).*)$/,
      high: /^(-I|--init-script.*|-javaagent.*|publish.*|deploy.*|release.*|upload.*|-Dorg\.gradle\.(jvmargs=(?!(-Xm[xs]\d+[kmgKMG]?\s*)+$)|java\.home).*)$/,
    }),
  ),
  ...named(
    'ant sbt lein mill scons waf xmake b2 bjam xcodebuild stack cabal dune opam rebar3 gleam roc nimble shards pants buck buck2',
    installing({
      words: true,
      steps: KNOWN_TARGETS,
      flags:
        '-q -v -j: -k -n -fast -pedantic -ghc-options=-W* -enable-tests -test -no-colors -batch -scheme: -target: -configuration: -destination: -sdk: -quiet -watch -dry-run -no-color -flag: -jobs:',
      medium: /^(install|exec|run|repl|script|eval|ghci|upload.*|-f|--file|shutdown|.*=\/.*)$/,
      // Each word of sbt is a whole command: `eval` runs Scala, `!` the shell, `set` changes the build.
      high: /^(publish.*|deploy.*|release.*|-javaagent.*|-J.*|upload|\s*;?\s*(eval|set|!)[\s\S]+|[\s\S]*\([\s\S]*)$/,
    }),
  ),
  ...named(
    'bazel bazelisk',
    tool({
      verbs: 'build test query cquery aquery info version help coverage',
      words: true,
      flags: `-c: -k -s -j: -config: -test_output: -test_filter: -keep_going -jobs: -nocache_test_results -cache_test_results: -verbose_failures
        -subcommands -show_progress -noshow_progress -curses: -output: -test_arg: -runs_per_test: -test_tag_filters: -build_tests_only
        -compilation_mode: -nobuild -color: -stamp -nostamp`,
      high: /^--?(run_under|host_javabase|bazelrc|noworkspace_rc|override_repository|output_base|output_user_root|disk_cache|remote_.*|server_javabase|experimental_.*|workspace_status_command|shell_executable|test_env|action_env|host_jvm_args|crosstool_top|spawn_strategy|strategy|package_path|embed_label)(=|$)/,
    }),
  ),
  ...named('flutter dart', call => {
    const line = call.args.map(({ value }) => value).join(' ')
    if (/^pub (get|deps|outdated)( --(offline|no-example|json))*$/.test(line))
      return call.say('pkg.read', 'MEDIUM', `${call.name} reads the packages of the project`)
    FLUTTER(call)
  }),
  elm: call => FLUTTER(call),
  ...named(
    'swiftlint swiftformat',
    tool({
      flags: '--fix --lint --strict --quiet --format --autocorrect --config: --reporter: --swiftversion: --no-cache',
    }),
  ),
  fastlane: call => call.say('script.far', 'MEDIUM', `${call.name} may reach beyond the project`),
  pod: verbs({
    rows: [
      [/^(trunk|repo push|spec (create|edit)|plugins)( |$)/, 'HIGH', 'pkg.publish', 'publishes'],
      [
        /^(install|outdated|list|search|env|lib lint|spec lint|spec cat|deintegrate)( |$)/,
        'MEDIUM',
        'tool.other',
        'works on what the Podfile names',
      ],
    ],
    otherwise: { risk: 'MEDIUM', code: 'script.far', text: 'may reach beyond the project' },
  }),
  ninja: tool({
    steps: /^[\w./-]+$/,
    flags: '-C: -j: -k: -l: -n -v -w: --verbose --quiet',
    medium: /^(install.*|uninstall.*|deploy.*|flash.*|-t|-f|-d|clean)$/,
  }),
  meson: tool({
    verbs: 'compile test setup configure introspect',
    flags:
      '-C: -j: -v --print-errorlogs --no-rebuild --suite: --repeat: --verbose --buildtype: --reconfigure --list --num-processes: --timeout-multiplier:',
    medium: /^--?(wrapper|gdb.*|cross-file|native-file|wipe|backend|prefix|destdir|D.*)(=|$)/,
    high: /^--?(wrapper|gdb-path|native-file|cross-file)(=|$)/,
  }),
  cmake: call => {
    const script = findFlag(call.args, ['-P', '-C'], 'PCDGSB')
    if (script?.value) {
      call.say('script.run', 'MEDIUM', 'cmake runs a script', script.arg)
      return judgeScriptFile(call, script.value)
    }
    const odd = call.args.find(arg =>
      /^-E$|^--install|^--open|^-D.*(COMPILER|LAUNCHER|TOOLCHAIN|LINKER|PROGRAM|COMMAND|_EXECUTABLE|EMULATOR)|^--toolchain|^--debugger|^--fresh/.test(
        arg.value,
      ),
    )
    if (odd)
      call.say(
        'flag.runs',
        odd.value === '-E' || odd.value.startsWith('-D') || odd.value.startsWith('--tool') ? 'HIGH' : 'MEDIUM',
        `${odd.text} makes cmake run or install something`,
        odd,
      )
    const native = atDoubleDash(call.args).after
    if (native.length > 0) judgeToolWords(call, native)
    CMAKE(call)
  },
  ctest: tool({
    flags:
      '-V -VV -C: -R: -E: -L: -LE: -j: -N -Q -U -I: -F --output-on-failure --extra-verbose --build-config: --tests-regex: --exclude-regex: --parallel: --timeout: --stop-on-failure --rerun-failed --repeat: --schedule-random --test-dir: --show-only --preset: --no-tests: --progress --label-regex:',
    words: true,
    medium:
      /^(-S|-SP|--script|-D|-M|-T|--build-and-test|-O|--output-log|--output-junit|--build-.*|--dashboard|--submit.*)$/,
  }),
  dotnet: verbs({
    ofProject: true,
    known:
      /^(-[cfrvoqhm]|[-/]warnaserror|-m:\d+|--(configuration|framework|runtime|verbosity|no-build|no-restore|nologo|filter|list-tests|logger|collect|blame|settings|verify-no-changes|include|exclude|severity|diagnostics|force|no-incremental|self-contained|info|list-sdks|list-runtimes|outdated|vulnerable|locked-mode|use-lock-file|disable-build-servers|no-dependencies|tl|interactive=false|include-transitive|deprecated|list)([:=].*)?)$/,
    rows: [
      [
        /^(nuget (push|delete)|ef database drop|user-secrets|dev-certs)/,
        'HIGH',
        'pkg.publish',
        'publishes, deletes, or handles secrets',
      ],
      [/^ef database update ./, 'MEDIUM', 'db.change', 'may migrate a database backwards'],
      [
        /^(tool (install|update|uninstall)|new install|workload (install|update)|nuget (add|update))( |$)/,
        'MEDIUM',
        'pkg.foreign',
        'installs programs',
      ],
      [
        /^(build|test|restore|format|clean|list|sln|--info|--list-.*|msbuild|pack|vstest|workload list|tool list|nuget locals)( |$)/,
        'LOW',
        '',
        '',
      ],
      [
        /^(run|watch|new|add|remove|publish|ef|tool (restore|run)|csharpier|fantomas|stryker|outdated|reportgenerator|coverage|nbgv|script|(exec )?\S+\.dll|fsi \S+\.fsx)( |$)/,
        'MEDIUM',
        'script.run',
        'runs or changes the project',
      ],
    ],
    otherwise: { risk: 'MEDIUM', code: 'tool.word', text: 'is unusual' },
    flags: [[/^[-/]{1,2}p(roperty)?:PublishProfile/i, 'MEDIUM', 'script.far', 'says where it is published']],
  }),
}

/** A tool of which `install` with a name fetches what nobody has seen. */
function installing(row: Parameters<typeof tool>[0]): ProgramRule {
  const rule = tool(row)
  return call => {
    rule(call)
    const [verb, name] = call.args.filter(arg => !isFlag(arg))
    if (verb && name && /^(install|add|get|pin)$/.test(verb.value) && !/^\.|^(all|lib|exe):/.test(name.value))
      call.say('pkg.foreign', 'MEDIUM', `${call.name} installs ${name.text}`, name)
  }
}

const CMAKE = tool({
  words: true,
  flags:
    '-S: -B: -G: -D* -U: -W* -j* -L -LA -LH -N --build: --target: -t: --config: --parallel --clean-first --verbose --preset: --list-presets --workflow --log-level: --trace --warn-uninitialized -A: -T:',
})

const FLUTTER = tool({
  verbs: 'test analyze format build doctor make info devices config pub fix',
  flags:
    '-o: --coverage --name: --plain-name: --tags: --concurrency: --no-pub --set-exit-if-changed --fatal-infos --fatal-warnings --output: --reporter: --optimize --release --debug --profile --no-sound-null-safety --line-length: --platform: --apply --dry-run --no-fatal-infos --machine',
  medium: /^(publish|global|add|cache|config|pub|devices|--dart-define.*|-o)$/,
})
