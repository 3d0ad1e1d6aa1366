import type { Rules } from '../../call.ts'
import { named } from '../common/build.ts'
import { tool } from './tool.ts'

/** Compilers, and what formats and checks the languages that are compiled. */
export const COMPILERS: Rules = {
  ...named(
    'gofmt goimports gofumpt golangci-lint staticcheck gotestsum golint revive govulncheck ginkgo richgo gopls mockgen',
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
        -march* -mtune* -dumpversion -dumpmachine -print-* --version -v -x:`,
      high: /^(-fplugin.*|-specs.*|--specs.*|-B.*|-wrapper|--wrapper|-Xclang|-load|-fuse-ld=.*|-Wl,.*(plugin|dynamic-linker).*|--plugin|-plugin|@.*|--ld-path.*|-fpass-plugin.*|-ccbin.*|--compiler-bindir.*|-no-canonical-prefixes|-Xlinker|-Xpreprocessor|-Xassembler|-Wa,.*|-Wp,.*|--config.*)$/,
      medium:
        /^(-o.*|--output.*|-c|-S|-E|-shared|-Wl,.*|-save-temps.*|-MF.*|-MD|-MMD|-dump.*|-fprofile.*|-ftime-trace.*|-L.*|-include.*)$/,
    }),
  ),
  ...named('ld as ar ranlib strip nasm yasm', call => {
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
    tool({
      words: true,
      flags:
        '-Xlint -Xlint:* -g -nowarn -parameters -source: -target: -release: -encoding: -cp: -classpath: -deprecation -feature -unchecked -Werror -proc:none',
      high: /^(-processorpath|-processor|--processor.*|-Xplugin.*|-J.*|-Xplugin|@.*|-P)/,
      medium: /^-d$/,
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
