import { lstat } from 'node:fs/promises'
import { basename, dirname, relative } from 'node:path'
import { readTextIfAny } from '../../base/files.ts'
import { openRealFolder, removeInside, writeInside } from '../../base/real-folder.ts'
import type { Finding } from '../../domain/evidence.ts'
import type { CommandRunner } from '../command/run-command.ts'
import { git } from '../git/git.ts'
import { type GateRun, runGateCommand } from './command-gate.ts'
import { type CheckFiles, findCheckFiles } from './diff/check-files.ts'
import { isPartlyChecks, withEarlierChecks } from './diff/check-parts.ts'
import { type BaseCheckout, openBaseCheckout, type WorkStart } from './regression.ts'
import { type GateCheck, type GateDeps, gateCheck, statusByFindings } from './request.ts'
import { resultKey } from './result-key.ts'

export interface EarlierChecksRequest {
  work: WorkStart
  /** The work itself: a commit, or the tree of a project without worktrees. */
  head: string
  /** The commands that passed, in the order in which they ran, and whether each listed single tests. */
  passed: readonly { run: GateRun; listsTests: boolean }[]
  /** How often a test file is made to fail at its end, to see that the run gets there: never, once for each tree, or every time. */
  triesEnds: 'never' | 'once' | 'anew'
}

export interface EarlierChecksDeps extends Pick<GateDeps, 'paths' | 'store' | 'clock'> {
  runner: CommandRunner
}

/**
 * Runs the commands that passed once more, with the tests and scripts that the work changed as they were where it began. What fails
 * then passes only because of the change. Whether that goes with a changed requirement only a person can say. Nothing is read into
 * how the files are written: only what the commands do counts. Undefined where there was nothing to compare.
 */
export async function earlierChecksGate(
  request: EarlierChecksRequest,
  deps: EarlierChecksDeps,
): Promise<GateCheck | undefined> {
  const began = performance.now()
  const commands = request.passed.map(({ run }) => run.command)
  const changed = await findCheckFiles({ ...request.work, head: request.head, commands })
  if (changed === undefined || request.passed.length === 0) return undefined
  const files = [...changed.restored, ...changed.removed].toSorted()
  const compared = files.length === 0 ? undefined : await compareChecks(request, changed, deps)
  const reached =
    compared?.finding || request.triesEnds === 'never' ? undefined : await findUnreached(request, changed.entries, deps)
  const findings = [compared?.finding, reached, mixedFinding(changed.mixed)].filter(finding => finding !== undefined)
  if (files.length === 0 && findings.length === 0) return undefined
  return gateCheck({
    ...{
      gate: 'earlier-checks',
      kind: 'regression',
      status: statusByFindings(findings),
      findings,
      command: compared?.command ?? null,
    },
    duration_ms: Math.round(performance.now() - began),
    output: compared?.output ?? (files.length > 0 ? `Passed with the earlier version of ${nameSome(files)} too.` : ''),
  })
}

function mixedFinding(files: readonly string[]): Finding | undefined {
  if (files.length === 0) return undefined
  const text = `The work changed tests that are in a file of the program, so they could not be run as before: ${nameSome(files)}`
  return { code: 'checks.changed', weight: 'review', text }
}

interface Compared {
  finding?: Finding | undefined
  command: string | null
  output: string
}

async function compareChecks(
  request: EarlierChecksRequest,
  { restored, removed, added }: CheckFiles,
  deps: EarlierChecksDeps,
): Promise<Compared | undefined> {
  const files = nameSome([...restored, ...removed].toSorted())
  const review = (code: string, text: string): Finding => ({ code, weight: 'review', text })
  const runWithout = (gone: string[]) =>
    runIn(request, deps, top => bringBack(request.work, top, { restored, removed: gone }))
  let earlier = await runWithout([...removed, ...added])
  // A runner that finds no tests may fail for that: what passes with the added ones is right too.
  if (typeof earlier === 'object' && added.length > 0) earlier = await runWithout(removed)
  if (earlier === 'no checkout')
    return { finding: review('checks.unknown', `${files} could not be run as before.`), command: null, output: '' }
  if (earlier === undefined) return undefined
  const { command, output } = earlier
  // Where it fails in a fresh checkout of the work itself, the changed files are not the reason.
  const control = await runIn(request, deps)
  const isOther = control !== undefined && control !== 'no checkout' && control.command === command
  const finding = isOther
    ? review(
        'checks.unknown',
        `\`${command}\` fails in a fresh checkout of the work, so the change of ${files} is not checked.`,
      )
    : review(
        'checks.changed',
        `\`${command}\` passes only with the checks that the work changed: ${files}. With the earlier ones it fails`,
      )
  return { finding, command, output }
}

/** Runs the commands in a checkout of the work, changed by `change`; returns the first that fails. */
async function runIn(
  { work, head, passed }: EarlierChecksRequest,
  { paths, runner }: EarlierChecksDeps,
  change?: (top: string) => Promise<boolean>,
): Promise<{ command: string; output: string } | 'no checkout' | undefined> {
  const [first] = passed
  if (!first) return undefined
  await using checkout = await openBaseCheckout({ ...work, base: head }, paths.run, first.run.signal)
  if (!checkout || (change && !(await change(checkout.top)))) return 'no checkout'
  for (const { run } of passed) {
    run.signal.throwIfAborted()
    const { isOnlyFlaky, exit, output } = await runAt(checkout, run, { work, runner })
    if (exit !== 0 && !isOnlyFlaky) return { command: run.command, output }
  }
  return undefined
}

function runAt(
  { directory }: BaseCheckout,
  run: GateRun,
  { work, runner }: { work: WorkStart; runner: CommandRunner },
) {
  return runGateCommand({ ...run, directory, reads: [work.top] }, runner)
}

