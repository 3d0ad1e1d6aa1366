import type { Risk } from '../../domain/session.ts'
import type { ProgramCall } from '../classify/call.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, findOperands, isFlag } from '../shell/args.ts'
import { flagTable, scanFlags } from '../shell/flag-table.ts'
import { judgeUnlisted, judgeUpdate } from './lock-files.ts'
import { judgeScriptFile, judgeToolWords } from './run-code.ts'
import { judgeStep } from './step-names.ts'

export function python(call: ProgramCall): undefined {
  const { args, name } = call
  const operands = findOperands(args, [
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
      /^(-i.+|-i|-f(https?|\/).*|--index-url|--extra-index-url|--trusted-host|--proxy|--find-links|-f|--index|--default-index|--cert|--client-cert|--repository.*|--publish-url|--global-option|--install-option|--config-settings|--build-option|--override-channels)(=|$)/.test(
        arg.value,
      ) && !(name !== 'pip' && !/^pip\d/.test(name) && arg.value === '-f' && !/^(uv)$/.test(name)),
  )
  const channel = args.find((arg, at) => /^(-c|--channel)$/.test(args[at - 1]?.value ?? '') && /:\/\//.test(arg.value))
  if (other ?? channel)
    call.say('pkg.registry', 'HIGH', `${(other ?? channel)?.text} changes where packages come from`, other ?? channel)
  const paths = args.find(
    (arg, at) =>
      !worksInside(call, arg, args[at + 1]) &&
      /^(-t.*|--report|--src|--target|--prefix|--root|--user|--break-system-packages|--system|--force-reinstall|--no-deps|--pre|--ignore-installed|--python|--directory|--project|--cache-dir|--log|--isolated)(=|$)/.test(
        arg.value,
      ),
  )
  if (paths) call.say('pkg.elsewhere', 'MEDIUM', `${paths.text} installs elsewhere or by force`, paths)
  judgeKnownFlags(call, args)
  if (/^(build|wheel|download|export)$/.test(verb?.value ?? '')) judgeToolWords(call, args)
  if (verb === undefined) return
  const line = operands.map(arg => arg.value).join(' ')
  if (/^cache (purge|clear|remove|clean|prune)/.test(line))
    return call.say('pkg.remove', 'MEDIUM', `${name} ${line} empties a cache`, verb)
  if (
    /^(publish|upload|self|pip publish)( |$)/.test(line) ||
    /^(config (set|unset|edit|--add)|env remove|env remove --all)/.test(line)
  )
    return call.say(
      /^(cache|env)/.test(line) ? 'pkg.remove' : 'pkg.publish',
      'HIGH',
      `${name} ${line} publishes, or changes settings`,
      verb,
    )
  if (/^(run|runpip|tool run|x|shell|script run)( |$)/.test(line)) {
    const inner = runWords(args, /^(run|runpip)$/)
    if (/^tool run/.test(line) || name === 'pipx')
      judgeUnlisted(call, operands.slice(/^tool/.test(line) ? 2 : 1).slice(0, 1), 'python')
    judgeUnlisted(
      call,
      args.filter((_, at) => args[at - 1]?.value === '--with'),
      'python',
    )
    if (/^tool run/.test(line) || name === 'pipx' || args.some(arg => /^(--with|--from|-w)/.test(arg.value)))
      return call.say('pkg.exec', 'MEDIUM', `${name} fetches a program and runs it`, rest[0])
    const [first] = inner
    if (first && /^[\w./-]+\.py$/.test(first.value)) return judgeScriptFile(call, first)
    // `hatch run test:cov`: an environment and a script of the project.
    if (first && name === 'hatch' && /^[\w.-]+:[\w-]+$/.test(first.value)) {
      for (const word of inner) judgeStep(call, word)
      return call.say('script.run', 'MEDIUM', 'hatch runs a script of the project', first)
    }
    // Names of scripts that no program has.
    if (first && /^(pdm|rye|hatch|poetry|pipenv)$/.test(name) && SCRIPTS.test(first.value)) {
      for (const word of inner) judgeStep(call, word)
      judgeToolWords(call, inner.slice(1))
      return call.say('script.run', 'MEDIUM', `${name} runs a script of the project`, first)
    }
    if (first) call.run(first.value === '-m' ? [{ ...first, value: 'python3' }, ...inner] : inner)
    return
  }
  if (/^(test|fmt|check|lint|format|typing|docs)( |$)/.test(line) && /^(hatch|pdm|rye|uv|poetry)$/.test(name))
    return call.say('script.run', 'MEDIUM', `${name} ${line} checks the project`, verb)
  if (
    name === 'uv' &&
    /^venv( \.?venv)?$/.test(line) &&
    args.every(arg => !isFlag(arg) || /^(--python|-p|--seed)$/.test(arg.value))
  )
    return call.say('tool.other', 'MEDIUM', 'uv makes a folder for packages', verb)
  if (/^(uninstall|remove|pip uninstall)( |$)/.test(line))
    return call.say('pkg.remove', 'MEDIUM', `${name} removes packages`, verb)
  const isNewer = /^(update|upgrade|lock --upgrade|pip compile --upgrade)( |$)/.test(line)
  const renews = args.find(({ value }) => /^(-[a-zA-Z]*U[a-zA-Z]*|-P|--upgrade(-package)?)(=|$)/.test(value))
  if ((isNewer && /^(poetry|pipenv|pdm|uv|rye|conda|mamba|micromamba)$/.test(name)) || renews)
    judgeUpdate(call, renews ?? verb)
  const adds = /^(install|add|inject|download|wheel|(pip|tool) install)( |$)/.exec(line)?.[1]
  if (adds !== undefined) judgeUnlisted(call, operands.slice(adds.split(' ').length), 'python')
  if (/^(install|add|sync|lock|update|pip (install|sync|compile)|develop)( |$)/.test(line)) {
    const risk: Risk = /^(pipx|conda|mamba|micromamba)$/.test(name) ? 'MEDIUM' : 'LOW'
    if (risk === 'MEDIUM') call.say('pkg.foreign', risk, `${name} installs programs`, verb)
    return judgePythonPackages(call, rest)
  }
  if (
    /^(list|show|freeze|check|search|config (get|list|debug)|debug|inspect|index versions|help|version|tree|info|pip (list|show|freeze|check|tree)|env (info|list)|python list|python find|deps|graph|--version|cache (dir|info|list)|export|build|outdated)( |$)/.test(
      line,
    )
  )
    return
  call.say('pkg.other', 'MEDIUM', `${name} ${verb.text} is not an everyday command`, verb)
}

const SCRIPTS =
  /^(lint|tests|format|fmt|typecheck|type-check|types|check|checks|docs|build|dev|serve|start|cov|coverage|unit|integration)([:_-](all|fix|check|unit|integration|watch|docs))?$/

function runWords(args: readonly Arg[], verb: RegExp): Arg[] {
  const index = args.findIndex(arg => verb.test(arg.value))
  const rest = args.slice(index + 1)
  const start = rest.findIndex(
    (arg, at) =>
      (!isFlag(arg) || arg.value === '-m') &&
      !/^(-n|--name|-p|--prefix|--python|-e|--env-file|--group|--extra|--package)$/.test(rest[at - 1]?.value ?? ''),
  )
  const dash = rest[0]?.value === '--' ? 1 : start
  return dash < 0 ? [] : rest.slice(dash)
}

function judgePythonPackages(call: ProgramCall, packages: readonly Arg[]): undefined {
  const editable = call.args.flatMap((arg, at) => {
    if (/^(-e|--editable)$/.test(call.args[at - 1]?.value ?? '')) return [arg]
    const joined = /^(?:-e|--editable=)(.+)$/.exec(arg.value)?.[1]
    return joined === undefined ? [] : [{ ...arg, value: joined }]
  })
  judgeToolWords(
    call,
    call.args.filter(arg => isFlag(arg) && !/^(-e|--editable)/.test(arg.value)),
  )
  for (const arg of [...packages, ...editable]) {
    if (!arg.known) call.unknown(arg)
    else if (/^\.(\[[\w,-]+\])?$/.test(arg.value) || /^(install|pip|sync|compile)$/.test(arg.value)) continue
    else if (/:\/\/|^git\+|^(\.{1,2}\/|\.\.$|\/|~)|\.(whl|tar\.gz|zip)$|@ /.test(arg.value))
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

/** Flags of pip and the like that do not change where packages come from or go. */
const KNOWN =
  /^(-[UqvVhyrecGnpd]+|-[rec].*|-[vq]+|--(upgrade|upgrade-strategy|quiet|verbose|version|help|requirement|constraint|editable|no-cache-dir|no-cache|no-input|disable-pip-version-check|no-color|progress-bar|dry-run|outdated|uptodate|format|not-required|local|path|exclude|exclude-editable|all|files|dev|only|with|without|extras|extra|all-extras|all-groups|group|no-dev|no-root|only-group|no-group|sync|locked|frozen|no-sync|refresh|offline|reinstall|require-hashes|only-binary|no-binary|prefer-binary|use-pep517|no-build-isolation|retries|timeout|no-interaction|no-ansi|ansi|tree|latest|top-level|depth|invert|why|package|script|no-install-project|no-editable|resolution|prerelease|python-version|python-platform|universal|output-format|no-header|emit-index-url|generate-hashes|annotation-style|strip-extras|no-annotate|lock|keep-outdated|deploy|ignore-pipfile|dev-only|pypi|json|yes|name|channel|no-update-deps|explicit|revision|export|from-history|verify|python|wheel|sdist|clean|no-hashes|without-hashes|without-urls|no-progress|active|check|color|no-self|default|bare|no-progress)(=.*)?)$/

function judgeKnownFlags(call: ProgramCall, args: readonly Arg[]): undefined {
  const index = args.findIndex(arg => /^(run|runpip|x|shell)$/.test(arg.value))
  const inner = index < 0 ? [] : runWords(args, /^(run|runpip|x|shell)$/)
  for (const arg of args.slice(0, args.length - inner.length)) {
    if (arg.value === '--') return
    if (isFlag(arg) && !KNOWN.test(arg.value))
      call.hold('tool.flag', 'MEDIUM', `${arg.text} is not a flag of ${call.name} that the policy knows`, arg)
  }
}

const PYTEST_FLAGS = flagTable({
  loose: true,
  harmless: `-vqslxhlf -k: -m: -n: -r: -W: -p: -o: -c: --maxfail: --exitfirst --verbose --quiet --no-header --no-summary --tb: --show-capture: --capture:
    --durations: --durations-min: --last-failed --lf --failed-first --ff --new-first --nf --stepwise --sw --stepwise-skip --sw-skip
    --last-failed-no-failures: --lfnf: --cache-show --cache-clear --collect-only --co --setup-only --setup-show --setup-plan
    --showlocals --no-showlocals --full-trace --color: --code-highlight: --strict-markers --strict-config --strict --markers --fixtures --junitxml: --junit-xml:
    --fixtures-per-test --funcargs --disable-warnings --disable-pytest-warnings --pythonwarnings: --ignore: --ignore-glob: --deselect:
    --keep-duplicates --collect-in-virtualenv --continue-on-collection-errors --doctest-modules --doctest-glob: --doctest-continue-on-failure
    --doctest-ignore-import-errors --runxfail --assert: --log-level: --log-cli-level: --log-format: --log-date-format: --log-cli-format:
    --cov --cov-report: --cov-branch --cov-fail-under: --cov-append --no-cov --cov-context: --numprocesses: --dist: --maxprocesses:
    --max-worker-restart: --looponfail --timeout: --timeout-method: --reruns: --reruns-delay: --only-rerun: --randomly-seed:
    --randomly-dont-reorganize --random-order --random-order-seed: --benchmark-only --benchmark-skip --benchmark-disable --asyncio-mode:
    --snapshot-update --snapshot-details --inline-snapshot: --reuse-db --create-db --nomigrations --no-migrations --migrations --ds: --dc:
    --headed --browser: --hypothesis-show-statistics --hypothesis-seed: --hypothesis-profile: --run-slow --runslow --integration --mypy --ruff
    --flake8 --black --isort --picked --testmon --testmon-noselect --fail-on-flaky --count: --repeat-scope: --sugar --no-sugar --import-mode:
    --force-sugar --verbosity: --no-fold-skipped --xfail-tb --no-xfail-tb --force-short-summary --memray --typeguard-packages: --forked --boxed`,
})

/** pytest: LOW inside of the project, with flags that select tests and how they are shown. */
export function pytest(call: ProgramCall): undefined {
  const odd = call.args.find(
    (arg, index) =>
      !/^--junit-?xml=(\/tmp\/)?[\w-]*(junit|report|results?)[\w-]*\.xml$/.test(arg.value) &&
      !(arg.value === '-p' && /^no:/.test(call.args[index + 1]?.value ?? '')) &&
      (/^(-p|-o|-c|--(override-ini|basetemp|confcutdir|rootdir|config-file|import-mode|pyargs|debug|junit-?xml|result-log|log-file|pastebin|pdb|pdbcls|trace|trace-config|cov-config|html|report-log))(=|$)/.test(
        arg.value,
      ) ||
        /^-[a-z]*[pco]./.test(arg.value)),
  )
  const reports = odd && /^-p(no:|no$)/.test(odd.value)
  if (odd && !reports && !/^--co$/.test(odd.value))
    call.say('pkg.flag', 'MEDIUM', `${odd.text} changes what pytest loads or writes`, odd)
  for (const arg of scanFlags(call.args, PYTEST_FLAGS).unknown)
    call.hold('tool.flag', 'MEDIUM', `${arg.text} is not a flag of pytest that the policy knows`, arg)
  judgeToolWords(call, call.args)
}

/** Whether uv is only told in which folder of the project it works, or with which interpreter of its environment. */
function worksInside({ name, scope, fence }: ProgramCall, flag: Arg, next: Arg | undefined): boolean {
  const [, python] = /^(?:--python|-p)(?:=(.*))?$/s.exec(flag.value) ?? [null]
  if (python !== null && name === 'uv')
    return /^((\.\/)?\.?venv(\/bin\/python[\d.]*)?|(python)?3(\.\d+)*)$/.test(python ?? (next?.known ? next.value : ''))
  const [, attached] = /^--(?:directory|project)(?:=(.*))?$/s.exec(flag.value) ?? [null]
  if (attached === null || name !== 'uv' || scope.cwd === undefined) return false
  const folder = attached ?? next?.value ?? ''
  const isPlain = (attached === undefined ? next : flag)?.known === true && folder !== ''
  return isPlain && locatePath(folder, scope.cwd, fence).where === 'inside'
}
