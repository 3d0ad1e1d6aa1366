import type { Call, Rule, Rules } from '../../call.ts'
import { atDoubleDash, findFlag } from '../../words/flags.ts'
import { named, verbs } from '../common/build.ts'
import { judgeScriptFile } from '../common/script-file.ts'
import { judgeToolWords } from '../common/tool-words.ts'
import { go } from './go.ts'
import { make } from './make.ts'

/** Flags of many tools that load a file as code: inside the project it is the project's, outside it is foreign. */
const LOADS =
  /^(-c|--config|--configfile|--config-file|--rulesdir|--resolve-plugins-relative-to|--plugin|--parser|--require|-r|--import|--loader|--setup-?files.*|--reporter|--reporters|--formatter|-f|--format|--preset|--env|--environment|--testRunner|--runner|--resolver|--transform|--global-?setup|--project|-p|--tsconfig|--ignore-path)(=|$)/

/** A tool that builds, tests or checks the project, as `npm test` would: LOW inside it. */
function tool(extra: { medium?: RegExp; high?: RegExp; loads?: boolean } = {}): Rule {
  return call => {
    judgeToolWords(call, call.args)
    for (const [place, arg] of call.args.entries()) {
      const key = arg.value.split('=')[0] ?? ''
      if (extra.high?.test(arg.value) || extra.high?.test(key))
        call.say('flag.runs', 'HIGH', `${arg.text} makes ${call.name} run or write something else`, arg)
      else if (extra.medium?.test(arg.value) || extra.medium?.test(key))
        call.say('tool.flag', 'MEDIUM', `${arg.text} is not everyday`, arg)
      if (extra.loads === false || !LOADS.test(arg.value)) continue
      const value = arg.value.includes('=')
        ? { ...arg, value: arg.value.slice(arg.value.indexOf('=') + 1) }
        : call.args[place + 1]
      if (
        value &&
        /^(\/|~)|(^|\/)\.\.(\/|$)|:\/\//.test(value.value) &&
        !`${value.value}/`.startsWith(`${call.fence.boundary}/`)
      )
        call.say('flag.loads', 'HIGH', `${arg.text} loads ${value.text}, which is outside the project`, arg)
    }
  }
}