/** Restores files of a checkout as they were where the work began, and removes what was not there then. */
async function bringBack(
  work: WorkStart,
  top: string,
  { restored, removed }: { restored: readonly string[]; removed: readonly string[] },
): Promise<boolean> {
  for (const path of removed) await removeInside(top, path)
  for (const path of restored) {
    const isDone = await (isPartlyChecks(path) ? bringBackPart : bringBackFile)(work, top, path)
    if (!isDone) return false
  }
  return true
}

async function bringBackFile({ base, objects }: WorkStart, top: string, path: string): Promise<boolean> {
  return (await git(top, ['checkout', '--quiet', base, '--', path], { env: objects })).ok
}

/** The work may have put links into its tree: nothing is read or written through one. */
async function bringBackPart(work: WorkStart, top: string, path: string): Promise<boolean> {
  const before = await git(top, ['show', `${work.base}:${path}`], { env: work.objects })
  const now = await readInside(top, path)
  if (now === undefined) return before.ok ? bringBackFile(work, top, path) : removeInside(top, path)
  const text = withEarlierChecks(path, before.ok ? before.stdout : '', now)
  return text === '' ? removeInside(top, path) : writeInside(top, path, text)
}

/** The text of a file; undefined if there is none, or a link is in its place or above it. */
async function readInside(top: string, path: string): Promise<string | undefined> {
  await using parent = await openRealFolder(top, dirname(path))
  const file = parent?.at(basename(path))
  const stats = file === undefined ? undefined : await lstat(file).catch(() => undefined)
  // Awaited here, because the folder is closed at the end.
  return file !== undefined && stats?.isFile() ? await readTextIfAny(file) : undefined
}

/** Lines that end a program of a language as failed. Added at the end of a test file, they show whether its end is reached. */
const FAILING_ENDS: [files: RegExp, line: string][] = [
  [/\.[cm]?[jt]s$/, '\n;throw new Error("the end is reached")\n'],
  [/\.py$/, '\nraise SystemExit(97)\n'],
  [/\.(sh|bash|bats)$/, '\nexit 97\n'],
  [/\.rb$/, '\nexit(97)\n'],
  [/\.pl$/, '\nexit 97;\n'],
]

/**
 * A program that ends the process while its tests load it passes everything. Where the runner lists no single tests this shows
 * only by trying: a test file that must fail at its end has to fail. It counts if it failed so where the work began. Only one file
 * is tried, and once for each tree: it costs a run of the tests.
 */
async function findUnreached(
  request: EarlierChecksRequest,
  entries: readonly string[],
  deps: EarlierChecksDeps,
): Promise<Finding | undefined> {
  const { work, head, passed } = request
  const at = passed.findIndex(({ run, listsTests }) => run.gate === 'test' && !listsTests)
  const tests = passed[at]?.run
  const file = entries.find(path => failingEnd(path) !== undefined)
  if (!tests || file === undefined) return undefined
  // A build may have to run before the tests.
  const builds = passed.slice(0, at).flatMap(({ run }) => (run.gate === 'build' ? [run] : []))
  const trial = { file, tests, builds }
  const now = await exitAtEnd(head, trial, { request, deps })
  if (now === 'untried') {
    const text = `Whether \`${tests.command}\` comes to the end of ${file} could not be tried.`
    return { code: 'checks.unknown', weight: 'review', text, file }
  }
  if (now !== 0) return undefined
  const before = await exitAtEnd(work.base, trial, { request, deps })
  if (typeof before === 'string' || before === 0) return undefined
  const text = `\`${tests.command}\` passes before ${file} has come to its end: the program ends the process while it is tested.`
  return { code: 'checks.unreached', weight: 'block', text, file }
}

function failingEnd(path: string): string | undefined {
  return FAILING_ENDS.find(([files]) => files.test(path))?.[1]
}

/** How the tests end on a commit or tree if a file of theirs, as it was where the work began, fails at its end. `absent`: it was not there then. */
async function exitAtEnd(
  at: string,
  { file, tests, builds }: { file: string; tests: GateRun; builds: readonly GateRun[] },
  { request: { work, triesEnds }, deps }: { request: EarlierChecksRequest; deps: EarlierChecksDeps },
): Promise<number | null | 'absent' | 'untried'> {
  const { store, clock, paths, runner } = deps
  const names = await git(work.top, ['rev-parse', `${at}^{tree}`, `${work.base}:${file}`], { env: work.objects })
  const [tree, blob] = names.stdout.trim().split('\n')
  if (!names.ok || tree === undefined) return 'absent'
  const command = [...builds, tests].map(run => run.command).join('\n')
  const inside = relative(work.top, work.directory)
  const key = resultKey({ ...tests, tree, command, inside, purpose: `end of ${file} ${blob}` })
  const known = triesEnds === 'once' ? await store.gateResults.get(key) : undefined
  if (known) return known.exit
  await using checkout = await openBaseCheckout({ ...work, base: at }, paths.run, tests.signal)
  if (!checkout || !(await bringBackFile(work, checkout.top, file))) return 'untried'
  const text = await readInside(checkout.top, file)
  if (text === undefined || !(await writeInside(checkout.top, file, `${text}${failingEnd(file)}`))) return 'untried'
  for (const run of builds) await runAt(checkout, run, { work, runner })
  const { end, exit, output, durationMs } = await runAt(checkout, tests, { work, runner })
  if (end === 'exited' && exit !== null) {
    const result = { key, tree, command, exit, duration_ms: durationMs, output, tests: null }
    await store.gateResults.put({ ...result, created_at: clock.now() })
  }
  return exit
}

const MOST_NAMED = 6

function nameSome(files: readonly string[]): string {
  const rest = files.length - MOST_NAMED
  return `${files.slice(0, MOST_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
