import type { Call } from '../../call.ts'
import { flagTable } from '../../words/flag-table.ts'
import { scanFlags } from '../../words/scan-flags.ts'
import { judgeToolWords } from '../common/tool-words.ts'

const FLAGS = flagTable({
  loose: true,
  harmless: `-vqslxhlf -k: -m: -n: -r: -W: -p: -o: -c: --maxfail: --exitfirst --verbose --quiet --no-header --no-summary --tb: --show-capture: --capture:
    --durations: --durations-min: --last-failed --lf --failed-first --ff --new-first --nf --stepwise --sw --stepwise-skip --sw-skip
    --last-failed-no-failures: --lfnf: --cache-show --cache-clear --collect-only --co --setup-only --setup-show --setup-plan
    --showlocals --no-showlocals --full-trace --color: --code-highlight: --strict-markers --strict-config --strict --markers --fixtures
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

/** pytest: LOW inside the project, with flags that choose tests and how they are shown. */
export function pytest(call: Call): undefined {
  const odd = call.args.find(
    (arg, place) =>
      !(arg.value === '-p' && /^no:/.test(call.args[place + 1]?.value ?? '')) &&
      (/^(-p|-o|-c|--(override-ini|basetemp|confcutdir|rootdir|config-file|import-mode|pyargs|debug|junit-?xml|result-log|log-file|pastebin|pdb|pdbcls|trace|trace-config|cov-config|html|report-log))(=|$)/.test(
        arg.value,
      ) ||
        /^-[a-z]*[pco]./.test(arg.value)),
  )
  const reports = odd && /^-p(no:|no$)/.test(odd.value)
  if (odd && !reports && !/^--co$/.test(odd.value))
    call.say('pkg.flag', 'MEDIUM', `${odd.text} changes what pytest loads or writes`, odd)
  for (const arg of scanFlags(call.args, FLAGS).unknown)
    call.say('tool.flag', 'MEDIUM', `${arg.text} is not a flag of pytest that the policy knows`, arg)
  judgeToolWords(call, call.args)
}