/** Compilers, test runners, linters and build tools. */
export const TOOLCHAIN: Rules = {
  ...named(
    'eslint prettier stylelint biome tsc vue-tsc svelte-check oxlint standard xo dprint markdownlint markdownlint-cli2 cspell commitlint knip depcheck madge publint attw typedoc jsdoc size-limit',
    tool({ medium: /^--(stdin-filename|init|output-file|cache-location|upgrade)|^-o$/ }),
  ),
  ...named(
    'jest vitest mocha ava tap jasmine karma c8 nyc playwright cypress wdio react-scripts web-test-runner',
    tool({
      medium:
        /^(install|install-deps|codegen|open)$|^--(outputFile|globalsConfig|rootDir|roots|browser|open|ui|api|inspect.*)/,
    }),
  ),
  ...named(
    'webpack vite rollup esbuild parcel tsup swc babel next nuxt astro remix gatsby ng nx turbo lage moon storybook sass postcss tailwindcss gulp grunt brunch snowpack metro expo lint-staged concurrently npm-run-all run-s run-p nodemon wireit rspack rsbuild unbuild ncc microbundle',
    tool({
      medium:
        /^(deploy|publish|release|login|link|export:prod|migrate|add|generate|init|create|eject|dev|serve|start|--outdir|--outfile|-o|--output-path|daemon|reset|repair)$/,
    }),
  ),
  ...named(
    'mypy black ruff flake8 isort pylint pyflakes pycodestyle coverage tox nox pyright bandit autopep8 yapf pydocstyle interrogate vulture radon pre-commit pre_commit sphinx-build mkdocs unittest doctest behave',
    tool({
      medium:
        /^(gh-deploy|install|autoupdate|uninstall|--rcfile|--load-plugins|--init-hook.*|--python-executable|serve)$/,
      high: /^--init-hook/,
    }),
  ),
  ...named(
    'rubocop rspec rake minitest standardrb brakeman reek solargraph cucumber',
    tool({
      medium:
        /^(-r|--require|-I|-f|--rakefile|-e|--execute.*|db:.*|release.*|deploy.*|-E|-p|--execute-print|install.*)$/,
      high: /^(-e|-E|--execute.*|db:(drop|reset|purge|truncate.*|schema:load|rollback).*|.*:(drop|destroy|wipe|purge))$/,
    }),
  ),
  ...named(
    'phpunit phpstan psalm pint phpcs phpcbf pest rector',
    tool({ medium: /^(--bootstrap|-d|--include-path|--autoload-file)/ }),
  ),
  go,
  ...named(
    'gofmt goimports golangci-lint staticcheck gotestsum golint revive govulncheck ginkgo richgo dlv gopls mockgen',
    tool({ medium: /^(-w|--fix|exec|attach|debug)$/ }),
  ),
  ...named(
    'rustfmt rustc rustdoc',
    tool({
      high: /^(-C|--codegen)?=?(linker=.*)|^--linker|^-Clinker|^linker=/,
      medium: /^(-o|--out-dir|-Z.*|--emit.*|-L|--extern)/,
    }),
  ),
  ...named(
    'gcc g++ cc c++ clang clang++ ld as ar ranlib strip nasm yasm tcc icc nvcc emcc zig cpp',
    tool({
      high: /^(-fplugin.*|-specs.*|-B.*|-wrapper|--wrapper|-Xclang|-load|-fuse-ld=\/.*|-Wl,.*(plugin|dynamic-linker).*|--plugin|-plugin|@.*|--ld-path.*)$/,
      medium: /^(-o.*|--output.*|-c|-S|-E|-shared)$/,
    }),
  ),
  ...named(
    'javac kotlinc scalac',
    tool({ high: /^(-processorpath|-processor|--processor.*|-Xplugin.*|-J-javaagent.*|-Xplugin)/, medium: /^-d$/ }),
  ),
  ...named(
    'mvn mvnw mvnd ant sbt gradle gradlew lein mill bazel bazelisk buck buck2 pants ninja meson scons waf xmake b2 bjam xcodebuild stack cabal flutter dart elm dune opam rebar3 gleam roc nimble shards swiftlint swiftformat fastlane pod',
    tool({
      medium:
        /^(deploy.*|publish.*|release.*|install|upload.*|-I|--init-script.*|-f|--file|-p|--project-dir|-D.*exec.*|exec|exec:.*|run|repl|script|eval|ghci|clean|uploadArchives|-b|--build-file|shutdown|-s|--settings|.*=\/.*)$/,
      high: /^(-I|--init-script|-javaagent.*|-Dmaven\.ext\.class\.path.*|--init-script=.*|--run_under.*|publish.*|deploy|release:.*)$/,
    }),
  ),
  dotnet: verbs({
    ofProject: true,
    rows: [
      [/^(nuget (push|delete)|ef database drop)/, 'HIGH', 'pkg.publish', 'publishes or deletes'],
      [
        /^(build|test|restore|format|clean|list|sln|--info|--list-.*|msbuild|pack|vstest|workload list|tool list|nuget locals)( |$)/,
        'LOW',
        '',
        '',
      ],
      [
        /^(run|watch|new|add|remove|publish|ef|tool (restore|run))( |$)/,
        'MEDIUM',
        'script.run',
        'runs or changes the project',
      ],
    ],
    otherwise: { risk: 'MEDIUM', code: 'tool.other', text: 'is not everyday' },
  }),
  mix: verbs({
    ofProject: true,
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
  }),
  ...named('make gmake bmake remake just task', make),
  cmake: call => {
    const script = findFlag(call.args, ['-P', '-C'], 'PCDGSB')
    if (script?.value) {
      call.say('script.run', 'MEDIUM', 'cmake runs a script', script.arg)
      return judgeScriptFile(call, script.value)
    }
    const odd = call.args.find(arg =>
      /^-E$|^--install|^--open|^-D.*(COMPILER|LAUNCHER|TOOLCHAIN|LINKER)/.test(arg.value),
    )
    if (odd)
      call.say(
        'flag.runs',
        odd.value === '-E' || odd.value.startsWith('-D') ? 'HIGH' : 'MEDIUM',
        `${odd.text} makes cmake run or install something`,
        odd,
      )
    const native = atDoubleDash(call.args).after
    if (native.length > 0) judgeToolWords(call, native)
    judgeToolWords(call, call.args)
  },
  ...named('ctest', tool({ medium: /^(-S|--script|-D|--build-and-test)/ })),
  ...named(
    'protoc buf',
    tool({ medium: /^(--plugin.*|--.*_out.*|push|generate|publish)$/, high: /^(--plugin.*|push)$/ }),
  ),
  ...named(
    'pdflatex xelatex lualatex latex tex latexmk pdftex luatex bibtex',
    tool({
      high: /^--?(shell-escape|enable-write18|shell-restricted|output-directory=\/.*|luaonly|lua=.*|pdflatex=.*|e|r)$/,
      medium: /./,
    }),
  ),
  ...named(
    'hugo jekyll eleventy zola docusaurus vuepress vitepress',
    tool({ medium: /^(deploy|server|serve|publish)$/ }),
  ),
  ...named(
    'prisma',
    verbs({
      rows: [
        [
          /^(migrate reset|db push.*|db execute|migrate resolve)/,
          'HIGH',
          'db.destroy',
          'changes or empties a database',
        ],
        [
          /^(generate|validate|format|version|migrate (status|diff))( |$)/,
          'MEDIUM',
          'tool.other',
          'works on the schema',
        ],
      ],
      otherwise: { risk: 'MEDIUM', code: 'db.change', text: 'changes a database' },
      flags: [[/^--(force|force-reset|accept-data-loss|skip-confirm)/, 'HIGH', 'db.destroy', 'loses data']],
    }),
  ),
  ...named(
    'drizzle-kit sequelize sequelize-cli knex typeorm alembic flyway liquibase migrate goose dbmate atlas sqlx diesel rails bin/rails artisan django-admin manage.py supabase hasura mikro-orm node-pg-migrate umzug',
    verbs({
      rows: [
        [
          /(^| )(db:(drop|reset|purge|migrate:reset|rollback|truncate\S*|schema:load|seed:undo\S*|migrate:undo\S*)|drop|reset|clean|dropAll|drop-all|downgrade|undo\S*|down|flush|sqlflush|reset_db|rollback|wipe|migrate:(fresh|reset|rollback|refresh)|db:wipe|schema:drop|database drop|db reset|purge|revert)( |$)/,
          'HIGH',
          'db.destroy',
          'empties or takes back a database',
        ],
        [
          /^(test|spec|runserver|makemigrations|collectstatic|startapp|server|s|generate|g|routes|about|check|--version|status|db:version|db:migrate:status|list|zeitwerk:check|stats|notes|showmigrations|inspectdb|current|history|heads|lint|diff|info|validate)( |$)/,
          'MEDIUM',
          'tool.other',
          'looks at the project',
        ],
        [/^(runner|r|console|c|shell|tinker|dbshell|dbconsole)( |$)/, 'MEDIUM', 'code.inline', 'runs a program text'],
      ],
      otherwise: { risk: 'MEDIUM', code: 'db.change', text: 'may change a database' },
      flags: [
        [
          /^--(force|no-input|noinput|force-reset|accept-data-loss|drop-database)$/,
          'HIGH',
          'db.destroy',
          'skips what would stop it',
        ],
      ],
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
  ...named('clang-format clang-tidy cppcheck cpplint iwyu uncrustify astyle', tool()),
  ...named('venv virtualenv', call => call.say('tool.other', 'MEDIUM', 'it makes a folder for packages')),
  shellcheck: tool(),
  shfmt: tool({ medium: /^-w$/ }),
  hadolint: tool(),
  actionlint: tool(),
  yamllint: tool(),
  ...named('claude codex gemini aider opencode copilot pcc perpetualcc cursor-agent amp', (call: Call) => {
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
