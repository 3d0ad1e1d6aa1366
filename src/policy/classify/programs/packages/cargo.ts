import type { Call } from '../../call.ts'
import { isFlag } from '../../words/arg.ts'
import { atDoubleDash, operandsOf } from '../../words/flags.ts'
import { judgeToolWords } from '../common/tool-words.ts'
import { judgeInstalled } from './package-verbs.ts'

/** Flags with which cargo still only works on the project. */
const FLAGS =
  /^(-[vqrhVejinde]+|-[pFjZ].*|-vv|--(release|verbose|quiet|help|version|list|features|all-features|no-default-features|workspace|all|exclude|package|lib|bin|bins|example|examples|test|tests|bench|benches|all-targets|target|profile|jobs|color|message-format|no-run|no-fail-fast|keep-going|doc|no-deps|document-private-items|open|check|frozen|locked|offline|dry-run|edges|invert|depth|prefix|charset|format|duplicates|no-dedupe|prune|dev|build|optional|rename|fix|allow-dirty|allow-staged|allow-no-vcs|broken-code|precise|recursive|aggressive|timings|future-incompat-report|unit-graph|build-plan|ignore-rust-version|format-version|filter-platform|limit|no-verify|explain|success-output|failure-output|test-threads|retries|partition|run-ignored|no-capture|nocapture|status-level|final-status-level|filter-expr|html|json|lcov|summary-only|deny|branch|rev|tag|path|git|no-track|manifest-path|target-dir|lockfile-path|compact|hide-inclusion-graph|exit-code|root-deps-only|direct|ignore|no-optional|default-features|public)(=.*)?)$/

export function cargo(call: Call): undefined {
  const { before, after } = atDoubleDash(call.args)
  const operands = operandsOf(before, [
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
  if (toolchain) call.say('pkg.tools', 'MEDIUM', `${toolchain.text} is another toolchain`, toolchain)
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
    const odd = before.find(arg => isFlag(arg) && !FLAGS.test(arg.value))
    if (odd) call.say('tool.flag', 'MEDIUM', `${odd.text} is not a flag of cargo that the policy knows`, odd)
    return
  }
  if (/^(publish|yank|owner|login|logout|release)$/.test(verb.value))
    return call.say('pkg.publish', 'HIGH', `cargo ${verb.value} publishes, or logs in`, verb)
  if (
    /^(install|uninstall|new|init|fix|generate|binstall|script|vendor|remove|rm|clean|miri|watch|make|xtask|expand|udeps|sqlx|shuttle|lambda|flamegraph)$/.test(
      verb.value,
    )
  )
    return call.say(verb.value === 'install' ? 'pkg.foreign' : 'pkg.other', 'MEDIUM', `cargo ${verb.value}`, verb)
  if (
    !/^(build|b|test|t|check|c|run|r|bench|doc|d|clippy|fmt|tree|metadata|search|info|update|fetch|add|verify-project|pkgid|locate-project|read-manifest|generate-lockfile|package|report|help|version|nextest|llvm-cov|audit|deny|outdated|machete|tarpaulin|hack|insta|semver-checks|criterion|mutants)$/.test(
      verb.value,
    )
  )
    return call.say('pkg.other', 'MEDIUM', `cargo ${verb.text} is not an everyday command`, verb)
  const odd = before.find(arg => isFlag(arg) && !FLAGS.test(arg.value) && arg !== other && arg !== elsewhere)
  if (odd) call.say('tool.flag', 'MEDIUM', `${odd.text} is not a flag of cargo that the policy knows`, odd)
  const opens = before.find(arg => arg.value === '--open')
  if (opens) call.say('open', 'MEDIUM', 'it opens a browser', opens)
  if (/^(add)$/.test(verb.value) && second) judgeInstalled(call, operands.slice(operands.indexOf(second)), [])
}
