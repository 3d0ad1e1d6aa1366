import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { findOperands, isFlag } from '../shell/args.ts'
import { named } from './rule-builders.ts'
import { judgeToolWords } from './run-code.ts'
import { judgeStep } from './step-names.ts'
import { tool } from './tool-rule.ts'

/** Checkers, formatters and runners for Python, Ruby and PHP. */
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
  ...named('uvicorn gunicorn hypercorn daphne waitress-serve granian flask streamlit celery air reflex wgo gow', serve),
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
