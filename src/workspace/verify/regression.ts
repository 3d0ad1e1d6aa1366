import { mkdir, readdir, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { shortId } from '../../base/ids.ts'
import { openRealFolder } from '../../base/real-folder.ts'
import { FAILED_BEFORE, type Finding, type TestResult } from '../../domain/evidence.ts'
import type { CommandRunner } from '../command/run-command.ts'
import { addHashedCommit, type HashedObjects, removeHashedObjects } from '../git/check-objects.ts'
import { git, retryWhileBusy } from '../git/git.ts'
import { committerEnv } from '../git/harden.ts'
import { INSTALLED_FOLDERS } from '../worktrees/dependencies.ts'
import { type GateRun, runGateCommand } from './command-gate.ts'
import type { Profile } from './gate-settings.ts'
import { type GateCheck, type GateDeps, gateCheck, statusByFindings } from './request.ts'
import { resultKey } from './result-key.ts'
import { NAME_SEPARATOR, retryableFailures } from './test-results.ts'

/**
 * Compares the tests with those of the base. A test that failed there already is marked as such in the test gate, which is
 * returned too. It blocks all the same, since fixing it may have been the task, unless a person allows known failures.
 */
export function regressionGate(
  tests: GateCheck,
  base: BaseTests | undefined,
  known: 'block' | 'allow',
): { tests: GateCheck; regression: GateCheck } {
  const skipped = (output: string) => ({ tests, regression: gateCheck({ ...REGRESSION, status: 'skipped', output }) })
  if (tests.tests === null && tests.status === 'passed' && base?.tests) return { tests, regression: noTestsLeft(base) }
  if (tests.tests === null || base?.tests === null) {
    const failsToo = tests.status === 'failed' && base !== undefined && base.exit !== 0
    const note = failsToo ? ' It also failed before the work began.' : ''
    const { regression } = skipped(`Only the whole command counts: the runner does not list single tests.${note}`)
    const isSame = failsToo && tests.tests === null && base.tests === null
    return { tests: isSame ? addFailedBefore(tests, WHOLE_FAILED_BEFORE) : tests, regression }
  }
  if (base === undefined) return skipped('Not compared: the results of the tests before the work are not known.')
  const { findings, before, isExcused } = compareTests(base.tests, tests.tests)
  const regression = gateCheck({
    ...REGRESSION,
    status: statusByFindings(findings),
    command: tests.command,
    duration_ms: base.durationMs,
    output: `${base.tests.length} tests before the work, ${tests.tests.length} now.${base.cached ? ' The earlier result was cached.' : ''}`,
    findings,
    cached: base.cached,
  })
  if (tests.status !== 'failed' || base.exit === 0) return { tests, regression }
  if (!isExcused) return { tests: markKnownFailures(tests, before), regression }
  if (known === 'allow') return { tests: excuseFailures(tests, before), regression }
  const text = `${ONLY_FAILED_BEFORE} ${nameSome([...before].sort())}`
  return { tests: addFailedBefore(markKnownFailures(tests, before), text), regression }
}

const WHOLE_FAILED_BEFORE =
  'The command failed before the work, too; its runner does not list single tests, so more may fail now'
const ONLY_FAILED_BEFORE = 'Only tests fail that failed before the work, too:'

/** Says that the command fails for nothing but what failed before. That it was killed, or changed files, is something else. */
function addFailedBefore(tests: GateCheck, text: string): GateCheck {
  const isElse = ({ code, weight }: Finding) => weight !== 'note' && code !== 'test.failed' && code !== 'test.failing'
  if (tests.findings.some(isElse)) return tests
  return { ...tests, findings: [...tests.findings, { code: FAILED_BEFORE, weight: 'review', text }] }
}

const MOST_IN_LINE = 3

function nameSome(names: readonly string[]): string {
  const rest = names.length - MOST_IN_LINE
  return `${names.slice(0, MOST_IN_LINE).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

const REGRESSION = { gate: 'regression', kind: 'regression' } as const

/** The command passes and lists no test any more. It may have another runner now, which a person has to see. */
function noTestsLeft({ tests, durationMs, cached }: BaseTests): GateCheck {
  const count = tests?.length ?? 0
  // Without the number: who has accepted this is not asked again when the target has other tests by then.
  const text = 'The command listed tests before the work, and lists none now.'
  const finding: Finding = { code: 'regression.gone', weight: 'review', text }
  const output = `${count} ${count === 1 ? 'test' : 'tests'} before the work, none now.`
  return gateCheck({ ...REGRESSION, status: 'review', output, findings: [finding], duration_ms: durationMs, cached })
}

/** Marks failures that existed before, so that the agent knows that they are not new. */
function markKnownFailures(tests: GateCheck, before: readonly string[]): GateCheck {
  const failing = new Set(before.map(name => `This test fails: ${name}`))
  const findings = tests.findings.map(finding =>
    failing.has(finding.text)
      ? { ...finding, text: `${finding.text} (it failed before the work began, too)` }
      : finding,
  )
  return { ...tests, findings }
}

function excuseFailures(tests: GateCheck, before: readonly string[]): GateCheck {
  const own = tests.findings.filter(({ code }) => code !== 'test.failed' && code !== 'test.failing')
  const notes = before.map(
    (name): Finding => ({ code: FAILED_BEFORE, weight: 'note', text: `Fails as it did before: ${name}` }),
  )
  const findings = [...own, ...notes]
  return { ...tests, status: statusByFindings(findings), findings }
}

/** How the tests of the work compare with those of its base. */
export interface TestComparison {
  findings: Finding[]
  /** Tests that fail now and failed before. */
  before: string[]
  /** Nothing fails that did not fail before. */
  isExcused: boolean
}

const MOST_NAMED = 20

/** A test that passed must still pass, missing tests are reported, and tests that failed already do not count against the work. */
export function compareTests(base: readonly TestResult[], now: readonly TestResult[]): TestComparison {
  const was = new Map(base.map(({ name, status }) => [name, status]))
  const is = new Map(now.map(({ name, status }) => [name, status]))
  const parents = new Set(now.flatMap(({ name }) => parentNames(name)))
  const passedBefore = base.filter(({ status }) => status === 'passed' || status === 'flaky').map(({ name }) => name)
  const failing = retryableFailures(now)
  const before = failing.filter(name => was.get(name) === 'failed')
  const passed = new Set(passedBefore)
  const broken = failing.filter(
    name => was.get(name) !== 'failed' && [name, ...parentNames(name)].some(parent => passed.has(parent)),
  )
  const skipped = passedBefore.filter(name => is.get(name) === 'skipped')
  const gone = passedBefore.filter(name => !is.has(name) && !isCoveredByParent(name, is, parents))
  const fresh = now.filter(({ name, status }) => status !== 'skipped' && !was.has(name))
  return {
    findings: [
      ...capFindings('regression.broken', broken, name => `This test passed before the work and fails now: ${name}`),
      ...capFindings(
        'regression.skipped',
        skipped,
        name => `This test passed before the work and is skipped now: ${name}`,
      ),
      ...goneFindings(gone, fresh),
    ],
    before,
    isExcused: failing.length > 0 && failing.length === before.length,
  }
}

/** A renamed test disappears and comes back as a new one: missing tests block only where more are missing than are new. */
function goneFindings(gone: readonly string[], fresh: readonly TestResult[]): Finding[] {
  // A file that is listed as a whole, because the process ended while it was loaded, takes the place of no single test.
  const single = (names: readonly string[]) => names.filter(name => !FILE_NAME.test(name)).length
  const names = fresh.map(({ name }) => name)
  const weight = gone.length > names.length || single(gone) > single(names) ? 'block' : 'note'
  return capFindings(
    'regression.gone',
    gone,
    name => `This test passed before the work and is missing now: ${name}`,
    weight,
  )
}

/** A runner that lists a file shows its path. */
const FILE_NAME = /^[\w./@-]+\.\w+$/

function capFindings(
  code: string,
  names: readonly string[],
  text: (name: string) => string,
  weight: Finding['weight'] = 'block',
): Finding[] {
  const rest = names.length - MOST_NAMED
  return [
    ...names.slice(0, MOST_NAMED).map(name => ({ code, weight, text: text(name) })),
    ...(rest > 0 ? [{ code, weight, text: `And ${rest} more.` }] : []),
  ]
}

/** Whether a parent of the test is reported as a whole, without listing the tests in it. */
function isCoveredByParent(
  name: string,
  is: ReadonlyMap<string, TestResult['status']>,
  parents: ReadonlySet<string>,
): boolean {
  return parentNames(name).some(parent => is.has(parent) && !parents.has(parent))
}

/** The file and the groups that a test is in. */
function parentNames(name: string): string[] {
  const parts = name.split(NAME_SEPARATOR)
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join(NAME_SEPARATOR))
}

/** The test results of the base. */
interface BaseTests {
  exit: number | null
  /** Null if the runner does not list single tests. */
  tests: TestResult[] | null
  /** The result was cached. */
  cached: boolean
  durationMs: number
}

export interface BaseRequest {
  work: WorkStart
  run: GateRun
  base: Profile['base']
}

type BaseTestsDeps = Pick<GateDeps, 'store' | 'clock' | 'paths'> & { runner: CommandRunner }

/**
 * The test results of the base. A cached result is enough, green or not: it is a list to compare with and lets nothing pass by
 * itself. A tree that was verified before it became the base has one. Otherwise the tests are run in a checkout of their own;
 * undefined if that is not wanted, or cannot be done.
 */
export async function runBaseTests(
  { work, run, base }: BaseRequest,
  deps: BaseTestsDeps,
): Promise<BaseTests | undefined> {
  const named = await git(work.top, ['rev-parse', '--verify', '--quiet', `${work.base}^{tree}`], { env: work.objects })
  if (!named.ok) return undefined
  const tree = named.stdout.trim()
  const inside = relative(work.top, work.directory)
  const inputs = { ...run, tree, inside }
  const keys = { gate: resultKey({ ...inputs, purpose: 'gate' }), base: resultKey({ ...inputs, purpose: 'base' }) }
  if (base !== 'anew') {
    const known = (await deps.store.gateResults.get(keys.gate)) ?? (await deps.store.gateResults.get(keys.base))
    if (known) return { exit: known.exit, tests: known.tests, cached: true, durationMs: 0 }
    if (base === 'known') return undefined
  }
  await using checkout = await openBaseCheckout(work, deps.paths.run, run.signal)
  if (!checkout) return undefined
  const ran = await runGateCommand({ ...run, directory: checkout.directory, reads: [work.top] }, deps.runner)
  if (ran.end !== 'exited' || ran.exit === null) return undefined
  const { exit, output, tests, durationMs } = ran
  const kept = { key: keys.base, tree, command: run.command, exit, duration_ms: durationMs, output, tests }
  await deps.store.gateResults.put({ ...kept, created_at: deps.clock.now() })
  return { exit, tests, cached: false, durationMs }
}

/** Ignored folders that installers fill, also one in which builds change something: the base is run with the same dependencies as the work. */
const DEPENDENCIES = new Set([...INSTALLED_FOLDERS, 'deps'])

export interface BaseCheckout extends AsyncDisposable {
  top: string
  /** The project's folder within the checkout. */
  directory: string
}

/** Removes base checkouts that a dead daemon left behind, and their entries in the repositories; and objects that it set aside. */
export async function removeBaseCheckouts(runDir: string): Promise<void> {
  const folder = join(runDir, BASES_FOLDER)
  for (const name of await readdir(folder).catch(() => [])) {
    const top = join(folder, name)
    const { ok, stdout } = await git(top, ['rev-parse', '--path-format=absolute', '--git-common-dir'])
    if (ok) await git(stdout.trim(), ['worktree', 'remove', '--force', '--force', top])
  }
  await rm(folder, { recursive: true, force: true })
  await removeHashedObjects(runDir)
}

const BASES_FOLDER = 'bases'

/** A checkout, and where the work in it began. */
export interface WorkStart {
  top: string
  directory: string
  /** A commit, or for work in the project itself the tree that the project held. */
  base: string
  /** Where git reads them; without it, in the repository, where agents write. */
  objects?: HashedObjects | undefined
}

/** Checks out the base of the work into a temporary worktree. */
export async function openBaseCheckout(
  work: WorkStart,
  runDir: string,
  signal: AbortSignal,
): Promise<BaseCheckout | undefined> {
  const commit = await resolveCommit(work)
  if (commit === undefined) return undefined
  const top = join(runDir, BASES_FOLDER, shortId('base'))
  await mkdir(dirname(top), { recursive: true, mode: 0o700 })
  const close = async () => {
    const remove = () => git(work.top, ['worktree', 'remove', '--force', '--force', top])
    if ((await remove()).ok) return
    await rm(top, { recursive: true, force: true })
    // Not `prune`: it would also forget a worktree of the person whose disk is not mounted now.
    await remove()
  }
  const add = ['worktree', 'add', '--quiet', '--detach', top, commit]
  const added = await retryWhileBusy(() => git(work.top, add, { signal, env: work.objects }), { signal })
  if (!added.ok) {
    await close()
    return undefined
  }
  await linkDependencies(work.top, top)
  return { top, directory: join(top, relative(work.top, work.directory)), [Symbol.asyncDispose]: close }
}

/** For a tree a commit without a ref is made: git checks out only commits, and removes this one in time. */
async function resolveCommit({ top, base, objects }: WorkStart): Promise<string | undefined> {
  const known = await git(top, ['rev-parse', '--verify', '--quiet', `${base}^{commit}`], { env: objects })
  if (known.ok) return known.stdout.trim()
  const env = { ...(await committerEnv(top)), GIT_AUTHOR_DATE: '@0 +0000', GIT_COMMITTER_DATE: '@0 +0000' }
  const made = await git(top, ['commit-tree', base, '-m', 'the project when work began in it'], { env })
  const commit = made.stdout.trim()
  return made.ok && (!objects || (await addHashedCommit(top, commit, objects))) ? commit : undefined
}

async function linkDependencies(from: string, to: string): Promise<void> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  const { stdout } = await git(from, args)
  const folders = stdout.split('\0').filter(path => path.endsWith('/') && DEPENDENCIES.has(basename(path)))
  for (const folder of folders.map(path => path.slice(0, -1))) {
    await using parent = await openRealFolder(to, dirname(folder))
    // Nothing is linked where the base has no such parent folder, a link instead of one, or its own files there.
    if (parent) await symlink(join(from, folder), parent.at(basename(folder))).catch(() => undefined)
  }
}
