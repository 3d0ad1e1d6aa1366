import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { type Arg, deriveArg, findFlags } from '../shell/args.ts'
import { judgeNamedScripts } from './package-scripts.ts'
import { named } from './rule-builders.ts'
import { tool } from './tool-rule.ts'

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
